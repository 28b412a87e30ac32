package main

import (
	"context"
	"fmt"
	"strings"

	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/admin"
)

// findWebhook returns the webhook that an id or a URL names. Two webhooks of a store may have one URL: then only an id
// tells them apart.
func findWebhook(ctx context.Context, o admin.API, store, name string) (*adminv1.Webhook, error) {
	if isID(name) {
		return o.GetWebhook(ctx, &adminv1.GetWebhookRequest{Id: name})
	}
	all, err := webhooksOf(ctx, o, store)
	if err != nil {
		return nil, err
	}
	return exactlyOne("webhook", "id or URL", store, name, all, func(w *adminv1.Webhook) bool {
		return w.GetUrl() == name ||
			begins(w.GetId(), name)
	})
}

// webhooksOf returns all webhooks of a store.
func webhooksOf(ctx context.Context, o admin.API, store string) ([]*adminv1.Webhook, error) {
	return admin.Collect(ctx, 0, func(ctx context.Context, size *int32, token string) ([]*adminv1.Webhook, string, error) {
		out, err := o.ListWebhooks(ctx, &adminv1.ListWebhooksRequest{Store: store, PageSize: size, PageToken: token})
		return out.GetWebhooks(), out.GetNextPageToken(), err
	})
}

// minBeginning is how much of an id must be given at least.
const minBeginning = 8

// begins reports whether a name is the beginning of an id, as narrow tables show it.
func begins(id, name string) bool {
	return len(name) >= minBeginning && strings.HasPrefix(id, strings.ToLower(name))
}

// findKey returns the key that an id, a name or a hint names. Names can be used again: the only active key with one
// is meant before those that are revoked or expired.
func findKey(ctx context.Context, o admin.API, store, name string) (*adminv1.Key, error) {
	if isID(name) {
		return o.GetKey(ctx, &adminv1.GetKeyRequest{Id: name})
	}
	all, err := keysOf(ctx, o, store)
	if err != nil {
		return nil, err
	}
	var active []*adminv1.Key
	named := func(k *adminv1.Key) bool {
		return k.GetName() == name || k.GetHint() == name || begins(k.GetId(), name)
	}
	for _, k := range all {
		if k.GetStatus() == adminv1.Key_active && named(k) {
			active = append(active, k)
		}
	}
	if len(active) > 0 {
		all = active
	}
	return exactlyOne("key", "id, name or hint", store, name, all, named)
}

// keysOf returns all keys of a store.
func keysOf(ctx context.Context, o admin.API, store string) ([]*adminv1.Key, error) {
	return admin.Collect(ctx, 0, func(ctx context.Context, size *int32, token string) ([]*adminv1.Key, string, error) {
		out, err := o.ListKeys(ctx, &adminv1.ListKeysRequest{Store: store, PageSize: size, PageToken: token})
		return out.GetKeys(), out.GetNextPageToken(), err
	})
}

// exactlyOne returns the one item that a name means. Two or more are refused with their ids.
func exactlyOne[Item interface{ GetId() string }](kind, by, store, name string, all []Item,
	named func(Item) bool) (found Item, err error) {
	var ids []string
	within := ""
	if store != "" {
		within = " in the store " + store
	}
	for _, item := range all {
		if named(item) {
			found, ids = item, append(ids, item.GetId())
		}
	}
	switch len(ids) {
	case 0:
		return found, fmt.Errorf("there is no %s with the %s %q%s", kind, by, name, within)
	case 1:
		return found, nil
	}
	return found, fmt.Errorf("%d %s%s have the %s %q; name one by its id: %s",
		len(ids), strings.Replace(kind+"s", "rys", "ries", 1), within, by, name, strings.Join(ids, ", "))
}
