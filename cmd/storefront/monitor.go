package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"

	"go.storefront.example/server/admin/rpc"
	"go.storefront.example/server/edge"
	"go.storefront.example/server/monitor"
)

// monitored is the setting of a command that shows how it is on a listener of its own.
type monitored struct {
	AdminAddr  string `clears:"" placeholder:"ADDR" help:"Address of the operator's listener: /healthz, /readyz, /metrics and, with --admin-token, /debug/pprof. Off without one."`
	AdminToken string `name:"admin-token" placeholder:"TOKEN" help:"Lets the operator see profiles, at least 32 characters. Better set as STOREFRONT_ADMIN_TOKEN."`
}

// beside runs do with the listener beside it, until do has ended.
func (m monitored) beside(ctx context.Context, c monitor.Config, do func(context.Context) error) error {
	if m.AdminAddr == "" {
		return do(ctx)
	}
	if m.AdminToken != "" {
		if err := (adminToken{m.AdminToken}).check(); err != nil {
			return err
		}
		c.Guard = rpc.NewGate(m.AdminToken, "").Guard
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", m.AdminAddr)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", m.AdminAddr, err)
	}
	shown := edge.NewServer(monitor.Handler(c), 0, c.Logger)
	shown.ErrorLog = slog.NewLogLogger(c.Logger.Handler(), slog.LevelError) // A panic is among what it logs.
	c.Logger.InfoContext(ctx, "listening", "admin_addr", listener.Addr().String())
	ended := make(chan error, 1)
	go func() { ended <- shown.Serve(listener) }()
	err = do(ctx)
	// Running requests are cut off: a stopping process does not wait for a profile.
	return errors.Join(err, shown.Close(), served(<-ended))
}

// served returns a server's error, nil if it was stopped.
func served(err error) error {
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("serve the operator: %w", err)
}
