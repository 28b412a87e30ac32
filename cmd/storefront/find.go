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

// inStore has the flags of a command that lists or creates objects of a store.
type inStore struct {
	target
	Store string `placeholder:"SLUG" help:"The store, by slug or id (default: the only one there is)."`
}

// inNamedStore has the flags of inStore, for commands that require --store.
type inNamedStore struct {
	target
	Store string `required:"" placeholder:"SLUG" help:"The store, by slug or id."`
}

// storeOf returns the slug or id that --store names. Without --store, it returns the slug of the only store.
func (c storeScoped) storeOf(ctx context.Context, o admin.API) (string, error) {
	if c.Store != "" {
		return c.Store, nil
	}
	store, err := storeNamed(ctx, o, "")
	return store.GetSlug(), err
}

// storeNamed returns the store whose slug or id is name. If name is empty, it returns the only store.
func storeNamed(ctx context.Context, o admin.API, name string) (*storefrontv1.Store, error) {
	if name != "" {
		return o.GetStore(ctx, &adminv1.GetStoreRequest{Store: name})
	}
	out, err := o.ListStores(ctx, &adminv1.ListStoresRequest{PageSize: new(int32(3))})
	stores := out.GetStores()
	// If the only stores are dev's two demo stores, take the one for which dev made a key. It is the older store, and the
	// list has the newest store first.
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

// currencyOf returns a function that reads the currency of the store.
func currencyOf(ctx context.Context, o admin.API, store string) func() (string, error) {
	return func() (string, error) {
		found, err := o.GetStore(ctx, &adminv1.GetStoreRequest{Store: store})
		return found.GetCurrency(), err
	}
}

// isID reports whether name is an id. A command can find an object by its id without knowing the object's store.
func isID(name string) bool {
	_, err := uuid.Parse(name)
	return err == nil && len(name) == len(uuid.Nil.String())
}

// storeOfName returns the store in which a command looks for the object called name. It returns "", which means any store,
// if name is an id and --store is not set.
func (c storeScoped) storeOfName(ctx context.Context, o admin.API, name string) (string, error) {
	if c.Store == "" && isID(name) {
		return "", nil
	}
	return c.storeOf(ctx, o)
}

// finder returns the object to which name refers in a store. If name is an id, store may be "", which means any store.
type finder[Found any] func(ctx context.Context, o admin.API, store, name string) (Found, error)

// find returns the object to which name refers in the command's store.
func find[Found any](ctx context.Context, o admin.API, c storeScoped, name string, lookup finder[Found]) (
	found Found, err error) {
	store, err := c.storeOfName(ctx, o, name)
	if err != nil {
		return found, err
	}
	return lookup(ctx, o, store, name)
}

// idOf returns the id of the object to which name refers: name may be an id, a reference or a slug. It also returns the
// object's store, or "" if name is an id and --store is not set, because then nothing is looked up.
func idOf[Found interface{ GetId() string }](ctx context.Context, o admin.API, c storeScoped, name string,
	lookup finder[Found]) (store, id string, err error) {
	store, err = c.storeOfName(ctx, o, name)
	if err != nil || isID(name) {
		return store, name, err
	}
	found, err := lookup(ctx, o, store, name)
	if err != nil {
		return "", "", err
	}
	return store, found.GetId(), nil
}

func findProduct(ctx context.Context, o admin.API, store, name string) (*storefrontv1.Product, error) {
	return o.FindProduct(ctx, &adminv1.FindProductRequest{Store: store, Name: name})
}

func findCustomer(ctx context.Context, o admin.API, store, name string) (*storefrontv1.Customer, error) {
	return o.FindCustomer(ctx, &adminv1.FindCustomerRequest{Store: store, Name: name})
}

func findOrder(ctx context.Context, o admin.API, store, name string) (*storefrontv1.Order, error) {
	return o.FindOrder(ctx, &adminv1.FindOrderRequest{Store: store, Name: name})
}

func findLink(ctx context.Context, o admin.API, store, name string) (*storefrontv1.PaymentLink, error) {
	return o.FindPaymentLink(ctx, &adminv1.FindPaymentLinkRequest{Store: store, Name: name})
}

func findDelivery(ctx context.Context, o admin.API, store, name string) (*adminv1.Delivery, error) {
	return o.FindDelivery(ctx, &adminv1.FindDeliveryRequest{Store: store, Name: name})
}

// findWebhook returns the webhook whose id or URL is name. If two webhooks of the store share the URL, it returns an error.
func findWebhook(ctx context.Context, o admin.API, store, name string) (*adminv1.Webhook, error) {
	if isID(name) {
		return o.GetWebhook(ctx, &adminv1.GetWebhookRequest{Id: name, Store: store})
	}
	all, err := webhooksOf(ctx, o, store)
	if err != nil {
		return nil, err
	}
	return exactlyOne("webhook", "id or URL", store, name, all, (*adminv1.Webhook).GetUrl)
}

func webhooksOf(ctx context.Context, o admin.API, store string) ([]*adminv1.Webhook, error) {
	return collect(ctx, o, 0, &adminv1.ListWebhooksRequest{Store: store}, admin.API.ListWebhooks,
		(*adminv1.ListWebhooksResponse).GetWebhooks)
}

// findKey returns the key with this id, name or hint. If an active key has the name or hint, findKey ignores all keys that are
// not active. It returns an error if several keys remain.
func findKey(ctx context.Context, o admin.API, store, name string) (*adminv1.Key, error) {
	if isID(name) {
		return o.GetKey(ctx, &adminv1.GetKeyRequest{Id: name, Store: store})
	}
	all, err := keysOf(ctx, o, store)
	if err != nil {
		return nil, err
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
	return exactlyOne("key", "id, name or hint", store, name, all, (*adminv1.Key).GetName, (*adminv1.Key).GetHint)
}

func keysOf(ctx context.Context, o admin.API, store string) ([]*adminv1.Key, error) {
	return collect(ctx, o, 0, &adminv1.ListKeysRequest{Store: store}, admin.API.ListKeys, (*adminv1.ListKeysResponse).GetKeys)
}

// findSession returns the session or sign-in link whose id begins or ends with part. If store is empty, it searches all
// stores.
func findSession(ctx context.Context, o admin.API, store, part string) (*adminv1.Session, error) {
	all, err := collect(ctx, o, 0, &adminv1.ListSessionsRequest{Store: store}, admin.API.ListSessions,
		(*adminv1.ListSessionsResponse).GetSessions)
	if err != nil {
		return nil, err
	}
	return exactlyOne("dashboard sessions", "id", store, part, all)
}

// minPartOfID is how many characters of an id a person must give at least.
const minPartOfID = 8

// isNamed reports whether name refers to the item: it equals the result of a function in names for the item, or is the
// beginning or end of the item's id.
func isNamed[Item interface{ GetId() string }](item Item, name string, names ...func(Item) string) bool {
	for _, nameOf := range names {
		if nameOf(item) == name {
			return true
		}
	}
	part := strings.ToLower(name)
	return len(part) >= minPartOfID && (strings.HasPrefix(item.GetId(), part) || strings.HasSuffix(item.GetId(), part))
}

// exactlyOne returns the item to which name refers; all has the items to choose from. If name refers to several items, the
// error lists their ids. command is the command whose list shows the items, such as "webhook". identifiers says what name
// can be, such as "id or URL".
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
