package resource

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"go.storefront.example/ent/invisible"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
)

var linkShape = shapeOf[ent.PaymentLink, storefrontv1.PaymentLink]()

// PaymentLink returns the message for a row of a store with this currency, with the link's availability at the time now. The
// message shares the row's texts.
func PaymentLink(row *ent.PaymentLink, currency string, now time.Time) *storefrontv1.PaymentLink {
	m := linkShape.fill(&storefrontv1.PaymentLink{Currency: currency, Availability: Availability(row, now)}, row)
	m.Title = invisible.OneLine(m.Title)
	return m
}

// Availability returns ACTIVE if a payment link takes payments at the time now. Otherwise it returns the first reason that
// holds: the link is disabled, its end date is reached, or its maximum of payments is reached.
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

// activeCondition returns the SQL condition under which a link's Availability is ACTIVE; now is the placeholder of the time.
func activeCondition(now string) string {
	return "(disabled_at IS NULL AND (expires_at IS NULL OR expires_at > " + now + ") AND (max_payments IS NULL OR paid_count < " +
		"max_payments))"
}

var paymentLinkList = list{table: "payment_links", alias: "l", columns: linkShape.selected("l")}

// PaymentLinks reads a page of the payment links that have this status at the time now, newest first. total is the number of
// all links with the status. The zero status means any status; then each page costs the same, however many links the store
// has (see statement). For another status PaymentLinks reads all of the store's links along the list's index. No stored
// count or index could help, because the status depends on the time and on a counter that every payment changes.
func PaymentLinks(ctx context.Context, l Lists, store tenant.Store, status storefrontv1.ListPaymentLinksRequest_Status,
	now time.Time,
	page Page,
) (links []*storefrontv1.PaymentLink, total int64, err error) {
	f := &filter{args: []any{store.ID}}
	switch status {
	case storefrontv1.ListPaymentLinksRequest_active:
		f.and(activeCondition(f.args.Add(now)))
	case storefrontv1.ListPaymentLinksRequest_inactive:
		f.and("NOT " + activeCondition(f.args.Add(now)))
	}
	err = l.read(ctx, paymentLinkList, f, page, &total, func(rows *sql.Rows) error {
		p := &ent.PaymentLink{StoreID: store.ID}
		err := linkShape.scan(rows, p, &total)
		links = append(links, PaymentLink(p, store.Currency, now))
		return err
	})
	if err != nil {
		return nil, 0, fmt.Errorf("list payment links: %w", err)
	}
	return links, total, nil
}
