package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"go.storefront.example/cmd/bench/receiver"
	"go.storefront.example/ent/db"
	"go.storefront.example/ent/seal"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent/event"
	"go.storefront.example/server/service"
	"go.storefront.example/worker/egress"
)

// installation is a database with stores, each with one webhook for all types, as its operator
// has it.
type installation struct {
	store     *db.DB
	binary    string
	secretKey string
	authority string // the file with the receiver's authority
	url       string // of the database
	stores    []storeData
	hooks     []receiver.Hook // hook n is that of store n
	webhooks  []uuid.UUID
}

// openInstallation opens a database that is filled and registers the webhooks.
func openInstallation(ctx context.Context, url string, data *dataset, hookURL func(n int) string) (*installation, error) {
	s, err := db.Open(ctx, db.Config{URL: url})
	if err != nil {
		return nil, err
	}
	i := &installation{store: s, url: url, stores: data.stores, secretKey: seal.NewKey()}
	if err := i.register(ctx, hookURL); err != nil {
		return nil, errors.Join(fmt.Errorf("register the webhooks: %w", err), s.Close())
	}
	return i, nil
}

func (i *installation) register(ctx context.Context, hookURL func(n int) string) error {
	key, err := seal.ParseKey(i.secretKey)
	if err != nil {
		return err
	}
	rules := service.New(i.store, service.Options{Secrets: seal.NewRing(key), Targets: egress.Policy{AllowPrivate: true}})
	for n, s := range i.stores {
		t, err := rules.FindStore(ctx, s.slug)
		if err != nil {
			return err
		}
		made, err := rules.CreateWebhook(tenant.With(ctx, t, operator), service.WebhookDraft{URL: hookURL(n)})
		if err != nil {
			return err
		}
		i.hooks = append(i.hooks, receiver.Hook{Secret: made.Secret})
		i.webhooks = append(i.webhooks, made.ID)
	}
	return nil
}

func (i *installation) close() error { return i.store.Close() }

// env is the environment of the service's processes.
func (i *installation) env() []string {
	return []string{"STOREFRONT_DATABASE_URL=" + i.url, "STOREFRONT_SECRET_KEY=" + i.secretKey, "SSL_CERT_FILE=" + i.authority}
}

// startWorker starts a worker. Heard, unless nil, gets each line of its log.
func (i *installation) startWorker(ctx context.Context, heard func(line string), flags ...string) (*process, error) {
	args := append([]string{"worker", "--allow-private-targets"}, flags...)
	p, _, err := startService(ctx, i.binary, i.env(), args, "delivering", heard)
	return p, err
}

// committed is an event of the database: its id, its type, and the id of what it tells of.
type committed struct {
	id, subject uuid.UUID
	kind        string
}

// committedSince returns the events made since a time.
func (i *installation) committedSince(ctx context.Context, since time.Time) ([]committed, error) {
	rows, err := i.store.Client().Event.Query().Where(event.CreatedAtGTE(since)).
		Select(event.FieldID, event.FieldType, event.FieldPayload).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the events: %w", err)
	}
	list := make([]committed, len(rows))
	for n, row := range rows {
		subject, err := subjectOf(row.Payload)
		if err != nil {
			return nil, fmt.Errorf("read the event %s: %w", row.ID, err)
		}
		list[n] = committed{row.ID, subject, row.Type}
	}
	return list, nil
}

// subjectOf returns the id of what an event tells of.
func subjectOf(payload []byte) (uuid.UUID, error) {
	var envelope struct {
		Data struct {
			ID uuid.UUID `json:"id"`
		} `json:"data"`
	}
	err := json.Unmarshal(payload, &envelope)
	return envelope.Data.ID, err
}

// settled tells whether nothing is left in the outbox and no delivery unfinished.
func (i *installation) settled(ctx context.Context) (bool, error) {
	var left bool
	err := i.store.Reader().QueryRowContext(ctx,
		`SELECT EXISTS (SELECT 1 FROM outbox) OR EXISTS (SELECT 1 FROM deliveries)`).Scan(&left)
	return !left, err
}

// settlePause is how often it is looked whether everything is delivered.
const settlePause = 50 * time.Millisecond

// settle waits until everything is delivered, at most so long.
func (i *installation) settle(ctx context.Context, limit time.Duration) error {
	for deadline := time.Now().Add(limit); ; time.Sleep(settlePause) {
		done, err := i.settled(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil && done:
			return nil
		case time.Now().After(deadline) && err == nil:
			return fmt.Errorf("after %s something is still to be delivered", limit)
		case time.Now().After(deadline):
			return fmt.Errorf("after %s it is not known what is still to be delivered: %w", limit, err)
		}
	}
}
