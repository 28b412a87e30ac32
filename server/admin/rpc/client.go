package rpc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"connectrpc.com/connect"

	"go.storefront.example/ent/tenant"
	"go.storefront.example/ent/tracing"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/gen/storefront/admin/v1/adminv1connect"
	"go.storefront.example/gen/storefront/v1/storefrontv1connect"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/edge"
)

// callTimeout is for a call with one answer.
const callTimeout = time.Minute

// Client calls the admin services of a server and returns its refusals. If no admin service answers, its error says so and is
// no refusal. Goroutines may share it.
type Client struct {
	callersServices

	adminv1connect.NameServiceClient
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
	adminv1connect.ExportServiceClient

	base string
}

// callersServices are the services of storefront.v1, whose types are called as those of storefront.admin.v1.
type callersServices struct {
	storefrontv1connect.StoreServiceClient
	storefrontv1connect.ProductServiceClient
	storefrontv1connect.OrderServiceClient
	storefrontv1connect.CustomerServiceClient
	storefrontv1connect.PaymentLinkServiceClient
}

var _ admin.API = (*Client)(nil)

// NewClient takes an http or https address, such as https://operator.example.com, and a token, which may be empty. It does not
// connect.
func NewClient(address, token string) (*Client, error) {
	u, err := url.Parse(address)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.User != nil || u.RawQuery != "" ||
		u.Fragment != "" {
		return nil, errors.New("must be an address such as https://operator.example.com:8081")
	}
	base := strings.TrimSuffix(u.String(), "/")
	// A redirect would get the token.
	plain := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	options := connect.WithClientOptions(connect.WithSendMaxBytes(edge.MaxBodyBytes), connect.WithInterceptors(caller{base, token}))
	return &Client{
		base: base,
		callersServices: callersServices{
			storefrontv1connect.NewStoreServiceClient(plain, base, options),
			storefrontv1connect.NewProductServiceClient(plain, base, options),
			storefrontv1connect.NewOrderServiceClient(plain, base, options),
			storefrontv1connect.NewCustomerServiceClient(plain, base, options),
			storefrontv1connect.NewPaymentLinkServiceClient(plain, base, options),
		},
		NameServiceClient:        adminv1connect.NewNameServiceClient(plain, base, options),
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
		ExportServiceClient:      adminv1connect.NewExportServiceClient(plain, base, options),
	}, nil
}

type storeKey struct{}

// WithStore names a store whose existence the server checks.
func (*Client) WithStore(ctx context.Context, name string) (context.Context, error) {
	return context.WithValue(ctx, storeKey{}, name), nil
}

// caller adds the client's headers to every call, and limits calls with one answer to callTimeout.
type caller struct{ base, token string }

var _ connect.Interceptor = caller{}

func (c caller) sign(ctx context.Context, header http.Header) {
	if c.token != "" {
		header.Set("Authorization", "Bearer "+c.token)
	}
	if actor := tenant.CallOf(ctx).Actor; actor.Type == tenant.ActorMember {
		header.Set(memberHeader, url.PathEscape(actor.Name))
	}
	if store, ok := ctx.Value(storeKey{}).(string); ok {
		header.Set(storeHeader, url.PathEscape(store))
	}
	if parent := tracing.Traceparent(ctx); parent != "" {
		header.Set("Traceparent", parent)
	}
}

func (c caller) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, call connect.AnyRequest) (connect.AnyResponse, error) {
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		c.sign(ctx, call.Header())
		answer, err := next(ctx, call)
		if err != nil {
			return nil, refusalOf(c.base, err)
		}
		return answer, nil
	}
}

func (c caller) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return func(ctx context.Context, spec connect.Spec) connect.StreamingClientConn {
		conn := next(ctx, spec)
		c.sign(ctx, conn.RequestHeader())
		return conn
	}
}

func (caller) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return next
}

// maxSilence is after how long without an answer a stream counts as broken. The server answers every admin.WatchBeat.
const maxSilence = 3 * admin.WatchBeat

var errSilent = errors.New("the server has been silent for too long")

// Watch calls handle with each answer of a stream of events. It returns nil when the server ends the stream.
func (c *Client) Watch(ctx context.Context, in *adminv1.WatchEventsRequest,
	handle func(*adminv1.WatchEventsResponse) error) error {
	return receive(ctx, c.base, in, c.WatchEvents, handle)
}

// Export calls handle with each answer. It returns nil when the server has sent all rows.
func (c *Client) Export(ctx context.Context, in *adminv1.ExportStoreRequest,
	handle func(*adminv1.ExportStoreResponse) error) error {
	return receive(ctx, c.base, in, c.ExportStore, handle)
}

// receive calls handle with each answer until the server ends the stream. It fails if the server is silent for too long.
func receive[In, Out any](ctx context.Context, base string, in In,
	open func(context.Context, In) (*connect.ServerStreamForClient[Out], error), handle func(*Out) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	quiet := time.AfterFunc(maxSilence, func() { cancel(errSilent) })
	defer quiet.Stop()
	stream, err := open(ctx, in)
	if err == nil {
		defer func() { _ = stream.Close() }()
		for stream.Receive() {
			quiet.Stop() // the time that handle takes does not count as silence
			if err := handle(stream.Msg()); err != nil {
				return err
			}
			quiet.Reset(maxSilence)
		}
		err = stream.Err()
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(context.Cause(ctx), errSilent):
		return fmt.Errorf("ask %s: %w", base, errSilent)
	}
	return refusalOf(base, err)
}

// Now takes the server's time from the Date header of an answer.
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

// refusalOf returns the refusal that the server sent, or would send for a message too large for Connect. It explains other
// errors by what is wrong at this address.
func refusalOf(address string, err error) error {
	refused, requestID := apierr.FromConnect(err)
	switch {
	case refused == nil && connect.CodeOf(err) == connect.CodeResourceExhausted: // the message was too large to send
		return apierr.New(apierr.PayloadTooLarge, "The body is larger than 1 MiB.")
	case refused == nil:
		return describeFailure(address, err)
	case refused.Code == apierr.InternalError || refused.Code == apierr.Unavailable:
		refused.Message = strings.TrimSuffix(refused.Message, ".") + " (request " + requestID + ")."
	}
	return refused
}

// DialError explains that nothing accepts connections at the address, and is nil for other errors.
func DialError(address string, err error) error {
	dial, ok := errors.AsType[*net.OpError](err)
	if !ok || dial.Op != "dial" {
		return nil
	}
	cause := dial.Err
	if call, ok := errors.AsType[*os.SyscallError](cause); ok {
		cause = call.Err
	}
	return fmt.Errorf("nothing answers at %s (%w): is the server running, and is this its --admin-addr?", address, cause)
}

func describeFailure(address string, err error) error {
	if silent := DialError(address, err); silent != nil {
		return silent
	}
	var answered *connect.Error
	if !errors.As(err, &answered) {
		return fmt.Errorf("ask %s: %w", address, err)
	}
	if answered.Code() == connect.CodeUnimplemented || answered.Code() == connect.CodeNotFound {
		return fmt.Errorf("ask %s: no admin services are served there; the address is that of a server's --admin-addr, and the "+
			"server needs an --admin-token", address)
	}
	if inner := answered.Unwrap(); inner != nil {
		return fmt.Errorf("ask %s: %w", address, inner)
	}
	return fmt.Errorf("ask %s: %w", address, answered)
}
