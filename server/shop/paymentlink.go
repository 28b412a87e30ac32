package shop

import (
	"context"

	"go.storefront.example/ent/resource"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent/paymentlink"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/validate"
)

func paymentLinkNotFound() error {
	return apierr.New(apierr.PaymentLinkNotFound, "The store has no payment link with this id.")
}

// checkPaymentLinksOpen refuses a new payment link if the platform has turned them off, for all stores or for this one.
func (s *Shop) checkPaymentLinksOpen(t tenant.Store) error {
	if s.options.PaymentLinksOff || !t.PaymentLinksOpen {
		return apierr.New(apierr.FeatureDisabled, "Payment links cannot be created just now.")
	}
	return nil
}

func (p *problems) listPaymentLinks(in *storefrontv1.ListPaymentLinksRequest) (
	l list[storefrontv1.ListPaymentLinksRequest_Status], err error) {
	l.number, l.page = p.page(in)
	l.filter = in.GetStatus()
	return l, p.Err()
}

// ListPaymentLinks returns a page of the store's payment links, newest first; resource.PaymentLinks documents the cost.
func (s *Shop) ListPaymentLinks(
	ctx context.Context, in *storefrontv1.ListPaymentLinksRequest,
) (*storefrontv1.ListPaymentLinksResponse, error) {
	t, err := tenant.StoreOf(ctx)
	if err != nil {
		return nil, err
	}
	l, err := newProblems(ctx).listPaymentLinks(in)
	if err != nil {
		return nil, err
	}
	out := &storefrontv1.ListPaymentLinksResponse{Page: l.number, PageSize: int32(l.page.Size)}
	out.Data, out.Total, err = resource.PaymentLinks(ctx, s.counts.Lists(ctx), t, l.filter, s.db.Now(), l.page)
	return out, err
}

// GetPaymentLink returns a payment link of the store.
func (s *Shop) GetPaymentLink(ctx context.Context, in *storefrontv1.GetPaymentLinkRequest) (*storefrontv1.PaymentLink, error) {
	t, id, err := validate.StoreAndID(ctx, in.GetId(), paymentLinkNotFound)
	if err != nil {
		return nil, err
	}
	row, err := s.db.ForStore(ctx).Client().PaymentLink.Query().Where(paymentlink.StoreID(t.ID), paymentlink.ID(id)).Only(ctx)
	if err := apierr.RowError("payment link", err, paymentLinkNotFound); err != nil {
		return nil, err
	}
	return resource.PaymentLink(row, t.Currency, s.db.Now()), nil
}
