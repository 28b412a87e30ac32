package db

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"io/fs"
	"maps"
	"net/netip"
	"net/url"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	entdialect "entgo.io/ent/dialect"
	"github.com/lib/pq"
	"github.com/lib/pq/pqerror"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"go.storefront.example/ent/migrations"
)

const (
	// connectTimeout applies unless the URL sets another time.
	connectTimeout = 10 * time.Second
	// hostTimeout replaces it for several hosts, because a host that does not answer delays every new connection.
	hostTimeout = 3 * time.Second
	idleTime    = 5 * time.Minute
	// lifeTime replaces connections, so that a server that was added gets some.
	lifeTime = time.Hour
	// lockTries is how often a migration tries, once a second, to get the lock of another migration, which may run for hours.
	lockTries   = 24 * 60 * 60
	unlockTries = 30
)

// migrationLockTimeout bounds the wait for a table's lock, behind which later statements wait. It is longer than PostgreSQL's
// deadlock_timeout of a second, after which PostgreSQL cancels an autovacuum that has the lock.
const migrationLockTimeout = 1200 * time.Millisecond

var postgres = &dialect{
	name:     entdialect.Postgres,
	attempts: 8,
	rowLock:  " FOR NO KEY UPDATE",
	versions: "SELECT count(to_regclass('" + goose.DefaultTablename + "'))",
	provider: func(pool *sql.DB, files fs.FS) (*goose.Provider, error) {
		locker, err := lock.NewPostgresSessionLocker(
			lock.WithLockTimeout(1, lockTries), lock.WithUnlockTimeout(1, unlockTries))
		if err != nil {
			return nil, err
		}
		return goose.NewProvider(goose.DialectPostgres, pool, files,
			goose.WithSessionLocker(invalidIndexDropper{locker}), goose.WithDisableGlobalRegistry(true))
	},
	// PostgreSQL has no estimate for a table that was never analyzed. Then assume 200 bytes for a row.
	tables: `SELECT relname, COALESCE(pg_relation_size(oid) * NULLIF(reltuples, -1) / NULLIF(relpages, 0) / current_setting('block_size')::int,
  pg_relation_size(oid) / 200)::bigint, pg_total_relation_size(oid)
 FROM pg_class WHERE relkind = 'r' AND relnamespace <> 'pg_catalog'::regnamespace AND pg_table_is_visible(oid) ORDER BY 1`,
	checkMigratable: checkPostgresMigratable,
	checkSearchPath: func(ctx context.Context, pool *sql.DB) error {
		var path, found string
		err := pool.QueryRowContext(ctx, `SELECT current_setting('search_path'),
  COALESCE(string_agg(relnamespace::regnamespace::text, ', '), '')
 FROM pg_class WHERE relname = $1 AND relkind = 'r' AND NOT pg_table_is_visible(oid)`, goose.DefaultTablename).Scan(&path, &found)
		if err != nil || found == "" {
			return err
		}
		return fmt.Errorf("%w: it is %s, and they are in %s", ErrSearchPath, path, found)
	},
	checkWritable: checkPostgresWritable,
}

// checkPostgresMigratable requires UTF-8, and the extensions where they are found.
func checkPostgresMigratable(ctx context.Context, pool *sql.DB) error {
	var encoding, path string
	if err := pool.QueryRowContext(ctx, "SELECT current_setting('server_encoding'), current_setting('search_path')").Scan(&encoding,
		&path); err != nil {
		return err
	}
	if encoding != "UTF8" {
		return fmt.Errorf("the database has the encoding %s and cannot store all texts: make another with CREATE DATABASE NAME "+
			"TEMPLATE template0 ENCODING 'UTF8', and name it in --database-url", encoding)
	}
	for row := range Rows(ctx, pool, `SELECT n.name, a.name IS NOT NULL, COALESCE(e.extnamespace::regnamespace::text, ''),
  e.oid IS NULL OR s.nspname = ANY(current_schemas(true))
 FROM (VALUES ('btree_gin'), ('pg_trgm')) AS n(name) LEFT JOIN pg_available_extensions a ON a.name = n.name
 LEFT JOIN pg_extension e ON e.extname = n.name LEFT JOIN pg_namespace s ON s.oid = e.extnamespace`) {
		var name, schema string
		var available, visible bool
		if err := row.Scan(&name, &available, &schema, &visible); err != nil {
			return err
		}
		switch {
		case !available:
			return fmt.Errorf("the server has no extension %s: install PostgreSQL's contrib modules", name)
		case !visible:
			return fmt.Errorf("the extension %s is in the schema %s, and the search_path is %s: let an administrator run ALTER EXTENSION "+
				"%s SET SCHEMA SCHEMA_OF_THE_TABLES, or add the schema with ALTER ROLE USER SET search_path", name, schema, path, name)
		}
	}
	return nil
}

func openPostgres(ctx context.Context, c Config) (*DB, error) {
	cfg, err := postgresConfig(c.URL)
	if err != nil {
		return nil, err
	}
	connect, err := connectorOf(cfg)
	if err != nil {
		return nil, fmt.Errorf("reach the database: %w", err)
	}
	c.sessions = &sessions{conns: map[string]*conn{}}
	conns, admissionConns := c.poolSizes()
	db := sql.OpenDB(c.cachingConnector(connect, true))
	if err := db.PingContext(ctx); err != nil {
		_ = db.Close()
		return nil, fmt.Errorf("reach the database: %w", withHint(err))
	}
	// The check needs two connections, so it comes before the pool is bounded.
	if err := refusePooler(ctx, db, poolerRounds, poolerTimeout); err != nil {
		_ = db.Close()
		return nil, fmt.Errorf("reach the database: %w", err)
	}
	limitPool(db, conns)
	admissions := db
	if admissionConns > 0 {
		admissions = sql.OpenDB(c.cachingConnector(connect, true))
		limitPool(admissions, admissionConns)
	}
	d := &DB{
		dialect:    postgres,
		reader:     db,
		writer:     db,
		admissions: admissions,
		clock:      newClock(c),
		prober:     c.openProber(connect),
		announcer:  newNotifier(plainConnector(connect), listenerURL(c.URL, cfg), c.PingInterval),
		migrator: func() (*sql.DB, error) {
			migrating := plainConnector(connect)
			migrating.settings = settingsStatement(migrationSettings())
			return sql.OpenDB(migrating), nil
		},
	}
	d.clock.query = func(ctx context.Context) (read time.Time, err error) {
		err = db.QueryRowContext(ctx, "SELECT clock_timestamp()").Scan(&read)
		return read, err
	}
	d.nodes = nodes{opened: map[string]*DB{}, open: func(host string, port uint16) (*DB, error) {
		pqConfig := cfg
		pqConfig.Host, pqConfig.Hostaddr, pqConfig.Port = host, netip.Addr{}, port
		pqConfig.Multi, pqConfig.TargetSessionAttrs = nil, ""
		connect, err := connectorOf(pqConfig)
		if err != nil {
			return nil, err
		}
		nodeConfig := c
		nodeConfig.sessions = nil // no check for a pooler: it compares only connections to the coordinator
		// Citus 13.2.1, 13.2.2 and 14.0 leak memory at each execution of a generic plan (fixed by citusdata/citus#8824).
		// Planning each time takes no longer there. With a fixed Citus the URL may set auto.
		if _, set := cfg.Runtime["plan_cache_mode"]; !set {
			nodeConfig.Settings = map[string]string{"plan_cache_mode": "force_custom_plan"}
			maps.Copy(nodeConfig.Settings, c.Settings)
		}
		pool := sql.OpenDB(nodeConfig.cachingConnector(connect, true))
		limitPool(pool, conns)
		node := &DB{dialect: d.dialect, reader: pool, writer: pool, admissions: pool, clock: d.clock, announcer: d.announcer, followers: d.followers,
			sharded: true, coordinator: d, prepare: d.prepare}
		node.makeClients()
		return node, nil
	}}
	if _, err = d.ReadClock(ctx); err == nil {
		d.sharded, err = isSharded(ctx, db)
	}
	if err != nil {
		_ = d.Close()
		return nil, fmt.Errorf("reach the database: %w", err)
	}
	return d, nil
}

// Connections besides the pools of poolSizes: CheckWritable has proberConns, and announcements arrive on one.
const (
	proberConns   = 2
	besidePools   = proberConns + 1
	MinTotalConns = besidePools + 3
)

// poolSizes are the most connections of the common pool and the pool for admissions.
func (c Config) poolSizes() (common, admissions int) {
	common, admissions = c.MaxConns, c.AdmissionConns
	if common <= 0 {
		common = max(10, 4*runtime.GOMAXPROCS(0))
	}
	if share := c.TotalConns - besidePools; c.TotalConns > 0 && common+admissions > share {
		if admissions > 0 {
			admissions = max(1, admissions*share/(common+admissions))
		}
		common = max(1, share-admissions)
	}
	return common, admissions
}

// Conns is the most connections to PostgreSQL of a process.
func (c Config) Conns() int {
	common, admissions := c.poolSizes()
	return common + admissions + besidePools
}

// invalidIndexDropper is the lock of migrations. Taking it drops invalid indexes of a stopped CREATE INDEX CONCURRENTLY, so
// that the migration builds them again.
type invalidIndexDropper struct{ lock.SessionLocker }

func (l invalidIndexDropper) SessionLock(ctx context.Context, conn *sql.Conn) error {
	if err := l.SessionLocker.SessionLock(ctx, conn); err != nil {
		return err
	}
	files, err := migrations.List(entdialect.Postgres)
	if err != nil {
		return err
	}
	var names []string
	for _, f := range files {
		for _, found := range concurrentIndex.FindAllStringSubmatch(strings.Join(f.Statements, "\n"), -1) {
			names = append(names, found[1])
		}
	}
	var drop []string
	for row := range Rows(ctx, conn, `SELECT quote_ident(relname) FROM pg_index JOIN pg_class ON oid = indexrelid
 WHERE NOT indisvalid AND pg_table_is_visible(oid) AND relname = ANY ($1)`, pq.Array(names)) {
		var name string
		if err := row.Scan(&name); err != nil {
			return fmt.Errorf("look for invalid indexes: %w", err)
		}
		drop = append(drop, name)
	}
	for _, name := range drop {
		if _, err := conn.ExecContext(ctx, "DROP INDEX CONCURRENTLY "+name); err != nil {
			return fmt.Errorf("drop the invalid index %s: %w", name, err)
		}
	}
	return nil
}

// concurrentIndex finds the names of the indexes that migrations build while others write.
var concurrentIndex = regexp.MustCompile(`INDEX CONCURRENTLY IF NOT EXISTS \W(\w+)`)

// isSharded reports whether Citus has distributed the outbox, and with it the other tables in shard.Tables.
func isSharded(ctx context.Context, pool *sql.DB) (sharded bool, err error) {
	err = pool.QueryRowContext(ctx, "SELECT to_regclass('pg_dist_partition') IS NOT NULL").Scan(&sharded)
	if err != nil || !sharded {
		return false, err
	}
	err = pool.QueryRowContext(ctx,
		"SELECT EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = to_regclass('outbox'))").Scan(&sharded)
	return sharded, err
}

// requiredSettings are those on which results depend, because a role or a database may have others. At another isolation level,
// concurrent changes would fail; with array_nulls off, NULL in an array would be a text; without notices, an unconfirmed commit
// (errNotReplicated) would look confirmed.
func requiredSettings() map[string]string {
	return map[string]string{
		"array_nulls": "on", "default_transaction_isolation": "read committed", "extra_float_digits": "1",
		"gin_fuzzy_search_limit": "0", "client_min_messages": "notice", "standard_conforming_strings": "on",
	}
}

// settings include timeouts. idle_in_transaction_session_timeout releases the locks of a transaction that a process left open.
func (c Config) settings() map[string]string {
	all := requiredSettings()
	maps.Copy(all, c.Settings)
	if c.StatementTimeout > 0 {
		all["statement_timeout"] = strconv.FormatInt(c.StatementTimeout.Milliseconds(), 10)
		all["idle_in_transaction_session_timeout"] = strconv.FormatInt(2*c.StatementTimeout.Milliseconds(), 10)
	}
	if c.LockTimeout > 0 {
		all["lock_timeout"] = strconv.FormatInt(c.LockTimeout.Milliseconds(), 10)
	}
	return all
}

func migrationSettings() map[string]string {
	all := requiredSettings()
	all["statement_timeout"], all["idle_in_transaction_session_timeout"] = "0", "0"
	all["lock_timeout"] = strconv.FormatInt(migrationLockTimeout.Milliseconds(), 10)
	return all
}

func connectorOf(cfg pq.Config) (driver.Connector, error) {
	connect, err := pq.NewConnectorConfig(cfg)
	if err != nil {
		return nil, err
	}
	connect.Dialer(newDialer())
	return connect, nil
}

// plainConnector sets nothing and caches no statements. A statement still ends with its context, even if the server never
// answers.
func plainConnector(connect driver.Connector) *connector {
	return &connector{Connector: connect, remote: true}
}

// openProber returns CheckWritable's two connections. It connects at the first use, and never calls Config.Observe.
func (c Config) openProber(connect driver.Connector) *sql.DB {
	c.Observe = nil
	db := sql.OpenDB(c.cachingConnector(connect, true))
	limitPool(db, proberConns)
	return db
}

func limitPool(pool *sql.DB, conns int) {
	pool.SetMaxOpenConns(conns)
	pool.SetMaxIdleConns(conns)
	pool.SetConnMaxIdleTime(idleTime)
	pool.SetConnMaxLifetime(lifeTime)
}

func postgresConfig(text string) (pq.Config, error) {
	text, err := hostsInQuery(text)
	if err != nil {
		return pq.Config{}, err
	}
	// Hide both errors below. They quote parts of the URL, and an unencoded password may be in any part.
	u, err := url.Parse(text)
	if err != nil || !strings.HasPrefix(text, u.Scheme+"://") {
		return pq.Config{}, fmt.Errorf("%w: not a PostgreSQL URL; write postgres://user:password@host:port/name, "+
			"special characters percent-encoded; several hosts are postgres://user@a:5432,b:5432/name", ErrURL)
	}
	cfg, err := pq.NewConfig(text)
	if err != nil {
		return pq.Config{}, fmt.Errorf("%w: %s", ErrURL, invalidParameter(err))
	}
	// Otherwise the driver returns times in the server's zone.
	if cfg.Runtime == nil {
		cfg.Runtime = map[string]string{}
	}
	cfg.Runtime["timezone"] = "UTC"
	// In the binary format, PostgreSQL rejects text for a jsonb column.
	cfg.BinaryParameters = false
	several := len(cfg.Multi) > 0
	if cfg.ConnectTimeout == 0 {
		cfg.ConnectTimeout = connectTimeout
		if several {
			cfg.ConnectTimeout = hostTimeout
		}
	}
	if several && cfg.TargetSessionAttrs == "" {
		cfg.TargetSessionAttrs = pq.TargetSessionAttrsReadWrite
	}
	if cfg.ApplicationName == "" {
		cfg.ApplicationName = "storefront"
	}
	if cfg.SSLMode == "" {
		cfg.SSLMode = pq.SSLModePrefer // libpq's default; lib/pq's is require
	}
	return cfg, nil
}

var (
	// wrongValue matches the beginning of lib/pq's error about a wrong parameter or, with a $, environment variable.
	wrongValue = regexp.MustCompile(`^pq: wrong value for "?(\$?\w+)"?: `)
	unequal    = regexp.MustCompile(`^pq: could not match \d+ \w+ \w+ to \d+ \w+( values)?$`)
)

// invalidParameter names the parameter that lib/pq rejects, without its value.
func invalidParameter(err error) string {
	if name := wrongValue.FindStringSubmatch(err.Error()); name != nil {
		return name[1] + " of the PostgreSQL URL, or of the environment, has a value that is not valid"
	}
	if unequal.MatchString(err.Error()) {
		return "the PostgreSQL URL has not as many ports or addresses as hosts: " + strings.TrimPrefix(err.Error(), "pq: ")
	}
	return "a parameter of the PostgreSQL URL, or of the PG… environment, is not valid"
}

// listenerURL adds cfg's defaults, because the driver's listener takes a URL and no configuration.
func listenerURL(text string, cfg pq.Config) string {
	moved, err := hostsInQuery(text)
	if err != nil {
		return text // postgresConfig has refused the URL
	}
	u, err := url.Parse(moved)
	if err != nil {
		return text
	}
	q := u.Query()
	q.Set("sslmode", string(cfg.SSLMode))
	q.Set("connect_timeout", strconv.Itoa(int(cfg.ConnectTimeout.Seconds())))
	if cfg.TargetSessionAttrs != "" {
		q.Set("target_session_attrs", string(cfg.TargetSessionAttrs))
	}
	if !q.Has("application_name") {
		q.Set("application_name", "storefront listener")
	}
	u.RawQuery, u.Path = q.Encode(), cmp.Or(u.Path, "/") // with host and path empty, String would omit //
	return u.String()
}

func settingsStatement(settings map[string]string) string {
	calls := make([]string, 0, len(settings))
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		calls = append(calls, "set_config("+pq.QuoteLiteral(name)+", "+pq.QuoteLiteral(settings[name])+", false)")
	}
	return "SELECT " + strings.Join(calls, ", ")
}

// writableStatements are one message, and so one transaction. Locking a row goes to the log and to a synchronous standby, but
// leaves no dead row, and FOR KEY SHARE waits for no other lock of the service. The last statement needs more than work_mem and
// so writes a temporary file, which fails if the tables' disk is full.
const writableStatements = "SELECT 1 FROM " + goose.DefaultTablename + " LIMIT 1 FOR KEY SHARE; " +
	"SELECT set_config('work_mem', '64kB', true), set_config('temp_tablespaces', '', true); " +
	"SELECT count(*) FROM generate_series(1, 5000)"

func checkPostgresWritable(ctx context.Context, d *DB) error {
	if err := refusePooler(ctx, d.prober, 1, writableTimeout); err != nil {
		return err
	}
	_, err := d.prober.ExecContext(ctx, writableStatements)
	if pq.As(err, pqerror.ConfigurationLimitExceeded) != nil {
		err = nil // only the last statement failed, because PostgreSQL's temp_file_limit is lower than its file's size
	}
	return err
}
