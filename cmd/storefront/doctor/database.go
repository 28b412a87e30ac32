package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"entgo.io/ent/dialect"

	"go.storefront.example/ent/db"
)

const (
	// leastPostgres is the oldest major version of PostgreSQL that the migrations run on.
	leastPostgres = 15
	// mostSkew is how far this machine's clock may be from the database's, by which everything goes.
	mostSkew = time.Second
)

// extensions are those of PostgreSQL that the indexes need.
var extensions = []string{"btree_gin", "pg_trgm"}

// Open opens the database, if it is there. The store is nil unless the finding is OK; the caller
// closes it.
func Open(ctx context.Context, c db.Config) (*db.DB, Finding) {
	const check = "database"
	if path, embedded := strings.CutPrefix(c.URL, "sqlite:"); embedded {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return nil, fail(check, "name the file with --database-url, or make it with `storefront migrate up`",
				"there is no database %s", path)
		}
	}
	s, err := db.Open(ctx, c)
	switch {
	case errors.Is(err, db.ErrURL):
		return nil, fail(check, "set STOREFRONT_DATABASE_URL to sqlite:PATH or postgres://USER:PASSWORD@HOST:PORT/NAME", "%v", err)
	case errors.Is(err, db.ErrPooler):
		return nil, fail(check, "name PostgreSQL's own address in STOREFRONT_DATABASE_URL, or set pool_mode = session for this "+
			"database in pgbouncer.ini", "%v", err)
	case err != nil && strings.HasPrefix(c.URL, "sqlite:"):
		return nil, fail(check, "make the file readable and writable for this user, or restore a backup if it is damaged", "%v", err)
	case err != nil:
		return nil, fail(check, "start PostgreSQL, or correct host, port, user, password and name in STOREFRONT_DATABASE_URL; "+
			"a firewall may be between", "%v", err)
	}
	return s, ok(check, "reached")
}

// Database looks at an open database: its version, whether it can be written, its extensions, its schema and
// its clock.
func Database(ctx context.Context, s *db.DB) []Finding {
	if s.Dialect() == dialect.SQLite {
		return []Finding{sqliteVersion(ctx, s), schema(ctx, s)}
	}
	return []Finding{postgresVersion(ctx, s), writable(ctx, s), extensionsOf(ctx, s), schema(ctx, s), clock(ctx, s)}
}

// broken is the finding of a check whose look at the database failed.
func broken(check string, err error) Finding {
	return fail(check, "see what the database's own log says", "the database refuses to say: %v", err)
}

func sqliteVersion(ctx context.Context, s *db.DB) Finding {
	const check = "database-version"
	var version string
	if err := s.Reader().QueryRowContext(ctx, "SELECT sqlite_version()").Scan(&version); err != nil {
		return broken(check, err)
	}
	return ok(check, "SQLite %s, built in", version)
}

func postgresVersion(ctx context.Context, s *db.DB) Finding {
	const check = "database-version"
	var number int
	err := s.Reader().QueryRowContext(ctx, "SELECT current_setting('server_version_num')::int").Scan(&number)
	if err != nil {
		return broken(check, err)
	}
	return versionFinding(number / 10_000)
}

func versionFinding(major int) Finding {
	const check = "database-version"
	if major < leastPostgres {
		return fail(check, fmt.Sprintf("upgrade the server to PostgreSQL %d or later", leastPostgres), "PostgreSQL %d", major)
	}
	return ok(check, "PostgreSQL %d", major)
}

// writable looks whether PostgreSQL's server writes. It asks, and writes nothing itself.
func writable(ctx context.Context, s *db.DB) Finding {
	const check = "writable"
	var standby, reads bool
	err := s.Reader().QueryRowContext(ctx, "SELECT pg_is_in_recovery(), current_setting('transaction_read_only')::boolean").Scan(
		&standby, &reads)
	switch {
	case err != nil:
		return broken(check, err)
	case standby:
		return fail(check, "name the primary in STOREFRONT_DATABASE_URL, or all hosts (?host=A,B), of which the primary is taken",
			"the server is a standby: a service here can store nothing")
	case reads:
		return fail(check, "set default_transaction_read_only to off for the database and its user",
			"transactions only read: a service here can store nothing")
	}
	return ok(check, "transactions can write")
}

// Hosts judges the hosts of a URL with several; others have no finding.
func Hosts(hosts []db.Host) []Finding {
	const check = "hosts"
	var primaries, silent []string
	for _, h := range hosts {
		switch {
		case h.Err != nil:
			silent = append(silent, fmt.Sprintf("%s (%v)", h.Address, h.Err))
		case h.Primary:
			primaries = append(primaries, h.Address)
		}
	}
	switch {
	case len(hosts) == 0:
		return nil
	case len(primaries) > 1:
		return []Finding{fail(check, "stop all but the one that was promoted last, and make them its standbys: what is written to "+
			"them is lost",
			"%s are primaries, each with data of its own", strings.Join(primaries, " and "))}
	case len(primaries) == 0:
		return []Finding{fail(check, "start the primary, or promote a standby", "none of %s is known to be a primary",
			plural(len(hosts), "host"))}
	case len(silent) > 0:
		return []Finding{warn(check, "start the standby, or take it out of STOREFRONT_DATABASE_URL: the service cannot move there",
			"%s does not answer", strings.Join(silent, ", "))}
	}
	return []Finding{ok(check, "%s is the primary of %s", primaries[0], plural(len(hosts), "host"))}
}

func extensionsOf(ctx context.Context, s *db.DB) Finding {
	const check = "extensions"
	available := map[string]bool{} // and whether created
	for row := range db.Rows(ctx, s.Reader(), "SELECT name, installed_version IS NOT NULL FROM pg_available_extensions WHERE "+
		"name IN ($1, $2)",
		extensions[0], extensions[1]) {
		var name string
		var created bool
		if err := row.Scan(&name, &created); err != nil {
			return broken(check, err)
		}
		available[name] = created
	}
	return extensionsFinding(available)
}

// extensionsFinding judges the extensions that the server has, and whether each is created.
func extensionsFinding(available map[string]bool) Finding {
	const check = "extensions"
	var missing, create []string
	for _, name := range extensions {
		switch created, found := available[name]; {
		case !found:
			missing = append(missing, name)
		case !created:
			create = append(create, "CREATE EXTENSION "+name+";")
		}
	}
	if len(missing) > 0 {
		return fail(check, "install PostgreSQL's contrib modules on its server (the package postgresql-contrib, where it is one of "+
			"its own)",
			"the server has no %s", strings.Join(missing, ", "))
	}
	if len(create) > 0 {
		return warn(check, "run `storefront migrate up`, or as an administrator: "+strings.Join(create, " "),
			"not created in this database yet")
	}
	return ok(check, "%s", strings.Join(extensions, ", "))
}

func schema(ctx context.Context, s *db.DB) Finding {
	const check = "schema"
	if _, err := s.Current(ctx); errors.Is(err, db.ErrSearchPath) {
		return fail(check, "set the search_path of the database's user to the tables' schema: ALTER ROLE … SET search_path = …; "+
			"then restart", "%v", err)
	}
	steps, err := s.Migrations(ctx)
	if err != nil {
		return broken(check, err)
	}
	var missing []string
	for _, m := range steps {
		if m.AppliedAt == nil {
			missing = append(missing, m.Name)
		}
	}
	if len(missing) > 0 {
		return fail(check, "run `storefront migrate up`", "%s of %d not applied: %s", plural(len(missing), "migration"), len(steps),
			strings.Join(missing, ", "))
	}
	return ok(check, "current")
}

// clock compares this machine's clock with the database's, less what the question itself took.
func clock(ctx context.Context, s *db.DB) Finding {
	const check = "clock"
	if _, err := s.ReadClock(ctx); err != nil {
		return broken(check, err)
	}
	way, offset := "ahead of", s.ClockOffset()
	if offset > 0 {
		way = "behind"
	}
	if skew := offset.Abs().Round(100 * time.Millisecond); offset.Abs() > mostSkew { // no better known on a busy machine
		return warn(check, "let NTP set the clocks of both machines", "the database's clock is %v %s this machine's", skew, way)
	}
	return ok(check, "within %v of the database's", mostSkew)
}
