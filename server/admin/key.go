package admin

import (
	"context"
	"fmt"

	"go.storefront.example/ent/apijson"
	"go.storefront.example/ent/invisible"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/apikey"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/shop"
)

func (o *Operator) key(row *ent.ApiKey) *adminv1.Key {
	k := &adminv1.Key{
		Id: row.ID.String(), Name: invisible.OneLine(row.Name), Hint: row.Hint, Scopes: row.Scopes, Status: adminv1.Key_active,
		ExpiresAt: apijson.OptionalTimestamp(row.ExpiresAt), LastUsedAt: apijson.OptionalTimestamp(row.LastUsedAt),
		CreatedAt: apijson.Timestamp(row.CreatedAt),
	}
	switch {
	case row.RevokedAt != nil:
		k.Status = adminv1.Key_revoked
	case row.ExpiresAt != nil && !row.ExpiresAt.After(o.db.Now()):
		k.Status = adminv1.Key_expired
	}
	return k
}

// CreateKey creates an API key of a store. Only its answer has the key's text.
func (o *Operator) CreateKey(ctx context.Context, in *adminv1.CreateKeyRequest) (*adminv1.CreateKeyResponse, error) {
	ctx, err := o.WithStore(ctx, in.GetStore())
	if err != nil {
		return nil, err
	}
	created, err := o.shop.CreateKey(tenant.WithIdempotencyKey(ctx, in.GetIdempotencyKey()), shop.KeyDraft{
		Name: in.GetName(), Scopes: in.GetScopes(), Lifetime: in.GetLifetime(),
	})
	if err != nil {
		return nil, err
	}
	return &adminv1.CreateKeyResponse{Key: o.key(created.ApiKey), Secret: created.Text}, nil
}

// ListKeys returns a page of a store's keys.
func (o *Operator) ListKeys(ctx context.Context, in *adminv1.ListKeysRequest) (*adminv1.ListKeysResponse, error) {
	var refused problems
	p := refused.page(in, in.GetPageToken())
	ctx, t, err := o.check(ctx, &refused, in.GetStore())
	if err != nil {
		return nil, err
	}
	rows, err := o.db.Client().ApiKey.Query().Where(apikey.StoreID(t.ID), p.rows).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("list keys: %w", err)
	}
	keys, next := pageOf(p, rows, o.key)
	return &adminv1.ListKeysResponse{Keys: keys, NextPageToken: next}, nil
}

// MaxEndedKeys bounds RecentKeys, because a store can have any number of revoked or expired keys.
const MaxEndedKeys = 100

// RecentKeys returns the store's active keys, and up to MaxEndedKeys revoked or expired ones, newest first. The context must
// have the store (see WithStore).
func (o *Operator) RecentKeys(ctx context.Context) (active, ended []*adminv1.Key, err error) {
	t, err := tenant.StoreOf(ctx)
	if err != nil {
		return nil, nil, err
	}
	isActive := apikey.And(apikey.RevokedAtIsNil(), apikey.Or(apikey.ExpiresAtIsNil(), o.db.IsFuture(apikey.FieldExpiresAt)))
	query := o.db.Client().ApiKey.Query().Where(apikey.StoreID(t.ID)).Order(newest)
	rows, err := query.Clone().Where(isActive).All(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("list the active keys: %w", err)
	}
	others, err := query.Where(apikey.Not(isActive)).Limit(MaxEndedKeys).All(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("list the other keys: %w", err)
	}
	return convertAll(rows, o.key), convertAll(others, o.key), nil
}

// GetKey returns a key.
func (o *Operator) GetKey(ctx context.Context, in *adminv1.GetKeyRequest) (*adminv1.Key, error) {
	return byID(ctx, o, keyKind, in, o.shop.GetKey, o.key)
}

// RevokeKey revokes a key for good.
func (o *Operator) RevokeKey(ctx context.Context, in *adminv1.RevokeKeyRequest) (*adminv1.Key, error) {
	return byID(ctx, o, keyKind, in, o.shop.RevokeKey, o.key)
}
