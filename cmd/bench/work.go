package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"time"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/queue"
	"go.storefront.example/ent/seal"
	"go.storefront.example/worker"
	"go.storefront.example/worker/egress"
)

// workSecret is the environment variable with the secret key.
const workSecret = "STOREFRONT_BENCH_SECRET_KEY" //nolint:gosec // Its name only.

// workCommand delivers webhooks with a wrong clock until its standard input ends. A Go program reads
// its clock without the C library, so that nothing outside can set it.
type workCommand struct {
	Ahead time.Duration `help:"By how much its clock is ahead."`
}

// Run delivers.
func (c *workCommand) Run(ctx context.Context, io streams) (err error) {
	signal.Ignore(os.Interrupt)
	key, err := seal.ParseKey(os.Getenv(workSecret))
	if err != nil {
		return err
	}
	s, err := db.Open(ctx, db.Config{
		URL: os.Getenv(subjectDatabase), MaxConns: 6, Settings: queue.Settings(),
		ProcessClock: func() time.Time { return time.Now().Add(c.Ahead) },
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	w, err := worker.New(ctx, worker.Config{
		DB: s, Secrets: seal.NewRing(key), Targets: egress.Policy{AllowPrivate: true},
		Logger: slog.New(slog.NewJSONHandler(io.err, nil)),
	})
	if err != nil {
		return err
	}
	ctx, end := untilInputEnds(ctx, io.in)
	defer end()
	fmt.Fprintln(io.out, sayReady+"to work")
	w.Run(ctx)
	return nil
}
