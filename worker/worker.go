// Package worker delivers webhooks: it turns what the outbox holds into deliveries, makes their
// attempts, writes down what came of them, tries again later, disables webhooks that fail for too
// long and forgets what is too old. Any number of workers share one PostgreSQL database; they
// know of each other only by the leases on rows.
//
//	             woken by the commit of an event, or every pollInterval
//	                         │
//	outbox ──relay──► lanes ─┴─► attempts (goroutines, bounded) ──► recorder ──► journal
//	                    ▲                                             │
//	                    └── claim: what waits in lanes with room ◄────┘ room again
//
// A delivery that is leased is being attempted: nothing is fetched ahead. Each webhook has a
// window, the number of attempts that may be under way, which grows with successes and shrinks
// with failures; webhooks that have not shown that they answer share half of all attempts. So a
// receiver that hangs holds a few attempts and delays nobody, however much waits for it, and what
// waits for it is not even looked at until one of its attempts has ended.
//
// What waits for a webhook that is disabled or deleted is cancelled by that; beside all the rest, a
// few hundred at a time, it is moved to the journal.
//
// When a worker is told to stop it claims nothing more, lets attempts under way end and gives back
// what did not. When it is killed its leases end by themselves: see package queue.
package worker

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sync/errgroup"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/queue"
	"go.storefront.example/ent/seal"
	"go.storefront.example/worker/egress"
)

// The defaults of a Config.
const (
	// DefaultConcurrency is how many attempts one worker makes at a time.
	DefaultConcurrency = 256
	// DefaultDisableAfter is how long a webhook may fail without a success (specification, Limits).
	DefaultDisableAfter = 72 * time.Hour
	// DefaultRetention is how long the journal is kept (specification, Limits).
	DefaultRetention = 30 * 24 * time.Hour
)

const (
	// pollInterval is how often a worker looks for work by itself: what a lost notification costs.
	pollInterval = 500 * time.Millisecond
	// leaseMargin is how much longer than an attempt its lease lasts: the time to write its outcome.
	leaseMargin = 2 * time.Second
	// stopTimeout is how long attempts under way may take to end once a worker is told to stop.
	stopTimeout = 10 * time.Second
	// errorPause is the wait after the database refused something.
	errorPause = 500 * time.Millisecond
)

// Config says how a Worker works. The zero value of a field is its default.
type Config struct {
	// Store is the database; its schema must be current and its connections should have
	// queue.Settings. The caller closes it once Run has returned.
	Store *db.DB
	// Secrets opens the signing secrets.
	Secrets *seal.Ring
	// Concurrency is how many attempts are made at a time; 0 means DefaultConcurrency.
	Concurrency int
	// RetryDelays are the waits between attempts, one fewer than there are attempts; nil means
	// DefaultRetryDelays. Each is lengthened by up to a tenth at random.
	RetryDelays []time.Duration
	// Timeout bounds one attempt; 0 means egress.DefaultTimeout.
	Timeout time.Duration
	// DisableAfter is how long a webhook may fail without a success before it is disabled.
	DisableAfter time.Duration
	// Retention is how long events and finished deliveries are kept.
	Retention time.Duration
	// Targets are the addresses that may be posted to beside public ones.
	Targets egress.Policy
	// Proxy is where connections are made through; nil for none.
	Proxy *url.URL
	// RootCAs are the authorities whose certificates receivers may have; nil is the system's.
	RootCAs *x509.CertPool
	// Resolver looks names up; nil is the system's.
	Resolver egress.Resolver
	// Deaf makes the worker poll only, which saves the connection that notifications come on.
	Deaf bool
	// Metrics gets the worker's metrics; nil for none. One registerer takes one worker.
	Metrics prometheus.Registerer
	// Traces makes the spans of attempts; nil makes none.
	Traces trace.TracerProvider
	// Logger gets a line for each attempt that failed, and at level debug for each that did not; nil
	// discards them.
	Logger *slog.Logger
}

// Worker delivers webhooks.
type Worker struct {
	config Config
	queue  *queue.Queue
	client *egress.Client
	lanes  *lanes
	tells  *metrics
	// relays and claims are how long the latest took.
	relays, claims pace
	results        chan result
	ended          chan []result
	// stopTimeout is the constant of the same name, but in tests.
	stopTimeout time.Duration
}

// New returns a worker, once it has made sure that it can sign: its error names the secret key
// that is missing.
func New(ctx context.Context, c Config) (*Worker, error) {
	if c.Concurrency == 0 {
		c.Concurrency = DefaultConcurrency
	}
	if c.RetryDelays == nil {
		c.RetryDelays = DefaultRetryDelays()
	}
	if c.Timeout == 0 {
		c.Timeout = egress.DefaultTimeout
	}
	if c.DisableAfter == 0 {
		c.DisableAfter = DefaultDisableAfter
	}
	if c.Retention == 0 {
		c.Retention = DefaultRetention
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	w := &Worker{
		config: c, queue: queue.On(c.Store), lanes: newLanes(c.Concurrency),
		results: make(chan result, c.Concurrency), ended: make(chan []result, c.Concurrency), stopTimeout: stopTimeout,
	}
	if err := w.checkSecrets(ctx); err != nil {
		return nil, err
	}
	var err error
	if w.tells, err = newMetrics(c.Metrics, c.Concurrency); err != nil {
		return nil, fmt.Errorf("register metrics: %w", err)
	}
	w.client = egress.New(egress.Options{
		Policy: c.Targets, Timeout: c.Timeout, Proxy: c.Proxy, RootCAs: c.RootCAs, Resolver: c.Resolver,
		// Many stores may have their webhooks at one host.
		MaxIdleConnsPerHost: c.Concurrency, MaxIdleConns: 2 * c.Concurrency,
	})
	return w, nil
}

// checkSecrets makes sure that every key is there that a secret is sealed with.
func (w *Worker) checkSecrets(ctx context.Context) error {
	rows, err := w.config.Store.Client().Webhook.Query().Unique(true).Select("secret_key").Strings(ctx)
	if err != nil {
		return fmt.Errorf("read the webhooks' keys: %w", err)
	}
	for _, key := range rows {
		if !w.config.Secrets.Knows(key) {
			return fmt.Errorf("--secret-key: webhooks have secrets under the key %q, which is not this one; "+
				"start with the key that they were created under, or name it in --old-secret-keys", key)
		}
	}
	return nil
}

// Run works until the context ends, then ends in good order: it returns nil once every attempt
// under way has ended and is written down, or was given back. It is called once.
func (w *Worker) Run(ctx context.Context) error {
	// Attempts and what is written of them outlive the order to stop.
	working, release := context.WithCancel(context.WithoutCancel(ctx))
	defer release()
	group, running := errgroup.WithContext(ctx)
	recorded := make(chan struct{})
	go func() {
		defer close(recorded)
		w.record(working)
	}()
	group.Go(func() error { return w.dispatch(running, working) })
	group.Go(func() error { return w.sweep(running) })
	group.Go(func() error { w.config.Store.WatchClock(running, w.config.Logger); return nil })
	group.Go(func() error { return w.resend(running) })
	group.Go(func() error { return w.cancel(running) })
	err := group.Wait()
	close(w.results)
	<-recorded
	w.client.Close()
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		err = nil
	}
	relays, relayP99 := w.relays.told()
	claims, claimP99 := w.claims.told()
	w.config.Logger.InfoContext(working, "worker stopped",
		"relays", relays, "relay_p99_ms", inMilliseconds(relayP99), "claims", claims, "claim_p99_ms", inMilliseconds(claimP99))
	return err
}

// lease is how long a delivery stays leased.
func (w *Worker) lease() time.Duration { return w.config.Timeout + leaseMargin }

// pause waits, or less long when the context ends, and tells whether it lasts.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
