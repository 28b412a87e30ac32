package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	_ "net/http/pprof" //nolint:gosec // Its handlers are served to whoever started this, on a listener of their own.
	"os"
	"os/signal"

	"go.storefront.example/cmd/bench/yardstick"
	"go.storefront.example/ent/db"
	"go.storefront.example/server"
	"go.storefront.example/server/rest"
)

// The two sides.
const (
	kindService   = "service"
	kindYardstick = "yardstick"
)

// subjectDatabase is the environment variable with the database's URL: an argument, and a password
// in it, would be seen by everyone on the machine.
const subjectDatabase = "STOREFRONT_BENCH_DATABASE_URL"

// subjectCommand serves one side until its standard input ends.
type subjectCommand struct {
	Kind  string `arg:"" enum:"service,yardstick" help:"service or yardstick."`
	Conns int    `required:"" help:"Connections to the database."`
}

// Run serves.
func (c *subjectCommand) Run(ctx context.Context, io streams) error {
	// An interrupt reaches all processes of a terminal; the one that started this one decides.
	signal.Ignore(os.Interrupt)
	ctx, end := untilInputEnds(context.WithoutCancel(ctx), io.in)
	defer end()
	profiles, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer func() { _ = profiles.Close() }()
	go func() { _ = http.Serve(profiles, nil) }() //nolint:gosec // net/http/pprof, for whoever started this.
	// The log costs what it costs a service whose log goes somewhere.
	sink, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer func() { _ = sink.Close() }()
	log := slog.New(slog.NewJSONHandler(sink, nil))
	serve := c.yardstick
	if c.Kind == kindService {
		serve = c.service
	}
	ready := func(address net.Addr) error {
		_, err := fmt.Fprintln(io.out, sayReady+address.String(), profiles.Addr())
		return err
	}
	return serve(ctx, os.Getenv(subjectDatabase), log, ready)
}

func (c *subjectCommand) service(ctx context.Context, url string, log *slog.Logger, ready func(net.Addr) error) (err error) {
	s, err := db.Open(ctx, db.Config{URL: url, MaxConns: c.Conns})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	srv, err := server.New(server.Config{Addr: "127.0.0.1:0", AdminAddr: "127.0.0.1:0", DB: s, Logger: log})
	if err != nil {
		return err
	}
	if err := ready(srv.Addr()); err != nil {
		return err
	}
	return srv.Run(ctx)
}

func (c *subjectCommand) yardstick(ctx context.Context, url string, log *slog.Logger, ready func(net.Addr) error) (err error) {
	service, err := yardstick.New(ctx, url, c.Conns, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, service.Close()) }()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	// The same time-outs as the service has: each costs a timer.
	srv := &http.Server{
		Handler: service, ReadHeaderTimeout: rest.ReadHeaderTimeout, ReadTimeout: rest.ReadTimeout,
		WriteTimeout: rest.WriteTimeout, IdleTimeout: rest.IdleTimeout,
	}
	if err := ready(listener.Addr()); err != nil {
		return err
	}
	go func() {
		<-ctx.Done()
		_ = srv.Close()
	}()
	if err := srv.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
