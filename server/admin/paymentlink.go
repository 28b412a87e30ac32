package admin

import (
	"context"

	"github.com/google/uuid"

	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/paymentlink"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/apierr"
)

// CreatePaymentLink creates a payment link of a store. It refuses with store_not_found and as
// shop.CreatePaymentLink does.
func (o *Operator) CreatePaymentLink(ctx context.Context, storeName string, in *storefrontv1.CreatePaymentLinkRequest) (*storefrontv1.PaymentLink, error) {
	ctx, err := o.In(ctx, storeName)
	if err != nil {
		return nil, err
	}
	return o.shop.CreatePaymentLink(ctx, in)
}

// ListPaymentLinks returns a page of a store's payment links, newest first. It refuses with
// store_not_found or validation_failed.
func (o *Operator) ListPaymentLinks(ctx context.Context, storeName string, in *storefrontv1.ListPaymentLinksRequest) (*storefrontv1.ListPaymentLinksResponse, error) {
	ctx, err := o.In(ctx, storeName)
	if err != nil {
		return nil, err
	}
	return o.shop.ListPaymentLinks(ctx, in)
}

// GetPaymentLink returns a payment link. It refuses with payment_link_not_found.
func (o *Operator) GetPaymentLink(ctx context.Context, in *storefrontv1.GetPaymentLinkRequest) (*storefrontv1.PaymentLink, error) {
	ctx, err := o.inPaymentLink(ctx, in.GetId())
	if err != nil {
		return nil, err
	}
	return o.shop.GetPaymentLink(ctx, in)
}

// UpdatePaymentLink changes the named fields of a payment link. It refuses as
// shop.UpdatePaymentLink does.
func (o *Operator) UpdatePaymentLink(ctx context.Context, in *storefrontv1.UpdatePaymentLinkRequest) (*storefrontv1.PaymentLink, error) {
	ctx, err := o.inPaymentLink(ctx, in.GetId())
	if err != nil {
		return nil, err
	}
	return o.shop.UpdatePaymentLink(ctx, in)
}

// EnablePaymentLink enables a disabled payment link; an enabled one stays as it is. It refuses with
// payment_link_not_found.
func (o *Operator) EnablePaymentLink(ctx context.Context, in *storefrontv1.EnablePaymentLinkRequest) (*storefrontv1.PaymentLink, error) {
	ctx, err := o.inPaymentLink(ctx, in.GetId())
	if err != nil {
		return nil, err
	}
	return o.shop.EnablePaymentLink(ctx, in)
}

// DisablePaymentLink makes a payment link take no payments until it is enabled again; disabling a
// disabled link changes nothing. It refuses with payment_link_not_found.
func (o *Operator) DisablePaymentLink(ctx context.Context, id string) (*storefrontv1.PaymentLink, error) {
	ctx, err := o.inPaymentLink(ctx, id)
	if err != nil {
		return nil, err
	}
	return o.shop.DisablePaymentLink(ctx, id)
}

// inPaymentLink is In for the store that owns the payment link.
func (o *Operator) inPaymentLink(ctx context.Context, id string) (context.Context, error) {
	return o.inOwner(ctx, id, apierr.PaymentLinkNotFound, func(id uuid.UUID) *ent.StoreQuery {
		return o.store.Client().PaymentLink.Query().Where(paymentlink.ID(id)).QueryStore()
	})
}
