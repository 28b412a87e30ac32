package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"go.storefront.example/ent/db"
)

// committed is an event of the database: its id, its type, and the id of its resource.
type committed struct {
	id, subject uuid.UUID
	kind        string
}

// events returns the events made since a time.
func events(ctx context.Context, d *db.DB, since time.Time) ([]committed, error) {
	var list []committed
	for row := range db.Rows(ctx, d.Reader(), "SELECT id, type, payload FROM events WHERE created_at >= $1", since) {
		var e committed
		var payload []byte
		if err := row.Scan(&e.id, &e.kind, &payload); err != nil {
			return nil, fmt.Errorf("read the events: %w", err)
		}
		var envelope struct {
			Data struct {
				ID uuid.UUID `json:"id"`
			} `json:"data"`
		}
		if err := json.Unmarshal(payload, &envelope); err != nil {
			return nil, fmt.Errorf("read the event %s: %w", e.id, err)
		}
		e.subject = envelope.Data.ID
		list = append(list, e)
	}
	return list, nil
}

// eventsOf returns the events of created customers, by the customer.
func eventsOf(ctx context.Context, d *db.DB) (map[uuid.UUID]uuid.UUID, error) {
	list, err := events(ctx, d, time.Time{})
	of := map[uuid.UUID]uuid.UUID{}
	for _, e := range list {
		if e.kind == "customer.created" {
			of[e.subject] = e.id
		}
	}
	return of, err
}

// settled reports whether nothing is left in the outbox and no delivery unfinished.
func (s *stage) settled(ctx context.Context) (bool, error) {
	var left bool
	err := s.store.Reader().QueryRowContext(ctx,
		`SELECT EXISTS (SELECT 1 FROM outbox) OR EXISTS (SELECT 1 FROM deliveries)`).Scan(&left)
	return !left, err
}

// settlePause is how often it is looked whether everything is delivered.
const settlePause = 50 * time.Millisecond

// settle waits until everything is delivered, at most so long.
func (s *stage) settle(ctx context.Context, limit time.Duration) error {
	for deadline := time.Now().Add(limit); ; time.Sleep(settlePause) {
		done, err := s.settled(ctx)
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
