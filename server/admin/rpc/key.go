package rpc

import (
	"context"

	"go.storefront.example/ent/wire"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/service"
)

// keyMessage is a key without its text.
func keyMessage(k service.Key) *adminv1.Key {
	return &adminv1.Key{
		Id: k.ID.String(), Name: k.Name, Hint: k.Hint, Scopes: k.Scopes, Status: enum[adminv1.Key_Status](k.Status),
		ExpiresAt: wire.OptionalTimestamp(k.ExpiresAt), LastUsedAt: wire.OptionalTimestamp(k.LastUsedAt), CreatedAt: wire.Timestamp(k.CreatedAt),
	}
}

// keyOf is what keyMessage made a message of.
func keyOf(m *adminv1.Key) (service.Key, error) {
	var r ids
	return service.Key{
		ID: r.read(m.GetId()), Name: m.GetName(), Hint: m.GetHint(), Scopes: m.GetScopes(), Status: m.GetStatus().String(),
		ExpiresAt: moment(m.GetExpiresAt()), LastUsedAt: moment(m.GetLastUsedAt()), CreatedAt: m.GetCreatedAt().AsTime(),
	}, r.err
}

// CreateKey serves KeyService.CreateKey.
func (s handlers) CreateKey(ctx context.Context, in *adminv1.CreateKeyRequest) (*adminv1.CreateKeyResponse, error) {
	key, err := s.operator.CreateKey(ctx, in.GetStore(), service.KeyDraft{Name: in.GetName(), Scopes: in.GetScopes(), Lifetime: in.GetExpires()})
	if err != nil {
		return nil, err
	}
	return &adminv1.CreateKeyResponse{Key: keyMessage(key), Text: key.Text}, nil
}

// ListKeys serves KeyService.ListKeys.
func (s handlers) ListKeys(ctx context.Context, in *adminv1.ListKeysRequest) (*adminv1.ListKeysResponse, error) {
	var f fields
	limit := f.limit(in.Limit)
	if err := f.err(); err != nil {
		return nil, err
	}
	keys, err := s.operator.ListKeys(ctx, in.GetStore(), limit)
	if err != nil {
		return nil, err
	}
	out := &adminv1.ListKeysResponse{}
	for _, k := range keys {
		out.Keys = append(out.Keys, keyMessage(k))
	}
	return out, nil
}

// RevokeKey serves KeyService.RevokeKey.
func (s handlers) RevokeKey(ctx context.Context, in *adminv1.RevokeKeyRequest) (*adminv1.Key, error) {
	key, err := s.operator.RevokeKey(ctx, in.GetId())
	if err != nil {
		return nil, err
	}
	return keyMessage(key), nil
}

// CreateKey is admin.Operator's.
func (c *Client) CreateKey(ctx context.Context, storeName string, d service.KeyDraft) (service.Key, error) {
	out, err := c.keys.CreateKey(ctx, &adminv1.CreateKeyRequest{Store: storeName, Name: d.Name, Scopes: d.Scopes, Expires: d.Lifetime})
	return read(c, out, err, func(out *adminv1.CreateKeyResponse) (service.Key, error) {
		key, err := keyOf(out.GetKey())
		key.Text = out.GetText()
		return key, err
	})
}

// ListKeys is admin.Operator's.
func (c *Client) ListKeys(ctx context.Context, storeName string, limit int) ([]service.Key, error) {
	out, err := c.keys.ListKeys(ctx, &adminv1.ListKeysRequest{Store: storeName, Limit: limitOf(limit)})
	return read(c, out, err, func(out *adminv1.ListKeysResponse) ([]service.Key, error) { return each(out.GetKeys(), keyOf) })
}

// RevokeKey is admin.Operator's.
func (c *Client) RevokeKey(ctx context.Context, id string) (service.Key, error) {
	out, err := c.keys.RevokeKey(ctx, &adminv1.RevokeKeyRequest{Id: id})
	return read(c, out, err, keyOf)
}
