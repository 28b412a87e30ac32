package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sync/errgroup"

	"go.storefront.example/cmd/storefront/doctor"
	"go.storefront.example/ent/apijson"
	"go.storefront.example/ent/db"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/notice"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/dashboard/signin"
	"go.storefront.example/server/docs"
	"go.storefront.example/server/edge"
	"go.storefront.example/server/monitor"
	"go.storefront.example/server/validate"
	"go.storefront.example/server/webhooks"
	"go.storefront.example/worker"
)

type devCmd struct {
	Addr       string    `default:"127.0.0.1:8080" placeholder:"ADDR" help:"Address of the public API."`
	AdminAddr  string    `default:"127.0.0.1:8081" placeholder:"ADDR" help:"Address of the admin listener; on a loopback address the admin services need no token."`
	AdminToken string    `secret:"" placeholder:"TOKEN" help:"Token of the operator for the admin services, at least 32 characters. Without a token the services are open on a loopback --admin-addr, and off elsewhere."`
	Data       string    `default:".storefront" placeholder:"DIR" help:"Folder of the embedded database and the API key; delete it to start anew."`
	NewKey     bool      `name:"new-key" help:"Make another API key and revoke the one of the start before."`
	RateLimit  rateLimit `name:"rate-limit" default:"120" placeholder:"N" help:"Requests that an API key may make in a minute, or off."`
	LogFormat  string    `enum:"json,text" default:"text" placeholder:"FORMAT" help:"json or text."`
	LogLevel   string    `enum:"debug,info,warn,error" default:"info" placeholder:"LEVEL" help:"debug, info, warn or error."`
}

// devMember is whom dev's sign-in link signs in.
const devMember = "Developer"

func (c *devCmd) Run(s *invocation) error {
	outliveReaders()
	if err := (adminToken{c.AdminToken}).check(); err != nil {
		return err
	}
	logger, err := newLogger(s.errs, c.LogFormat, c.LogLevel)
	if err != nil {
		return err
	}
	logger = slog.New(devLog{logger.Handler()})
	if err := os.MkdirAll(c.Data, 0o700); err != nil {
		return fmt.Errorf("--data: %w", err)
	}
	data := database{DatabaseURL: "sqlite:" + filepath.Join(c.Data, devDatabase)}
	// Claim the database first, which fails while a dev runs in the same folder. A second dev must not revoke the API key of
	// the running one.
	return withClaim(data.DatabaseURL, func() error { return c.start(s, data, logger) })
}

func (c *devCmd) start(s *invocation, data database, logger *slog.Logger) error {
	if err := migrate(s.ctx, data, watcher{begin: func(db.Migration) {}, applied: func(db.Migration) {}}); err != nil {
		return err
	}
	// Until dev serves, and after it has ended, the file has no address, and commands use the database directly.
	folder := &devFolder{path: c.Data}
	if err := folder.write(); err != nil {
		return err
	}
	defer func() { _ = folder.write() }()
	if err := makeDemo(s.ctx, data.DatabaseURL); err != nil {
		return err
	}
	handle, err := data.openWith(s.ctx, boundedConfig(edge.DefaultTimeout))
	if err != nil {
		return err
	}
	return errors.Join(c.serve(s, handle, data, logger), handle.Close())
}

func (c *devCmd) serve(s *invocation, handle *db.DB, data database, logger *slog.Logger) error {
	ring, err := secretKey{}.ring(data)
	if err != nil {
		return err
	}
	targets := devTargets
	t, err := s.openTraces(logUnsent(logger))
	if err != nil {
		return err
	}
	defer t.flush(s.ctx)
	registry := monitor.NewRegistry(handle, logger)
	deliveries, err := worker.New(s.ctx, worker.Config{
		DB: handle, Secrets: ring, Targets: targets, Metrics: registry, Traces: t.tracerProvider(), Logger: logger,
	})
	if err != nil {
		return err
	}
	receives, err := newReceiver(func(got received) { showReceived(s, got) })
	if err != nil {
		return err
	}
	defer func() { _ = receives.listener.Close() }()
	config := server.Config{
		Addr: c.Addr, AdminAddr: c.AdminAddr, AdminToken: c.AdminToken, AdminOpen: true, DB: handle, Metrics: registry,
		Traces: t.tracerProvider(), Logger: logger,
		Options: admin.Options{Webhooks: webhooks.Options{Secrets: ring, Targets: targets}}, PublicDocs: true,
		RequestsPerMinute: int(c.RateLimit),
	}
	group, ctx := errgroup.WithContext(s.ctx)
	// A dev that cannot bind its addresses must not revoke the key of an earlier start.
	group.Go(func() error {
		return serve(ctx, config, deliveries, func(running *server.Server) error {
			o := admin.New(handle, config.Options)
			_, demo, err := storeNamed(ctx, o, demoSlug)
			if err != nil {
				return err
			}
			if demo.GetStatus() != storefrontv1.Store_open {
				s.printMessage(fmt.Sprintf("the store %s is %s: the API refuses its key", demoSlug, demo.GetStatus()))
			}
			// Turn notices off, so that none reports dev's own key.
			if err := notice.SetWebhook(ctx, handle, nil, "", ""); err != nil {
				return err
			}
			key, err := c.apiKey(ctx, s, handle, o, demo.GetId())
			if err != nil {
				return err
			}
			if err := receives.register(ctx, o, demoSlug); err != nil {
				return err
			}
			if err := notice.SetWebhook(ctx, handle, ring, receives.url(), receives.secret); err != nil {
				return err
			}
			group.Go(func() error { return receives.run(ctx) })
			folder := &devFolder{path: c.Data, NeedsToken: c.AdminToken != ""}
			if running.HasDashboard() {
				folder.AdminURL = baseURL(running.AdminAddr())
			}
			if err := folder.write(); err != nil {
				return err
			}
			token := ""
			if folder.NeedsToken {
				token = " and with STOREFRONT_ADMIN_TOKEN set to the --admin-token"
			}
			g := greeting{
				Store: apijson.Marshal(demo), Key: key.text, URL: baseURL(running.Addr()), AdminURL: baseURL(running.AdminAddr()), Data: c.Data,
				Receiver: receives.url(), Docs: baseURL(running.Addr()) + docs.Path,
				token: token, shownKey: key.description(c.Data),
			}
			// Signing in from other machines needs https.
			if _, err := signin.CheckBaseURL(g.AdminURL); err == nil && running.HasDashboard() {
				link, err := o.CreateSignInLink(ctx, &adminv1.CreateSignInLinkRequest{
					Store: demoSlug, Member: devMember, Role: adminv1.Session_owner, BaseUrl: g.AdminURL,
					ExpiresSeconds: new(int32(validate.MaxOf("storefront.admin.v1.CreateSignInLinkRequest.expires_seconds"))),
				})
				if err != nil {
					return err
				}
				g.Dashboard = link.GetUrl()
			}
			if err := printReady(s, g, demo); err != nil && !errors.Is(err, syscall.EPIPE) {
				return err
			}
			return nil
		})
	})
	return group.Wait()
}

func showReceived(s *invocation, got received) {
	if s.json {
		return // with -o json, standard output has exactly one JSON value: the greeting
	}
	verified := "signature verified"
	if !got.Verified {
		verified = "REFUSED: the signature does not match"
	}
	text := fmt.Sprintf("\n← %s, attempt %s, %s: %s\n", got.Type, got.Attempt, verified, visible(got.About))
	if len(got.Data) > 0 && got.Type != hook.Ping { // the text above is all that a ping has
		text += fmt.Sprintf("  %s\n", got.Data)
	}
	_, _ = io.WriteString(s.out, text)
}

type greeting struct {
	Store    json.RawMessage `json:"store"`
	Key      string          `json:"key"`
	URL      string          `json:"url"`
	AdminURL string          `json:"adminUrl"`
	Docs     string          `json:"docs"`
	// Dashboard is a link that signs in once; "" if there is no dashboard, or AdminURL is not an address of this machine.
	Dashboard string `json:"dashboard"`
	Receiver  string `json:"receiver"`
	Data      string `json:"data"`
	Curl      string `json:"curl"`

	shownKey string // the key with its expiry and its file, for people
	token    string // how to pass the admin token to a command; "" without a token
}

func printReady(s *invocation, g greeting, demo *storefrontv1.Store) error {
	g.Curl = fmt.Sprintf(`curl -H "Authorization: Bearer %s" "%s/v1/products?pageSize=2"`, g.Key, g.URL)
	if s.json {
		return s.printValue(g)
	}
	folder, program, listenFlags, triggerFlags := g.commands(os.Args[0])
	_, err := fmt.Fprintf(s.out, `
  store     %s (%s); the store %s beside it sells in EUR
  API       %s/v1
  reference %s
  key       %s
  operator  %s  (/healthz, /readyz, /metrics)
  dashboard %s
  webhook   %s (what arrives is shown here)
  data      %s

Try it:

  %s

Set the variables that the guide's examples read:

  export SHOP_URL=%s SHOP_KEY=%s

In %s%s, forward events to a program of yours, and make some:

  %[16]s listen --forward-to http://localhost:3000/webhooks%[17]s
  %[16]s trigger order.paid%[18]s

Ctrl-C stops it.
`, demo.GetName(), demo.GetSlug(), demoEuroSlug, g.URL, g.Docs, g.shownKey, g.AdminURL, g.dashboard(), g.Receiver, g.Data, g.Curl,
		g.URL, g.Key, folder, g.token, program, listenFlags, triggerFlags)
	return err
}

// commands returns texts for the greeting: where commands run, how they call this program, and flags of listen and trigger. go
// run deletes its program, so the greeting names go run, which works only in the clone's top folder.
func (g greeting) commands(program string) (folder, command, listenFlags, triggerFlags string) {
	goRun := strings.Contains(program, "go-build")
	switch {
	case goRun && g.Data == devData:
		return "this folder", goRunProgram, "", ""
	case goRun:
		return "this folder", goRunProgram, " --admin-url " + g.AdminURL, " --yes --admin-url " + g.AdminURL
	case g.Data == devData:
		return "this folder or below", program, "", ""
	}
	return g.Data + " or below", program, "", ""
}

const goRunProgram = "go run ./cmd/storefront"

func (g greeting) dashboard() string {
	if g.Dashboard == "" {
		return "off: --admin-addr is no loopback address"
	}
	return g.Dashboard + " (signs in once)"
}

// baseURL returns the address at which programs on this machine reach a listener.
func baseURL(a net.Addr) string { return "http://" + doctor.Reachable(a.String()) }
