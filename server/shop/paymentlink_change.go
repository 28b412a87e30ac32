package shop

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/id"
	"go.storefront.example/ent/resource"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/paymentlink"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/apierr"
)

func (p *problems) newPaymentLink(in *storefrontv1.CreatePaymentLinkRequest) (Change[ent.PaymentLink], error) {
	if in.GetPricing() == 0 {
		p.Invalid("pricing", "must be FIXED or OPEN")
	}
	return p.paymentLinkChange(in)
}

func (p *problems) paymentLinkChange(in proto.Message) (Change[ent.PaymentLink], error) {
	c := ChangeOf(&p.Problems, resource.PaymentLinkFields, in, "")
	// Refuse a date that cannot be read, or is out of range, with payment_link_expiry_invalid in place of validation_failed.
	p.Recode("expiresAt", apierr.PaymentLinkExpiryInvalid)
	return c, p.Err()
}

// linkAfter returns row with the values of the change c. If c switches the pricing to OPEN and does not name amount,
// linkAfter clears amount, because an OPEN link has none. In the same way it clears minAmount if c switches to FIXED.
func linkAfter(c Change[ent.PaymentLink], row *ent.PaymentLink) ent.PaymentLink {
	next := c.Applied(row)
	switch {
	case next.Pricing == row.Pricing:
	case next.Pricing == paymentlink.PricingOPEN && !c.Has("amount"):
		next.Amount = nil
	case next.Pricing == paymentlink.PricingFIXED && !c.Has("min_amount"):
		next.MinAmount = nil
	}
	return next
}

// CheckPricing refuses a link with amounts that do not fit its pricing.
func CheckPricing(pricing paymentlink.Pricing, amount, minAmount *int64) error {
	if (amount != nil) != (pricing == paymentlink.PricingFIXED) || (minAmount != nil) != (pricing == paymentlink.PricingOPEN) {
		return apierr.New(apierr.PaymentLinkInvalidPricing, "FIXED needs amount and no minAmount; OPEN needs minAmount and no amount.")
	}
	return nil
}

// checkLink refuses a link that CheckPricing refuses, or with a new end date in the past.
func checkLink(row, next *ent.PaymentLink, now time.Time) error {
	if err := CheckPricing(next.Pricing, next.Amount, next.MinAmount); err != nil {
		return err
	}
	if next.ExpiresAt != nil && timesDiffer(next.ExpiresAt, row.ExpiresAt) && !next.ExpiresAt.After(now) {
		return apierr.New(apierr.PaymentLinkExpiryPast, "expiresAt must be in the future; null removes the end date.")
	}
	return nil
}

// CreatePaymentLink creates a payment link.
//
// It refuses with feature_disabled, validation_failed, payment_link_expiry_invalid,
// payment_link_invalid_pricing or payment_link_expiry_past, in this order.
func (s *Shop) CreatePaymentLink(
	ctx context.Context, in *storefrontv1.CreatePaymentLinkRequest,
) (*storefrontv1.PaymentLink, error) {
	t, err := tenant.StoreOf(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.checkPaymentLinksOpen(t); err != nil {
		return nil, err
	}
	c, err := newProblems(ctx).newPaymentLink(in)
	if err != nil {
		return nil, err
	}
	address, err := s.storeAddress(ctx, t)
	if err != nil {
		return nil, err
	}
	var row *ent.PaymentLink
	err = hook.Change(ctx, s.db.ForStore(ctx), func(ctx context.Context, tx *ent.Tx) error {
		now := hook.Time(ctx)
		next := c.Values
		if err := checkLink(&ent.PaymentLink{}, &next, now); err != nil {
			return err
		}
		// Ten letters are 50 random bits. If another link has this code, the unique index makes the transaction fail, and
		// the transaction runs again with another code.
		short := strings.ToLower(code(10))
		create := tx.PaymentLink.Create().SetID(id.At(now)).SetStoreID(t.ID).
			SetCode(short).SetURL(address + "/pay/" + short).SetCreatedAt(now).SetUpdatedAt(now)
		if err := resource.PaymentLinkFields.Fill(create.Mutation(), &next); err != nil {
			return fmt.Errorf("create payment link: %w", err)
		}
		row, err = create.Save(ctx)
		if err != nil {
			return fmt.Errorf("create payment link: %w", err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return resource.PaymentLink(row, t.Currency, s.db.Now()), nil
}

// UpdatePaymentLink changes the named fields of a payment link.
//
// It refuses with validation_failed, payment_link_expiry_invalid, payment_link_not_found,
// payment_link_invalid_pricing or payment_link_expiry_past, in this order.
func (s *Shop) UpdatePaymentLink(
	ctx context.Context, in *storefrontv1.UpdatePaymentLinkRequest,
) (*storefrontv1.PaymentLink, error) {
	c, err := newProblems(ctx).paymentLinkChange(in)
	if err != nil {
		return nil, err
	}
	return s.changePaymentLink(ctx, in.GetId(), func(ctx context.Context, row *ent.PaymentLink) (ent.PaymentLink, error) {
		next := linkAfter(c, row)
		return next, checkLink(row, &next, hook.Time(ctx))
	})
}

// EnablePaymentLink enables a disabled link; an enabled link does not change. It refuses with payment_link_not_found.
func (s *Shop) EnablePaymentLink(
	ctx context.Context, in *storefrontv1.EnablePaymentLinkRequest,
) (*storefrontv1.PaymentLink, error) {
	return s.changePaymentLink(ctx, in.GetId(), func(_ context.Context, row *ent.PaymentLink) (ent.PaymentLink, error) {
		next := *row
		next.DisabledAt = nil
		return next, nil
	})
}

// DisablePaymentLink disables a link; a disabled link does not change. It refuses with payment_link_not_found.
func (s *Shop) DisablePaymentLink(ctx context.Context, id string) (*storefrontv1.PaymentLink, error) {
	return s.changePaymentLink(ctx, id, func(ctx context.Context, row *ent.PaymentLink) (ent.PaymentLink, error) {
		next := *row
		if next.DisabledAt == nil {
			next.DisabledAt = new(hook.Time(ctx, row.ID))
		}
		return next, nil
	})
}

// changePaymentLink locks a link, calls change, which returns the changed link, and saves the fields that differ.
func (s *Shop) changePaymentLink(
	ctx context.Context, id string, change func(context.Context, *ent.PaymentLink) (ent.PaymentLink, error),
) (*storefrontv1.PaymentLink, error) {
	row, t, err := ChangeRow(ctx, s.db.ForStore(ctx), id, paymentLinkNotFound, s.lockPaymentLink,
		func(ctx context.Context, _ *ent.Tx, _ tenant.Store, row *ent.PaymentLink) (*ent.PaymentLink, error) {
			next, err := change(ctx, row)
			if err != nil {
				return nil, err
			}
			u := row.Update()
			return Save(ctx, resource.PaymentLinkFields, row, &next, u.Mutation(), u)
		})
	if err != nil {
		return nil, err
	}
	return resource.PaymentLink(row, t.Currency, s.db.Now()), nil
}

func (s *Shop) lockPaymentLink(ctx context.Context, tx *ent.Tx, t tenant.Store, id uuid.UUID) (*ent.PaymentLink, error) {
	row, err := hook.LockRow(ctx, tx.PaymentLink.Query().Where(paymentlink.StoreID(t.ID), paymentlink.ID(id)))
	return row, apierr.RowError("payment link", err, paymentLinkNotFound)
}
