package admin

import (
	"context"
	"fmt"

	"go.storefront.example/ent/apijson"
	"go.storefront.example/ent/resource"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/store"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/apierr"
)

// CreateStore creates a store.
func (o *Operator) CreateStore(ctx context.Context, in *adminv1.CreateStoreRequest) (*storefrontv1.Store, error) {
	return o.shop.CreateStore(ctx, actorOf(ctx), in)
}

// ListStores returns a page of the stores.
func (o *Operator) ListStores(ctx context.Context, in *adminv1.ListStoresRequest) (*adminv1.ListStoresResponse, error) {
	var refused problems
	p := refused.page(in, in.GetPageToken())
	if err := refused.Err(); err != nil {
		return nil, err
	}
	rows, err := o.db.Client().Store.Query().Where(p.rows).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("list stores: %w", err)
	}
	out := &adminv1.ListStoresResponse{}
	out.Stores, out.NextPageToken = pageOf(p, rows, resource.Store)
	for _, row := range rows[:len(out.Stores)] {
		if row.DeleteAt != nil {
			out.Deletions = append(out.Deletions, &adminv1.StoreDeletion{StoreId: row.ID.String(), DeleteAt: apijson.Timestamp(*row.DeleteAt)})
		}
	}
	return out, nil
}

// GetStoreSettings also returns a store that is being deleted, with the settings that only the operator changes.
func (o *Operator) GetStoreSettings(ctx context.Context, in *adminv1.GetStoreSettingsRequest) (*adminv1.GetStoreSettingsResponse,
	error) {
	ctx, t, err := o.withExistingStore(ctx, in.GetStore())
	if err != nil {
		return nil, err
	}
	row, err := o.db.Client().Store.Query().Where(store.ID(t.ID)).Only(ctx)
	if err := apierr.RowError("store", err, func() error { return storeNotFound(t.Slug) }); err != nil {
		return nil, err
	}
	return &adminv1.GetStoreSettingsResponse{Store: resource.Store(row), Settings: settingsOf(row)}, nil
}

func settingsOf(row *ent.Store) *adminv1.StoreSettings {
	return &adminv1.StoreSettings{
		PaymentLinksOpen: row.PaymentLinksOpen, PlatformFeePercent: row.PlatformFeePercent,
		UnavailableTypes: convertAll(row.UnavailableTypes, enum[storefrontv1.Product_Type]),
		DeleteAt:         apijson.OptionalTimestamp(row.DeleteAt),
	}
}

// UpdateStore changes the named fields of a store.
func (o *Operator) UpdateStore(ctx context.Context, in *adminv1.UpdateStoreRequest) (*storefrontv1.Store, error) {
	return callInStore(ctx, o, in.GetStore(), in, o.shop.UpdateStore)
}
