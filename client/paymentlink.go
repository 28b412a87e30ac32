package client

import (
	"context"
	"iter"
	"time"

	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/gen/storefront/v1/storefrontv1connect"
)

// PaymentLink is an address at which a buyer pays. Amounts are in minor units of its currency.
type PaymentLink = storefrontv1.PaymentLink

// PaymentLinkPage is one page of payment links.
type PaymentLinkPage = storefrontv1.ListPaymentLinksResponse

// PaymentLinkPricing says who sets the amount.
type PaymentLinkPricing = storefrontv1.PaymentLink_Pricing

// FixedPricing needs Amount. With OpenPricing the buyer chooses the amount, at least MinAmount.
const (
	FixedPricing = storefrontv1.PaymentLink_FIXED
	OpenPricing  = storefrontv1.PaymentLink_OPEN
)

// PaymentLinkStatus selects links by whether they take payments now.
type PaymentLinkStatus = storefrontv1.ListPaymentLinksRequest_Status

// Links that take payments now, and links that do not.
const (
	ActivePaymentLinks   = storefrontv1.ListPaymentLinksRequest_active
	InactivePaymentLinks = storefrontv1.ListPaymentLinksRequest_inactive
)

// PaymentLinkFilter selects payment links; a field with its zero value selects all.
type PaymentLinkFilter struct {
	// Page is the number of the first page, from 1. PageSize is 1 to 100; 0 means 25.
	Page     int64
	PageSize int32
	Status   PaymentLinkStatus
}

// NewPaymentLink leaves fields with their zero value out. Amounts are in minor units of the store's currency.
type NewPaymentLink struct {
	Title string
	// Pricing is FixedPricing, with Amount, or OpenPricing, with MinAmount.
	Pricing           PaymentLinkPricing
	Amount, MinAmount int64
	Description       string
	CoverURL          string
	ThankYouMessage   string
	ExpiresAt         time.Time
	// MaxPayments is 0 for no limit.
	MaxPayments int32
}

// PaymentLinks has the operations on payment links. Goroutines may share it.
type PaymentLinks struct {
	caller *caller
	rpc    storefrontv1connect.PaymentLinkServiceClient
}

// List returns all payment links that match, with their counters, newest first. If a link is created meanwhile, it may return
// an older one twice: compare the ids. Collect the ids before you change what the filter selects. After an error, an *Error,
// the sequence ends. Scope payment_links:read.
func (l *PaymentLinks) List(ctx context.Context, filter PaymentLinkFilter) iter.Seq2[*PaymentLink, error] {
	return all(filter.Page, func(number int64) (*PaymentLinkPage, error) {
		next := filter
		next.Page = number
		return l.Page(ctx, next)
	})
}

// Page retrieves one page of payment links. Scope payment_links:read.
func (l *PaymentLinks) Page(ctx context.Context, filter PaymentLinkFilter) (*PaymentLinkPage, error) {
	return call(ctx, l.caller, l.rpc.ListPaymentLinks, &storefrontv1.ListPaymentLinksRequest{
		Page: optional(filter.Page), PageSize: optional(filter.PageSize), Status: optional(filter.Status),
	})
}

// Get retrieves a payment link. Scope payment_links:read.
func (l *PaymentLinks) Get(ctx context.Context, id string) (*PaymentLink, error) {
	return call(ctx, l.caller, l.rpc.GetPaymentLink, &storefrontv1.GetPaymentLinkRequest{Id: id})
}

// Create creates a payment link. It is retried only after a 429. After a NetworkError, a Timeout or a status of 500 or more the
// link may exist: look in the list before you call again. Scope payment_links:write.
func (l *PaymentLinks) Create(ctx context.Context, link NewPaymentLink) (*PaymentLink, error) {
	return call(ctx, l.caller, l.rpc.CreatePaymentLink, &storefrontv1.CreatePaymentLinkRequest{
		Title: link.Title, Pricing: link.Pricing, Amount: optional(link.Amount), MinAmount: optional(link.MinAmount),
		Description: optional(link.Description), CoverUrl: optional(link.CoverURL), ThankYouMessage: optional(link.ThankYouMessage),
		ExpiresAt: timestampOf(optional(link.ExpiresAt)), MaxPayments: optional(link.MaxPayments),
	})
}

// Update changes a payment link and returns the new state. Scope payment_links:write.
func (l *PaymentLinks) Update(ctx context.Context, id string, change PaymentLinkChange) (*PaymentLink, error) {
	return call(ctx, l.caller, l.rpc.UpdatePaymentLink, change.request(id))
}

// Enable enables a disabled payment link. It may still be expired or exhausted: see its Availability. Scope payment_links:write.
func (l *PaymentLinks) Enable(ctx context.Context, id string) (*PaymentLink, error) {
	return call(ctx, l.caller, l.rpc.EnablePaymentLink, &storefrontv1.EnablePaymentLinkRequest{Id: id})
}
