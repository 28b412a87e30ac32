// Package admin serves storefront.v1 to the operator, and storefront.admin.v1: operations for the platform, its checkout and
// its dashboard that are not in the public API. An Operator has the methods of all generated handlers. Commands and the
// dashboard call them in their own process; server/admin/rpc serves them on the admin listener, and its client calls them
// there.
//
// The services of storefront.v1 work in the store of a context that WithStore returned. A request of storefront.admin.v1 names
// a store by its slug or id, and every other row by its id, which ResolveName finds by the name that people use. A method works
// in the store that the request names or, if it names none, in the store of the named row. If the context already has a store,
// methods find only rows of this store. The activity journal shows the operator as the actor, or the member of
// tenant.WithMember.
//
// Every method refuses with an *apierr.Refusal; any other error is a failure of the service.
package admin

import (
	"cmp"
	"context"
	"strings"
	"time"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/notice"
	"go.storefront.example/ent/tenant"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/gen/storefront/admin/v1/adminv1connect"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/dashboard/signin"
	"go.storefront.example/server/shop"
	"go.storefront.example/server/webhooks"
)

// API has the methods of both services that return one answer. An Operator runs them in this process, an rpc.Client on a
// server. Both refuse with an *apierr.Refusal.
type API interface {
	// WithStore returns a context for calls about the store with this slug or id. The services of storefront.v1 need it.
	WithStore(ctx context.Context, name string) (context.Context, error)

	shop.Services
	adminv1connect.NameServiceHandler
	adminv1connect.StoreServiceHandler
	adminv1connect.ProductServiceHandler
	adminv1connect.OrderServiceHandler
	adminv1connect.CustomerServiceHandler
	adminv1connect.PaymentLinkServiceHandler
	adminv1connect.KeyServiceHandler
	adminv1connect.WebhookServiceHandler
	adminv1connect.DeliveryServiceHandler
	adminv1connect.ActivityServiceHandler
	adminv1connect.DashboardServiceHandler
	adminv1connect.ImportServiceHandler

	// Export reads all rows of a store as of one instant, and calls handle with one page after the other.
	Export(ctx context.Context, in *adminv1.ExportStoreRequest, handle func(*adminv1.ExportStoreResponse) error) error

	ListEvents(context.Context, *adminv1.ListEventsRequest) (*adminv1.ListEventsResponse, error)
	GetEvent(context.Context, *adminv1.GetEventRequest) (*adminv1.Event, error)
	CreatePing(context.Context, *adminv1.CreatePingRequest) (*adminv1.Event, error)

	// Now is the time of the database or, for a client, of the server, in whole seconds.
	Now(context.Context) (time.Time, error)
}

// Handlers has every method of both services, including streams.
type Handlers interface {
	API
	adminv1connect.EventServiceHandler
	adminv1connect.ExportServiceHandler
}

var _ Handlers = (*Operator)(nil)

// Operator implements both services. Goroutines may share it.
type Operator struct {
	shop.Services

	shop     *shop.Shop
	webhooks *webhooks.Webhooks
	sessions *signin.Sessions
	db       *db.DB
	watches  watches
	exports  chan struct{} // has one value for each running export
	buckets  tenant.Buckets
}

// Options are the platform's choices for all stores.
type Options struct {
	Shop     shop.Options
	Webhooks webhooks.Options
}

// New returns the operator of the stores on a database.
func New(d *db.DB, o Options) *Operator {
	rules := shop.New(d, o.Shop)
	return &Operator{Services: rules, shop: rules, webhooks: webhooks.New(d, o.Webhooks), sessions: signin.New(d), db: d,
		exports: make(chan struct{}, maxExports), buckets: o.Shop.Buckets}
}

// Now returns the database's time.
func (o *Operator) Now(context.Context) (time.Time, error) { return o.db.Now(), nil }

var operator = tenant.Actor{Type: tenant.ActorOperator, Name: "operator"}

// checkSecretsAllowed refuses with origin_refused if a member makes the request, or if it came over the network without a token.
func checkSecretsAllowed(ctx context.Context) error {
	switch call := tenant.CallOf(ctx); {
	case call.Tokenless:
		return apierr.New(apierr.OriginRefused, "Without an operator's token, no secrets are sent: start the server with --admin-token, or "+
			"export from its database with --database-url.")
	case call.Actor.Type == tenant.ActorMember:
		return apierr.New(apierr.OriginRefused, "No secrets are sent to members of a store, but to the operator only.")
	}
	return nil
}

func actorOf(ctx context.Context) tenant.Actor { return cmp.Or(tenant.CallOf(ctx).Actor, operator) }

// WithStore keeps the actor of ctx. If ctx already has a store, name may be empty, and must not name another. It refuses a
// store whose rows are being deleted, because lists would lack rows and new rows would stay.
func (o *Operator) WithStore(ctx context.Context, name string) (context.Context, error) {
	ctx, t, err := o.withExistingStore(ctx, name)
	switch {
	case err != nil:
		return nil, err
	case t.BeingDeleted:
		return nil, storeBeingDeleted(t.Slug)
	}
	return ctx, nil
}

// withExistingStore is WithStore, but accepts a store whose rows are being deleted.
func (o *Operator) withExistingStore(ctx context.Context, name string) (context.Context, tenant.Store, error) {
	if t, _, ok := tenant.From(ctx); ok {
		if name == "" || name == t.Slug || strings.EqualFold(name, t.ID.String()) {
			return ctx, t, nil
		}
		return nil, tenant.Store{}, storeNotFound(name)
	}
	t, err := o.shop.FindStore(ctx, name)
	if err != nil {
		return nil, t, err
	}
	return tenant.With(ctx, t, actorOf(ctx)), t, nil
}

func storeNotFound(name string) error {
	return apierr.New(apierr.StoreNotFound, "There is no store "+name+".")
}

// Notices is given in place of a store's name to list what belongs to no store: notices, their deliveries and their webhook. No
// store has this slug, because slugs contain no @.
const Notices = "@notices"

var noStore = tenant.Store{ID: notice.NoStore, Slug: Notices}

// withReadableStore is WithStore for methods that only read. It also accepts Notices.
func (o *Operator) withReadableStore(ctx context.Context, name string) (context.Context, error) {
	if _, _, ok := tenant.From(ctx); !ok && name == Notices {
		return tenant.With(ctx, noStore, actorOf(ctx)), nil
	}
	return o.WithStore(ctx, name)
}

// withOptionalStore is withReadableStore, but returns ctx if name is empty.
func (o *Operator) withOptionalStore(ctx context.Context, name string) (context.Context, error) {
	if name == "" {
		return ctx, nil
	}
	return o.withReadableStore(ctx, name)
}

// check is withReadableStore, but first refuses with refused's problems; refused may be nil.
func (o *Operator) check(ctx context.Context, refused *problems, name string) (context.Context, tenant.Store, error) {
	if refused != nil && refused.Any() {
		return nil, tenant.Store{}, refused.Err()
	}
	ctx, err := o.withReadableStore(ctx, name)
	if err != nil {
		return nil, tenant.Store{}, err
	}
	t, _, _ := tenant.From(ctx)
	return ctx, t, nil
}

func callInStore[In, Out any](ctx context.Context, o *Operator, name string, in In,
	method func(context.Context, In) (Out, error)) (
	out Out, err error) {
	if ctx, err = o.WithStore(ctx, name); err != nil {
		return out, err
	}
	return method(ctx, in)
}

// rowRequest names a row by its id and may name its store.
type rowRequest interface {
	GetId() string
	GetStore() string
}

// callInRowStore calls a method with the context of the named store, or else of the row's.
func callInRowStore[In, Out any](ctx context.Context, o *Operator, k kind, row rowRequest, in In,
	method func(context.Context, In) (Out, error)) (out Out, err error) {
	if ctx, err = o.withRowStore(ctx, k, row.GetStore(), row.GetId()); err != nil {
		return out, err
	}
	return method(ctx, in)
}

// byID is callInRowStore for a method that takes only the row's id.
func byID[Row, Message any](ctx context.Context, o *Operator, k kind, in rowRequest,
	method func(context.Context, string) (Row, error), message func(Row) Message) (out Message, err error) {
	row, err := callInRowStore(ctx, o, k, in, in.GetId(), method)
	if err != nil {
		return out, err
	}
	return message(row), nil
}
