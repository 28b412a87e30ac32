package doctor

import (
	"database/sql"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"entgo.io/ent/dialect"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/db/dbtest/cluster"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/id"
	"go.storefront.example/ent/queue"
	"go.storefront.example/ent/seal"
	"go.storefront.example/ent/tenant"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/shop"
)

func requireFinding(t *testing.T, f Finding, status Status, message, remedy string) {
	t.Helper()
	require.Equal(t, status, f.Status, "%+v", f)
	require.Regexp(t, message, f.Message)
	require.Regexp(t, remedy, f.Remedy)
	require.Equal(t, f.Status == OK, f.Remedy == "")
}

func TestVersionOfPostgres(t *testing.T) {
	t.Parallel()
	requireFinding(t, versionFinding(14), Fail, "PostgreSQL 14", "15 or later")
	requireFinding(t, versionFinding(15), OK, "PostgreSQL 15", "")
	requireFinding(t, versionFinding(18), OK, "PostgreSQL 18", "")
}

func TestExtensions(t *testing.T) {
	t.Parallel()
	requireFinding(t, extensionsFinding(map[string]bool{"btree_gin": true}), Fail, "has no pg_trgm$", "postgresql-contrib")
	requireFinding(t, extensionsFinding(map[string]bool{"btree_gin": true, "pg_trgm": false}), Warn, "not created",
		"CREATE EXTENSION pg_trgm;$")
	requireFinding(t, extensionsFinding(map[string]bool{"btree_gin": true, "pg_trgm": true}), OK, "btree_gin, pg_trgm", "")

	d := dbtest.NewEmpty(t, dbtest.Postgres, db.Config{})
	requireFinding(t, extensionsOf(t.Context(), d, Installation{}), Warn, "not created",
		"migrate up.*CREATE EXTENSION btree_gin; CREATE EXTENSION pg_trgm;")
	requireFinding(t, schema(t.Context(), d, Installation{}), Fail, "not applied: init, ", "migrate up")
	d = dbtest.New(t, dbtest.Postgres, db.Config{})
	requireFinding(t, extensionsOf(t.Context(), d, Installation{}), OK, "", "")
	requireFinding(t, schema(t.Context(), d, Installation{}), OK, "", "")
	requireFinding(t, version(t.Context(), d, Installation{}), OK, "", "")
}

func TestADatabaseThatOnlyReads(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t, dbtest.Postgres, db.Config{})
	requireFinding(t, writable(t.Context(), d, Installation{}), OK, "can write", "")
	d = dbtest.New(t, dbtest.Postgres, db.Config{Settings: map[string]string{"default_transaction_read_only": "on"}})
	requireFinding(t, writable(t.Context(), d, Installation{}), Fail, "only read", "default_transaction_read_only")
}

func TestTwoHosts(t *testing.T) {
	t.Parallel()
	first := dbtest.Cluster(t, cluster.Options{})
	second := dbtest.Standby(t, first)
	expect := func(status Status, message, remedy string) {
		t.Helper()
		for _, form := range []string{"postgres://postgres@/postgres?host=127.0.0.1,127.0.0.1&port=%d,%d&sslmode=disable",
			"postgres://postgres@127.0.0.1:%d,127.0.0.1:%d/postgres?sslmode=disable"} {
			found := Hosts(db.Hosts(t.Context(), fmt.Sprintf(form, first.Port(), second.Port())))
			require.Len(t, found, 1)
			requireFinding(t, found[0], status, message, remedy)
		}
	}
	expect(OK, fmt.Sprintf("^127.0.0.1:%d is the primary of 2 hosts$", first.Port()), "")
	require.NoError(t, second.Crash(t.Context()))
	expect(Warn, fmt.Sprintf("^127.0.0.1:%d .*refused.* does not answer$", second.Port()), "start the standby")
	require.NoError(t, second.Restart(t.Context()))
	require.NoError(t, second.Promote(t.Context()))
	expect(Fail, fmt.Sprintf("^127.0.0.1:%d and 127.0.0.1:%d are primaries", first.Port(), second.Port()), "promoted last")
	require.NoError(t, first.Crash(t.Context()))
	require.NoError(t, second.Crash(t.Context()))
	expect(Fail, "none of 2 hosts", "promote a standby")
	for _, url := range []string{first.URL(), "sqlite:a.db"} {
		require.Empty(t, Hosts(db.Hosts(t.Context(), url)))
	}
}

func TestErrorsOfSocketsOnWindows(t *testing.T) {
	t.Parallel()
	of := func(number syscall.Errno) error {
		return &net.OpError{Op: "listen", Err: os.NewSyscallError("bind", number)}
	}
	require.True(t, IsTaken(of(syscall.EADDRINUSE)))
	require.True(t, IsTaken(of(10048)))
	require.False(t, IsTaken(of(syscall.EACCES)))
	require.True(t, isForbidden(of(syscall.EACCES)))
	require.True(t, isForbidden(of(10013)))
}

func TestASearchPathThatMissesTheTables(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t, dbtest.Postgres)
	owner, err := hook.Open(t.Context(), db.Config{URL: url, MaxConns: 2})
	require.NoError(t, err)
	defer func() { require.NoError(t, owner.Close()) }()
	_, err = owner.Writer().Exec("DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET search_path = elsewhere', " +
		"current_database()); END $$")
	require.NoError(t, err)
	d, err := hook.Open(t.Context(), db.Config{URL: url, MaxConns: 2})
	require.NoError(t, err)
	defer func() { require.NoError(t, d.Close()) }()
	requireFinding(t, schema(t.Context(), d, Installation{}), Fail, "they are in public", "SET search_path")
}

func TestClocksThatDiffer(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		off     time.Duration
		status  Status
		message string
	}{
		{0, OK, "within 1s"},
		{-500 * time.Millisecond, OK, "within 1s"}, // not 999ms: the time for asking the database adds to the difference
		{-3 * time.Second, Warn, "ahead of this"},
		{3 * time.Second, Warn, "behind this"},
		{-2 * time.Hour, Warn, "2h0m0s ahead of this"},
	} {
		d := dbtest.New(t, dbtest.Postgres, db.Config{ProcessClock: func() time.Time { return time.Now().Add(row.off) }})
		f := clock(t.Context(), d, Installation{})
		require.Equal(t, row.status, f.Status, "%v: %+v", row.off, f)
		require.Contains(t, f.Message, row.message)
	}
}

func TestHeldSnapshots(t *testing.T) {
	t.Parallel()
	requireFinding(t, snapshotsFinding(queue.Snapshots{DeadRows: 12}), OK, "none held open; about 12 dead rows", "")
	dump := queue.HeldSnapshot{Holder: "process 7 (pg_dump, active)", Age: new(time.Minute), Transactions: 30_000}
	requireFinding(t, snapshotsFinding(queue.Snapshots{Held: []queue.HeldSnapshot{dump}, DeadRows: manyDeadRows}), OK,
		`process 7 \(pg_dump, active\) holds one for 1m0s, since 30,000 transactions; about 100,000 dead rows`, "")
	dump.Age = new(longTransaction)
	requireFinding(t, snapshotsFinding(queue.Snapshots{Held: []queue.HeldSnapshot{dump}}), Warn, "for 15m0s.*become slow", "pg_terminate_backend")
	slot := queue.HeldSnapshot{Holder: "the replication slot gone", Transactions: 2_000_000}
	requireFinding(t, snapshotsFinding(queue.Snapshots{Held: []queue.HeldSnapshot{slot}}), OK, "the replication slot gone holds one, since 2,000,000", "")
	requireFinding(t, snapshotsFinding(queue.Snapshots{Held: []queue.HeldSnapshot{slot}, DeadRows: manyDeadRows}), Warn, "the replication slot gone",
		"pg_drop_replication_slot")

	d := dbtest.New(t, dbtest.Postgres, db.Config{})
	tx, err := d.Writer().BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
	require.NoError(t, err)
	_, err = tx.Exec("SELECT 1")
	require.NoError(t, err)
	requireFinding(t, snapshots(t.Context(), d, Installation{}), OK, `holds one.* transactions; about \d+ dead rows`, "")
	require.NoError(t, tx.Rollback())
}

func TestRoomOnTheDisk(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "shop.db")
	require.NoError(t, os.WriteFile(path, make([]byte, 4096), 0o600))
	left := func(bytes uint64, err error) func(string) (uint64, error) {
		return func(folder string) (uint64, error) {
			require.Equal(t, filepath.Dir(path), folder)
			return bytes, err
		}
	}
	requireFinding(t, space(path, left(1<<40, nil)), OK, "1048576 MiB left", "")
	requireFinding(t, space(path, left(512<<20, nil)), Warn, "512 MiB left.*a backup may not fit", "make room")
	requireFinding(t, space(path, left(1<<20, nil)), Fail, "1 MiB left.*writes will fail", "make room")
	requireFinding(t, space(path, left(0, errors.ErrUnsupported)), OK, "not looked at", "")
	requireFinding(t, space(path, left(0, os.ErrPermission)), Warn, "not known", "mounted")
	bytes, err := db.FreeBytes(filepath.Dir(path))
	if !errors.Is(err, errors.ErrUnsupported) {
		require.NoError(t, err)
		require.Positive(t, bytes)
	}
}

func TestNamesThatAreNearlyRight(t *testing.T) {
	t.Parallel()
	known := []string{"STOREFRONT_DATABASE_URL", "STOREFRONT_ADDR"}
	for _, row := range []struct{ environ, status, message, remedy string }{
		{"STOREFRONT_ADDR=:80", "ok", "1 setting of", ""},
		{"STOREFRONT_DATABASE_ULR=", "ok", "0 settings", ""}, // an empty variable counts as not set
		{"PATH=/bin", "ok", "0 settings", ""},
		{"STOREFRONT_DATABASE=x", "warn", "nothing reads STOREFRONT_DATABASE$", "--help"}, // four letters differ: too many
		{"STOREFRONT_ADR=:80", "warn", "nothing reads STOREFRONT_ADR$", "perhaps STOREFRONT_ADDR was"},
	} {
		f := Variables([]string{row.environ}, known)
		require.Equal(t, Status(row.status), f.Status, row.environ)
		require.Regexp(t, row.message, f.Message)
		require.Contains(t, f.Remedy, row.remedy)
	}
}

func TestSecretsAreTriedOneByOne(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		keys := make([]seal.Key, 3)
		for i := range keys {
			var err error
			keys[i], err = seal.ParseKey(seal.NewKey())
			require.NoError(t, err)
		}
		owner := uuid.New()
		_, err := d.Writer().Exec(`INSERT INTO stores (id, name, slug, url, currency, country, social_links, unavailable_types, created_at, updated_at)
 VALUES ($1, 'S', 's', 'https://s.example', 'XAF', 'CM', '{}', '[]', $2, $2)`, owner, d.Now())
		require.NoError(t, err)
		register := func(key seal.Key, count int) (last uuid.UUID) {
			tx, err := d.Writer().Begin()
			require.NoError(t, err)
			for range count {
				last = id.At(d.Now())
				sealed, by := seal.NewKeyring(key).Seal("whsec_canary", last[:])
				_, err := tx.Exec(`INSERT INTO webhooks (id, store_id, url, description, events, secret, secret_key, enabled, disabled_automatically, created_at, updated_at)
 VALUES ($1, $2, 'https://receiver.example', '', '[]', $3, $4, true, false, $5, $5)`, last, owner, sealed, by, d.Now())
				require.NoError(t, err)
			}
			require.NoError(t, tx.Commit())
			return last
		}
		ring := seal.NewKeyring(keys[0], keys[1])
		requireFinding(t, secrets(t.Context(), d, Installation{Keys: SecretKeys{}}), Warn, "not set: workers do not start",
			"secret generate")
		requireFinding(t, secrets(t.Context(), d, Installation{Keys: SecretKeys{Made: true}}), OK, "one is made", "")
		register(keys[0], 1000)
		requireFinding(t, secrets(t.Context(), d, Installation{Keys: SecretKeys{Ring: ring}}), OK, "secrets of 1,000 webhooks", "")
		register(keys[1], 1)
		requireFinding(t, secrets(t.Context(), d, Installation{Keys: SecretKeys{Ring: ring}}), OK, "secrets of 1,001 webhooks", "")
		requireFinding(t, secrets(t.Context(), d, Installation{Keys: SecretKeys{Made: true}}), Fail, "no given key opens .*: webhook .*, 996 more",
			"STOREFRONT_SECRET_KEY")

		moved := register(keys[0], 1)
		_, err = d.Writer().Exec("UPDATE webhooks SET secret_key = $1 WHERE id = $2", keys[1].ID(), moved)
		require.NoError(t, err)
		requireFinding(t, secrets(t.Context(), d, Installation{Keys: SecretKeys{Ring: ring}}), Fail,
			"^1 secret that the right key does not open.*"+
				moved.String(), "webhook rotate")
		lost := register(keys[2], 2)
		requireFinding(t, secrets(t.Context(), d, Installation{Keys: SecretKeys{Ring: ring}}), Fail, "^no given key opens 2 of 1,004 secrets: webhook .*, "+
			lost.String()+` \(key `+keys[2].ID()+`\)$`,
			"STOREFRONT_OLD_SECRET_KEYS")
	})
}

func TestConnectionsOfServersAndWorkers(t *testing.T) {
	t.Parallel()
	inst := Installation{ServerConns: 40, WorkerConns: 9}
	for _, row := range []struct {
		accepted, used int
		want           Status
	}{{97, 0, OK}, {97, 87, OK}, {97, 88, Warn}, {49, 0, OK}, {48, 0, Fail}} {
		remedy := "--database-max-conns"
		if row.want == OK {
			remedy = ""
		}
		requireFinding(t, connectionsFinding(inst, row.accepted, row.used), row.want, "server opens up to 40, a worker 9", remedy)
	}
	one := Installation{ServerConns: 32}
	requireFinding(t, connectionsFinding(one, 32, 0), OK, "a server with its worker opens up to 32, and", "")
	requireFinding(t, connectionsFinding(one, 31, 0), Fail, "a server with its worker", "--database-max-conns")
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		if d.Dialect() == dialect.SQLite {
			return
		}
		requireFinding(t, connections(t.Context(), d, inst), OK, "PostgreSQL accepts [0-9]+, of which [0-9]+ are open", "")
		var name string
		require.NoError(t, d.Reader().QueryRowContext(t.Context(), "SELECT current_database()").Scan(&name))
		_, err := d.Writer().ExecContext(t.Context(), `ALTER DATABASE "`+name+`" CONNECTION LIMIT 48`)
		require.NoError(t, err)
		requireFinding(t, connections(t.Context(), d, inst), Fail, "PostgreSQL accepts 48", "--database-max-conns")
	})
}

func TestCountsThatAreWrong(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		rules := shop.New(d, shop.Options{})
		made, err := rules.CreateStore(t.Context(), tenant.Actor{}, &adminv1.CreateStoreRequest{Name: "S", Slug: "shop",
			Currency: "XAF", Country: "CM"})
		require.NoError(t, err)
		requireFinding(t, counts(t.Context(), d, Installation{}), OK, "^of 1 store compared", "")
		_, err = d.Writer().Exec("INSERT INTO row_counts (store_id, kind, days, first_day, status, type, total) VALUES ($1, "+
			"'orders', 1, 20000, 'PAID', '', 7)", made.GetId())
		require.NoError(t, err)
		requireFinding(t, counts(t.Context(), d, Installation{}), Fail, "^1 wrong count of orders in the store shop",
			"`storefront migrate recount --store shop`")
		if d.Dialect() != dialect.Postgres {
			return
		}
		_, err = d.Writer().Exec("INSERT INTO row_deltas (store_id, kind, day, status, type, change) "+
			"SELECT $1, 'orders', 1, '', '', 1 FROM generate_series(1, $2::int)", made.GetId(), manyRowDeltas)
		require.NoError(t, err)
		requireFinding(t, counts(t.Context(), d, Installation{}), Warn, "^50,000 differences or more wait", "logs")
	})
}

func TestForgettingsThatFail(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		now := d.Now()
		order := func(failures int, due time.Time) string {
			id := uuid.New()
			_, err := d.Writer().Exec(`INSERT INTO forgettings (id, store_id, progress, begun_at, due_at, failures)
 VALUES ($1, $1, $2, $3, $4, $5)`, id, []byte("{}"), now, due, failures)
			require.NoError(t, err)
			return id.String()
		}
		order(0, now)
		requireFinding(t, forgettings(t.Context(), d, Installation{}), OK, "^none fails$", "")
		left := order(0, now.Add(-MaxLag-time.Minute))
		requireFinding(t, forgettings(t.Context(), d, Installation{}), Warn, "^begun, and no step done for more than .*: "+left+"$", "storefront worker")
		failing := order(3, now.Add(time.Hour))
		found := forgettings(t.Context(), d, Installation{})
		requireFinding(t, found, Warn, "^not forgotten, because that fails: customer "+failing+
			` \(3 failures in a row, next try at .*\)$`, `"forget a customer"`)
		require.Contains(t, Database(t.Context(), d, Installation{}), withCheck("forgettings", found))
	})
}

func TestStoresInBucketsOfOthers(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		create := func(slug, bucket string) string {
			made, err := shop.New(d, shop.Options{}).CreateStore(t.Context(), tenant.Actor{}, &adminv1.CreateStoreRequest{Name: "S", Slug: slug,
				Currency: "KWD", Country: "KW", Bucket: &bucket})
			require.NoError(t, err)
			return made.GetId()
		}
		about := Installation{Buckets: "00-Kz,Lq"}
		require.Empty(t, buckets(t.Context(), d, Installation{}), "nothing to compare with")
		create("ours", "Kz")
		requireFinding(t, buckets(t.Context(), d, about), OK, "^all stores are in 00-Kz,Lq$", "")
		elsewhere := create("elsewhere", "L0")
		found := buckets(t.Context(), d, about)
		requireFinding(t, found, Warn, "of 1 store to other installations, .* 00-Kz,Lq: elsewhere in L0$", "Moving buckets")
		require.Contains(t, Database(t.Context(), d, about), withCheck("buckets", found))
		// A store that was moved away and is to be deleted here does not count: its keys are the other installation's.
		_, err := d.Writer().Exec("UPDATE stores SET delete_at = $1 WHERE id = $2", d.Now(), elsewhere)
		require.NoError(t, err)
		requireFinding(t, buckets(t.Context(), d, about), OK, "", "")
	})
}
