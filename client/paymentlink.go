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

// List walks all payment links that the request asks for, with their counters, newest first; nil
// asks for all. PageSize is how many a request brings, and Page where to start. Links that are created
// meanwhile move the others towards the end, so that one may come twice: the id tells. After an
// error, an *Error, the sequence ends. It needs the scope payment_links:read.
func (l *PaymentLinks) List(ctx context.Context, request *storefrontv1.ListPaymentLinksRequest) iter.Seq2[*storefrontv1.PaymentLink, error] {
	return all(ctx, request, func(r *storefrontv1.ListPaymentLinksRequest) **int64 { return &r.Page }, l.Page)
}

// Page retrieves one page of payment links, for what shows pages itself; nil asks for the first one.
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

// Create creates a payment link. It is sent once, whatever comes back: after a NetworkError or a
// Timeout look at the list before calling it again. It needs the scope payment_links:write. The
// error is an *Error: FeatureDisabled, PaymentLinkInvalidPricing, PaymentLinkExpiryInvalid,
// PaymentLinkExpiryPast or ValidationFailed.
func (l *PaymentLinks) Create(ctx context.Context, request *storefrontv1.CreatePaymentLinkRequest) (*storefrontv1.PaymentLink, error) {
	return call(ctx, l.caller, l.rpc.CreatePaymentLink, request)
}

// Update changes the fields of a payment link that are present in the request; with an UpdateMask
// it changes those that the mask names, and clears those of them that have no value. It needs the
// scope payment_links:write. The error is an *Error: PaymentLinkNotFound, PaymentLinkInvalidPricing,
// PaymentLinkExpiryInvalid, PaymentLinkExpiryPast or ValidationFailed.
func (l *PaymentLinks) Update(ctx context.Context, request *storefrontv1.UpdatePaymentLinkRequest) (*storefrontv1.PaymentLink, error) {
	return call(ctx, l.caller, l.rpc.UpdatePaymentLink, request)
}

// Enable enables a disabled payment link, and leaves an enabled one as it is; whether it takes
// payments then is its Availability. It is sent once, and may be called again. It needs the scope
// payment_links:write. The error is an *Error: PaymentLinkNotFound.
func (l *PaymentLinks) Enable(ctx context.Context, id string) (*storefrontv1.PaymentLink, error) {
	return call(ctx, l.caller, l.rpc.EnablePaymentLink, &storefrontv1.EnablePaymentLinkRequest{Id: id})
}
