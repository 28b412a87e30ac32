package service

import (
	"context"
	"fmt"

	"entgo.io/ent/dialect/sql"

	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/activityentry"
)

// ListActivityBefore returns the newest entries that are older than the one with this id, at most
// limit; an empty id is the end of the journal. It refuses an id of no entry of the store with
// validation_failed.
func (s *Shop) ListActivityBefore(ctx context.Context, id string, limit int) ([]*ent.ActivityEntry, error) {
	if id == "" {
		return s.ListActivity(ctx, limit)
	}
	t, err := tenantOf(ctx)
	if err != nil {
		return nil, err
	}
	query := s.store.Client().ActivityEntry.Query().Where(activityentry.StoreID(t.ID))
	entryID, _ := parseID(id)
	last, err := query.Clone().Where(activityentry.ID(entryID)).Only(ctx)
	if err := readError("activity entry", err, func() error {
		p := &problems{}
		p.invalid("before", "must be the id of an entry of the journal")
		return p.err()
	}); err != nil {
		return nil, err
	}
	entries, err := query.Where(func(s *sql.Selector) {
		s.Where(sql.CompositeLT([]string{s.C(activityentry.FieldCreatedAt), s.C(activityentry.FieldID)}, last.CreatedAt, last.ID))
	}).Order(activityentry.ByCreatedAt(sql.OrderDesc()), activityentry.ByID(sql.OrderDesc())).Limit(limit).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the activity journal: %w", err)
	}
	return entries, nil
}

// ListActivity returns the newest entries of the store's activity journal, at most limit.
func (s *Shop) ListActivity(ctx context.Context, limit int) ([]*ent.ActivityEntry, error) {
	t, err := tenantOf(ctx)
	if err != nil {
		return nil, err
	}
	entries, err := s.store.Client().ActivityEntry.Query().Where(activityentry.StoreID(t.ID)).
		Order(activityentry.ByCreatedAt(sql.OrderDesc()), activityentry.ByID(sql.OrderDesc())).Limit(limit).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the activity journal: %w", err)
	}
	return entries, nil
}
