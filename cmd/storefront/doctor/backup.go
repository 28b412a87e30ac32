package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"go.storefront.example/ent/count"
	"go.storefront.example/ent/db"
	"go.storefront.example/ent/hook"
)

// backupChecks run in this order. Each relies on the checks before it.
var backupChecks = []struct {
	name string
	run  func(ctx context.Context, d *db.DB, keys SecretKeys) Finding
}{
	{"integrity", integrity},
	{"foreign-keys", foreignKeys},
	{"schema", backupSchema},
	{"counts", allCounts},
	{"secret-key", backupSecrets},
}

// Backup stops after the first failed check. It reads the whole file at path and changes nothing; nobody may write the file
// meanwhile.
func Backup(ctx context.Context, path string, keys SecretKeys) []Finding {
	d, err := hook.Open(ctx, db.Config{URL: "sqlite:" + path, ReadOnly: true, MaxConns: 1})
	if err != nil {
		return []Finding{withCheck("file", fail("name a file that `storefront backup` wrote, or another copy without a log",
			"%v", err))}
	}
	defer func() { _ = d.Close() }()
	found := []Finding{withCheck("checksum", checksum(ctx, path))}
	if found[0].Status == Fail {
		return found
	}
	for _, c := range backupChecks {
		f := withCheck(c.name, c.run(ctx, d, keys))
		if found = append(found, f); f.Status == Fail {
			break
		}
	}
	return found
}

const damagedRemedy = "do not restore it: take an older backup"

func integrity(ctx context.Context, d *db.DB, _ SecretKeys) Finding {
	var wrong []string
	for row := range db.Rows(ctx, d.Reader(), "PRAGMA integrity_check") {
		var line string
		if err := row.Scan(&line); err != nil {
			return fail(damagedRemedy, "%v", err)
		}
		if line != "ok" {
			wrong = append(wrong, strings.ReplaceAll(line, "\n", "; "))
		}
	}
	if len(wrong) > 0 {
		return fail(damagedRemedy, "the file is damaged: %s", firstOf(wrong))
	}
	return ok("every page, row and index entry is in its place")
}

func foreignKeys(ctx context.Context, d *db.DB, _ SecretKeys) Finding {
	wrong := map[string]int{}
	for row := range db.Rows(ctx, d.Reader(), `SELECT "table", parent FROM pragma_foreign_key_check`) {
		var table, parent string
		if err := row.Scan(&table, &parent); err != nil {
			return fail(damagedRemedy, "%v", err)
		}
		wrong[table+" that refer to missing rows of "+parent]++
	}
	if len(wrong) > 0 {
		return fail(damagedRemedy, "rows of %s", counted(wrong))
	}
	return ok("every row has the rows that it refers to")
}

func counted(numbers map[string]int) string {
	var texts []string
	for name, n := range numbers {
		texts = append(texts, fmt.Sprintf("%s (%d)", name, n))
	}
	slices.Sort(texts)
	return strings.Join(texts, ", ")
}

// backupSchema accepts the schema of this release and of older ones.
func backupSchema(ctx context.Context, d *db.DB, _ SecretKeys) Finding {
	steps, err := d.Migrations(ctx)
	if err != nil {
		return fail(damagedRemedy, "%v", err)
	}
	missing := 0
	for _, m := range steps {
		if m.AppliedAt == nil {
			missing++
		}
	}
	if missing == len(steps) {
		return fail("name a copy of the service's database", "it has no schema of the service")
	}
	var newest int64
	if err := d.Reader().QueryRowContext(ctx, "SELECT max(version_id) FROM goose_db_version WHERE is_applied").Scan(&newest); err != nil {
		return fail(damagedRemedy, "%v", err)
	}
	switch known := steps[len(steps)-1].Version; {
	case newest > known:
		return fail("verify and restore it with the release that wrote it", "it has migration %d, and this release knows %d", newest, known)
	case missing > 0:
		return ok("of an older release: run `storefront migrate up` after restoring it")
	}
	return ok("migration %d, which is current", newest)
}

// hasTable is false for a table that the backup's older release did not have.
func hasTable(ctx context.Context, d *db.DB, table string) (found bool, err error) {
	err = d.Reader().QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE name = $1)", table).Scan(&found)
	return found, err
}

func allCounts(ctx context.Context, d *db.DB, _ SecretKeys) Finding {
	if found, err := hasTable(ctx, d, "row_counts"); err != nil || !found {
		return okUnless(err, "none in this schema")
	}
	c, compared := count.New(d), 0
	for last := uuid.Nil; ; {
		stores, err := c.StoresAfter(ctx, last, 1000)
		if err != nil || len(stores) == 0 {
			return okUnless(err, "of %s, the same as their rows", plural(compared, "store"))
		}
		for _, store := range stores {
			for _, kind := range count.Kinds() {
				wrong, err := c.Mismatches(ctx, store.ID, kind)
				if err != nil {
					return okUnless(err, "")
				}
				if wrong > 0 {
					return fail(fmt.Sprintf("run `storefront migrate recount --store %s` where the service runs, then back up again", store.Slug),
						"%s of %s in the store %s differ from the rows: rows or counts are missing", plural(wrong, "count"), kind, store.Slug)
				}
			}
			last = store.ID
			compared++
		}
	}
}

func backupSecrets(ctx context.Context, d *db.DB, keys SecretKeys) Finding {
	if found, err := hasTable(ctx, d, "webhooks"); err != nil || !found {
		return okUnless(err, "none in this schema")
	}
	return secrets(ctx, d, Installation{Keys: keys})
}

func okUnless(err error, format string, args ...any) Finding {
	if err != nil {
		return fail(damagedRemedy, "%v", err)
	}
	return ok(format, args...)
}
