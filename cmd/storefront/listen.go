package main

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"go.storefront.example/ent/hook"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/admin/rpc"
	"go.storefront.example/server/apierr"
	"go.storefront.example/worker/egress"
	"go.storefront.example/worker/signature"
)

type listenCmd struct {
	adminListener
	ForwardTo   string   `placeholder:"URL" help:"Where to post events that match no --forward: http or https, private and local IP addresses included; localhost:3000/hooks is enough."`
	Forward     []string `sep:"none" placeholder:"TYPE=URL" help:"Where to post the events of a type, such as order.paid=URL or order.*=URL; may be repeated, and the most specific pattern wins."`
	Store       string   `placeholder:"SLUG" help:"The store, by slug or id; not needed if there is only one."`
	Events      []string `placeholder:"TYPE" help:"Event types to receive: ${events}, ping (default: all of them)."`
	PrintJSON   bool     `name:"print-json" help:"Print each event on standard output, one a line, in the bytes that are forwarded; everything else goes to standard error."`
	PrintSecret bool     `name:"print-secret" help:"Print only the signing secret, and end."`
}

const (
	maxForwards = 8
	// minWait grows to maxWait with each failure to connect again.
	minWait = 250 * time.Millisecond
	maxWait = 10 * time.Second
)

type listening struct {
	Store     string            `json:"store"`
	AdminURL  string            `json:"adminUrl"`
	ForwardTo string            `json:"forwardTo"`
	Forward   map[string]string `json:"forward"`
	Events    []string          `json:"events"`
	Secret    string            `json:"secret"`
}

// Run forwards events until the user interrupts it.
func (c *listenCmd) Run(s *invocation) error {
	if s.json && c.PrintJSON {
		return usage("--print-json prints one event a line; leave -o json out")
	}
	routes, err := readRoutes(c.ForwardTo, c.Forward)
	if err != nil {
		return err
	}
	if len(routes) == 0 && !c.PrintSecret {
		return usage("name where to post the events: --forward-to URL, or --forward TYPE=URL")
	}
	from := c.adminListener
	var dev *devFolder
	if from.AdminURL == "" {
		if dev, err = s.runningDev(from.AdminToken); err != nil {
			return err
		}
		from.AdminURL = dev.AdminURL
		s.printMessage("using `storefront dev` at " + dev.AdminURL + " (" + dev.path + ")")
	}
	client, err := from.client()
	if err != nil {
		return err
	}
	_, store, err := storeNamed(s.ctx, client, c.Store)
	if err != nil {
		return s.withHint(s.ctx, client, err)
	}
	secret, err := listenSecret(from.AdminToken, dev, store.GetId())
	if err != nil {
		return err
	}
	if c.PrintSecret {
		return s.printSecret(secret, from.AdminToken != "" || dev != nil)
	}
	if !c.PrintJSON {
		outliveReaders() // with --print-json it ends with the program that reads the events
	}
	l := &listener{
		invocation: s, server: from, dev: dev, client: client, store: store, events: c.Events, printJSON: c.PrintJSON,
		routes: routes, forwarder: newForwarder(secret), slots: make(chan struct{}, maxForwards), seen: map[string]bool{},
	}
	defer l.forwarder.client.Close()
	defer l.posts.Wait()
	return l.run()
}

// printSecret serves --print-secret. It fails for a secret of this start only, which would soon be useless.
func (s *invocation) printSecret(secret string, lasting bool) error {
	switch {
	case !lasting:
		return usage("--print-secret: without --admin-token the secret is another one at each start; listen prints it")
	case s.json:
		return s.printValue(map[string]string{"secret": secret})
	}
	_, err := fmt.Fprintln(s.out, secret)
	return err
}

// listener receives the events of a store and forwards each of them once. If the connection is lost, it connects again.
//
//	connect ─► an answer with events and a position ─► post new events, maxForwards at a time ─► print results
//	   ▲
//	   └── connection lost: wait, then connect again from the position of the last answer
type listener struct {
	*invocation
	server    adminListener
	dev       *devFolder
	client    *rpc.Client
	store     *storefrontv1.Store
	events    []string
	printJSON bool
	routes    routes
	forwarder *forwarder

	// since is the position of the server's last answer, and seen has the ids of the events after it that listen has received.
	since string
	seen  map[string]bool
	slots chan struct{}
	posts sync.WaitGroup
	mu    sync.Mutex // guards hint and the output
	hint  bool       // true once listen has printed how to send an event again
}

// run follows the events until the context ends, the first connection fails, or a later one is refused.
func (l *listener) run() error {
	for wait, lost := minWait, false; ; {
		err := l.client.Watch(l.ctx, &adminv1.WatchEventsRequest{Store: l.store.GetId(), Types: l.events, Since: l.since},
			func(answer *adminv1.WatchEventsResponse) error {
				switch {
				case l.since == "":
					if err := l.printReady(); err != nil {
						return err
					}
				case lost:
					l.show(l.errs, "storefront: connected again")
				}
				wait, lost = minWait, false
				return l.forwardNew(answer)
			})
		if l.ctx.Err() != nil {
			return nil //nolint:nilerr // The user has interrupted listen, which is no error.
		}
		if err != nil && (l.since == "" || !isTransient(err)) {
			return err
		}
		if err != nil && !lost {
			lost = true
			l.show(l.errs, "storefront: the connection is lost, and will be made again: "+l.errorLine(err))
		}
		select {
		case <-l.ctx.Done():
			return nil
		case <-time.After(wait + rand.N(wait/4)):
		}
		wait = min(2*wait, maxWait)
		l.refreshClient()
	}
}

// isTransient reports whether connecting again may help: no answer, or an error inside the server.
func isTransient(err error) bool {
	var r *apierr.Refusal
	return !errors.As(err, &r) || slices.Contains([]apierr.Code{apierr.Unavailable, apierr.InternalError, apierr.DeadlineExceeded,
		apierr.Canceled}, r.Code)
}

// refreshClient makes a client for dev's present address, because a restarted dev may have another port.
func (l *listener) refreshClient() {
	if l.dev == nil {
		return
	}
	if now := readDev(l.dev.path); now.acceptsToken(l.server.AdminToken) {
		l.server.AdminURL = now.AdminURL
		if client, err := l.server.client(); err == nil {
			l.client = client
		}
	}
}

func (l *listener) printReady() error {
	g := listening{l.store.GetSlug(), l.server.AdminURL, "", map[string]string{}, slices.Clone(l.events), l.forwarder.secret}
	if g.Events == nil {
		g.Events = []string{}
	}
	for _, r := range l.routes {
		if r.types == "*" {
			g.ForwardTo = r.to
		} else {
			g.Forward[r.types] = r.to
		}
	}
	if l.json {
		return l.printValue(g)
	}
	types := "all events"
	if len(g.Events) > 0 {
		types = strings.Join(g.Events, ", ")
	}
	l.show(l.statusWriter(), fmt.Sprintf("Ready: %s of %s (%s) → %s\nsigning secret: %s\nCtrl-C stops it.\n",
		types, l.store.GetName(), g.Store, l.routes, g.Secret))
	return nil
}

// statusWriter keeps lines for people apart from JSON on standard output.
func (l *listener) statusWriter() io.Writer {
	if l.json || l.printJSON {
		return l.errs
	}
	return l.out
}

func (l *listener) show(w io.Writer, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _ = fmt.Fprintln(w, text)
}

// forwardNew posts the events that no earlier answer had. It waits while maxForwards are being posted.
func (l *listener) forwardNew(answer *adminv1.WatchEventsResponse) error {
	for _, e := range answer.GetEvents() {
		if l.seen[e.GetId()] {
			continue
		}
		select {
		case <-l.ctx.Done():
			return l.ctx.Err()
		case l.slots <- struct{}{}:
		}
		l.seen[e.GetId()] = true
		if l.printJSON {
			l.show(l.out, e.GetPayload())
		}
		l.posts.Go(func() {
			l.post(e)
			<-l.slots
		})
	}
	if position := answer.GetPosition(); position != l.since {
		l.since = position
		clear(l.seen) // another stream from this position sends none of them
	}
	return nil
}

func (l *listener) post(e *adminv1.Event) {
	to, routed := l.routes.addressFor(e.GetType())
	if !routed {
		l.show(l.statusWriter(), describeEvent(e)+"  → nowhere: no --forward takes it")
		return
	}
	// An interrupt does not end a started post; only the post's own timeout does.
	r := l.forwarder.post(context.WithoutCancel(l.ctx), to, e)
	l.show(l.statusWriter(), describeForward(e, r))
	if r.Succeeded() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.hint {
		l.hint = true
		_, _ = fmt.Fprintf(l.errs, "storefront: to send it again: storefront event resend %s --forward-to %s\n", e.GetId(), to)
	}
}

type route struct {
	types string // one type, such as order.paid; a beginning of types, such as order.*; or * for all
	to    string
}

// routes has the most specific route first: single types, then beginnings of types, the longest first.
type routes []route

// readRoutes reads --forward. defaultURL, of --forward-to, takes all other types; "" means none.
func readRoutes(defaultURL string, given []string) (routes, error) {
	var all routes
	if defaultURL != "" {
		to, err := forwardAddress("--forward-to", defaultURL)
		if err != nil {
			return nil, err
		}
		all = append(all, route{"*", to})
	}
	known := append(hook.EventTypes(), hook.Ping)
	for _, one := range given {
		types, url, found := strings.Cut(one, "=")
		types = strings.TrimSpace(types)
		if !found || types == "" || url == "" {
			return nil, usage("--forward %s: must be a type and a URL, such as order.paid=localhost:3000/orders", one)
		}
		to, err := forwardAddress("--forward "+types, strings.TrimSpace(url))
		if err != nil {
			return nil, err
		}
		r := route{types, to}
		switch {
		case !slices.ContainsFunc(known, r.takes):
			return nil, usage("--forward %s: takes none of the types %s; the beginning of types ends with *", one,
				strings.Join(known, ", "))
		case slices.ContainsFunc(all, func(other route) bool { return other.types == types }):
			return nil, usage("--forward %s: there is another address for %s", one, types)
		}
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b route) int {
		return cmp.Or(strings.Count(a.types, "*")-strings.Count(b.types, "*"), len(b.types)-len(a.types))
	})
	return all, nil
}

func (r route) takes(eventType string) bool {
	beginning, isPrefix := strings.CutSuffix(r.types, "*")
	return eventType == r.types || isPrefix && strings.HasPrefix(eventType, beginning)
}

// addressFor reports with routed whether a route takes the type.
func (all routes) addressFor(eventType string) (to string, routed bool) {
	for _, r := range all {
		if r.takes(eventType) {
			return r.to, true
		}
	}
	return "", false
}

// String describes the routes in one line.
func (all routes) String() string {
	if len(all) == 1 && all[0].types == "*" {
		return all[0].to
	}
	texts := make([]string, len(all))
	for i, r := range all {
		texts[i] = r.types + " " + r.to
	}
	return strings.Join(texts, ", ")
}

// forwardAddress accepts a URL of any machine, which may leave out http://.
func forwardAddress(flag, url string) (string, error) {
	if !strings.Contains(url, "://") {
		url = "http://" + url
	}
	if err := egress.CheckURL(url, devTargets); err != nil {
		return "", usage("%s: %w", flag, err)
	}
	return url, nil
}

// forwarder posts events with a worker's client, headers and bytes. Goroutines may share it.
type forwarder struct {
	secret string
	client *egress.Client
}

func newForwarder(secret string) *forwarder {
	return &forwarder{secret, egress.New(egress.Options{Policy: devTargets})}
}

func (f *forwarder) post(ctx context.Context, to string, e *adminv1.Event) egress.Result {
	body := []byte(e.GetPayload())
	return f.client.Post(ctx, to, signature.Headers(f.secret, time.Now(), e.GetId(), e.GetType(), 1, body), body)
}

func describeForward(e *adminv1.Event, r egress.Result) string {
	result := "FAILED: " + r.Problem
	if r.Succeeded() {
		result = strconv.Itoa(r.Status)
	}
	return fmt.Sprintf("%s  → %s in %d ms%s", describeEvent(e), result, r.Duration.Milliseconds(), reason(r))
}

const maxReason = 200

// reason returns ": " and the first line with a letter of the answer, at most maxReason characters; or "".
func reason(r egress.Result) string {
	for line := range strings.Lines(r.Answer) {
		if line = strings.TrimSpace(line); strings.ContainsFunc(line, unicode.IsLetter) {
			if text := []rune(line); len(text) > maxReason {
				line = string(text[:maxReason]) + "…"
			}
			return ": " + visible(line)
		}
	}
	return ""
}

func describeEvent(e *adminv1.Event) string {
	return fmt.Sprintf("%s  %-17s  %s  %s", formatTime(e.GetCreatedAt()), e.GetType(), e.GetId(),
		visible(admin.EventSummary([]byte(e.GetPayload()))))
}

// listenSecret derives the secret from the operator's token or dev's secret key, so that each start has the same and none is
// stored. Without both, each call returns a new one.
func listenSecret(token string, dev *devFolder, storeID string) (string, error) {
	seed := []byte(token)
	if token == "" && dev != nil {
		file, _ := keyFile(devDatabase)
		key, err := os.ReadFile(filepath.Join(dev.path, file))
		if err != nil {
			return "", fmt.Errorf("read the secret key of dev: %w", err)
		}
		seed = key
	}
	if len(seed) == 0 {
		return signature.NewSecret(), nil
	}
	mac := hmac.New(sha256.New, seed)
	mac.Write([]byte("storefront listen\x00" + storeID))
	return signature.SecretPrefix + hex.EncodeToString(mac.Sum(nil)), nil
}

type eventCmd struct {
	Resend eventResendCmd `cmd:"" help:"Forward an event again, as storefront listen does."`
}

type eventResendCmd struct {
	target
	ForwardTo string `required:"" placeholder:"URL" help:"Where to post the event: http or https, private and local IP addresses included; localhost:3000/hooks is enough."`
	ID        string `arg:"" help:"The event's id."`
}

type resendResult struct {
	ID         string `json:"id"`
	Type       string `json:"type"`
	ForwardTo  string `json:"forwardTo"`
	Secret     string `json:"secret"`
	StatusCode int    `json:"statusCode"`
	DurationMs int64  `json:"durationMs"`
}

// Run posts the event to --forward-to.
func (c *eventResendCmd) Run(s *invocation) error {
	to, err := forwardAddress("--forward-to", c.ForwardTo)
	if err != nil {
		return err
	}
	return s.operate(c.target, func(ctx context.Context, o admin.API) error {
		e, err := o.GetEvent(ctx, &adminv1.GetEventRequest{Id: c.ID})
		if err != nil {
			return err
		}
		if e.GetPayload() == hook.Forgotten {
			return errors.New("the event's customer was forgotten, and its payload with it: it cannot be sent")
		}
		secret, err := listenSecret(c.AdminToken, s.dev, e.GetStoreId())
		if err != nil {
			return err
		}
		f := newForwarder(secret)
		defer f.client.Close()
		r := f.post(ctx, to, e)
		if !r.Succeeded() {
			return fmt.Errorf("forward %s to %s: %s%s", e.GetId(), to, r.Problem, reason(r))
		}
		if s.json {
			return s.printValue(resendResult{e.GetId(), e.GetType(), to, secret, r.Status, r.Duration.Milliseconds()})
		}
		_, err = fmt.Fprintf(s.out, "%s\nsigning secret: %s\n", describeForward(e, r), secret)
		return err
	})
}
