package admin

import (
	"context"

	"go.storefront.example/gen/ent"
)

// ListActivity returns the newest entries of a store's activity journal, at most limit. It
// refuses with store_not_found.
func (o *Operator) ListActivity(ctx context.Context, storeName string, limit int) ([]*ent.ActivityEntry, error) {
	ctx, err := o.In(ctx, storeName)
	if err != nil {
		return nil, err
	}
	return o.shop.ListActivity(ctx, limit)
}

// ListActivityBefore is ListActivity for entries older than the one with this id; an empty id is the
// end of the journal. It refuses with validation_failed too.
func (o *Operator) ListActivityBefore(ctx context.Context, storeName, before string, limit int) ([]*ent.ActivityEntry, error) {
	ctx, err := o.In(ctx, storeName)
	if err != nil {
		return nil, err
	}
	return o.shop.ListActivityBefore(ctx, before, limit)
}
