package service

import (
	"context"
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/id"
	"go.storefront.example/ent/resource"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/paymentlink"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/apierr"
)

// linkChange is what to change of a payment link; a nil field stays as it is, and the inner
// pointer of a field that can be null is its value.
type linkChange struct {
	title                      *string
	pricing                    *paymentlink.Pricing
	amount, minAmount          **int64
	description, cover, thanks **string
	expiresAt                  **time.Time
	maxPayments                **int32
}

// everyLinkField is the mask of a creation, which names all fields.
var everyLinkField = []string{"title", "pricing", "amount", "min_amount", "description", "cover_url", "thank_you_message", "expires_at", "max_payments"}

// newPaymentLink reads a creation as a change of an empty link that names every field.
func (p *problems) newPaymentLink(in *storefrontv1.CreatePaymentLinkRequest) (linkChange, error) {
	pricing := in.GetPricing()
	if pricing == 0 {
		p.invalid("pricing", "must be FIXED or OPEN")
	}
	return p.paymentLinkChange(&storefrontv1.UpdatePaymentLinkRequest{
		Title: &in.Title, Pricing: &pricing, Amount: in.Amount, MinAmount: in.MinAmount, Description: in.Description,
		CoverUrl: in.CoverUrl, ThankYouMessage: in.ThankYouMessage, ExpiresAt: in.GetExpiresAt(), MaxPayments: in.MaxPayments,
		UpdateMask: &fieldmaskpb.FieldMask{Paths: everyLinkField},
	})
}

func (p *problems) paymentLinkChange(in *storefrontv1.UpdatePaymentLinkRequest) (linkChange, error) {
	var c linkChange
	named := p.named(in)
	p.required("title", named("title"), in.Title != nil)
	p.required("pricing", named("pricing"), in.GetPricing() != 0)
	if named("title") && in.Title != nil {
		title := p.title("title", in.GetTitle())
		c.title = &title
	}
	if named("pricing") {
		p.known("pricing", in.GetPricing())
		pricing := paymentlink.Pricing(in.GetPricing().String())
		c.pricing = &pricing
	}
	if named("amount") {
		p.amount("amount", in.Amount, 1)
		c.amount = &in.Amount
	}
	if named("min_amount") {
		p.amount("minAmount", in.MinAmount, 1)
		c.minAmount = &in.MinAmount
	}
	if named("description") {
		text := p.optionalText("description", in.Description, MaxLinkDescriptionRunes)
		c.description = &text
	}
	if named("cover_url") {
		cover := p.optionalURL("coverUrl", in.CoverUrl)
		c.cover = &cover
	}
	if named("thank_you_message") {
		text := p.optionalText("thankYouMessage", in.ThankYouMessage, MaxThankYouRunes)
		c.thanks = &text
	}
	if named("expires_at") {
		at := p.moment("expiresAt", in.GetExpiresAt())
		c.expiresAt = &at
	}
	if named("max_payments") {
		if in.MaxPayments != nil && in.GetMaxPayments() < 1 {
			p.invalid("maxPayments", "must be a whole number from 1 to 2147483647, or null")
		}
		c.maxPayments = &in.MaxPayments
	}
	// Whatever is wrong with the date itself has a code of its own.
	p.recode("expiresAt", apierr.PaymentLinkExpiryInvalid)
	return c, p.err()
}

// applied is the link after the change. Changing the pricing clears the other kind's amount
// unless the change names it.
func (c linkChange) applied(row *ent.PaymentLink) ent.PaymentLink {
	next := *row
	if c.pricing != nil && *c.pricing != row.Pricing {
		if c.amount == nil && *c.pricing == paymentlink.PricingOPEN {
			next.Amount = nil
		}
		if c.minAmount == nil && *c.pricing == paymentlink.PricingFIXED {
			next.MinAmount = nil
		}
	}
	setIfNamed(&next.Title, c.title)
	setIfNamed(&next.Pricing, c.pricing)
	setIfNamed(&next.Amount, c.amount)
	setIfNamed(&next.MinAmount, c.minAmount)
	setIfNamed(&next.Description, c.description)
	setIfNamed(&next.CoverURL, c.cover)
	setIfNamed(&next.ThankYouMessage, c.thanks)
	setIfNamed(&next.ExpiresAt, c.expiresAt)
	setIfNamed(&next.MaxPayments, c.maxPayments)
	return next
}

// sellable refuses a link whose pricing does not fit its amounts, or whose end date was changed
// to one that has passed.
func sellable(row, next *ent.PaymentLink, now time.Time) error {
	fixed := next.Amount != nil && next.MinAmount == nil
	open := next.Amount == nil && next.MinAmount != nil
	if (next.Pricing == paymentlink.PricingFIXED && !fixed) || (next.Pricing == paymentlink.PricingOPEN && !open) {
		return apierr.New(apierr.PaymentLinkInvalidPricing, "FIXED needs amount and no minAmount; OPEN needs minAmount and no amount.")
	}
	if next.ExpiresAt != nil && differAt(next.ExpiresAt, row.ExpiresAt) && !next.ExpiresAt.After(now) {
		return apierr.New(apierr.PaymentLinkExpiryPast, "expiresAt must be in the future; null removes the end date.")
	}
	return nil
}

// CreatePaymentLink creates a payment link.
//
// It refuses with feature_disabled, validation_failed, payment_link_expiry_invalid,
// payment_link_invalid_pricing or payment_link_expiry_past, in this order.
func (s *Shop) CreatePaymentLink(ctx context.Context, in *storefrontv1.CreatePaymentLinkRequest) (*storefrontv1.PaymentLink, error) {
	t, err := tenantOf(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.paymentLinksOpen(t); err != nil {
		return nil, err
	}
	c, err := (&problems{}).newPaymentLink(in)
	if err != nil {
		return nil, err
	}
	var row *ent.PaymentLink
	err = s.withTx(ctx, func(ctx context.Context, tx *ent.Tx) error {
		address, err := storeAddress(ctx, tx, t)
		if err != nil {
			return err
		}
		now := hook.Time(ctx)
		next := c.applied(&ent.PaymentLink{})
		if err := sellable(&ent.PaymentLink{}, &next, now); err != nil {
			return err
		}
		// 50 random bits: a code that is taken after all violates its index and the transaction runs anew.
		short := strings.ToLower(code(10))
		row, err = tx.PaymentLink.Create().SetID(id.At(now)).SetStoreID(t.ID).
			SetCode(short).SetURL(address + "/pay/" + short).
			SetTitle(next.Title).SetPricing(next.Pricing).SetNillableAmount(next.Amount).SetNillableMinAmount(next.MinAmount).
			SetNillableDescription(next.Description).SetNillableCoverURL(next.CoverURL).SetNillableThankYouMessage(next.ThankYouMessage).
			SetNillableExpiresAt(next.ExpiresAt).SetNillableMaxPayments(next.MaxPayments).
			SetCreatedAt(now).SetUpdatedAt(now).Save(ctx)
		if err != nil {
			return fmt.Errorf("create payment link: %w", err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return resource.PaymentLink(row, t.Currency, s.store.Now()), nil
}

// UpdatePaymentLink changes the named fields of a payment link.
//
// It refuses with validation_failed, payment_link_expiry_invalid, payment_link_not_found,
// payment_link_invalid_pricing or payment_link_expiry_past, in this order.
func (s *Shop) UpdatePaymentLink(ctx context.Context, in *storefrontv1.UpdatePaymentLinkRequest) (*storefrontv1.PaymentLink, error) {
	c, err := (&problems{}).paymentLinkChange(in)
	if err != nil {
		return nil, err
	}
	return s.changePaymentLink(ctx, in.GetId(), func(ctx context.Context, row *ent.PaymentLink) (*ent.PaymentLinkUpdateOne, error) {
		next := c.applied(row)
		if err := sellable(row, &next, hook.Time(ctx)); err != nil {
			return nil, err
		}
		return linkUpdate(row, &next), nil
	})
}

// EnablePaymentLink enables a disabled link and leaves an enabled one as it is. It refuses with
// payment_link_not_found.
func (s *Shop) EnablePaymentLink(ctx context.Context, in *storefrontv1.EnablePaymentLinkRequest) (*storefrontv1.PaymentLink, error) {
	return s.changePaymentLink(ctx, in.GetId(), func(_ context.Context, row *ent.PaymentLink) (*ent.PaymentLinkUpdateOne, error) {
		u := row.Update()
		if row.DisabledAt != nil {
			u.ClearDisabledAt()
		}
		return u, nil
	})
}

// DisablePaymentLink disables a link for the operator's side and leaves a disabled one as it is.
// It refuses with payment_link_not_found.
func (s *Shop) DisablePaymentLink(ctx context.Context, id string) (*storefrontv1.PaymentLink, error) {
	return s.changePaymentLink(ctx, id, func(ctx context.Context, row *ent.PaymentLink) (*ent.PaymentLinkUpdateOne, error) {
		u := row.Update()
		if row.DisabledAt == nil {
			u.SetDisabledAt(hook.Time(ctx))
		}
		return u, nil
	})
}

// changePaymentLink saves what a change makes of a link, or nothing when it changes nothing.
func (s *Shop) changePaymentLink(ctx context.Context, id string, change func(context.Context, *ent.PaymentLink) (*ent.PaymentLinkUpdateOne, error)) (*storefrontv1.PaymentLink, error) {
	t, err := tenantOf(ctx)
	if err != nil {
		return nil, err
	}
	linkID, ok := parseID(id)
	if !ok {
		return nil, paymentLinkNotFound()
	}
	var row *ent.PaymentLink
	err = s.withTx(ctx, func(ctx context.Context, tx *ent.Tx) error {
		row, err = take(ctx, s, tx.PaymentLink.Query().Where(paymentlink.StoreID(t.ID), paymentlink.ID(linkID)))
		if err := readError("payment link", err, paymentLinkNotFound); err != nil {
			return err
		}
		u, err := change(ctx, row)
		if err != nil || unchanged(u.Mutation()) {
			return err
		}
		row, err = u.SetUpdatedAt(hook.Time(ctx)).Save(ctx)
		if err != nil {
			return fmt.Errorf("update payment link: %w", err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return resource.PaymentLink(row, t.Currency, s.store.Now()), nil
}

// linkUpdate sets what differs between a link and what it becomes.
func linkUpdate(row, next *ent.PaymentLink) *ent.PaymentLinkUpdateOne {
	u := row.Update()
	if next.Title != row.Title {
		u.SetTitle(next.Title)
	}
	if next.Pricing != row.Pricing {
		u.SetPricing(next.Pricing)
	}
	if differ(next.Amount, row.Amount) {
		setOrClear(next.Amount, u.SetAmount, u.ClearAmount)
	}
	if differ(next.MinAmount, row.MinAmount) {
		setOrClear(next.MinAmount, u.SetMinAmount, u.ClearMinAmount)
	}
	if differ(next.Description, row.Description) {
		setOrClear(next.Description, u.SetDescription, u.ClearDescription)
	}
	if differ(next.CoverURL, row.CoverURL) {
		setOrClear(next.CoverURL, u.SetCoverURL, u.ClearCoverURL)
	}
	if differ(next.ThankYouMessage, row.ThankYouMessage) {
		setOrClear(next.ThankYouMessage, u.SetThankYouMessage, u.ClearThankYouMessage)
	}
	if differAt(next.ExpiresAt, row.ExpiresAt) {
		setOrClear(next.ExpiresAt, u.SetExpiresAt, u.ClearExpiresAt)
	}
	if differ(next.MaxPayments, row.MaxPayments) {
		setOrClear(next.MaxPayments, u.SetMaxPayments, u.ClearMaxPayments)
	}
	return u
}
