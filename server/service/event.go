package service

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"entgo.io/ent/dialect/sql"

	"go.storefront.example/ent/hook"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/event"
	"go.storefront.example/server/apierr"
)

// EventSearch says which events of the store to list.
type EventSearch struct {
	// Type is one of EventTypes or ping; empty means all.
	Type string
	// Before is the id of an event: only older ones are listed. Empty means from the newest on.
	Before string
	// Limit bounds how many are listed.
	Limit int
}

// ListEvents returns the newest events of the store that match, with their payloads. It refuses with
// validation_failed.
func (s *Shop) ListEvents(ctx context.Context, which EventSearch) ([]*ent.Event, error) {
	t, err := tenantOf(ctx)
	if err != nil {
		return nil, err
	}
	p := &problems{}
	query := s.store.Client().Event.Query().Where(event.StoreID(t.ID))
	if which.Before != "" {
		before, _ := parseID(which.Before)
		last, err := query.Clone().Where(event.ID(before)).Only(ctx)
		switch {
		case ent.IsNotFound(err):
			p.invalid("before", "must be the id of an event of the store")
		case err != nil:
			return nil, fmt.Errorf("read event: %w", err)
		default:
			query.Where(func(s *sql.Selector) {
				s.Where(sql.CompositeLT([]string{s.C(event.FieldCreatedAt), s.C(event.FieldID)}, last.CreatedAt, last.ID))
			})
		}
	}
	if which.Type != "" {
		if which.Type != hook.Ping && !slices.Contains(EventTypes(), which.Type) {
			p.invalid("type", "must be ping or one of "+strings.Join(EventTypes(), ", "))
		}
		query.Where(event.Type(which.Type))
	}
	if err := p.err(); err != nil {
		return nil, err
	}
	events, err := query.Order(event.ByCreatedAt(sql.OrderDesc()), event.ByID(sql.OrderDesc())).Limit(which.Limit).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("list events: %w", err)
	}
	return events, nil
}

// GetEvent returns an event of the store. It refuses with event_not_found.
func (s *Shop) GetEvent(ctx context.Context, id string) (*ent.Event, error) {
	t, err := tenantOf(ctx)
	if err != nil {
		return nil, err
	}
	eventID, ok := parseID(id)
	if !ok {
		return nil, eventNotFound()
	}
	row, err := s.store.Client().Event.Query().Where(event.StoreID(t.ID), event.ID(eventID)).Only(ctx)
	return row, readError("event", err, eventNotFound)
}

func eventNotFound() error {
	return apierr.New(apierr.EventNotFound, "There is no event with this id, or it is kept no longer.")
}
