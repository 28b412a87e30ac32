package wire

import (
	"time"

	"go.storefront.example/gen/ent"
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
		ExpiresAt:       OptionalTimestamp(row.ExpiresAt),
		MaxPayments:     row.MaxPayments,
		DisabledAt:      OptionalTimestamp(row.DisabledAt),
		Availability:    Availability(row.DisabledAt, row.ExpiresAt, row.MaxPayments, row.PaidCount, now),
		PaidCount:       row.PaidCount,
		PaidAmount:      row.PaidAmount,
		LastPaidAt:      OptionalTimestamp(row.LastPaidAt),
		CreatedAt:       Timestamp(row.CreatedAt),
		UpdatedAt:       Timestamp(row.UpdatedAt),
	}
}

// Availability tells whether a payment link takes payments at now, and if not, the first reason:
// it is disabled, its end date is reached, or its cap of payments is.
func Availability(
	disabledAt, expiresAt *time.Time, maxPayments *int32, paidCount int32, now time.Time,
) storefrontv1.PaymentLink_Availability {
	switch {
	case disabledAt != nil:
		return storefrontv1.PaymentLink_DISABLED
	case expiresAt != nil && !expiresAt.After(now):
		return storefrontv1.PaymentLink_EXPIRED
	case maxPayments != nil && paidCount >= *maxPayments:
		return storefrontv1.PaymentLink_EXHAUSTED
	default:
		return storefrontv1.PaymentLink_ACTIVE
	}
}
