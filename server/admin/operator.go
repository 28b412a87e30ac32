// Package admin serves storefront.admin.v1: what the platform, its checkout and its dashboard do to
// stores from outside the public API. An Operator has the methods of all generated handlers. Commands
// and the dashboard call them in this process; server/admin/rpc serves them on the operator's
// listener, and its client calls them there.
//
// A store is named by its slug or id, everything else by its id alone (Find… methods also understand
// slugs, references, codes, e-mails, phones and parts of ids of a store): the operator looks up the store
// that owns it and works in that store, under the operator's name or that of a member (As). A context
// that is in a store already, as that of a signed-in member is, stays in it: what other stores own is
// not found.
//
// Every method refuses with an *apierr.Refusal; any other error is a failure of the service.
package admin

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"entgo.io/ent/dialect/sql"
	"github.com/google/uuid"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/predicate"
	"go.storefront.example/gen/ent/store"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/gen/storefront/admin/v1/adminv1connect"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/shop"
	"go.storefront.example/server/validate"
	"go.storefront.example/server/webhooks"
)

// API is every method of storefront.admin.v1 with one answer. An Operator carries them out in this
// process, an rpc.Client on a server. Both refuse with an *apierr.Refusal.
type API interface {
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

	ListEvents(context.Context, *adminv1.ListEventsRequest) (*adminv1.ListEventsResponse, error)
	GetEvent(context.Context, *adminv1.GetEventRequest) (*adminv1.Event, error)
	CreatePing(context.Context, *adminv1.CreatePingRequest) (*adminv1.Event, error)

	// Now returns the time by which moments such as one hour ago are meant: the database's, or over the
	// network that of the server's answers, in whole seconds.
	Now(context.Context) (time.Time, error)
}

// Handlers is every method of storefront.admin.v1, streams included.
type Handlers interface {
	API
	adminv1connect.EventServiceHandler
}

var _ Handlers = (*Operator)(nil)

// Operator carries out the operator's methods. Goroutines may share it.
type Operator struct {
	rules    *shop.Shop
	webhooks *webhooks.Webhooks
	db       *db.DB
	watches  watches
}

// Options are the platform's choices for all stores.
type Options struct {
	Shop     shop.Options
	Webhooks webhooks.Options
}

// New returns the operator of the stores on a database.
func New(s *db.DB, o Options) *Operator {
	return &Operator{rules: shop.New(s, o.Shop), webhooks: webhooks.New(s, o.Webhooks), db: s}
}

// Now returns the database's time.
func (o *Operator) Now(context.Context) (time.Time, error) { return o.db.Now(), nil }

// operator is the actor that the activity journal names unless there is a member.
var operator = tenant.Actor{Type: tenant.ActorOperator, Name: "operator"}

type memberKey struct{}

// As returns a context in which the operator works on behalf of a member of the store: the activity
// journal names the member. The name is one that MemberName returned.
func As(ctx context.Context, member string) context.Context {
	return context.WithValue(ctx, memberKey{}, member)
}

// MemberOf returns the member that As put into the context, or "".
func MemberOf(ctx context.Context) string {
	member, _ := ctx.Value(memberKey{}).(string)
	return member
}

// actorOf returns the actor that the activity journal names.
func actorOf(ctx context.Context) tenant.Actor {
	if member := MemberOf(ctx); member != "" {
		return tenant.Actor{Type: tenant.ActorMember, Name: member}
	}
	return operator
}

// In returns a context in which the rules work on the store with this slug or id, under the
// operator's name or that of a member (As). A context that is in a store already stays in it; name may
// then be empty. It refuses with store_not_found.
func (o *Operator) In(ctx context.Context, name string) (context.Context, error) {
	if own, _, ok := tenant.From(ctx); ok {
		if name == "" || name == own.Slug || strings.EqualFold(name, own.ID.String()) {
			return ctx, nil
		}
		return nil, apierr.New(apierr.StoreNotFound, "There is no store "+name+".")
	}
	t, err := o.rules.FindStore(ctx, name)
	if err != nil {
		return nil, err
	}
	return tenant.With(ctx, t, actorOf(ctx)), nil
}

// inOwner is In for the store that owns the row with this id; owner finds it by the row's
// primary key, the one look-up that cannot name the store. It refuses with the code missing.
func (o *Operator) inOwner(ctx context.Context, id string, missing apierr.Code,
	owner func(uuid.UUID) predicate.Store) (context.Context, error) {
	if _, _, ok := tenant.From(ctx); ok {
		return ctx, nil // the rules find nothing that another store owns
	}
	parsed, ok := validate.ParseID(id)
	if !ok {
		return nil, notFound(missing, id)
	}
	row, err := o.db.Client().Store.Query().Where(owner(parsed)).Only(ctx)
	if ent.IsNotFound(err) {
		return nil, notFound(missing, id)
	}
	if err != nil {
		return nil, fmt.Errorf("find the owner of %s: %w", id, err)
	}
	return tenant.With(ctx, shop.TenantOf(row), actorOf(ctx)), nil
}

// owns finds the store that owns the row with an id in a table, or in the other of two that share ids.
func owns(table string, others ...string) func(uuid.UUID) predicate.Store {
	return func(id uuid.UUID) predicate.Store {
		in := func(table string) *sql.Selector {
			return sql.Select("store_id").From(sql.Table(table)).Where(sql.EQ("id", id))
		}
		owner := in(table)
		for _, other := range others {
			owner.Union(in(other))
		}
		return func(stores *sql.Selector) { stores.Where(sql.In(stores.C(store.FieldID), owner)) }
	}
}

// named returns the id of what a name of a store is: the name itself if it is an id, else that of the row that find
// looks for or, in the tables, of the only one whose id begins or ends with the name; with a context in that store. It
// refuses with store_not_found or the code missing.
func (o *Operator) named(ctx context.Context, store, name string, missing apierr.Code, tables []string,
	find func(context.Context, tenant.Store) (uuid.UUID, error)) (context.Context, string, error) {
	if _, ok := validate.ParseID(name); ok {
		return ctx, name, nil
	}
	ctx, err := o.In(ctx, store)
	if err != nil {
		return nil, "", err
	}
	t, _, _ := tenant.From(ctx)
	refused := func(format string, args ...any) (context.Context, string, error) {
		return nil, "", apierr.New(missing, fmt.Sprintf(format, args...))
	}
	none := func() (context.Context, string, error) {
		return refused("There is no %s %q in the store %s.", kinds[missing], name, t.Slug)
	}
	if !validate.Storable(name) {
		return none()
	}
	if find != nil {
		id, err := find(ctx, t)
		if err == nil {
			return ctx, id.String(), nil
		}
		if !ent.IsNotFound(err) {
			return nil, "", fmt.Errorf("find the %s %s: %w", kinds[missing], name, err)
		}
	}
	ids, err := o.withPart(ctx, t.ID, name, tables)
	switch {
	case err != nil:
		return nil, "", fmt.Errorf("find the %s %s: %w", kinds[missing], name, err)
	case len(ids) == 0:
		return none()
	case len(ids) > 1:
		return refused("The id %s is ambiguous in the store %s: %s.", name, t.Slug, strings.Join(ids, ", "))
	}
	return ctx, ids[0], nil
}

// partOfID is a text that can name a row by the beginning or the end of its id.
var partOfID = regexp.MustCompile(`^[0-9A-Fa-f-]{8,35}$`)

// mostAmbiguous is how many ids a refusal lists.
const mostAmbiguous = 5

// withPart returns the ids in tables of a store that begin or end with a text, some of them if there are many.
func (o *Operator) withPart(ctx context.Context, storeID uuid.UUID, part string, tables []string) (ids []string, err error) {
	if !partOfID.MatchString(part) {
		return nil, nil
	}
	var in []string
	for _, table := range tables {
		in = append(in, "SELECT CAST(id AS text) AS id FROM "+table+" WHERE store_id = $1")
	}
	part = strings.ToLower(part)
	for row := range db.Rows(ctx, o.db.Reader(), "SELECT id FROM ("+strings.Join(in, " UNION ")+") ids WHERE id LIKE $2 OR id LIKE $3"+
		" ORDER BY id DESC LIMIT "+strconv.Itoa(mostAmbiguous), storeID, part+"%", "%"+part) {
		var id string
		if err := row.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// inStore calls a method of the rules in the store that a request names.
func inStore[In, Out any](ctx context.Context, o *Operator, name string, in In, method func(context.Context, In) (Out, error)) (
	Out, error) {
	ctx, err := o.In(ctx, name)
	if err != nil {
		var none Out
		return none, err
	}
	return method(ctx, in)
}

// inRow calls a method of the rules in the store that owns the row with the id of a request; owner is one of
// inProduct, inOrder and so on.
func inRow[In interface{ GetId() string }, Out any](ctx context.Context, in In,
	owner func(context.Context, string) (context.Context, error), method func(context.Context, In) (Out, error)) (Out, error) {
	ctx, err := owner(ctx, in.GetId())
	if err != nil {
		var none Out
		return none, err
	}
	return method(ctx, in)
}

// kinds names the kinds of row that are found by their id alone.
var kinds = map[apierr.Code]string{
	apierr.ProductNotFound:     "product",
	apierr.OrderNotFound:       "order",
	apierr.CustomerNotFound:    "customer",
	apierr.PaymentLinkNotFound: "payment link",
	apierr.APIKeyNotFound:      "API key",
	apierr.WebhookNotFound:     "webhook",
	apierr.DeliveryNotFound:    "delivery",
	apierr.EventNotFound:       "event",
	apierr.SessionNotFound:     "session or sign-in link",
}

func notFound(missing apierr.Code, id string) error {
	return apierr.New(missing, fmt.Sprintf("There is no %s with the id %q.", kinds[missing], id))
}
