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
	"github.com/dustin/go-humanize"
	"github.com/google/uuid"

	"go.storefront.example/ent/count"
	"go.storefront.example/ent/db"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/queue"
	"go.storefront.example/ent/seal"
	"go.storefront.example/ent/tenant"
)

const (
	minPostgres = 15
	// maxSkew is how much this machine's clock may differ from the database's, which decides all times.
	maxSkew = time.Second
	// MaxLag is how long a delivery may be due before the doctor concludes that no worker runs. A worker needs a few seconds at
	// most.
	MaxLag = time.Minute
	// longTransaction is the age from which the doctor warns of a held snapshot.
	longTransaction = 15 * time.Minute
	sampledStores   = 5
	manyRowDeltas   = 50_000
	compareTime     = 20 * time.Second
	maxListed       = 5
)

// extensions are needed by the indexes.
var extensions = []string{"btree_gin", "pg_trgm"}

// Open does not create a missing database. The DB is nil unless the finding is OK; the caller closes it.
func Open(ctx context.Context, c db.Config) (*db.DB, Finding) {
	d, found := open(ctx, c)
	return d, withCheck("database", found)
}

func open(ctx context.Context, c db.Config) (*db.DB, Finding) {
	if path, embedded := strings.CutPrefix(c.URL, "sqlite:"); embedded {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return nil, fail("name the file with --database-url, or make it with `storefront migrate up`",
				"there is no database %s", path)
		}
	}
	d, err := hook.Open(ctx, c)
	switch {
	case errors.Is(err, db.ErrURL):
		return nil, fail("set STOREFRONT_DATABASE_URL to sqlite:PATH or postgres://USER:PASSWORD@HOST:PORT/NAME", "%v", err)
	case errors.Is(err, db.ErrPooler):
		return nil, fail("name PostgreSQL's own address in STOREFRONT_DATABASE_URL, or set pool_mode = session for this "+
			"database in pgbouncer.ini", "%v", err)
	case err != nil && strings.HasPrefix(c.URL, "sqlite:"):
		return nil, fail("make the file readable and writable for this user, or restore a backup if it is damaged", "%v", err)
	case err != nil:
		return nil, fail("start PostgreSQL, or correct host, port, user, password and name in STOREFRONT_DATABASE_URL; "+
			"a firewall may be between", "%v", err)
	}
	return d, ok("reached")
}

// URL checks that pg_dump and psql read the URL as this program does, because the manual backs up with pg_dump. The URL, which
// may contain a password, is not shown.
func URL(text string) Finding {
	read := db.ReadByLibpq(text)
	var f Finding
	switch {
	case read.RawAt:
		f = warn("write %40 for each @ of the user and the password in STOREFRONT_DATABASE_URL",
			"an @ in the user or the password is not percent-encoded: storefront reads the URL, but pg_dump and psql look for another host")
	case len(read.Parameters) > 0:
		f = warn("set it for the user with ALTER ROLE … SET, or write options=-c%20NAME%3DVALUE in STOREFRONT_DATABASE_URL",
			"the URL sets %s: storefront reads that, but pg_dump and psql refuse the URL", strings.Join(read.Parameters, ", "))
	default:
		f = ok("pg_dump and psql read it too")
	}
	return withCheck("database-url", f)
}

// Installation has facts that the checks cannot read from the database.
type Installation struct {
	Keys SecretKeys
	// Used is true if a server serves the SQLite file.
	Used bool
	// Buckets is the value of the flag --buckets.
	Buckets tenant.Buckets
	// ServerConns and WorkerConns are how many connections a server and a worker open at most. WorkerConns is 0 if the server
	// delivers too.
	ServerConns, WorkerConns int
}

var checks = []struct {
	name     string
	postgres bool
	tables   bool
	run      func(ctx context.Context, d *db.DB, inst Installation) Finding
}{
	{name: "database-version", run: version},
	{name: "writable", postgres: true, run: writable},
	{name: "connections", postgres: true, run: connections},
	{name: "extensions", postgres: true, run: extensionsOf},
	{name: "schema", run: schema},
	{name: "clock", postgres: true, run: clock},
	{name: "secret-key", tables: true, run: secrets},
	{name: "deliveries", tables: true, run: deliveries},
	{name: "counts", tables: true, run: counts},
	{name: "emails", tables: true, run: emails},
	{name: "ids", tables: true, run: ids},
	{name: "forgettings", tables: true, run: forgettings},
	{name: "buckets", tables: true, run: buckets},
	{name: "snapshots", postgres: true, tables: true, run: snapshots},
	{name: "nodes", postgres: true, tables: true, run: nodes},
	{name: "shards", postgres: true, tables: true, run: shards},
}

// Database checks an open database. If it is nil or its schema is not current, it checks only the secret keys.
func Database(ctx context.Context, d *db.DB, inst Installation) []Finding {
	var found []Finding
	readable := d != nil
	for _, c := range checks {
		switch {
		case c.tables && !readable:
			if c.name == "secret-key" {
				found = append(found, withCheck(c.name, keysFinding(inst.Keys)))
			}
			continue
		case d == nil, c.postgres && d.Dialect() == dialect.SQLite:
			continue
		}
		f := withCheck(c.name, c.run(ctx, d, inst))
		if f.Status == "" {
			continue
		}
		found = append(found, f)
		readable = readable && (c.name != "schema" || f.Status == OK)
	}
	return found
}

func unreadable(err error) Finding {
	return fail("see what the database's own log says", "the database refuses to say: %v", err)
}

func version(ctx context.Context, d *db.DB, _ Installation) Finding {
	if d.Dialect() == dialect.SQLite {
		var number string
		if err := d.Reader().QueryRowContext(ctx, "SELECT sqlite_version()").Scan(&number); err != nil {
			return unreadable(err)
		}
		return ok("SQLite %s, built in", number)
	}
	var number int
	if err := d.Reader().QueryRowContext(ctx, "SELECT current_setting('server_version_num')::int").Scan(&number); err != nil {
		return unreadable(err)
	}
	return versionFinding(number / 10_000)
}

func versionFinding(major int) Finding {
	if major < minPostgres {
		return fail(fmt.Sprintf("upgrade the server to PostgreSQL %d or later", minPostgres), "PostgreSQL %d", major)
	}
	return ok("PostgreSQL %d", major)
}

func writable(ctx context.Context, d *db.DB, _ Installation) Finding {
	var standby, reads bool
	err := d.Reader().QueryRowContext(ctx, "SELECT pg_is_in_recovery(), current_setting('transaction_read_only')::boolean").Scan(
		&standby, &reads)
	switch {
	case err != nil:
		return unreadable(err)
	case standby:
		return fail("name the primary in STOREFRONT_DATABASE_URL, or all hosts (postgres://…@A:5432,B:5432/NAME), of which the primary is taken",
			"the server is a standby: a service here can store nothing")
	case reads:
		return fail("set default_transaction_read_only to off for the database and its user",
			"transactions only read: a service here can store nothing")
	}
	return ok("transactions can write")
}

// connections compares how many connections servers and workers open with how many PostgreSQL accepts from this user.
func connections(ctx context.Context, d *db.DB, inst Installation) Finding {
	// -1 is no limit of the database or the role. reserved_connections is of PostgreSQL 16.
	var accepted, used int
	err := d.Reader().QueryRowContext(ctx, `SELECT least(
  current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
   - COALESCE(current_setting('reserved_connections', true)::int, 0),
  (SELECT NULLIF(datconnlimit, -1) FROM pg_database WHERE datname = current_database()),
  (SELECT NULLIF(rolconnlimit, -1) FROM pg_roles WHERE rolname = current_user)),
 (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend')`).Scan(&accepted, &used)
	if err != nil {
		return unreadable(err)
	}
	return connectionsFinding(inst, accepted, used)
}

func connectionsFinding(inst Installation, accepted, used int) Finding {
	const remedy = "raise max_connections (or the limit of the database or the user), or lower --database-max-conns of servers and workers"
	each := fmt.Sprintf("a server opens up to %d, a worker %d, and PostgreSQL accepts %d", inst.ServerConns, inst.WorkerConns, accepted)
	if inst.WorkerConns == 0 {
		each = fmt.Sprintf("a server with its worker opens up to %d, and PostgreSQL accepts %d", inst.ServerConns, accepted)
	}
	switch {
	case inst.ServerConns+inst.WorkerConns > accepted:
		return fail(remedy, "%s", each)
	case used*10 > accepted*9:
		return warn(remedy, "%s, of which %d are open", each, used)
	}
	return ok("%s, of which %d are open", each, used)
}

// Hosts checks the hosts of a URL with several. It returns no finding if hosts is empty.
func Hosts(hosts []db.Host) []Finding {
	if len(hosts) == 0 {
		return nil
	}
	var primaries, silent []string
	for _, h := range hosts {
		switch {
		case h.Err != nil:
			silent = append(silent, fmt.Sprintf("%s (%v)", h.Address, h.Err))
		case h.Primary:
			primaries = append(primaries, h.Address)
		}
	}
	f := ok("%s is the primary of %s", strings.Join(primaries, " and "), plural(len(hosts), "host"))
	switch {
	case len(primaries) > 1:
		f = fail("stop all but the one that was promoted last, and make them its standbys: what is written to them is lost",
			"%s are primaries, each with data of its own", strings.Join(primaries, " and "))
	case len(primaries) == 0:
		f = fail("start the primary, or promote a standby", "none of %s is known to be a primary", plural(len(hosts), "host"))
	case len(silent) > 0:
		f = warn("start the standby, or take it out of STOREFRONT_DATABASE_URL: the service cannot move there",
			"%s does not answer", strings.Join(silent, ", "))
	}
	return []Finding{withCheck("hosts", f)}
}

func extensionsOf(ctx context.Context, d *db.DB, _ Installation) Finding {
	available := map[string]bool{}
	for row := range db.Rows(ctx, d.Reader(), "SELECT name, installed_version IS NOT NULL FROM pg_available_extensions WHERE "+
		"name IN ($1, $2)",
		extensions[0], extensions[1]) {
		var name string
		var created bool
		if err := row.Scan(&name, &created); err != nil {
			return unreadable(err)
		}
		available[name] = created
	}
	return extensionsFinding(available)
}

// extensionsFinding takes the extensions that exist on the server, with true for those created in the database.
func extensionsFinding(available map[string]bool) Finding {
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
		return fail("install PostgreSQL's contrib modules on its server (the package postgresql-contrib, where it is one of "+
			"its own)",
			"the server has no %s", strings.Join(missing, ", "))
	}
	if len(create) > 0 {
		return warn("run `storefront migrate up`, or as an administrator: "+strings.Join(create, " "),
			"not created in this database yet")
	}
	return ok("%s", strings.Join(extensions, ", "))
}

func schema(ctx context.Context, d *db.DB, _ Installation) Finding {
	if _, err := d.Current(ctx); errors.Is(err, db.ErrSearchPath) {
		return fail("set the search_path of the database's user to the tables' schema: ALTER ROLE … SET search_path = …; "+
			"then restart", "%v", err)
	}
	steps, err := d.Migrations(ctx)
	if err != nil {
		return unreadable(err)
	}
	var missing []string
	for _, m := range steps {
		if m.AppliedAt == nil {
			missing = append(missing, m.Name)
		}
	}
	if len(missing) > 0 {
		return fail("run `storefront migrate up`", "%s of %d not applied: %s", plural(len(missing), "migration"), len(steps),
			strings.Join(missing, ", "))
	}
	return ok("current")
}

// clock allows for the time that the question and the answer take.
func clock(ctx context.Context, d *db.DB, _ Installation) Finding {
	if _, err := d.ReadClock(ctx); err != nil {
		return unreadable(err)
	}
	way, offset := "ahead of", d.ClockOffset()
	if offset > 0 {
		way = "behind"
	}
	// Round, because a busy machine cannot measure the difference more exactly.
	if skew := offset.Abs().Round(100 * time.Millisecond); offset.Abs() > maxSkew {
		return warn("let NTP set the clocks of both machines", "the database's clock is %v %s this machine's", skew, way)
	}
	return ok("within %v of the database's", maxSkew)
}

// ApplicationName distinguishes the doctor's connections to PostgreSQL from those of servers and workers.
const ApplicationName = "storefront doctor"

// Used reports whether a server serves the SQLite file that the URL names. It is false for PostgreSQL.
func Used(databaseURL string) bool {
	path, embedded := strings.CutPrefix(databaseURL, "sqlite:")
	if !embedded {
		return false
	}
	used, err := db.IsClaimed(path)
	return used && err == nil // another check reports files that cannot be opened
}

// deliveries judges by how long deliveries are due. A long wait is only a warning if no other client uses the database, as
// after a restore.
func deliveries(ctx context.Context, d *db.DB, inst Installation) Finding {
	const remedy = "start `storefront worker`, or see its log for why it does not deliver"
	stuck := func(format string, args ...any) Finding {
		used, err := connected(ctx, d, inst.Used)
		switch {
		case err != nil:
			return unreadable(err)
		case used:
			return fail(remedy, format+": no worker takes them", args...)
		}
		return warn("start `storefront worker` when the rest is well",
			format+": nothing runs on this database, and a worker will take them", args...)
	}
	now := d.Now()
	var overdue, leased int
	err := d.Reader().QueryRowContext(ctx, `SELECT count(CASE WHEN due_at < $1 THEN 1 END), count(CASE WHEN leased_until >= $2 THEN 1 END)
 FROM deliveries d JOIN webhooks w ON w.store_id = d.store_id AND w.id = d.webhook_id AND w.enabled AND w.epoch = d.epoch`,
		now.Add(-MaxLag), now).Scan(&overdue, &leased)
	if err != nil {
		return unreadable(err)
	}
	if overdue > 0 && leased == 0 {
		return stuck("%s due for more than %v, and no attempt is under way", plural(overdue, "delivery"), MaxLag)
	}
	return ok("overdue: %s%s", humanize.Comma(int64(overdue)), listening(ctx, d))
}

// connected reports whether a client other than the doctor or Citus uses the database. On SQLite it returns used.
func connected(ctx context.Context, d *db.DB, used bool) (bool, error) {
	if d.Dialect() == dialect.SQLite {
		return used, nil
	}
	err := d.Reader().QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM pg_stat_activity
 WHERE datname = current_database() AND backend_type = 'client backend' AND application_name <> $1
  AND application_name NOT LIKE 'citus%')`, ApplicationName).Scan(&used)
	return used, err
}

// listening says how many workers wait for events, or "" if the database does not show it.
func listening(ctx context.Context, d *db.DB) string {
	if d.Dialect() == dialect.SQLite {
		return ""
	}
	var n int
	err := d.Reader().QueryRowContext(ctx, `SELECT count(*) FROM pg_stat_activity
 WHERE datname = current_database() AND application_name = 'storefront listener'`).Scan(&n)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("; workers listening: %d", n)
}

// manyDeadRows make scans slow. Only with as many, and later transactions, does a snapshot younger than longTransaction warn.
const manyDeadRows = 100_000

func snapshots(ctx context.Context, d *db.DB, _ Installation) Finding {
	found, err := queue.ReadSnapshots(ctx, d)
	if err != nil {
		return unreadable(err)
	}
	return snapshotsFinding(*found)
}

func snapshotsFinding(found queue.Snapshots) Finding {
	cost := fmt.Sprintf("about %s dead rows of deliveries and row deltas are kept", humanize.Comma(found.DeadRows))
	if len(found.Held) == 0 {
		return ok("none held open; %s", cost)
	}
	// Held begins with the snapshot since which the most transactions have begun, because not every age is known.
	oldest := found.Held[0]
	text := oldest.Holder + " holds one"
	if oldest.Age != nil {
		text += fmt.Sprintf(" for %v", oldest.Age.Round(time.Second))
	}
	text += fmt.Sprintf(", since %s transactions; %s", humanize.Comma(oldest.Transactions), cost)
	if found.Oldest() < longTransaction && (found.DeadRows < manyDeadRows || oldest.Transactions < manyDeadRows) {
		return ok("%s", text)
	}
	return warn("let it end, or end it: pg_terminate_backend of a process, ROLLBACK PREPARED of a prepared transaction, "+
		"pg_drop_replication_slot of a slot, hot_standby_feedback = off on a standby", "%s, so that deliveries become slow", text)
}

// SecretKeys are those that a server or a worker would use.
type SecretKeys struct {
	// Ring is nil if no key is set.
	Ring *seal.Keyring
	// Err says why the settings are no valid keys; nil if they are valid or not set.
	Err error
	// Made is true if the service creates a missing key when it first needs one, as on SQLite.
	Made bool
}

// keysFinding says without a database that the keys are invalid, or were not tried.
func keysFinding(keys SecretKeys) Finding {
	if keys.Err != nil {
		return fail("set STOREFRONT_SECRET_KEY to the key that the webhooks were created under, as `storefront secret "+
			"generate` printed it", "%v", keys.Err)
	}
	return ok("not tried: the database has to be reached, and its schema to be current")
}

func secrets(ctx context.Context, d *db.DB, inst Installation) Finding {
	keys := inst.Keys
	if keys.Err != nil {
		return keysFinding(keys)
	}
	total, missing, tampered := 0, []seal.Sealed(nil), []string(nil)
	for row := range db.Rows(ctx, d.Reader(), "SELECT id, store_id, secret, secret_key FROM webhooks ORDER BY id") {
		var webhook, store uuid.UUID
		var sealed []byte
		var key string
		if err := row.Scan(&webhook, &store, &sealed, &key); err != nil {
			return unreadable(err)
		}
		total++
		err := seal.ErrUnknownKey
		if keys.Ring != nil {
			_, err = keys.Ring.Open(sealed, key, webhook[:])
		}
		switch {
		case errors.Is(err, seal.ErrUnknownKey):
			missing = append(missing, seal.Sealed{Webhook: webhook, Store: store, KeyID: key})
		case err != nil:
			tampered = append(tampered, webhook.String())
		}
	}
	switch {
	case len(missing) > 0:
		return fail("set STOREFRONT_SECRET_KEY to the key that they were created under, or add that key to "+
			"STOREFRONT_OLD_SECRET_KEYS; if it is lost, run `storefront secret rotate --replace-lost` and tell the owners",
			"no given key opens %d of %s: webhook %s", len(missing), plural(total, "secret"), seal.Names(missing))
	case len(tampered) > 0:
		return fail("make new ones with `storefront webhook rotate ID`, and tell the owners",
			"%s that the right key does not open: they were changed or moved in the database: %s", plural(len(tampered), "secret"),
			strings.Join(tampered[:min(len(tampered), maxListed)], ", "))
	case keys.Ring == nil && keys.Made:
		return ok("none yet: one is made with the first webhook")
	case keys.Ring == nil:
		return warn("make one with `storefront secret generate` and set STOREFRONT_SECRET_KEY to it everywhere",
			"not set: workers do not start and no webhook can be created")
	}
	return ok("opens the secrets of %s", plural(total, "webhook"))
}

// counts compares the stored counts of some random stores with their rows, unless too many row deltas wait.
func counts(ctx context.Context, d *db.DB, _ Installation) Finding {
	c := count.New(d)
	waiting, err := c.PendingDeltas(ctx, manyRowDeltas)
	switch {
	case err != nil:
		return unreadable(err)
	case waiting == manyRowDeltas:
		return warn("every server and worker adds them up: look into their logs for \"keep the counts of rows\"",
			"%s or more wait to be added to the counts: totals are right, and lists take longer", plural(waiting, "difference"))
	}
	stores, err := c.Sample(ctx, sampledStores)
	if err != nil {
		return unreadable(err)
	}
	limited, cancel := context.WithTimeout(ctx, compareTime)
	defer cancel()
	for n, store := range stores {
		for _, kind := range count.Kinds() {
			wrong, err := c.Mismatches(limited, store.ID, kind)
			switch {
			case limited.Err() != nil && ctx.Err() == nil:
				return ok("of %s compared with their rows; more would take long", plural(n, "store"))
			case err != nil:
				return unreadable(err)
			case wrong > 0:
				return fail("run `storefront migrate recount --store "+store.Slug+"`, or without --store for all stores",
					"%s of %s in the store %s: totals and pages of its lists are wrong too", plural(wrong, "wrong count"), kind, store.Slug)
			}
		}
	}
	return ok("of %s compared with their rows", plural(len(stores), "store"))
}

// forgettings looks for erasures without progress: a try has failed, or nobody has tried for MaxLag.
func forgettings(ctx context.Context, d *db.DB, _ Installation) Finding {
	var failing, waiting []string
	for row := range db.Rows(ctx, d.Reader(), "SELECT id, failures, due_at FROM forgettings WHERE finished_at IS NULL AND "+
		"(failures > 0 OR due_at < $1) ORDER BY due_at, id", d.Now().Add(-MaxLag)) {
		var customer uuid.UUID
		var failures int
		var due time.Time
		if err := row.Scan(&customer, &failures, &due); err != nil {
			return unreadable(err)
		}
		if failures == 0 {
			waiting = append(waiting, customer.String())
			continue
		}
		failing = append(failing, fmt.Sprintf("customer %s (%s in a row, next try at %s)", customer, plural(failures, "failure"),
			due.UTC().Format(time.RFC3339)))
	}
	switch {
	case len(failing) > 0:
		return warn("the workers' logs say why, in lines \"forget a customer\"; `storefront customer forget ID` tries at once",
			"not forgotten, because that fails: %s", firstOf(failing))
	case len(waiting) > 0:
		return warn("start `storefront worker`, or go on with `storefront customer forget ID`; an export or a backup that runs for long "+
			"makes a forgetting wait on SQLite", "begun, and no step done for more than %v: %s", MaxLag, firstOf(waiting))
	}
	return ok("none fails")
}

// buckets looks for stores whose keys a proxy sends to another installation.
func buckets(ctx context.Context, d *db.DB, inst Installation) Finding {
	if inst.Buckets == "" {
		return Finding{}
	}
	var outside []string
	for row := range db.Rows(ctx, d.Reader(), "SELECT id, slug FROM stores WHERE delete_at IS NULL ORDER BY slug") {
		var store uuid.UUID
		var slug string
		if err := row.Scan(&store, &slug); err != nil {
			return unreadable(err)
		}
		if bucket := tenant.Bucket(store); !inst.Buckets.Has(bucket) {
			outside = append(outside, slug+" in "+bucket)
		}
	}
	if len(outside) > 0 {
		return warn("move the stores, as the manual says under Moving buckets, or add their buckets to --buckets and to the proxy's map",
			"a proxy sends the API keys of %s to other installations, because their buckets are not in %s: %s",
			plural(len(outside), "store"), inst.Buckets, firstOf(outside))
	}
	return ok("all stores are in %s", inst.Buckets)
}

func firstOf(all []string) string {
	if n := len(all); n > maxListed {
		all = append(all[:maxListed:maxListed], humanize.Comma(int64(n-maxListed))+" more")
	}
	return strings.Join(all, ", ")
}
