package rpc

import (
	"context"

	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
)

// CreatePaymentLink serves PaymentLinkService.CreatePaymentLink.
func (s handlers) CreatePaymentLink(ctx context.Context, in *adminv1.CreatePaymentLinkRequest) (*storefrontv1.PaymentLink, error) {
	return s.operator.CreatePaymentLink(ctx, in.GetStore(), &storefrontv1.CreatePaymentLinkRequest{
		Title: in.GetTitle(), Pricing: in.GetPricing(), Amount: in.Amount, MinAmount: in.MinAmount, Description: in.Description,
		CoverUrl: in.CoverUrl, ThankYouMessage: in.ThankYouMessage, ExpiresAt: in.GetExpiresAt(), MaxPayments: in.MaxPayments,
	})
}

// ListPaymentLinks serves PaymentLinkService.ListPaymentLinks.
func (s handlers) ListPaymentLinks(ctx context.Context, in *adminv1.ListPaymentLinksRequest) (*storefrontv1.ListPaymentLinksResponse, error) {
	return s.operator.ListPaymentLinks(ctx, in.GetStore(), &storefrontv1.ListPaymentLinksRequest{
		Page: in.Page, PageSize: in.PageSize, Status: in.Status,
	})
}

// GetPaymentLink serves PaymentLinkService.GetPaymentLink.
func (s handlers) GetPaymentLink(ctx context.Context, in *storefrontv1.GetPaymentLinkRequest) (*storefrontv1.PaymentLink, error) {
	return s.operator.GetPaymentLink(ctx, in)
}

// UpdatePaymentLink serves PaymentLinkService.UpdatePaymentLink.
func (s handlers) UpdatePaymentLink(ctx context.Context, in *storefrontv1.UpdatePaymentLinkRequest) (*storefrontv1.PaymentLink, error) {
	return s.operator.UpdatePaymentLink(ctx, in)
}

// EnablePaymentLink serves PaymentLinkService.EnablePaymentLink.
func (s handlers) EnablePaymentLink(ctx context.Context, in *storefrontv1.EnablePaymentLinkRequest) (*storefrontv1.PaymentLink, error) {
	return s.operator.EnablePaymentLink(ctx, in)
}

// DisablePaymentLink serves PaymentLinkService.DisablePaymentLink.
func (s handlers) DisablePaymentLink(ctx context.Context, in *adminv1.DisablePaymentLinkRequest) (*storefrontv1.PaymentLink, error) {
	return s.operator.DisablePaymentLink(ctx, in.GetId())
}

// DisablePaymentLink is admin.Operator's.
func (c *Client) DisablePaymentLink(ctx context.Context, id string) (*storefrontv1.PaymentLink, error) {
	out, err := c.links.DisablePaymentLink(ctx, &adminv1.DisablePaymentLinkRequest{Id: id})
	return read(c, out, err, same)
}
