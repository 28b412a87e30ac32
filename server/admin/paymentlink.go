package admin

import (
	"context"

	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent/paymentlink"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
)

// CreatePaymentLink creates a payment link of a store. It refuses with store_not_found and as
// shop.CreatePaymentLink does.
func (o *Operator) CreatePaymentLink(ctx context.Context, in *adminv1.CreatePaymentLinkRequest) (*storefrontv1.PaymentLink,
	error) {
	return callInStore(ctx, o, in.GetStore(), &storefrontv1.CreatePaymentLinkRequest{
		Title: in.GetTitle(), Pricing: in.GetPricing(), Amount: in.Amount, MinAmount: in.MinAmount, Description: in.Description,
		CoverUrl: in.CoverUrl, ThankYouMessage: in.ThankYouMessage, ExpiresAt: in.GetExpiresAt(), MaxPayments: in.MaxPayments,
	}, o.shop.CreatePaymentLink)
}

// ListPaymentLinks returns a page of a store's payment links, newest first. It refuses with
// store_not_found or validation_failed.
func (o *Operator) ListPaymentLinks(ctx context.Context,
	in *adminv1.ListPaymentLinksRequest) (*storefrontv1.ListPaymentLinksResponse, error) {
	return callInStore(ctx, o, in.GetStore(), &storefrontv1.ListPaymentLinksRequest{Page: in.Page, PageSize: in.PageSize,
		Status: in.Status}, o.shop.ListPaymentLinks)
}

// GetPaymentLink returns a payment link. It refuses with payment_link_not_found.
func (o *Operator) GetPaymentLink(ctx context.Context, in *adminv1.GetPaymentLinkRequest) (*storefrontv1.PaymentLink,
	error) {
	return callInRowStore(ctx, o, paymentLinkKind, in, &storefrontv1.GetPaymentLinkRequest{Id: in.GetId()}, o.shop.GetPaymentLink)
}

// FindPaymentLink finds a payment link by id, or in a store by its code or a part of the id. It refuses with store_not_found
// or payment_link_not_found.
func (o *Operator) FindPaymentLink(ctx context.Context, in *adminv1.FindPaymentLinkRequest) (*storefrontv1.PaymentLink, error) {
	ctx, id, err := o.find(ctx, paymentLinkKind, in, func(tenant.Store) (string, string) {
		return paymentlink.FieldCode,
			in.GetName()
	})
	if err != nil {
		return nil, err
	}
	return o.GetPaymentLink(ctx, &adminv1.GetPaymentLinkRequest{Id: id})
}

// UpdatePaymentLink changes the named fields of a payment link. It refuses as
// shop.UpdatePaymentLink does.
func (o *Operator) UpdatePaymentLink(ctx context.Context, in *adminv1.UpdatePaymentLinkRequest) (*storefrontv1.PaymentLink,
	error) {
	return callInRowStore(ctx, o, paymentLinkKind, in, in, o.shop.UpdatePaymentLinkAsOperator)
}

// EnablePaymentLink enables a payment link. If it is enabled already, nothing changes. It refuses with payment_link_not_found.
func (o *Operator) EnablePaymentLink(ctx context.Context, in *adminv1.EnablePaymentLinkRequest) (*storefrontv1.PaymentLink,
	error) {
	return callInRowStore(ctx, o, paymentLinkKind, in, &storefrontv1.EnablePaymentLinkRequest{Id: in.GetId()},
		o.shop.EnablePaymentLink)
}

// DisablePaymentLink disables a payment link: it takes no payments until it is enabled again. If it is disabled already,
// nothing changes. It refuses with payment_link_not_found.
func (o *Operator) DisablePaymentLink(ctx context.Context, in *adminv1.DisablePaymentLinkRequest) (*storefrontv1.PaymentLink,
	error) {
	return callInRowStore(ctx, o, paymentLinkKind, in, in.GetId(), o.shop.DisablePaymentLink)
}
