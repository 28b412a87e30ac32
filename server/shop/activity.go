package shop

import (
	"context"
	"fmt"

	"entgo.io/ent/dialect/sql"

	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/activityentry"
)

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
