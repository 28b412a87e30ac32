package resource

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"go.storefront.example/ent/apijson"
	"go.storefront.example/ent/invisible"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
)

// PaymentLink returns the message for a row of a store with this currency, with the link's availability at the time now. The
// message shares the row's texts.
func PaymentLink(row *ent.PaymentLink, currency string, now time.Time) *storefrontv1.PaymentLink {
	return &storefrontv1.PaymentLink{
		Id:              row.ID.String(),
		Code:            row.Code,
		Url:             row.URL,
		Title:           invisible.OneLine(row.Title),
		Description:     row.Description,
		CoverUrl:        row.CoverURL,
		Pricing:         storefrontv1.PaymentLink_Pricing(storefrontv1.PaymentLink_Pricing_value[string(row.Pricing)]),
		Amount:          row.Amount,
		MinAmount:       row.MinAmount,
		Currency:        currency,
		ThankYouMessage: row.ThankYouMessage,
		ExpiresAt:       apijson.OptionalTimestamp(row.ExpiresAt),
		MaxPayments:     row.MaxPayments,
		DisabledAt:      apijson.OptionalTimestamp(row.DisabledAt),
		Availability:    Availability(row, now),
		PaidCount:       row.PaidCount,
		PaidAmount:      row.PaidAmount,
		LastPaidAt:      apijson.OptionalTimestamp(row.LastPaidAt),
		CreatedAt:       apijson.Timestamp(row.CreatedAt),
		UpdatedAt:       apijson.Timestamp(row.UpdatedAt),
	}
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

var paymentLinkList = list{
	table: "payment_links", alias: "l",
	columns: `l.id, l.code, l.url, l.title, l.description, l.cover_url, l.pricing, l.amount, l.min_amount, l.thank_you_message,
 l.expires_at, l.max_payments, l.disabled_at, l.paid_count, l.paid_amount, l.last_paid_at, l.created_at, l.updated_at`,
}

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
		err := rows.Scan(&total, &p.ID, &p.Code, &p.URL, &p.Title, &p.Description, &p.CoverURL, &p.Pricing, &p.Amount, &p.MinAmount,
			&p.ThankYouMessage,
			&p.ExpiresAt, &p.MaxPayments, &p.DisabledAt, &p.PaidCount, &p.PaidAmount, &p.LastPaidAt, &p.CreatedAt, &p.UpdatedAt)
		links = append(links, PaymentLink(p, store.Currency, now))
		return err
	})
	if err != nil {
		return nil, 0, fmt.Errorf("list payment links: %w", err)
	}
	return links, total, nil
}
