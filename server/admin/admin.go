// Package admin holds the operator's operations: what the platform does to its stores from
// outside the public API, such as creating keys and recording orders. A store is named by its
// slug or id, everything else by its id alone; this package finds the store that owns it and
// hands the work to the shop under the operator's name.
//
// It has no rules of its own: it refuses what the shop refuses, and a name that stands for
// nothing.
package admin

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/service"
)

// operator is who the activity journal names for what is done here, but for a member.
var operator = tenant.Actor{Type: tenant.ActorOperator, Name: "operator"}

type memberKey struct{}

// As returns a context in which the operator's operations are done on behalf of a member of the
// store: the activity journal names the member. The name is one that shop.MemberName returned.
func As(ctx context.Context, member string) context.Context {
	return context.WithValue(ctx, memberKey{}, member)
}

// MemberOf returns the member that As put into the context, or "".
func MemberOf(ctx context.Context) string {
	member, _ := ctx.Value(memberKey{}).(string)
	return member
}

// actorOf is who the activity journal names.
func actorOf(ctx context.Context) tenant.Actor {
	if member := MemberOf(ctx); member != "" {
		return tenant.Actor{Type: tenant.ActorMember, Name: member}
	}
	return operator
}

// Operator carries out the operator's operations. Goroutines may share it.
type Operator struct {
	shop  *service.Shop
	store *db.DB
}

// New returns the operator of the shop's stores; both work on the same database.
func New(s *db.DB, rules *service.Shop) *Operator {
	return &Operator{shop: rules, store: s}
}

// In returns a context in which the shop works on the store with this slug or id, under the
// operator's name or that of the member on whose behalf it is (As). It refuses with store_not_found.
func (o *Operator) In(ctx context.Context, name string) (context.Context, error) {
	t, err := o.shop.FindStore(ctx, name)
	if err != nil {
		return nil, err
	}
	return tenant.With(ctx, t, actorOf(ctx)), nil
}

// inOwner is In for the store that owns the row with this id; owner looks it up by the row's
// primary key, the one look-up that cannot name the store. What is missing is code.
func (o *Operator) inOwner(ctx context.Context, id string, missing apierr.Code, owner func(uuid.UUID) *ent.StoreQuery) (context.Context, error) {
	parsed, err := uuid.Parse(id)
	if err != nil || len(id) != len(uuid.Nil.String()) {
		return nil, noneWith(missing, id)
	}
	row, err := owner(parsed).Only(ctx)
	if ent.IsNotFound(err) {
		return nil, noneWith(missing, id)
	}
	if err != nil {
		return nil, fmt.Errorf("find the owner of %s: %w", id, err)
	}
	return tenant.With(ctx, service.TenantOf(row), actorOf(ctx)), nil
}

// what names the kinds of row that are found by their id alone.
var what = map[apierr.Code]string{
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

func noneWith(missing apierr.Code, id string) error {
	return apierr.New(missing, fmt.Sprintf("There is no %s with the id %q.", what[missing], id))
}
