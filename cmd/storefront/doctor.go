package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/alecthomas/kong"

	"go.storefront.example/cmd/storefront/doctor"
	"go.storefront.example/ent/db"
	"go.storefront.example/ent/tenant"
)

type doctorCmd struct {
	database
	secretKey
	Buckets     string `clears:"" placeholder:"RANGES" help:"Buckets of this installation, as set for the server."`
	AdminToken  string `secret:"" placeholder:"TOKEN" help:"The operator's token, as set for the server."`
	Addr        string `default:":8080" placeholder:"ADDR" help:"Address of the public API, as set for the server."`
	AdminAddr   string `default:"127.0.0.1:8081" placeholder:"ADDR" help:"Address of the admin listener, as set for the server."`
	EgressProxy string `secret:"" placeholder:"URL" help:"Proxy for all deliveries, as set for the worker."`
	CheckURL    string `name:"check-url" placeholder:"URL|none" help:"HTTPS URL to which doctor makes one TLS connection; none skips this check."`
}

func (c *doctorCmd) Run(s *invocation, set *settings, k *kong.Context) error {
	found := []doctor.Finding{doctor.Variables(os.Environ(), variables(k.Model.Node))}
	for _, command := range []string{"server", "worker"} {
		found = append(found, doctor.Command(command, accepted(set, command)))
	}
	found = append(found, doctor.AdminToken(c.AdminToken))
	var buckets tenant.Buckets
	if err := buckets.UnmarshalText([]byte(c.Buckets)); err != nil {
		found = append(found, doctor.Refused("buckets", err))
	}
	found = append(found, c.databases(s.ctx, set, buckets)...)
	found = append(found, doctor.Addr(s.ctx, c.Addr), doctor.AdminAddr(s.ctx, c.AdminAddr))
	var proxy proxyURL
	if err := proxy.UnmarshalText([]byte(c.EgressProxy)); err != nil {
		found = append(found, doctor.Refused("egress-proxy", err))
	} else {
		found = append(found, doctor.Outbound(s.ctx, c.CheckURL, proxy.url))
	}
	if err := s.findings(found); err != nil {
		return err
	}
	failed := 0
	for _, f := range found {
		if f.Status == doctor.Fail {
			failed++
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d checks failed", failed, len(found))
	}
	return nil
}

// accepted returns the error with which server or worker would refuse its settings, or nil.
func accepted(set *settings, command string) error {
	c, err := parsed(set, command)
	switch {
	case err != nil:
		return err
	case command == "worker":
		return c.Worker.check()
	}
	_, err = c.Server.check()
	return err
}

// parsed returns the flags with which server or worker would start.
func parsed(set *settings, command string) (*cli, error) {
	exited := false
	var c cli
	parser, err := newParser(&c, kong.Name("storefront"), kong.Writers(io.Discard, io.Discard),
		kong.Exit(func(int) { exited = true }), kong.Resolvers(set), kong.Bind(set))
	if err != nil {
		return nil, err
	}
	args := []string{command}
	if set.path != "" {
		args = append(args, "--config", set.path)
	}
	k, err := parser.Parse(args)
	if err == nil && exited {
		err = errors.New("it only shows its help")
	}
	if err == nil {
		_, err = explicit(k)
	}
	return &c, err
}

// conns returns how many connections a server and a worker open at most; a server with --worker needs no other worker.
func (c *doctorCmd) conns(set *settings) (server, worker int) {
	if other, err := parsed(set, "server"); err == nil && other.Server.Worker {
		own := other.Server
		own.database = c.database
		return own.conns(), 0
	}
	return c.config(boundedConfig(0)).Conns(), c.config(workerConfig()).Conns()
}

func (c *doctorCmd) databases(ctx context.Context, set *settings, buckets tenant.Buckets) []doctor.Finding {
	// On SQLite the key is in a file beside the database, so read the keys before that is opened.
	keys := c.keys(c.DatabaseURL)
	used := doctor.Used(c.DatabaseURL)
	handle, reached := doctor.Open(ctx, db.Config{
		URL: c.DatabaseURL, MaxConns: 2, Settings: map[string]string{"application_name": doctor.ApplicationName},
	})
	found := append([]doctor.Finding{reached}, doctor.Hosts(db.Hosts(ctx, c.DatabaseURL))...)
	if strings.HasPrefix(c.DatabaseURL, "postgres") {
		found = append(found, doctor.URL(c.DatabaseURL))
	}
	if path, embedded := strings.CutPrefix(c.DatabaseURL, "sqlite:"); embedded && exists(path) {
		key, _ := keyFile(c.DatabaseURL)
		found = append(found, doctor.Files(path, key)...)
	}
	if handle != nil {
		defer func() { _ = handle.Close() }()
	}
	inst := doctor.Installation{Keys: keys, Used: used, Buckets: buckets}
	inst.ServerConns, inst.WorkerConns = c.conns(set)
	return append(found, doctor.Database(ctx, handle, inst)...)
}

func (s *invocation) findings(found []doctor.Finding) error {
	if s.json || s.csv {
		objects := make([][]byte, len(found))
		for i, f := range found {
			text, err := plainJSON(f)
			if err != nil {
				return err
			}
			objects[i] = text
		}
		return s.printObjects([]byte(`{"check":"","status":"","message":"","remedy":""}`), objects)
	}
	var lines strings.Builder
	for _, f := range found {
		fmt.Fprintf(&lines, "%-5s %-17s %s\n", f.Status, f.Check, visible(f.Message))
		if f.Remedy != "" {
			fmt.Fprintf(&lines, "%24s→ %s\n", "", visible(f.Remedy))
		}
	}
	_, err := io.WriteString(s.out, lines.String())
	return err
}
