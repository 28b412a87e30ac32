package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"

	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/admin"
)

// storeScoped has the flags of a command that works on one object of a store.
type storeScoped struct {
	target
	Store string `placeholder:"SLUG" help:"The store, by slug or id (default: the only one there is). Not needed with an id; an id of another store is not found."`
}

type inStore struct {
	target
	Store string `placeholder:"SLUG" help:"The store, by slug or id (default: the only one there is)."`
}

// inNamedStore is inStore for commands that require --store.
type inNamedStore struct {
	target
	Store string `required:"" placeholder:"SLUG" help:"The store, by slug or id."`
}

func (c storeScoped) storeOf(ctx context.Context, o admin.API) (string, error) {
	if c.Store != "" {
		return c.Store, nil
	}
	store, err := onlyStore(ctx, o)
	return store.GetSlug(), err
}

// storeNamed returns the store with a slug or id, or else the only one, and a context for its calls.
func storeNamed(ctx context.Context, o admin.API, name string) (context.Context, *storefrontv1.Store, error) {
	if name == "" {
		store, err := onlyStore(ctx, o)
		if err != nil {
			return nil, nil, err
		}
		name = store.GetId()
	}
	ctx, err := o.WithStore(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	store, err := o.GetStore(ctx, &storefrontv1.GetStoreRequest{})
	return ctx, store, err
}

func onlyStore(ctx context.Context, o admin.API) (*storefrontv1.Store, error) {
	out, err := o.ListStores(ctx, &adminv1.ListStoresRequest{PageSize: new(int32(3))})
	stores := out.GetStores()
	// Of dev's two demo stores, take the one for which dev made a key.
	if len(stores) == 2 && stores[0].GetSlug() == demoEuroSlug && stores[1].GetSlug() == demoSlug {
		stores = stores[1:]
	}
	switch {
	case err != nil:
		return nil, err
	case len(stores) == 0:
		return nil, errors.New("there is no store yet; make one with `storefront store create`")
	case len(stores) > 1:
		return nil, usage("there are several stores; name one with --store")
	}
	return stores[0], nil
}

// currencyOf reads the currency of the context's store when it is called.
func currencyOf(ctx context.Context, o admin.API) func() (string, error) {
	return func() (string, error) {
		found, err := o.GetStore(ctx, &storefrontv1.GetStoreRequest{})
		return found.GetCurrency(), err
	}
}

// isID reports whether name is an id, by which an object can be found without its store.
func isID(name string) bool {
	_, err := uuid.Parse(name)
	return err == nil && len(name) == len(uuid.Nil.String())
}

// storeOfName returns "", which means any store, if name is an id and --store is not set.
func (c storeScoped) storeOfName(ctx context.Context, o admin.API, name string) (string, error) {
	if c.Store == "" && isID(name) {
		return "", nil
	}
	return c.storeOf(ctx, o)
}

// resolver finds the object that name refers to. A store of "" means any, for an id; the returned store may then be "" too.
type resolver func(ctx context.Context, o admin.API, store, name string) (inStore, id string, err error)

// resolve returns the context of the named object's store, or ctx if name is an id and the store is not known.
func (c storeScoped) resolve(ctx context.Context, o admin.API, name string, resolve resolver) (context.Context, string, error) {
	store, err := c.storeOfName(ctx, o, name)
	if err != nil {
		return nil, "", err
	}
	store, id, err := resolve(ctx, o, store, name)
	if err == nil && store != "" {
		ctx, err = o.WithStore(ctx, store)
	}
	return ctx, id, err
}

func named(kind adminv1.ResolveNameRequest_Kind) resolver {
	return func(ctx context.Context, o admin.API, store, name string) (inStore, id string, err error) {
		found, err := o.ResolveName(ctx, &adminv1.ResolveNameRequest{Kind: kind, Store: store, Name: name})
		if err != nil && !isID(name) {
			err = unknownName{err, store, name}
		}
		return found.GetStore(), found.GetId(), err
	}
}

var (
	productName  = named(adminv1.ResolveNameRequest_PRODUCT)
	orderName    = named(adminv1.ResolveNameRequest_ORDER)
	customerName = named(adminv1.ResolveNameRequest_CUSTOMER)
	linkName     = named(adminv1.ResolveNameRequest_PAYMENT_LINK)
	deliveryName = named(adminv1.ResolveNameRequest_DELIVERY)
)

// webhookName resolves an id or a URL, and fails if two webhooks share the URL.
func webhookName(ctx context.Context, o admin.API, store, name string) (inStore, id string, err error) {
	if isID(name) {
		return store, name, nil
	}
	all, err := webhooksOf(ctx, o, store)
	if err != nil {
		return "", "", err
	}
	found, err := exactlyOne("webhook", "id or URL", store, name, all, (*adminv1.Webhook).GetUrl)
	return store, found.GetId(), err
}

func webhooksOf(ctx context.Context, o admin.API, store string) ([]*adminv1.Webhook, error) {
	in := &adminv1.ListWebhooksRequest{Store: store}
	return collect(ctx, o, 0, in, func(size *int32, token string) { in.PageSize, in.PageToken = size, token },
		admin.API.ListWebhooks, (*adminv1.ListWebhooksResponse).GetWebhooks)
}

// keyName resolves an id, a name or a hint, among active keys first, and fails if several remain.
func keyName(ctx context.Context, o admin.API, store, name string) (inStore, id string, err error) {
	if isID(name) {
		return store, name, nil
	}
	all, err := keysOf(ctx, o, store)
	if err != nil {
		return "", "", err
	}
	var active []*adminv1.Key
	for _, k := range all {
		if k.GetStatus() == adminv1.Key_active && isNamed(k, name, (*adminv1.Key).GetName, (*adminv1.Key).GetHint) {
			active = append(active, k)
		}
	}
	if len(active) > 0 {
		all = active
	}
	found, err := exactlyOne("key", "id, name or hint", store, name, all, (*adminv1.Key).GetName, (*adminv1.Key).GetHint)
	return store, found.GetId(), err
}

func keysOf(ctx context.Context, o admin.API, store string) ([]*adminv1.Key, error) {
	in := &adminv1.ListKeysRequest{Store: store}
	return collect(ctx, o, 0, in, func(size *int32, token string) { in.PageSize, in.PageToken = size, token },
		admin.API.ListKeys, (*adminv1.ListKeysResponse).GetKeys)
}

// findSession finds the session or link whose id begins or ends with part, in all stores if store is "".
func findSession(ctx context.Context, o admin.API, store, part string) (*adminv1.Session, error) {
	in := &adminv1.ListSessionsRequest{Store: store}
	all, err := collect(ctx, o, 0, in, func(size *int32, token string) { in.PageSize, in.PageToken = size, token },
		admin.API.ListSessions, (*adminv1.ListSessionsResponse).GetSessions)
	if err != nil {
		return nil, err
	}
	return exactlyOne("dashboard sessions", "id", store, part, all)
}

const minPartOfID = 8

// isNamed reports whether name is one of the item's names, or the beginning or end of its id.
func isNamed[Item interface{ GetId() string }](item Item, name string, names ...func(Item) string) bool {
	for _, nameOf := range names {
		if nameOf(item) == name {
			return true
		}
	}
	part := strings.ToLower(name)
	return len(part) >= minPartOfID && (strings.HasPrefix(item.GetId(), part) || strings.HasSuffix(item.GetId(), part))
}

// exactlyOne fails with the ids of all items if there are several. command, such as "webhook", lists them, and identifiers is
// what name can be, such as "id or URL".
func exactlyOne[Item interface{ GetId() string }](command, identifiers, store, name string, all []Item,
	names ...func(Item) string) (found Item, err error) {
	var ids []string
	for _, item := range all {
		if isNamed(item, name, names...) {
			found, ids = item, append(ids, item.GetId())
		}
	}
	kind := command[strings.LastIndexByte(command, ' ')+1:]
	within, listed := "", "storefront "+command+" list"
	if store != "" {
		within, listed = " in the store "+store, listed+" --store "+store
	}
	switch len(ids) {
	case 0:
		for _, nameOf := range names {
			if near := nearest(name, namesOf(all, nameOf)); near != "" {
				return found, fmt.Errorf("there is no %s with the %s %q%s; did you mean %q?", strings.TrimSuffix(kind, "s"),
					identifiers, name, within, near)
			}
		}
		return found, fmt.Errorf("there is no %s with the %s %q%s; see `%s`", strings.TrimSuffix(kind, "s"), identifiers, name, within,
			listed)
	case 1:
		return found, nil
	}
	return found, fmt.Errorf("%d %s%s have the %s %q; name one by its id: %s", len(ids), strings.TrimSuffix(kind, "s")+"s",
		within, identifiers, name, strings.Join(ids, ", "))
}
