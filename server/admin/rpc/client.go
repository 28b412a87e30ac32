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

	"go.storefront.example/ent/tracing"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/gen/storefront/admin/v1/adminv1connect"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/edge"
)

// callTimeout bounds one call of a Client.
const callTimeout = time.Minute

// Client calls the operator's services on a server. It refuses as an admin.Operator does; a server
// that cannot be reached is another error. Goroutines may share it.
type Client struct {
	adminv1connect.StoreServiceClient
	adminv1connect.ProductServiceClient
	adminv1connect.OrderServiceClient
	adminv1connect.CustomerServiceClient
	adminv1connect.PaymentLinkServiceClient
	adminv1connect.KeyServiceClient
	adminv1connect.WebhookServiceClient
	adminv1connect.DeliveryServiceClient
	adminv1connect.ActivityServiceClient
	adminv1connect.EventServiceClient
	adminv1connect.DashboardServiceClient
	adminv1connect.ImportServiceClient

	base    string
	streams adminv1connect.EventServiceClient
}

var _ admin.API = (*Client)(nil)

// NewClient returns a client for the server under an http or https address, such as
// https://operator.example.com. The token may be empty for a server that asks for none. It connects
// to nothing yet.
func NewClient(address, token string) (*Client, error) {
	u, err := url.Parse(address)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.User != nil || u.RawQuery != "" ||
		u.Fragment != "" {
		return nil, errors.New("must be an address such as https://operator.example.com:8081")
	}
	base := strings.TrimSuffix(u.String(), "/")
	// A redirect would carry the token on.
	plain := &http.Client{Timeout: callTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	sign := func(ctx context.Context, header http.Header) {
		if token != "" {
			header.Set("Authorization", "Bearer "+token)
		}
		if member := admin.MemberOf(ctx); member != "" {
			header.Set(memberHeader, url.PathEscape(member))
		}
		if parent := tracing.Traceparent(ctx); parent != "" {
			header.Set("Traceparent", parent)
		}
	}
	options := connect.WithClientOptions(connect.WithSendMaxBytes(edge.MaxBodyBytes),
		connect.WithInterceptors(connect.UnaryInterceptorFunc(func(next connect.UnaryFunc) connect.UnaryFunc {
			return func(ctx context.Context, call connect.AnyRequest) (connect.AnyResponse, error) {
				sign(ctx, call.Header())
				answer, err := next(ctx, call)
				if err != nil {
					return nil, refusalOf(base, err)
				}
				return answer, nil
			}
		})))
	endless := &http.Client{CheckRedirect: plain.CheckRedirect}
	return &Client{
		base: base, streams: adminv1connect.NewEventServiceClient(endless, base, connect.WithInterceptors(signed(sign))),
		StoreServiceClient:       adminv1connect.NewStoreServiceClient(plain, base, options),
		ProductServiceClient:     adminv1connect.NewProductServiceClient(plain, base, options),
		OrderServiceClient:       adminv1connect.NewOrderServiceClient(plain, base, options),
		CustomerServiceClient:    adminv1connect.NewCustomerServiceClient(plain, base, options),
		PaymentLinkServiceClient: adminv1connect.NewPaymentLinkServiceClient(plain, base, options),
		KeyServiceClient:         adminv1connect.NewKeyServiceClient(plain, base, options),
		WebhookServiceClient:     adminv1connect.NewWebhookServiceClient(plain, base, options),
		DeliveryServiceClient:    adminv1connect.NewDeliveryServiceClient(plain, base, options),
		ActivityServiceClient:    adminv1connect.NewActivityServiceClient(plain, base, options),
		EventServiceClient:       adminv1connect.NewEventServiceClient(plain, base, options),
		DashboardServiceClient:   adminv1connect.NewDashboardServiceClient(plain, base, options),
		ImportServiceClient:      adminv1connect.NewImportServiceClient(plain, base, options),
	}, nil
}

// Now returns the time at which the server answered a call.
func (c *Client) Now(ctx context.Context) (time.Time, error) {
	ctx, call := connect.NewClientContext(ctx)
	if _, err := c.ListStores(ctx, &adminv1.ListStoresRequest{PageSize: new(int32(1))}); err != nil {
		return time.Time{}, err
	}
	now, err := http.ParseTime(call.ResponseHeader().Get("Date"))
	if err != nil {
		return time.Time{}, fmt.Errorf("ask %s for its time: %w", c.base, err)
	}
	return now, nil
}

// refusalOf converts the error of a call to the refusal that the server sent or, for a larger message than it reads,
// would send, or to an error that describes what is wrong with the server at this address.
func refusalOf(address string, err error) error {
	refused, requestID := apierr.FromConnect(err)
	switch {
	case refused == nil && connect.CodeOf(err) == connect.CodeResourceExhausted: // before it was sent
		return apierr.New(apierr.PayloadTooLarge, "The body is larger than 1 MiB.")
	case refused == nil:
		return unserved(address, err)
	case refused.Code == apierr.InternalError || refused.Code == apierr.Unavailable:
		refused.Message = strings.TrimSuffix(refused.Message, ".") + " (request " + requestID + ")."
	}
	return refused
}

// unserved describes what is wrong with a server that did not answer as one.
func unserved(address string, err error) error {
	var answered *connect.Error
	if !errors.As(err, &answered) {
		return fmt.Errorf("ask %s: %w", address, err)
	}
	if answered.Code() == connect.CodeUnimplemented {
		return fmt.Errorf("ask %s: no admin services are served there; the address is that of a server's --admin-addr, and the "+
			"server needs an --admin-token", address)
	}
	if inner := answered.Unwrap(); inner != nil {
		return fmt.Errorf("ask %s: %w", address, inner)
	}
	return fmt.Errorf("ask %s: %w", address, answered)
}
