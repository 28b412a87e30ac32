package shop

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/id"
	"go.storefront.example/ent/resource"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/paymentlink"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/validate"
)

func (p *problems) newPaymentLink(in *storefrontv1.CreatePaymentLinkRequest) (Named[ent.PaymentLink], error) {
	if in.GetPricing() == 0 {
		p.Invalid("pricing", "must be FIXED or OPEN")
	}
	return p.paymentLinkFields(in)
}

func (p *problems) paymentLinkFields(in proto.Message) (Named[ent.PaymentLink], error) {
	named := NamedOf(&p.Problems, resource.PaymentLinkFields, "", in)
	p.Recode("expiresAt", apierr.PaymentLinkExpiryInvalid)
	return named, p.Err()
}

// linkAfter merges the named fields into row. A new pricing clears the amount of the old one, unless the request names it.
func linkAfter(named Named[ent.PaymentLink], row *ent.PaymentLink) ent.PaymentLink {
	next := named.Applied(row)
	switch {
	case next.Pricing == row.Pricing:
	case next.Pricing == paymentlink.PricingOPEN && !named.Has("amount"):
		next.Amount = nil
	case next.Pricing == paymentlink.PricingFIXED && !named.Has("min_amount"):
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

// CreatePaymentLink creates a payment link of the context's store.
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
	named, err := newProblems(ctx).newPaymentLink(in)
	if err != nil {
		return nil, err
	}
	address, err := s.storeAddress(ctx, t)
	if err != nil {
		return nil, err
	}
	return hook.Answer(ctx, s.db.ForStore(ctx), func(c *hook.Change) (*storefrontv1.PaymentLink, error) {
		now, next := c.Time(), named.Values
		if err := checkLink(&ent.PaymentLink{}, &next, now); err != nil {
			return nil, err
		}
		// Ten letters are 50 random bits. If another link has this code, the change runs again with another code.
		short := strings.ToLower(code(10))
		create := c.Tx.PaymentLink.Create().SetID(id.At(now)).SetStoreID(t.ID).
			SetCode(short).SetURL(address + "/pay/" + short).SetCreatedAt(now).SetUpdatedAt(now)
		if err := resource.PaymentLinkFields.Fill(create.Mutation(), &next); err != nil {
			return nil, fmt.Errorf("create payment link: %w", err)
		}
		row, err := create.Save(c)
		if err != nil {
			return nil, fmt.Errorf("create payment link: %w", err)
		}
		return resource.PaymentLink(row, t.Currency, now), nil
	})
}

// UpdatePaymentLink changes the named fields of a payment link.
func (s *Shop) UpdatePaymentLink(
	ctx context.Context, in *storefrontv1.UpdatePaymentLinkRequest,
) (*storefrontv1.PaymentLink, error) {
	named, err := newProblems(ctx).paymentLinkFields(in)
	if err != nil {
		return nil, err
	}
	return hook.Answer(ctx, s.db.ForStore(ctx), func(c *hook.Change) (*storefrontv1.PaymentLink, error) {
		row, err := lockPaymentLink(c, in.GetId())
		if err != nil {
			return nil, err
		}
		next := linkAfter(named, row)
		if err := checkLink(row, &next, c.Time()); err != nil {
			return nil, err
		}
		return savePaymentLink(c, row, &next)
	})
}

// EnablePaymentLink enables a disabled link; an enabled link does not change.
func (s *Shop) EnablePaymentLink(
	ctx context.Context, in *storefrontv1.EnablePaymentLinkRequest,
) (*storefrontv1.PaymentLink, error) {
	return hook.Answer(ctx, s.db.ForStore(ctx), func(c *hook.Change) (*storefrontv1.PaymentLink, error) {
		row, err := lockPaymentLink(c, in.GetId())
		if err != nil {
			return nil, err
		}
		next := *row
		next.DisabledAt = nil
		return savePaymentLink(c, row, &next)
	})
}

// DisablePaymentLink disables a link; a disabled link does not change.
func (s *Shop) DisablePaymentLink(ctx context.Context, id string) (*storefrontv1.PaymentLink, error) {
	return hook.Answer(ctx, s.db.ForStore(ctx), func(c *hook.Change) (*storefrontv1.PaymentLink, error) {
		row, err := lockPaymentLink(c, id)
		if err != nil {
			return nil, err
		}
		next := *row
		next.DisabledAt = cmp.Or(row.DisabledAt, new(c.Time(row.ID)))
		return savePaymentLink(c, row, &next)
	})
}

func lockPaymentLink(c *hook.Change, id string) (*ent.PaymentLink, error) {
	parsed, ok := validate.ParseID(id)
	if !ok {
		return nil, paymentLinkNotFound()
	}
	row, err := hook.LockRow(c, c.Tx.PaymentLink.Query().Where(paymentlink.StoreID(c.Store.ID), paymentlink.ID(parsed)))
	return row, apierr.RowError("payment link", err, paymentLinkNotFound)
}

func savePaymentLink(c *hook.Change, row, next *ent.PaymentLink) (*storefrontv1.PaymentLink, error) {
	row, err := Save(c, resource.PaymentLinkFields, row, next, row.Update())
	if err != nil {
		return nil, err
	}
	return resource.PaymentLink(row, c.Store.Currency, c.Time()), nil
}
