package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"go.storefront.example/cmd/storefront/doctor"
	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/db/dbtest/need"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/notice"
)

func TestOnlyOlderBackupsOfTheSameDatabaseAreRemoved(t *testing.T) {
	t.Parallel()
	folder := backupFolder{t.TempDir(), 0x12345678}
	at := time.Date(2026, 11, 25, 3, 15, 0, 0, time.UTC)
	named := func(days int) string { return folder.name(at.AddDate(0, 0, days)) }
	require.Equal(t, "storefront-2026-11-25T031500.000Z-12345678.db", named(0))
	newest := named(0)
	foreign := []string{
		named(1), named(400), // backups with later times, as when the clock was set back
		named(-9) + ".gz", named(-9) + ".key", named(-9) + "-wal", "x" + named(-9), strings.ToUpper(named(-9)),
		backupFolder{"", 0x12345679}.name(at.AddDate(0, 0, -9)),
		"storefront-2026-11-16T031500,000Z-12345678.db", "storefront-2026-11-16T031500Z-12345678.db", "storefront-2026-11-31T031500.000Z-12345678.db",
		"storefront-2026-11-16.db", "storefront.db", "notes.txt", "storefront-", ".db",
	}
	for _, name := range append([]string{newest, named(-1), named(-2), named(-3), named(-4) + db.UnverifiedSuffix, newest + db.UnverifiedSuffix}, foreign...) {
		require.NoError(t, os.WriteFile(filepath.Join(folder.path, name), nil, 0o600))
	}
	require.NoError(t, os.Mkdir(filepath.Join(folder.path, named(-20)), 0o700))
	links := os.Symlink("notes.txt", filepath.Join(folder.path, named(-21))) == nil

	removed, err := folder.prune(newest, 2, false)
	require.NoError(t, err)
	require.Equal(t, []string{filepath.Join(folder.path, named(-4)+db.UnverifiedSuffix)}, removed, "no older one goes for one that is not verified")
	removed, err = folder.prune(newest, 2, true)
	require.NoError(t, err)
	require.Equal(t, []string{filepath.Join(folder.path, named(-2)), filepath.Join(folder.path, named(-3))}, removed)
	removed, err = folder.prune(newest, 2, true)
	require.NoError(t, err)
	require.Empty(t, removed)
	kept := append([]string{newest, named(-1), newest + db.UnverifiedSuffix, named(-20)}, foreign...)
	if links {
		kept = append(kept, named(-21))
	}
	require.ElementsMatch(t, kept, backups(t, folder.path))
}

// sqliteWithStore has a store, a customer and a webhook, and the secret key beside the file.
func sqliteWithStore(t *testing.T) (i installation, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "storefront.db")
	i = installation{t, map[string]string{"STOREFRONT_DATABASE_URL": "sqlite:" + path}}
	i.run(nil, "migrate", "up")
	i.run(nil, "store", "create", "--name", "S", "--slug", "s", "--currency", "XAF", "--country", "CM")
	i.run(nil, "customer", "create", "--store", "s", "--name", "Awa", "--email", "awa@example.com")
	i.run(nil, "webhook", "create", "--store", "s", "--url", "https://shop.example.com")
	return i, path
}

func backups(t *testing.T, folder string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), doctor.ChecksumSuffix) {
			names = append(names, entry.Name())
		}
	}
	return names
}

// verify finds changed bytes that SQLite cannot notice.
func TestABackupIsComparedWithItsChecksum(t *testing.T) {
	t.Parallel()
	i, _ := sqliteWithStore(t)
	folder := t.TempDir()
	i.run(nil, "backup", "--to", folder, "--keep", "1")
	older := filepath.Join(folder, backups(t, folder)[0])
	require.FileExists(t, older+doctor.ChecksumSuffix)
	i.run(nil, "backup", "--to", folder, "--keep", "1")
	require.NoFileExists(t, older)
	require.NoFileExists(t, older+doctor.ChecksumSuffix, "it goes with its backup")
	file := filepath.Join(folder, backups(t, folder)[0])
	verify := func() (string, error) {
		out, err := i.command("storefront", "backup", "verify", file, "-o", "json").CombinedOutput()
		return string(out), err
	}
	out, err := verify()
	require.NoError(t, err, out)
	require.Contains(t, out, "every byte is as it was written")

	whole, err := os.ReadFile(file)
	require.NoError(t, err)
	changed := bytes.Replace(whole, []byte("shop.example.com"), []byte("shop.exemple.com"), 1) // an address, which no index has
	require.NotEqual(t, whole, changed)
	require.NoError(t, os.WriteFile(file, changed, 0o600))
	out, err = verify()
	require.Error(t, err)
	require.Contains(t, out, "not verified: checksum: ")
	require.NoError(t, os.Remove(file+doctor.ChecksumSuffix))
	out, err = verify()
	require.NoError(t, err, "SQLite does not notice it: %s", out)
	require.Contains(t, out, "it has none")

	// A backup to a named file replaces the checksum of a file that is gone.
	named := filepath.Join(t.TempDir(), "before.db")
	require.NoError(t, os.WriteFile(named+doctor.ChecksumSuffix, []byte("old"), 0o600))
	i.run(nil, "backup", "--to", named)
	i.run(nil, "backup", "verify", named)
}

// The defective copy stays, and so do the older backups.
func TestABackupThatIsNotVerifiedReplacesNone(t *testing.T) {
	t.Parallel()
	for check, spoil := range map[string]string{
		"foreign-keys": "PRAGMA foreign_keys = off; DELETE FROM stores",
		"schema":       "INSERT INTO goose_db_version (version_id, is_applied) VALUES (99999, 1)",
		"counts":       "UPDATE row_counts SET total = total + 1",
		"secret-key":   "UPDATE webhooks SET secret_key = 'other'",
	} {
		t.Run(check, func(t *testing.T) {
			t.Parallel()
			if check != "foreign-keys" {
				need.Heavy(t, "it makes five more backups, with another defect")
			}
			i, path := sqliteWithStore(t)
			folder := t.TempDir()
			for range 3 {
				i.run(nil, "backup", "--to", folder, "--keep", "3")
			}
			before := backups(t, folder)
			require.Len(t, before, 3)
			handle, err := hook.Open(t.Context(), db.Config{URL: "sqlite:" + path})
			require.NoError(t, err)
			defer func() { _ = handle.Close() }()
			_, err = handle.Writer().ExecContext(t.Context(), spoil)
			require.NoError(t, err)

			for range 2 {
				out, err := i.command("storefront", "backup", "--to", folder, "--keep", "1").CombinedOutput()
				require.Error(t, err)
				require.Contains(t, string(out), "not verified: "+check+": ")
				require.Equal(t, 1, strings.Count(string(out), "\n"), "%s", out)
				now := backups(t, folder)
				require.Equal(t, before, now[:3])
				require.Len(t, now, 4)
				require.Contains(t, string(out), now[3])
				require.True(t, strings.HasSuffix(now[3], db.UnverifiedSuffix))
			}
		})
	}
}

// Missing bytes, and changed bytes that make rows and indexes differ.
func TestADamagedCopyIsNotVerified(t *testing.T) {
	t.Parallel()
	need.Heavy(t, "it verifies a damaged copy some forty times")
	i, _ := sqliteWithStore(t)
	folder := t.TempDir()
	i.run(nil, "backup", "--to", folder)
	whole, err := os.ReadFile(filepath.Join(folder, backups(t, folder)[0]))
	require.NoError(t, err)
	copied := filepath.Join(t.TempDir(), "copy.db")
	verify := func(content []byte) (string, error) {
		require.NoError(t, os.WriteFile(copied, content, 0o400))
		defer func() { require.NoError(t, os.Remove(copied)) }()
		out, err := i.command("storefront", "backup", "verify", copied).CombinedOutput()
		return string(out), err
	}
	out, err := verify(whole)
	require.NoError(t, err, out)
	const page = 4096
	for cut := page; cut < len(whole); cut += 16 * page {
		_, err := verify(whole[:cut-1])
		require.Error(t, err, "cut after %d bytes", cut-1)
	}
	// In the customer's row or the index, a changed e-mail makes verifying fail; all further ones are in texts without an
	// index.
	found := 0
	const email = "awa@example.com"
	for at := bytes.Index(whole, []byte(email)); at >= 0; {
		changed := bytes.Clone(whole)
		changed[at]++
		if out, err := verify(changed); err != nil {
			require.Contains(t, out, "not verified: integrity: the file is damaged: ")
			found++
		}
		next := bytes.Index(whole[at+1:], []byte(email))
		if at += 1 + next; next < 0 {
			break
		}
	}
	require.GreaterOrEqual(t, found, 2)

	require.NoError(t, os.WriteFile(copied+"-wal", []byte("x"), 0o600))
	out, err = verify(whole)
	require.Error(t, err)
	require.Contains(t, out, "copy.db-wal is beside it")
	require.Equal(t, []string{"copy.db-wal"}, backups(t, filepath.Dir(copied)), "nothing is made beside it")
}

func TestBackupsAtOnce(t *testing.T) {
	t.Parallel()
	need.Heavy(t, "it runs backups at once")
	i, path := sqliteWithStore(t)
	other, _ := sqliteWithStore(t)
	folder := t.TempDir()
	other.run(nil, "backup", "--to", folder, "--keep", "1")
	var all errgroup.Group
	const runs = 4
	for range runs {
		all.Go(func() error {
			out, err := i.command("storefront", "backup", "--to", folder, "--keep", "2").CombinedOutput()
			if err != nil {
				return errors.New(string(out))
			}
			return nil
		})
	}
	require.NoError(t, all.Wait())
	left := backups(t, folder)
	require.Greater(t, len(left), 2)
	i.run(nil, "backup", "--to", folder, "--keep", "2")
	other.run(nil, "backup", "--to", folder, "--keep", "1")
	left = backups(t, folder)
	require.Len(t, left, 3, "two of one and one of the other")
	var ids []string
	for _, name := range left {
		ids = append(ids, name[len(name)-len("12345678.db"):])
	}
	require.Equal(t, ids[0], ids[1])
	require.NotEqual(t, ids[0], ids[2])
	require.FileExists(t, path)
}

// The names sort after the backup before them.
func TestBackupsOfOneMillisecondHaveNamesOfTheirOwn(t *testing.T) {
	t.Parallel()
	_, path := sqliteWithStore(t)
	handle, err := hook.Open(t.Context(), db.Config{URL: "sqlite:" + path})
	require.NoError(t, err)
	defer func() { _ = handle.Close() }()
	at := time.Date(2026, 11, 25, 3, 15, 0, 0, time.UTC)
	create := backupCreateCmd{To: t.TempDir()}
	create.DatabaseURL = "sqlite:" + path
	var first backupResult
	_, err = create.copy(t.Context(), handle, at.Add(-time.Millisecond), &first)
	require.NoError(t, err)
	const runs = 3
	var all errgroup.Group
	for range runs {
		all.Go(func() error {
			var done backupResult
			_, err := create.copy(t.Context(), handle, at, &done)
			return err
		})
	}
	require.NoError(t, all.Wait())
	names := backups(t, create.To)
	require.Len(t, names, 1+runs)
	require.Equal(t, filepath.Base(first.File), names[0])
	require.Contains(t, names[1], "2026-11-25T031500.000Z")
	require.Contains(t, names[runs], "2026-11-25T031500.002Z")
}

func TestAKilledBackupLeavesTheOthers(t *testing.T) {
	t.Parallel()
	need.Heavy(t, "it kills backups of a large database")
	i, path := sqliteWithStore(t)
	handle, err := hook.Open(t.Context(), db.Config{URL: "sqlite:" + path})
	require.NoError(t, err)
	_, err = handle.Writer().ExecContext(t.Context(), `INSERT INTO customers (id, store_id, email, name, search, created_at, updated_at)
 WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
 SELECT randomblob(16), s.id, 'c' || i || '@example.com', hex(randomblob(100)), '', s.created_at, s.created_at FROM n, stores s`)
	require.NoError(t, err)
	require.NoError(t, handle.Close())
	folder := t.TempDir()
	i.run(nil, "backup", "--to", folder, "--keep", "1")
	first := backups(t, folder)
	for _, size := range []int64{1, 1 << 20} {
		c := i.command("storefront", "backup", "--to", folder, "--keep", "1")
		require.NoError(t, c.Start())
		require.Eventually(t, func() bool {
			files, _ := filepath.Glob(filepath.Join(folder, ".storefront-new-*", "new"))
			if len(files) == 0 {
				return false
			}
			info, err := os.Stat(files[0])
			return err == nil && info.Size() >= size
		}, time.Minute, time.Millisecond)
		require.NoError(t, c.Process.Kill())
		_ = c.Wait()
		require.Subset(t, backups(t, folder), first)
	}
	i.run(nil, "backup", "--to", folder, "--keep", "1")
	left := backups(t, folder)
	require.Len(t, left, 1)
	require.NotEqual(t, first, left)
	i.run(nil, "backup", "verify", filepath.Join(folder, left[0]))
}

func TestBackupsAreToldOf(t *testing.T) {
	t.Parallel()
	in := newInbox(t)
	secret := "whsec_" + strings.Repeat("0a", 32)
	in.verifyWith(secret)
	i := newInstallation(t, dbtest.URL(t, dbtest.SQLite), in).with("STOREFRONT_NOTICES_URL", in.url).with("STOREFRONT_NOTICES_SECRET", secret)
	w := i.worker()
	folder := t.TempDir()
	out, err := i.command("storefront", "backup", "--to", filepath.Join(folder, "away"), "--keep", "2").CombinedOutput()
	require.Error(t, err, "%s", out)
	failed := in.next()
	require.Equal(t, notice.BackupFailed, failed.Type)
	require.Contains(t, string(failed.Data), "there is no folder "+filepath.Join(folder, "away"))
	i.run(nil, "backup", "--to", folder, "--keep", "2")
	finished := in.next()
	require.Equal(t, notice.BackupFinished, finished.Type)
	require.Regexp(t, `"bytes":\d+,"durationMs":\d+,"file":`, string(finished.Data))
	w.stop()
}
