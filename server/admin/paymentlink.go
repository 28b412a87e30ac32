package admin

import (
	"context"

	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
)

// DisablePaymentLink makes a payment link take no payments until it is enabled again.
func (o *Operator) DisablePaymentLink(ctx context.Context, in *adminv1.DisablePaymentLinkRequest) (*storefrontv1.PaymentLink,
	error) {
	return callInRowStore(ctx, o, paymentLinkKind, in, in.GetId(), o.shop.DisablePaymentLink)
}
