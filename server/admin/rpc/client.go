package rpc

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/google/uuid"

	"go.storefront.example/ent/tracing"
	"go.storefront.example/gen/storefront/admin/v1/adminv1connect"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/apierr"
)

// callTimeout bounds one call of a Client.
const callTimeout = time.Minute

// Client carries out the operator's operations on a server's operator's listener. Its methods are
// those of admin.Operator, with the same refusals; a server that cannot be reached is another error.
// Goroutines may share it.
type Client struct {
	url        string
	stores     adminv1connect.StoreServiceClient
	products   adminv1connect.ProductServiceClient
	orders     adminv1connect.OrderServiceClient
	links      adminv1connect.PaymentLinkServiceClient
	keys       adminv1connect.KeyServiceClient
	webhooks   adminv1connect.WebhookServiceClient
	deliveries adminv1connect.DeliveryServiceClient
	activity   adminv1connect.ActivityServiceClient
	dashboard  adminv1connect.DashboardServiceClient
}

// NewClient returns a client for the server under an http or https address, such as
// https://operator.example.com. The token may be empty for a server that asks for none. It connects
// to nothing yet.
func NewClient(address, token string) (*Client, error) {
	u, err := url.Parse(address)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("must be an address such as https://operator.example.com:8081")
	}
	base := strings.TrimSuffix(u.String(), "/")
	// A redirect would carry the token on.
	plain := &http.Client{Timeout: callTimeout, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	options := connect.WithInterceptors(connect.UnaryInterceptorFunc(func(next connect.UnaryFunc) connect.UnaryFunc {
		return func(ctx context.Context, call connect.AnyRequest) (connect.AnyResponse, error) {
			if token != "" {
				call.Header().Set("Authorization", "Bearer "+token)
			}
			if member := admin.MemberOf(ctx); member != "" {
				call.Header().Set(memberHeader, url.PathEscape(member))
			}
			if parent := tracing.Traceparent(ctx); parent != "" {
				call.Header().Set("Traceparent", parent)
			}
			return next(ctx, call)
		}
	}))
	return &Client{
		url:        base,
		stores:     adminv1connect.NewStoreServiceClient(plain, base, options),
		products:   adminv1connect.NewProductServiceClient(plain, base, options),
		orders:     adminv1connect.NewOrderServiceClient(plain, base, options),
		links:      adminv1connect.NewPaymentLinkServiceClient(plain, base, options),
		keys:       adminv1connect.NewKeyServiceClient(plain, base, options),
		webhooks:   adminv1connect.NewWebhookServiceClient(plain, base, options),
		deliveries: adminv1connect.NewDeliveryServiceClient(plain, base, options),
		activity:   adminv1connect.NewActivityServiceClient(plain, base, options),
		dashboard:  adminv1connect.NewDashboardServiceClient(plain, base, options),
	}, nil
}

// read brings what a call ended with into the form in which an Operator ends: the refusal, or an
// error that says what is wrong with the server.
func read[In, Out any](c *Client, in In, err error, take func(In) (Out, error)) (Out, error) {
	var none Out
	if err == nil {
		out, err := take(in)
		if err != nil {
			return none, fmt.Errorf("read the answer of %s: %w", c.url, err)
		}
		return out, nil
	}
	refused, requestID := apierr.FromConnect(err)
	switch {
	case refused == nil:
		return none, c.unserved(err)
	case refused.Code == apierr.InternalError || refused.Code == apierr.Unavailable:
		refused.Message = strings.TrimSuffix(refused.Message, ".") + " (request " + requestID + ")."
	}
	return none, refused
}

// same takes an answer as it is.
func same[T any](in T) (T, error) { return in, nil }

// unserved says what is wrong with a server that did not answer as one.
func (c *Client) unserved(err error) error {
	var answered *connect.Error
	if !errors.As(err, &answered) {
		return fmt.Errorf("ask %s: %w", c.url, err)
	}
	if answered.Code() == connect.CodeUnimplemented {
		return fmt.Errorf("ask %s: no admin services are served there; the address is that of a server's --admin-addr, and the server needs an --admin-token", c.url)
	}
	if inner := answered.Unwrap(); inner != nil {
		return fmt.Errorf("ask %s: %w", c.url, inner)
	}
	return fmt.Errorf("ask %s: %w", c.url, answered)
}

// ids reads the UUIDs of an answer.
type ids struct{ err error }

func (r *ids) read(text string) uuid.UUID {
	id, err := uuid.Parse(text)
	if err != nil && r.err == nil {
		r.err = fmt.Errorf("%q is no UUID", text)
	}
	return id
}

// each reads every message of a list.
func each[In, Out any](in []In, take func(In) (Out, error)) ([]Out, error) {
	out := make([]Out, len(in))
	for i, one := range in {
		var err error
		if out[i], err = take(one); err != nil {
			return nil, err
		}
	}
	return out, nil
}
