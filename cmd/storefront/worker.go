package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/queue"
	"go.storefront.example/ent/seal"
	"go.storefront.example/server/monitor"
	"go.storefront.example/worker"
	"go.storefront.example/worker/egress"
)

type attempts struct {
	Concurrency       count         `default:"256" placeholder:"N" help:"Maximum attempts at the same time. One webhook gets at most an eighth; webhooks that have not succeeded yet share half."`
	RetryDelays       delays        `default:"1m,5m,15m,1h,3h,6h,12h" placeholder:"WAIT,…" help:"Waits before the second attempt, the third, and so on, each up to a tenth longer at random."`
	Timeout           time.Duration `default:"10s" placeholder:"TIME" help:"Longest time for an attempt, from the look-up of the host to the response's headers."`
	Retention         time.Duration `default:"720h" placeholder:"TIME" help:"How long events and the delivery journal are kept, and can be sent again."`
	ActivityRetention time.Duration `placeholder:"TIME" help:"How long entries of the activity journal are kept, such as 8760h (default: for ever)."`
	EgressProxy       proxyURL      `secret:"" placeholder:"URL" help:"Proxy for all deliveries. It must itself reject private IP addresses. The environment's proxy is never used."`
	Listen            onOff         `default:"on" placeholder:"on|off" help:"Whether PostgreSQL wakes the worker. off saves a connection: the worker then looks twice a second."`
}

// config is what these flags set. The caller adds what its process shares.
func (a attempts) config() worker.Config {
	return worker.Config{
		Concurrency: int(a.Concurrency), RetryDelays: a.RetryDelays.waits, Timeout: a.Timeout, Retention: a.Retention,
		ActivityRetention: a.ActivityRetention, Proxy: a.EgressProxy.url, PollOnly: !bool(a.Listen),
	}
}

func (a attempts) logDelivering(ctx context.Context, logger *slog.Logger) {
	logger.InfoContext(ctx, "delivering", "concurrency", int(a.Concurrency), "attempts", len(a.RetryDelays.waits)+1)
}

type workerCmd struct {
	database
	secretKey
	monitored
	notices
	attempts
	DisableAfter        time.Duration `default:"72h" placeholder:"TIME" help:"How long a webhook may fail without a success before the worker disables it."`
	AllowPrivateTargets bool          `help:"Deliver to private IP addresses too, for tests and development."`
	LogFormat           string        `enum:"json,text" default:"json" placeholder:"FORMAT" help:"Format of the log: json or text. Each failed attempt has one line."`
	LogLevel            string        `enum:"debug,info,warn,error" default:"info" placeholder:"LEVEL" help:"Lowest level that is logged: debug, info, warn or error."`
}

// workerConns: one for claims, one for results, and a few for resends and for deleting old data.
const workerConns = 6

func workerConfig() db.Config { return db.Config{MaxConns: workerConns, Settings: queue.Settings()} }

// check refuses settings with which the worker does not start. It opens nothing.
func (c *workerCmd) check() error {
	return errors.Join(c.monitored.check(), c.secretKey.check(), c.notices.check(egress.Policy{AllowPrivate: c.AllowPrivateTargets}))
}

func (c *workerCmd) Run(s *invocation) error {
	outliveReaders()
	if err := c.check(); err != nil {
		return err
	}
	logger, err := newLogger(s.errs, c.LogFormat, c.LogLevel)
	if err != nil {
		return err
	}
	ring, err := c.ring(c.database)
	if err != nil {
		return err
	}
	handle, err := c.openWith(s.ctx, workerConfig())
	if err != nil {
		return err
	}
	err = c.notices.set(s.ctx, handle, func() (*seal.Keyring, error) { return ring, nil })
	if err != nil {
		return errors.Join(err, handle.Close())
	}
	return errors.Join(c.deliver(s, handle, ring, logger), handle.Close())
}

func (c *workerCmd) deliver(s *invocation, handle *db.DB, ring *seal.Keyring, logger *slog.Logger) error {
	t, err := s.openTraces(logUnsent(logger))
	if err != nil {
		return err
	}
	defer t.flush(s.ctx)
	registry := monitor.NewRegistry(handle, logger)
	settings := c.attempts.config()
	settings.DB, settings.Secrets, settings.DisableAfter = handle, ring, c.DisableAfter
	settings.Targets = egress.Policy{AllowPrivate: c.AllowPrivateTargets}
	settings.Metrics, settings.Traces, settings.Logger = registry, t.tracerProvider(), logger
	w, err := worker.New(s.ctx, settings)
	if err != nil {
		return err
	}
	config := monitor.Config{Metrics: registry, Logger: logger, Ready: monitor.NewReadiness(handle).Check}
	return c.serveBeside(s.ctx, config, func(ctx context.Context) error {
		c.logDelivering(ctx, logger)
		w.Run(ctx)
		return nil
	})
}

// maxDelays limits --retry-delays. Each wait is before one more attempt of a delivery.
const maxDelays = 30

type delays struct{ waits []time.Duration }

// UnmarshalText reads at most maxDelays durations, separated by commas.
func (d *delays) UnmarshalText(text []byte) error {
	d.waits = nil
	for part := range strings.SplitSeq(string(text), ",") {
		wait, err := time.ParseDuration(strings.TrimSpace(part))
		if err != nil || wait < time.Millisecond {
			return fmt.Errorf("must be waits such as 1m,5m,1h, not %q", part)
		}
		d.waits = append(d.waits, wait)
	}
	if len(d.waits) > maxDelays {
		return fmt.Errorf("must be at most %d waits", maxDelays)
	}
	return nil
}

type proxyURL struct{ url *url.URL }

// UnmarshalText reads an http, https or socks5 address, or none.
func (p *proxyURL) UnmarshalText(text []byte) error {
	p.url = nil
	if isNone(text) {
		return nil
	}
	// The error does not show the text, because the text may contain a password.
	u, err := url.Parse(string(text))
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "socks5") {
		return errors.New("must be a proxy's address such as http://proxy.example:3128")
	}
	p.url = u
	return nil
}
