package admin

import (
	"context"

	"github.com/google/uuid"

	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/paymentlink"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/refusal"
)

// DisablePaymentLink makes a payment link take no payments until it is enabled again; disabling a
// disabled link changes nothing. It refuses with payment_link_not_found.
func (o *Operator) DisablePaymentLink(ctx context.Context, id string) (*storefrontv1.PaymentLink, error) {
	ctx, err := o.inOwner(ctx, id, refusal.PaymentLinkNotFound, func(id uuid.UUID) *ent.StoreQuery {
		return o.store.Client().PaymentLink.Query().Where(paymentlink.ID(id)).QueryStore()
	})
	if err != nil {
		return nil, err
	}
	return o.shop.DisablePaymentLink(ctx, id)
}
