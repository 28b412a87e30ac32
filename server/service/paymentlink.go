package service

import (
	"context"
	"fmt"
	"time"

	"entgo.io/ent/dialect/sql"

	"go.storefront.example/ent/read"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/ent/wire"
	"go.storefront.example/gen/ent/paymentlink"
	"go.storefront.example/gen/ent/predicate"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/apierr"
)

func paymentLinkNotFound() error {
	return apierr.New(apierr.PaymentLinkNotFound, "The store has no payment link with this id.")
}

// paymentLinksOpen refuses the creation of payment links while the platform has it switched off,
// for all stores or for this one.
func (s *Shop) paymentLinksOpen(t tenant.Store) error {
	if s.options.PaymentLinksOff || !t.PaymentLinksOpen {
		return apierr.New(apierr.FeatureDisabled, "Payment links cannot be created just now.")
	}
	return nil
}

type paymentLinkList struct {
	number int64
	page   read.Page
	status storefrontv1.ListPaymentLinksRequest_Status
}

func (p *problems) listPaymentLinks(in *storefrontv1.ListPaymentLinksRequest) (paymentLinkList, error) {
	var l paymentLinkList
	l.number, l.page = p.page(in.Page, in.PageSize)
	p.known("status", in.GetStatus())
	l.status = in.GetStatus()
	return l, p.err()
}

// takesPayments finds the links that take payments at a moment: neither disabled, nor expired,
// nor exhausted.
func takesPayments(now time.Time) predicate.PaymentLink {
	return paymentlink.And(
		paymentlink.DisabledAtIsNil(),
		paymentlink.Or(paymentlink.ExpiresAtIsNil(), paymentlink.ExpiresAtGT(now)),
		paymentlink.Or(paymentlink.MaxPaymentsIsNil(),
			predicate.PaymentLink(sql.FieldsLT(paymentlink.FieldPaidCount, paymentlink.FieldMaxPayments))),
	)
}

// ListPaymentLinks returns a page of the store's payment links, newest first. The page costs the
// entries of the store's index up to its end. Whether a link takes payments depends on the hour
// and on a counter that every payment moves, so a filter on status looks at the store's links
// along that index instead of at an index of its own, which each payment would have to move.
//
// It refuses with validation_failed.
func (s *Shop) ListPaymentLinks(ctx context.Context, in *storefrontv1.ListPaymentLinksRequest) (*storefrontv1.ListPaymentLinksResponse, error) {
	t, err := tenantOf(ctx)
	if err != nil {
		return nil, err
	}
	l, err := (&problems{}).listPaymentLinks(in)
	if err != nil {
		return nil, err
	}
	now := s.store.Now()
	query := s.store.Client().PaymentLink.Query().Where(paymentlink.StoreID(t.ID))
	switch l.status {
	case storefrontv1.ListPaymentLinksRequest_active:
		query.Where(takesPayments(now))
	case storefrontv1.ListPaymentLinksRequest_inactive:
		query.Where(paymentlink.Not(takesPayments(now)))
	}
	total, err := query.Clone().Count(ctx)
	if err != nil {
		return nil, fmt.Errorf("count payment links: %w", err)
	}
	out := &storefrontv1.ListPaymentLinksResponse{Page: l.number, PageSize: int32(l.page.Size), Total: int64(total)}
	if l.page.Offset >= out.Total {
		return out, nil
	}
	rows, err := query.
		Order(paymentlink.ByCreatedAt(sql.OrderDesc()), paymentlink.ByID(sql.OrderDesc())).
		Limit(l.page.Size).Offset(int(l.page.Offset)).
		All(ctx)
	if err != nil {
		return nil, fmt.Errorf("list payment links: %w", err)
	}
	out.Data = make([]*storefrontv1.PaymentLink, len(rows))
	for i, row := range rows {
		out.Data[i] = wire.PaymentLink(row, t.Currency, now)
	}
	return out, nil
}

// GetPaymentLink returns a payment link of the store. It refuses with payment_link_not_found.
func (s *Shop) GetPaymentLink(ctx context.Context, in *storefrontv1.GetPaymentLinkRequest) (*storefrontv1.PaymentLink, error) {
	t, err := tenantOf(ctx)
	if err != nil {
		return nil, err
	}
	id, ok := parseID(in.GetId())
	if !ok {
		return nil, paymentLinkNotFound()
	}
	row, err := s.store.Client().PaymentLink.Query().Where(paymentlink.StoreID(t.ID), paymentlink.ID(id)).Only(ctx)
	if err := readError("payment link", err, paymentLinkNotFound); err != nil {
		return nil, err
	}
	return wire.PaymentLink(row, t.Currency, s.store.Now()), nil
}
