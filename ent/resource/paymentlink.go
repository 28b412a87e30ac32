package resource

import (
	"context"
	"fmt"
	"time"

	"entgo.io/ent/dialect/sql"

	"go.storefront.example/ent/tenant"
	"go.storefront.example/ent/wire"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/paymentlink"
	"go.storefront.example/gen/ent/predicate"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
)

// PaymentLink is the PaymentLink of a row as it stands at now; currency is the store's. The
// message shares the row's texts.
func PaymentLink(row *ent.PaymentLink, currency string, now time.Time) *storefrontv1.PaymentLink {
	return &storefrontv1.PaymentLink{
		Id:              row.ID.String(),
		Code:            row.Code,
		Url:             row.URL,
		Title:           row.Title,
		Description:     row.Description,
		CoverUrl:        row.CoverURL,
		Pricing:         storefrontv1.PaymentLink_Pricing(storefrontv1.PaymentLink_Pricing_value[string(row.Pricing)]),
		Amount:          row.Amount,
		MinAmount:       row.MinAmount,
		Currency:        currency,
		ThankYouMessage: row.ThankYouMessage,
		ExpiresAt:       wire.OptionalTimestamp(row.ExpiresAt),
		MaxPayments:     row.MaxPayments,
		DisabledAt:      wire.OptionalTimestamp(row.DisabledAt),
		Availability:    Availability(row, now),
		PaidCount:       row.PaidCount,
		PaidAmount:      row.PaidAmount,
		LastPaidAt:      wire.OptionalTimestamp(row.LastPaidAt),
		CreatedAt:       wire.Timestamp(row.CreatedAt),
		UpdatedAt:       wire.Timestamp(row.UpdatedAt),
	}
}

// Availability reports whether a payment link takes payments at now, and if not, the first reason:
// it is disabled, its end date is reached, or its cap of payments is.
func Availability(row *ent.PaymentLink, now time.Time) storefrontv1.PaymentLink_Availability {
	switch {
	case row.DisabledAt != nil:
		return storefrontv1.PaymentLink_DISABLED
	case row.ExpiresAt != nil && !row.ExpiresAt.After(now):
		return storefrontv1.PaymentLink_EXPIRED
	case row.MaxPayments != nil && row.PaidCount >= *row.MaxPayments:
		return storefrontv1.PaymentLink_EXHAUSTED
	default:
		return storefrontv1.PaymentLink_ACTIVE
	}
}

// takesPayments finds the links whose Availability is ACTIVE.
func takesPayments(now time.Time) predicate.PaymentLink {
	return paymentlink.And(
		paymentlink.DisabledAtIsNil(),
		paymentlink.Or(paymentlink.ExpiresAtIsNil(), paymentlink.ExpiresAtGT(now)),
		paymentlink.Or(paymentlink.MaxPaymentsIsNil(),
			predicate.PaymentLink(sql.FieldsLT(paymentlink.FieldPaidCount, paymentlink.FieldMaxPayments))),
	)
}

// PaymentLinks reads a page of the payment links with the status at now, newest first, and counts
// all that have it; the zero status is any. The page costs the entries of the store's index up to
// its end. Whether a link takes payments depends on the hour and on a counter that every payment
// moves, so a filter on status reads the store's links along that index instead of an index of its
// own, which each payment would have to move.
func PaymentLinks(ctx context.Context, c *ent.Client, store tenant.Store, status storefrontv1.ListPaymentLinksRequest_Status, now time.Time,
	page Page,
) (links []*storefrontv1.PaymentLink, total int64, err error) {
	query := c.PaymentLink.Query().Where(paymentlink.StoreID(store.ID))
	switch status {
	case storefrontv1.ListPaymentLinksRequest_active:
		query.Where(takesPayments(now))
	case storefrontv1.ListPaymentLinksRequest_inactive:
		query.Where(paymentlink.Not(takesPayments(now)))
	}
	n, err := query.Clone().Count(ctx)
	if err != nil {
		return nil, 0, fmt.Errorf("count payment links: %w", err)
	}
	if page.Offset >= int64(n) {
		return nil, int64(n), nil
	}
	rows, err := query.
		Order(paymentlink.ByCreatedAt(sql.OrderDesc()), paymentlink.ByID(sql.OrderDesc())).
		Limit(page.Size).Offset(int(page.Offset)).
		All(ctx)
	if err != nil {
		return nil, 0, fmt.Errorf("list payment links: %w", err)
	}
	links = make([]*storefrontv1.PaymentLink, len(rows))
	for i, row := range rows {
		links[i] = PaymentLink(row, store.Currency, now)
	}
	return links, int64(n), nil
}
