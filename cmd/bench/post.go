package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"go.storefront.example/ent/db"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/event"
	"go.storefront.example/worker/signature"
)

// postCommand is the yardstick of the delivery: it reads events beforehand, and then signs and
// posts them in a plain loop, with nothing claimed, checked or stored.
type postCommand struct {
	Authority   string `required:"" help:"File with the certificate to trust."`
	Events      int    `required:"" help:"How many events to post."`
	Connections int    `required:"" help:"How many are posted at the same time."`
}

// target is where the events of a store go.
type target struct {
	Store  uuid.UUID `json:"store"`
	URL    string    `json:"url"`
	Secret string    `json:"secret"`
}

// posted is what it did: how long it took, and the processor time that it used, zero where that is not known.
type posted struct{ Took, Used time.Duration }

// Run reads the targets from its input, prepares, posts, and writes what it did.
func (c *postCommand) Run(ctx context.Context, io streams) error {
	signal.Ignore(os.Interrupt)
	var list []target
	if err := json.NewDecoder(io.in).Decode(&list); err != nil {
		return err
	}
	targets := map[uuid.UUID]target{}
	for _, t := range list {
		targets[t.Store] = t
	}
	events, err := c.events(ctx)
	if err != nil {
		return err
	}
	authority, err := os.ReadFile(c.Authority)
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	var did posted
	before, beforeErr := processCPU(os.Getpid())
	if did.Took, err = c.post(ctx, roots, events, targets); err != nil {
		return err
	}
	if after, err := processCPU(os.Getpid()); err == nil && beforeErr == nil {
		did.Used = after - before
	}
	return json.NewEncoder(io.out).Encode(did)
}

func (c *postCommand) events(ctx context.Context) (_ []*ent.Event, err error) {
	s, err := db.Open(ctx, db.Config{URL: os.Getenv(subjectDatabase)})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return s.Client().Event.Query().Where(event.Type("order.paid")).Order(event.ByID()).Limit(c.Events).All(ctx)
}

// post returns how long it took.
func (c *postCommand) post(ctx context.Context, roots *x509.CertPool, events []*ent.Event, targets map[uuid.UUID]target) (time.Duration, error) {
	transport := &http.Transport{
		TLSClientConfig:    &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		DisableCompression: true, MaxIdleConnsPerHost: c.Connections,
	}
	defer transport.CloseIdleConnections()
	var next atomic.Int64
	start := time.Now()
	group, ctx := errgroup.WithContext(ctx)
	for range c.Connections {
		group.Go(func() error {
			for {
				i := int(next.Add(1) - 1)
				if i >= len(events) || ctx.Err() != nil {
					return ctx.Err()
				}
				e := events[i]
				if err := postOne(ctx, transport, targets[e.StoreID], e); err != nil {
					return fmt.Errorf("post an event: %w", err)
				}
			}
		})
	}
	err := group.Wait()
	return time.Since(start), err
}

func postOne(ctx context.Context, transport *http.Transport, t target, e *ent.Event) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, t.URL, bytes.NewReader(e.Payload))
	if err != nil {
		return err
	}
	request.Header = http.Header{
		"Content-Type":            {"application/json"},
		"User-Agent":              {signature.UserAgent},
		signature.Header:          {signature.Sign(t.Secret, time.Now(), e.Payload)},
		signature.EventIDHeader:   {e.ID.String()},
		signature.EventTypeHeader: {e.Type},
		signature.AttemptHeader:   {"1"},
	}
	answer, err := transport.RoundTrip(request)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, answer.Body)
	if err = errors.Join(err, answer.Body.Close()); err != nil {
		return err
	}
	if answer.StatusCode > 299 {
		return fmt.Errorf("answered %d", answer.StatusCode)
	}
	return nil
}
