package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"time"

	"entgo.io/ent/dialect"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/seal"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/admin/rpc"
	"go.storefront.example/server/dashboard"
	"go.storefront.example/server/edge"
	"go.storefront.example/server/monitor"
	"go.storefront.example/server/shop"
	"go.storefront.example/server/webhooks"
	"go.storefront.example/worker"
)

type serverCmd struct {
	database
	secretKey
	targets
	notices
	Addr      string `default:":8080" placeholder:"ADDR" help:"Address of the public API: plain HTTP/1.1 and HTTP/2 behind a proxy that terminates TLS. With --tls-domain or --tls-cert it is :443."`
	AdminAddr string `default:"127.0.0.1:8081" placeholder:"ADDR" help:"Address of the admin listener: /healthz, /readyz, /metrics, /docs and, with --admin-token, the admin services and the dashboard. Keep it private."`
	adminToken
	OldAdminToken string `secret:"" placeholder:"TOKEN" help:"Former token, accepted until all callers have the new --admin-token."`
	buckets
	PublicURL      publicURL     `name:"public-url" clears:"" placeholder:"URL" help:"Base URL of stores that have no URL of their own; the store's slug follows (default: http://localhost:3000)."`
	APIURL         apiURL        `name:"api-url" clears:"" placeholder:"URL" help:"Public URL of the API, such as https://api.example.com, that the pages under /docs show (default: the URL in the browser)."`
	DisableAfter   time.Duration `default:"72h" placeholder:"TIME" help:"How long a webhook may fail, for display in the dashboard; must equal the worker's."`
	RequestTimeout time.Duration `default:"10s" least:"100ms" greatest:"5m" placeholder:"TIME" help:"Longest time for a request; then the caller gets 503 and the database cancels the statement (statement_timeout). A lock is waited for half as long (lock_timeout)."`
	Migrate        bool          `help:"Bring the schema up to date before serving."`
	Worker         bool          `help:"Deliver webhooks too, in this process. On PostgreSQL this worker uses 6 of the --database-max-conns."`
	MaxConnections count         `default:"4096" placeholder:"N" help:"Maximum open connections of each listener; one client gets at most half. Further connections are closed at once. Keep it below half of ulimit -n."`
	TrustedProxies []network     `clears:"" placeholder:"CIDR,…" help:"Networks of your proxies, as CIDR. Only their X-Forwarded-For counts as the client's IP address (default: none)."`
	PaymentLinks   onOff         `default:"on" placeholder:"on|off" help:"Whether stores may create payment links."`
	Docs           onOff         `default:"off" placeholder:"on|off" help:"Whether the public listener serves the reference at /docs. The admin listener always does."`
	RequestLog     onOff         `name:"request-log" default:"on" placeholder:"on|off" help:"Whether to keep a key's rejected requests of seven days for the dashboard, without bodies or values, the newest 200 of each key, and counts of its requests."`
	platform
	attempts
	backupSchedule
	certificates
	DrainDelay time.Duration `default:"1s" least:"0s" placeholder:"TIME" help:"How long to go on serving after SIGTERM, not ready, so that a load balancer can move its requests."`
	LogFormat  string        `enum:"json,text" default:"json" placeholder:"FORMAT" help:"Format of the log: json or text. Each request has one line, without key and body."`
	LogLevel   string        `enum:"debug,info,warn,error" default:"info" placeholder:"LEVEL" help:"Lowest level that is logged: debug, info, warn or error."`
}

// adminToken has the flag of commands that serve the admin services.
type adminToken struct {
	AdminToken string `name:"admin-token" secret:"" placeholder:"TOKEN" help:"Token of the operator, at least 32 characters (openssl rand -hex 32 prints some). Without a token the admin services and the dashboard are off."`
}

func (t adminToken) check() error {
	if t.AdminToken == "" {
		return nil
	}
	if err := rpc.CheckToken(t.AdminToken); err != nil {
		return usage("--admin-token: %w; `openssl rand -hex 32` makes one", err)
	}
	return nil
}

// check refuses settings with which the server does not start. It opens nothing but the logo.
func (c *serverCmd) check() (dashboard.Platform, error) {
	if c.Worker && c.MaxConns != 0 && c.MaxConns < 2*workerConns {
		return dashboard.Platform{}, usage("--database-max-conns: must be %d or more with --worker", 2*workerConns)
	}
	if err := errors.Join(c.checkTokens(), c.secretKey.check(), c.notices.check(c.policy()), c.backupSchedule.check(c.DatabaseURL),
		c.certificates.check(c.DatabaseURL, c.AdminToken)); err != nil {
		return dashboard.Platform{}, err
	}
	return c.checked()
}

func (c *serverCmd) checkTokens() error {
	if err := c.adminToken.check(); err != nil || c.OldAdminToken == "" {
		return err
	}
	if c.AdminToken == "" {
		return usage("--old-admin-token: set --admin-token to the token that takes its place")
	}
	if err := rpc.CheckToken(c.OldAdminToken); err != nil {
		return usage("--old-admin-token: %w", err)
	}
	return nil
}

// options leave out the keyring without a secret key if there is no admin token, or on PostgreSQL. Then only methods that
// encrypt webhooks' secrets fail.
func (c *serverCmd) options() (admin.Options, error) {
	o := admin.Options{
		Shop:     shop.Options{PaymentLinksOff: !bool(c.PaymentLinks), PublicURL: string(c.PublicURL), Buckets: c.Buckets},
		Webhooks: webhooks.Options{Targets: c.policy(), DisableAfter: c.DisableAfter},
	}
	if _, embedded := keyFile(c.DatabaseURL); c.SecretKey == "" && (c.AdminToken == "" || !embedded) {
		return o, nil
	}
	var err error
	o.Webhooks.Secrets, err = c.ring(c.database)
	return o, err
}

// Run serves the API until the context ends.
func (c *serverCmd) Run(s *invocation) error {
	outliveReaders()
	branding, err := c.check()
	if err != nil {
		return err
	}
	return withClaim(c.DatabaseURL, func() error { return c.serve(s, branding) })
}

// withClaim calls do with the claim on a SQLite file, and fails if another process has it. On PostgreSQL it just calls do.
func withClaim(databaseURL string, do func() error) error {
	claim, err := db.ClaimServer(databaseURL)
	if err != nil {
		return err
	}
	return errors.Join(do(), claim.Release())
}

func (c *serverCmd) serve(s *invocation, branding dashboard.Platform) error {
	logger, err := newLogger(s.errs, c.LogFormat, c.LogLevel)
	if err != nil {
		return err
	}
	if c.Migrate {
		log := func(message string) func(db.Migration) {
			return func(m db.Migration) {
				logger.InfoContext(s.ctx, message, "version", m.Version, "name", m.Name)
			}
		}
		err := migrate(s.ctx, c.database, watcher{
			begin: log("migrating"), applied: log("migrated"),
			progress: func(line string, news bool) {
				if news {
					logger.InfoContext(s.ctx, "migrating", "statement", line)
				}
			},
		})
		if err != nil {
			return err
		}
	}
	served, _ := c.shares()
	handle, err := served.openWith(s.ctx, boundedConfig(c.RequestTimeout))
	if err != nil {
		return err
	}
	return errors.Join(c.serveDatabase(s, handle, branding, logger), handle.Close())
}

func (c *serverCmd) serveDatabase(s *invocation, handle *db.DB, branding dashboard.Platform, logger *slog.Logger) error {
	options, err := c.options()
	if err != nil {
		return err
	}
	if ring := options.Webhooks.Secrets; ring != nil {
		// Callers of the API need no signing secret, so the server starts; it refuses to create webhooks.
		if err := ring.CheckStored(s.ctx, handle); err != nil {
			logger.ErrorContext(s.ctx, "--secret-key: webhooks cannot be created and their secrets not rotated", "error", err)
		}
	}
	if err := c.notices.set(s.ctx, handle, func() (*seal.Keyring, error) { return c.ring(c.database) }); err != nil {
		return err
	}
	t, err := s.openTraces(logUnsent(logger))
	if err != nil {
		return err
	}
	defer t.flush(s.ctx)
	config := server.Config{
		Traces: t.tracerProvider(), Addr: c.Addr, AdminAddr: c.AdminAddr, AdminToken: c.AdminToken, OldAdminToken: c.OldAdminToken,
		DB: handle, Metrics: monitor.NewRegistry(handle, logger), Logger: logger, Options: options,
		DrainDelay: c.DrainDelay, MaxConnections: int(c.MaxConnections),
		Timeouts: edge.Timeouts{Request: c.RequestTimeout}, RequestLogOff: !bool(c.RequestLog), Platform: branding,
		PublicDocs: bool(c.Docs),
		APIURL:     string(c.APIURL),
	}
	for _, n := range c.TrustedProxies {
		if n.prefix.IsValid() {
			config.TrustedProxies = append(config.TrustedProxies, n.prefix)
		}
	}
	if err := c.certificates.set(&config, c.DatabaseURL, s.given["addr"]); err != nil {
		return err
	}
	deliveries, closeQueue, err := c.newWorker(s.ctx, config)
	if err != nil {
		return err
	}
	scheduled, stop := context.WithCancel(s.ctx)
	var backups sync.WaitGroup
	backups.Go(func() {
		c.backupSchedule.run(scheduled, handle, &backupCreateCmd{database: c.database, secretKey: c.secretKey}, logger)
	})
	err = serve(s.ctx, config, deliveries, func(running *server.Server) error {
		if c.Migrate {
			if err := c.printNext(s, admin.New(handle, options), running); err != nil {
				return err
			}
		}
		if c.Worker {
			c.logDelivering(s.ctx, logger)
		}
		return nil
	})
	stop()
	backups.Wait()
	return errors.Join(err, closeQueue())
}

// shares divides --database-max-conns between the server's pools and those of --worker.
func (c *serverCmd) shares() (server, worker database) {
	server, worker = c.database, c.database
	if c.Worker && c.MaxConns != 0 {
		server.MaxConns -= workerConns
		worker.MaxConns = workerConns
	}
	return server, worker
}

// conns returns how many connections to PostgreSQL the server opens at most, with those of --worker.
func (c *serverCmd) conns() int {
	server, worker := c.shares()
	sum := server.config(boundedConfig(c.RequestTimeout)).Conns()
	if c.Worker {
		sum += worker.config(workerConfig()).Conns()
	}
	return sum
}

// newWorker returns the worker of --worker, or nil, and a function that closes its database. On SQLite it shares the server's,
// which has one writer. On PostgreSQL it has its own pool, whose statements have no timeout.
func (c *serverCmd) newWorker(ctx context.Context, serving server.Config) (*worker.Worker, func() error, error) {
	closeQueue := func() error { return nil }
	if !c.Worker {
		return nil, closeQueue, nil
	}
	ring, err := c.ring(c.database)
	if err != nil {
		return nil, nil, err
	}
	settings := c.attempts.config()
	settings.DB = serving.DB
	if serving.DB.Dialect() == dialect.Postgres {
		_, own := c.shares()
		if settings.DB, err = own.openWith(ctx, workerConfig()); err != nil {
			return nil, nil, err
		}
		closeQueue = settings.DB.Close
	}
	settings.Secrets, settings.Targets, settings.DisableAfter = ring, c.policy(), c.DisableAfter
	settings.Metrics, settings.Traces, settings.Logger = serving.Metrics, serving.Traces, serving.Logger
	w, err := worker.New(ctx, settings)
	if err != nil {
		return nil, nil, errors.Join(err, closeQueue())
	}
	return w, closeQueue, nil
}

func (c *serverCmd) printNext(s *invocation, operator *admin.Operator, running *server.Server) error {
	stores, err := operator.ListStores(s.ctx, &adminv1.ListStoresRequest{PageSize: new(int32(1))})
	if err != nil || len(stores.GetStores()) > 0 {
		return err
	}
	sameDatabase := ""
	if c.DatabaseURL != defaultDatabase {
		sameDatabase = ", with the same STOREFRONT_DATABASE_URL"
	}
	api, pages := c.certificates.addresses(baseURL(running.Addr()), baseURL(running.AdminAddr()))
	signIn := "off: set --admin-token"
	if running.HasDashboard() {
		signIn = "storefront dashboard link --store my-shop --member YOU --role owner --url " + pages
	}
	_, _ = fmt.Fprintf(s.out, `There is no store yet. Next, in another terminal%s:

  storefront store create --name "My shop" --slug my-shop --currency EUR --country FR
  storefront key create --store my-shop --name first --scopes products:read,products:write --expires 90d
  storefront webhook create --store my-shop --url https://shop.example.com/webhooks

API        %s/v1
dashboard  %s
`, sameDatabase, api, signIn)
	return nil
}

// boundedConfig reserves connections for admitting requests, and gives every statement and wait for a lock a timeout.
func boundedConfig(timeout time.Duration) db.Config {
	return db.Config{
		AdmissionConns: max(10, 2*runtime.GOMAXPROCS(0)), StatementTimeout: timeout, LockTimeout: timeout / 2,
	}
}

type watcher struct {
	begin, applied func(db.Migration) // called before each migration, and after it
	// progress is called about twice a second on PostgreSQL. news is true when a statement begins, or begins to wait for a
	// lock.
	progress func(line string, news bool)
}

func migrate(ctx context.Context, d database, w watcher) error {
	handle, err := hook.Open(ctx, d.config(db.Config{}))
	if err != nil {
		return err
	}
	pending, err := handle.Migrations(ctx)
	if err != nil {
		return errors.Join(err, handle.Close())
	}
	pending = slices.DeleteFunc(pending, func(m db.Migration) bool { return m.AppliedAt != nil })
	next := func() {
		if len(pending) > 0 {
			w.begin(pending[0])
			pending = pending[1:]
		}
	}
	next()
	stop := w.watch(ctx, handle)
	err = handle.Migrate(ctx, func(m db.Migration) {
		w.applied(m)
		next()
	})
	stop()
	if err != nil && ctx.Err() != nil {
		err = errors.New("the migration was stopped; `storefront migrate up` goes on with it")
	}
	return errors.Join(err, handle.Close())
}

// watch reports the progress of migrations to w until stop is called.
func (w watcher) watch(ctx context.Context, handle *db.DB) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() {
		var last db.MigrationProgress
		handle.WatchMigration(ctx, func(p db.MigrationProgress) {
			w.progress(progressLine(p), p.SQL != last.SQL || p.Waits && !last.Waits)
			last = p
		})
	})
	return func() {
		cancel()
		watching.Wait()
	}
}

// serve runs a server and deliveries, which may be nil, until the context ends. It calls bound once its addresses are bound.
// The worker ends last, to deliver what the last requests cause.
func serve(ctx context.Context, config server.Config, deliveries *worker.Worker, bound func(*server.Server) error) error {
	running, err := server.New(config)
	if err != nil {
		return err
	}
	addresses := []any{"addr", running.Addr().String(), "admin_addr", running.AdminAddr().String()}
	if plain := running.PlainAddr(); plain != nil {
		addresses = append(addresses, "plain_addr", plain.String())
	}
	config.Logger.InfoContext(ctx, "listening", addresses...)
	if err := bound(running); err != nil {
		return err
	}
	delivering, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var delivered sync.WaitGroup
	if deliveries != nil {
		delivered.Go(func() { deliveries.Run(delivering) })
	}
	err = running.Run(ctx)
	stop()
	delivered.Wait()
	if err != nil {
		return err
	}
	config.Logger.InfoContext(ctx, "stopped")
	return nil
}

// monitored has the flags of a command that serves health and metrics of its own process.
type monitored struct {
	AdminAddr  string `clears:"" placeholder:"ADDR" help:"Address of the admin listener: /healthz, /readyz, /metrics and, with --admin-token, /debug/pprof. Off without an address."`
	AdminToken string `name:"admin-token" secret:"" placeholder:"TOKEN" help:"Token of the operator for /debug/pprof, at least 32 characters."`
}

func (m monitored) check() error {
	if m.AdminAddr == "" {
		return nil
	}
	return adminToken{m.AdminToken}.check()
}

// serveBeside serves health, metrics and profiles at --admin-addr while do runs.
func (m monitored) serveBeside(ctx context.Context, c monitor.Config, do func(context.Context) error) error {
	if m.AdminAddr == "" {
		return do(ctx)
	}
	if m.AdminToken != "" {
		c.Guard = rpc.NewGate(m.AdminToken, "").Guard
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", m.AdminAddr)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", m.AdminAddr, err)
	}
	srv := edge.NewServer(monitor.Handler(c), edge.Timeouts{}, c.Logger)
	// net/http itself logs some errors, such as panics of handlers.
	srv.ErrorLog = slog.NewLogLogger(c.Logger.Handler(), slog.LevelError)
	c.Logger.InfoContext(ctx, "listening", "admin_addr", listener.Addr().String())
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(listener) }()
	err = do(ctx)
	// Close cuts off running requests: a process that stops must not wait for a profile of 30 seconds.
	return errors.Join(err, srv.Close(), served(<-ended))
}

func served(err error) error {
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("serve the operator: %w", err)
}

// newLogger takes the formats json and text, and the levels debug, info, warn and error.
func newLogger(w io.Writer, format, level string) (*slog.Logger, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return nil, usage("--log-level: %w", err)
	}
	options := &slog.HandlerOptions{Level: l}
	if format == "json" {
		return slog.New(slog.NewJSONHandler(w, options)), nil
	}
	return slog.New(slog.NewTextHandler(w, options)), nil
}

func logUnsent(logger *slog.Logger) func(error) {
	return func(err error) { logger.WarnContext(context.Background(), "traces are not sent", "error", err) }
}
