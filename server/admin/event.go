package admin

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/event"
	"go.storefront.example/gen/ent/store"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/service"
)

// ListEvents returns the newest events of a store that match, with their payloads. It refuses with
// store_not_found or validation_failed.
func (o *Operator) ListEvents(ctx context.Context, storeName string, which service.EventSearch) ([]*ent.Event, error) {
	ctx, err := o.In(ctx, storeName)
	if err != nil {
		return nil, err
	}
	return o.shop.ListEvents(ctx, which)
}

// GetEvent returns an event. It refuses with event_not_found.
func (o *Operator) GetEvent(ctx context.Context, id string) (*ent.Event, error) {
	// An event refers to no other row, so that its own tells the store.
	var owner uuid.UUID
	if parsed, err := uuid.Parse(id); err == nil {
		row, err := o.store.Client().Event.Query().Where(event.ID(parsed)).Select(event.FieldStoreID).Only(ctx)
		switch {
		case err == nil:
			owner = row.StoreID
		case !ent.IsNotFound(err):
			return nil, fmt.Errorf("find the owner of %s: %w", id, err)
		}
	}
	ctx, err := o.inOwner(ctx, id, apierr.EventNotFound, func(uuid.UUID) *ent.StoreQuery {
		return o.store.Client().Store.Query().Where(store.ID(owner))
	})
	if err != nil {
		return nil, err
	}
	return o.shop.GetEvent(ctx, id)
}
