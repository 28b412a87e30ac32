// Package worker delivers webhooks. It claims deliveries, makes their attempts, writes the results, retries, disables webhooks
// that fail for too long and deletes old data. Any number of workers share one PostgreSQL
// database; they coordinate only through leases on rows.
//
//	woken by the commit of an event, or every pollInterval
//	            │
//	deliveries ─┴─claim──► attempts (goroutines, bounded) ──► recorder ──► finished deliveries
//	                ▲                                            │
//	                └──── lanes: where deliveries wait, and ◄────┘
//	                      how many attempts may begin
//
// A worker leases only what it attempts at once: it fetches nothing ahead. Each webhook has a window: the number of attempts
// that may run at once. It grows with successes and shrinks with failures. Webhooks whose last attempt did not succeed share
// half of all attempts. So a receiver that hangs occupies a few attempts and delays no other webhook, however many deliveries
// wait for it. The worker reads the next of them only when an attempt of that webhook has ended.
//
// Disabling or deleting a webhook cancels its waiting deliveries at once. A separate loop moves these deliveries to
// finished_deliveries, a few hundred at a time.
//
// When a worker stops, it claims nothing more, lets running attempts end and releases those that do not end in time. When it is
// killed, its leases expire: see package queue.
package worker

import (
	"cmp"
	"context"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net/url"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"go.storefront.example/ent/count"
	"go.storefront.example/ent/db"
	"go.storefront.example/ent/queue"
	"go.storefront.example/ent/seal"
	"go.storefront.example/ent/usage"
	"go.storefront.example/worker/egress"
)

// The defaults of a Config.
const (
	// DefaultConcurrency is how many attempts one worker makes at a time.
	DefaultConcurrency = 256
	// DefaultDisableAfter is how long a webhook may fail without a success (specification, Limits).
	DefaultDisableAfter = 72 * time.Hour
	// DefaultRetention is how long finished deliveries are kept (specification, Limits).
	DefaultRetention = 30 * 24 * time.Hour
)

const (
	// pollInterval is the delay if a notification is lost.
	pollInterval = 500 * time.Millisecond
	// leaseMargin is the time to write the outcome.
	leaseMargin = 2 * time.Second
	// stopTimeout is how long running attempts may take to end once a worker stops.
	stopTimeout = 10 * time.Second
	// errorPause is the wait after a database error.
	errorPause = 500 * time.Millisecond
)

// Config configures a Worker. The zero value of a field is its default.
type Config struct {
	// DB has a current schema and should have queue.Settings. The caller closes it once Run has returned.
	DB *db.DB
	// Secrets decrypts the signing secrets.
	Secrets *seal.Keyring
	// Concurrency is how many attempts are made at a time; 0 means DefaultConcurrency.
	Concurrency int
	// RetryDelays are the waits between attempts, each lengthened at random by up to a tenth; nil means DefaultRetryDelays.
	RetryDelays []time.Duration
	// Timeout bounds one attempt; 0 means egress.DefaultTimeout.
	Timeout time.Duration
	// DisableAfter is how long a webhook may fail without a success; 0 means DefaultDisableAfter.
	DisableAfter time.Duration
	// Retention is how long events and finished deliveries are kept; 0 means DefaultRetention.
	Retention time.Duration
	// ActivityRetention is how long the activity journal is kept; 0 means for ever.
	ActivityRetention time.Duration
	// Targets allows receivers besides those at public https addresses.
	Targets egress.Policy
	// Proxy is nil for none.
	Proxy *url.URL
	// RootCAs are trusted for receivers' certificates; nil means the system's.
	RootCAs *x509.CertPool
	// Resolver is nil for the system's.
	Resolver egress.Resolver
	// PollOnly turns the database's notifications, and their connection, off.
	PollOnly bool
	// Metrics is nil for none. A registerer accepts only one worker.
	Metrics prometheus.Registerer
	// Traces makes the spans of attempts; nil for none.
	Traces trace.TracerProvider
	// Logger gets each failed attempt, and at level debug each successful one; nil logs nothing.
	Logger *slog.Logger
}

// Worker delivers webhooks.
type Worker struct {
	config   Config
	queue    *queue.Queue
	client   *egress.Client
	lanes    *lanePool
	metrics  *metrics
	usage    *usage.Recorder
	results  chan endedLease
	written  chan []endedLease
	unsigned sync.Map // the ids of webhooks for which a missing key was logged
	// stopTimeout and sweepTimeout are the constants, except in tests.
	stopTimeout, sweepTimeout time.Duration
}

// New logs which webhooks it cannot sign for, because c.Secrets lacks their key.
func New(ctx context.Context, c Config) (*Worker, error) {
	c.Concurrency = cmp.Or(c.Concurrency, DefaultConcurrency)
	if c.RetryDelays == nil {
		c.RetryDelays = DefaultRetryDelays()
	}
	c.Timeout = cmp.Or(c.Timeout, egress.DefaultTimeout)
	c.DisableAfter = cmp.Or(c.DisableAfter, DefaultDisableAfter)
	c.Retention = cmp.Or(c.Retention, DefaultRetention)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	w := &Worker{
		config: c, queue: queue.New(c.DB), lanes: newLanes(c.Concurrency), usage: usage.New(c.DB, c.Logger),
		results: make(chan endedLease, c.Concurrency), written: make(chan []endedLease, c.Concurrency),
		stopTimeout: stopTimeout, sweepTimeout: sweepTimeout,
	}
	w.queue.ActivityRetention = c.ActivityRetention
	if err := w.checkSecrets(ctx); err != nil {
		return nil, err
	}
	var err error
	if w.metrics, err = newMetrics(c.Metrics, c.Concurrency); err != nil {
		return nil, fmt.Errorf("register metrics: %w", err)
	}
	w.client = egress.New(egress.Options{
		Policy: c.Targets, Timeout: c.Timeout, Proxy: c.Proxy, RootCAs: c.RootCAs, Resolver: c.Resolver,
		// One host may have many webhooks of many stores, and get all attempts at once.
		MaxIdleConnsPerHost: c.Concurrency, MaxIdleConns: 2 * c.Concurrency,
	})
	return w, nil
}

// checkSecrets logs which webhooks have secrets under keys that the keyring lacks.
func (w *Worker) checkSecrets(ctx context.Context) error {
	unknown, err := w.config.Secrets.Unknown(ctx, w.config.DB)
	if len(unknown) > 0 {
		w.config.Logger.ErrorContext(ctx, "nothing is delivered to webhooks whose secrets are under another key than --secret-key and "+
			"--old-secret-keys", "webhooks", len(unknown), "named", seal.Names(unknown))
	}
	return err
}

// Run works until the context ends. It returns when every running attempt has ended and its result is written, and has released
// deliveries whose attempts do not end in time. Call it once.
func (w *Worker) Run(ctx context.Context) {
	// attemptCtx is for attempts and their results, which continue after ctx ends.
	attemptCtx, release := context.WithCancel(context.WithoutCancel(ctx))
	defer release()
	usageCtx, stopUsage := context.WithCancel(attemptCtx)
	defer stopUsage()
	counted := make(chan error, 1)
	go func() { counted <- w.usage.Run(usageCtx) }()
	var loops, recording sync.WaitGroup
	recording.Go(func() { w.record(attemptCtx) })
	loops.Go(func() { w.dispatch(ctx, attemptCtx) })
	loops.Go(func() { w.runPeriodically(ctx, sweepInterval, "sweep", w.sweep) })
	loops.Go(func() { w.runPeriodically(ctx, noticeInterval, "look for notices", w.notice) })
	loops.Go(func() { w.config.DB.KeepCurrent(ctx) })
	loops.Go(func() { count.New(w.config.DB).Run(ctx, w.config.Logger) })
	loops.Go(func() { w.runPeriodically(ctx, resendInterval, "look for resends", w.resend) })
	loops.Go(func() { w.runPeriodically(ctx, eraseInterval, "erase", w.erase) })
	loops.Go(func() { w.emptyLog(ctx) })
	loops.Go(func() { w.runPeriodically(ctx, cancelInterval, "cancel deliveries", w.cancel) })
	loops.Wait()
	close(w.results)
	recording.Wait()
	stopUsage()
	if err := <-counted; err != nil {
		w.config.Logger.WarnContext(attemptCtx, "write the use of webhooks", "error", err)
	}
	w.client.Close()
	w.config.Logger.InfoContext(attemptCtx, "worker stopped")
}

func (w *Worker) leaseDuration() time.Duration { return w.config.Timeout + leaseMargin }

// runPeriodically waits for interval after each call, and logs an error of fn with the message.
func (w *Worker) runPeriodically(ctx context.Context, interval time.Duration, message string, fn func(context.Context) error) {
	for {
		if err := fn(ctx); err != nil && ctx.Err() == nil {
			w.config.Logger.ErrorContext(ctx, message, "error", err)
		}
		if !pause(ctx, interval) {
			return
		}
	}
}

// inMilliseconds is for log lines, to the microsecond.
func inMilliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// pause reports whether the context is still live after d.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
