package client

import (
	"context"
	"iter"

	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/gen/storefront/v1/storefrontv1connect"
)

// PaymentLinks are the store's payment links: addresses at which a buyer pays without going through
// the catalogue. Goroutines may share it.
type PaymentLinks struct {
	caller *caller
	rpc    storefrontv1connect.PaymentLinkServiceClient
}

// List returns all payment links that match the request, with their counters, newest first; nil
// matches all. PageSize is the number per request, and Page the first page. A link created
// meanwhile moves the others towards the end, so one may come twice: compare ids. After an error,
// an *Error, the sequence ends. It needs the scope payment_links:read.
func (l *PaymentLinks) List(ctx context.Context, request *storefrontv1.ListPaymentLinksRequest) iter.Seq2[*storefrontv1.PaymentLink, error] {
	return all(ctx, request, func(r *storefrontv1.ListPaymentLinksRequest) **int64 { return &r.Page }, l.Page)
}

// Page retrieves one page of payment links, for programs that show pages; nil means the first page.
// It needs the scope payment_links:read. The error is an *Error: ValidationFailed for a request out
// of bounds.
func (l *PaymentLinks) Page(ctx context.Context, request *storefrontv1.ListPaymentLinksRequest) (*storefrontv1.ListPaymentLinksResponse, error) {
	return call(ctx, l.caller, l.rpc.ListPaymentLinks, request)
}

// Get retrieves a payment link. It needs the scope payment_links:read. The error is an *Error:
// PaymentLinkNotFound.
func (l *PaymentLinks) Get(ctx context.Context, id string) (*storefrontv1.PaymentLink, error) {
	return call(ctx, l.caller, l.rpc.GetPaymentLink, &storefrontv1.GetPaymentLinkRequest{Id: id})
}

// Create creates a payment link. It is never retried: after a NetworkError or a Timeout, check the
// list before you call it again. It needs the scope payment_links:write. The error is an *Error:
// FeatureDisabled, PaymentLinkInvalidPricing, PaymentLinkExpiryInvalid, PaymentLinkExpiryPast or
// ValidationFailed.
func (l *PaymentLinks) Create(ctx context.Context, request *storefrontv1.CreatePaymentLinkRequest) (*storefrontv1.PaymentLink, error) {
	return call(ctx, l.caller, l.rpc.CreatePaymentLink, request)
}

// Update changes the fields of a payment link that are present in the request. With an UpdateMask
// it changes the fields in the mask, and clears those without a value. It needs the scope
// payment_links:write. The error is an *Error: PaymentLinkNotFound, PaymentLinkInvalidPricing,
// PaymentLinkExpiryInvalid, PaymentLinkExpiryPast or ValidationFailed.
func (l *PaymentLinks) Update(ctx context.Context, request *storefrontv1.UpdatePaymentLinkRequest) (*storefrontv1.PaymentLink, error) {
	return call(ctx, l.caller, l.rpc.UpdatePaymentLink, request)
}

// Enable enables a disabled payment link and leaves an enabled one as it is; its Availability shows
// whether it then takes payments. It is not retried, and may be called again. It needs the scope
// payment_links:write. The error is an *Error: PaymentLinkNotFound.
func (l *PaymentLinks) Enable(ctx context.Context, id string) (*storefrontv1.PaymentLink, error) {
	return call(ctx, l.caller, l.rpc.EnablePaymentLink, &storefrontv1.EnablePaymentLinkRequest{Id: id})
}
