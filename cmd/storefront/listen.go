package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/admin/rpc"
	"go.storefront.example/server/apierr"
)

type listenCmd struct {
	adminListener
	forwarding
	Store     string   `placeholder:"SLUG" help:"The store, by slug or id; not needed if there is only one."`
	Events    []string `placeholder:"TYPE" help:"What to forward: ${events}, ping (default: all of them)."`
	PrintJSON bool     `name:"print-json" help:"Print each event on standard output, one a line, in the bytes that are forwarded; everything else goes to standard error."`
}

const (
	// mostForwards is how many events are posted at a time.
	mostForwards = 8
	// leastWait and mostWait bound the growing pause before the next connection.
	leastWait = 250 * time.Millisecond
	mostWait  = 10 * time.Second
)

// listening is what listen prints once it receives events.
type listening struct {
	Store     string   `json:"store"`
	AdminURL  string   `json:"adminUrl"`
	ForwardTo string   `json:"forwardTo"`
	Events    []string `json:"events"`
	Secret    string   `json:"secret"`
}

// Run forwards events until the session ends.
func (c *listenCmd) Run(s *session) error {
	if s.json && c.PrintJSON {
		return usage("--print-json prints one event a line; leave -o json out")
	}
	to, err := c.address()
	if err != nil {
		return err
	}
	from := c.adminListener
	var dev *devFolder
	if from.AdminURL == "" {
		if dev, err = s.runningDev(from.AdminToken); err != nil {
			return err
		}
		from.AdminURL = dev.AdminURL
		s.say("using `storefront dev` at " + dev.AdminURL + " (" + dev.path + ")")
	}
	client, err := from.client()
	if err != nil {
		return err
	}
	store, err := storeNamed(s.ctx, client, c.Store)
	if err != nil {
		return s.hinted(s.ctx, client, err)
	}
	secret, err := listenSecret(from.AdminToken, dev, store.GetId())
	if err != nil {
		return err
	}
	l := &listener{
		session: s, from: from, dev: dev, client: client, store: store, events: c.Events, printJSON: c.PrintJSON,
		forwarder: newForwarder(to, secret), slots: make(chan struct{}, mostForwards), seen: map[string]time.Time{},
	}
	defer l.forwarder.client.Close()
	defer l.posts.Wait()
	return l.run()
}

// listener follows the events of a store across connections.
//
//	connect ─► answers: events not seen ─► posted, a few at a time ─► a line each
//	   ▲          └► position
//	   └── the connection is lost: wait, and go on from the position
type listener struct {
	*session
	from      adminListener
	dev       *devFolder
	client    *rpc.Client
	store     *storefrontv1.Store
	events    []string
	printJSON bool
	forwarder *forwarder

	// since is the position of the last answer; seen are the events after it that were taken.
	since *timestamppb.Timestamp
	seen  map[string]time.Time
	slots chan struct{}
	posts sync.WaitGroup
	mu    sync.Mutex // of what is printed
	hint  bool       // was given
}

// run follows the events until the context ends or the server refuses.
func (l *listener) run() error {
	for wait, lost := leastWait, false; ; {
		err := l.client.Watch(l.ctx, &adminv1.WatchEventsRequest{Store: l.store.GetId(), Types: l.events, Since: l.since},
			func(answer *adminv1.WatchEventsResponse) error {
				switch {
				case l.since == nil:
					if err := l.greet(); err != nil {
						return err
					}
				case lost:
					l.show(l.errs, "storefront: connected again")
				}
				wait, lost = leastWait, false
				return l.forwardNew(answer)
			})
		if l.ctx.Err() != nil {
			return nil //nolint:nilerr // An interruption is the orderly end.
		}
		if err != nil && (l.since == nil || !isTransient(err)) {
			return err
		}
		if err != nil && !lost {
			lost = true
			l.show(l.errs, "storefront: the connection is lost, and will be made again: "+l.line(err))
		}
		select {
		case <-l.ctx.Done():
			return nil
		case <-time.After(wait + rand.N(wait/4)):
		}
		wait = min(2*wait, mostWait)
		l.find()
	}
}

// isTransient reports whether an error of the stream may pass by itself.
func isTransient(err error) bool {
	var r *apierr.Refusal
	return !errors.As(err, &r) || slices.Contains([]apierr.Code{apierr.Unavailable, apierr.InternalError, apierr.DeadlineExceeded,
		apierr.Canceled}, r.Code)
}

// find looks up where dev listens now: a new start may have another port.
func (l *listener) find() {
	if l.dev == nil {
		return
	}
	if now := readDev(l.dev.path); now.acceptsToken(l.from.AdminToken) {
		l.from.AdminURL = now.AdminURL
		if client, err := l.from.client(); err == nil {
			l.client = client
		}
	}
}

// greet prints that events are received from now on.
func (l *listener) greet() error {
	g := listening{l.store.GetSlug(), l.from.AdminURL, l.forwarder.to, slices.Clone(l.events), l.forwarder.secret}
	if g.Events == nil {
		g.Events = []string{}
	}
	if l.json {
		return l.value(g)
	}
	types := "all events"
	if len(g.Events) > 0 {
		types = strings.Join(g.Events, ", ")
	}
	l.show(l.statusWriter(), fmt.Sprintf("Ready: %s of %s (%s) → %s\nsigning secret: %s\nCtrl-C stops it.\n",
		types, l.store.GetName(), g.Store, g.ForwardTo, g.Secret))
	return nil
}

// statusWriter is where lines for a reader go.
func (l *listener) statusWriter() io.Writer {
	if l.json || l.printJSON {
		return l.errs
	}
	return l.out
}

// show prints a line, whole.
func (l *listener) show(w io.Writer, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _ = fmt.Fprintln(w, text)
}

// forwardNew begins to forward the events of an answer that were not taken yet.
func (l *listener) forwardNew(answer *adminv1.WatchEventsResponse) error {
	for _, e := range answer.GetEvents() {
		if _, taken := l.seen[e.GetId()]; taken {
			continue
		}
		select {
		case <-l.ctx.Done():
			return l.ctx.Err()
		case l.slots <- struct{}{}:
		}
		l.seen[e.GetId()] = e.GetCreatedAt().AsTime()
		if l.printJSON {
			l.show(l.out, e.GetPayload())
		}
		l.posts.Go(func() {
			l.post(e)
			<-l.slots
		})
	}
	l.since = answer.GetPosition()
	for id, at := range l.seen {
		if at.Before(l.since.AsTime()) {
			delete(l.seen, id)
		}
	}
	return nil
}

// post forwards one event and shows its result.
func (l *listener) post(e *adminv1.Event) {
	// A post that has begun ends by its own timeout.
	r := l.forwarder.post(context.WithoutCancel(l.ctx), e)
	l.show(l.statusWriter(), forwarded(e, r))
	if r.Succeeded() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.hint {
		l.hint = true
		_, _ = fmt.Fprintf(l.errs, "storefront: to send it again: storefront event resend %s --forward-to %s\n", e.GetId(),
			l.forwarder.to)
	}
}
