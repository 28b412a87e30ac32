package main

import (
	"context"
	"encoding/json"
	"strings"

	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/admin"
)

type keyCmd struct {
	Create keyCreateCmd `cmd:"" help:"Create an API key, and show its text only this once."`
	List   keyListCmd   `cmd:"" help:"List a store's API keys, newest first."`
	Show   keyShowCmd   `cmd:"" help:"Show an API key, without its secret."`
	Revoke keyRevokeCmd `cmd:"" help:"Revoke an API key permanently."`
}

type keyCreateCmd struct {
	inNamedStore
	Name    string   `api:"name" required:"" placeholder:"NAME" help:"The tool that uses the key; it appears in the activity journal."`
	Scopes  []string `api:"scopes" required:"" placeholder:"SCOPE" help:"What the key may do: store:read, products:read, products:write, orders:read, customers:read, customers:write, payment_links:read, payment_links:write. Write implies read."`
	Expires string   `required:"" enum:"30d,90d,1y,never" placeholder:"30d|90d|1y|never" help:"How long the key is valid: 30d, 90d, 1y or never."`
}

var lifetimes = map[string]adminv1.Key_Lifetime{
	"30d": adminv1.Key_DAYS_30, "90d": adminv1.Key_DAYS_90, "1y": adminv1.Key_YEAR_1, "never": adminv1.Key_NEVER,
}

func (c *keyCreateCmd) Run(s *invocation) error {
	in := &adminv1.CreateKeyRequest{Lifetime: lifetimes[c.Expires]}
	return create(s, inStore(c.inNamedStore), in, admin.API.CreateKey, func(made *adminv1.CreateKeyResponse) []byte {
		return selectFields(made.GetKey(), map[string]json.RawMessage{"key": quoted(made.GetSecret())}, "id", "name", "key", "scopes",
			"expiresAt", "createdAt")
	})
}

type keyListCmd struct {
	inStore
	listSize
}

func (c *keyListCmd) Run(s *invocation) error {
	in := &adminv1.ListKeysRequest{}
	return listOf(s, c.inStore, c.listSize, keyTable, in,
		func(size *int32, token string) { in.PageSize, in.PageToken = size, token }, admin.API.ListKeys,
		(*adminv1.ListKeysResponse).GetKeys)
}

var keyTable = table[*adminv1.Key]{[]column[*adminv1.Key]{
	{name: "ID", id: (*adminv1.Key).GetId},
	{name: "NAME", value: (*adminv1.Key).GetName, cut: true},
	{name: "STATUS", value: func(k *adminv1.Key) string { return k.GetStatus().String() }},
	{name: "EXPIRES", at: (*adminv1.Key).GetExpiresAt},
	{name: "SCOPES", value: func(k *adminv1.Key) string { return strings.Join(k.GetScopes(), ",") }, cut: true},
	{name: "HINT", value: (*adminv1.Key).GetHint, optional: true},
	{name: "LAST USED", at: (*adminv1.Key).GetLastUsedAt, optional: true},
	{name: "CREATED", at: (*adminv1.Key).GetCreatedAt, optional: true},
}, messageJSON[*adminv1.Key]}

type keyShowCmd struct {
	storeScoped
	Name string `arg:"" help:"The key's id, name or hint, as key list shows them."`
}

func (c *keyShowCmd) Run(s *invocation) error {
	return act(s, c.storeScoped, c.Name, keyName, func(ctx context.Context, o admin.API, id string) (*adminv1.Key, error) {
		return o.GetKey(ctx, &adminv1.GetKeyRequest{Id: id})
	}, messageJSON)
}

type keyRevokeCmd struct {
	storeScoped
	Name string `arg:"" help:"The key's id, name or hint, as key list shows them."`
}

func (c *keyRevokeCmd) Run(s *invocation) error {
	return act(s, c.storeScoped, c.Name, keyName, func(ctx context.Context, o admin.API, id string) (*adminv1.Key, error) {
		return o.RevokeKey(ctx, &adminv1.RevokeKeyRequest{Id: id})
	}, messageJSON)
}
