package client_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"go.storefront.example/client"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/apierr"
)

func TestErrorTellsWhatCameBack(t *testing.T) {
	t.Parallel()
	incomplete := apierr.New(apierr.ProductIncomplete, "Not yet.")
	incomplete.Details = &storefrontv1.ErrorDetails{Missing: []string{"description", "content"}}
	invalid := apierr.New(apierr.ValidationFailed, "No.")
	invalid.Details = &storefrontv1.ErrorDetails{Fields: []*storefrontv1.FieldError{{Field: "title", Message: "must be text"},
		{Field: "status", Message: "must be known"}}}
	scope := apierr.New(apierr.InsufficientScope, "Not with this key.")
	scope.Details = &storefrontv1.ErrorDetails{Required: "products:write"}
	html := "<html><body>Bad Gateway</body></html>"
	for _, row := range []struct {
		reason string
		answer answer
		want   client.Error
		text   string
	}{
		{
			"a refusal has the specification's status, not that of the protocol", refuses(incomplete),
			client.Error{Code: client.ProductIncomplete, Status: 422, Message: "Not yet.", Details: incomplete.Details,
				RequestID: requestID},
			"storefront: UpdateProduct: product_incomplete: Not yet. [description; content] (request " + requestID + ")",
		},
		{
			"every refused field is named", refuses(invalid),
			client.Error{Code: client.ValidationFailed, Status: 400, Message: "No.", Details: invalid.Details, RequestID: requestID},
			"storefront: UpdateProduct: validation_failed: No. [title must be text; status must be known] (request " + requestID + ")",
		},
		{
			"the scope is named", refuses(scope),
			client.Error{Code: client.InsufficientScope, Status: 403, Message: "Not with this key.", Details: scope.Details,
				RequestID: requestID},
			"storefront: UpdateProduct: insufficient_scope: Not with this key. [products:write] (request " + requestID + ")",
		},
		{
			"a code that is newer than the program is kept", refuses(apierr.New("brand_new", "New.")),
			client.Error{Code: "brand_new", Status: 0, Message: "New.", RequestID: requestID},
			"storefront: UpdateProduct: brand_new: New. (request " + requestID + ")",
		},
		{
			"the time to wait is there for who does not let the client wait", refuses(apierr.New(apierr.RateLimited, "Wait."),
				"Retry-After", "17"),
			client.Error{Code: client.RateLimited, Status: 429, Message: "Wait.", RequestID: requestID, RetryAfter: 17 * time.Second},
			"storefront: UpdateProduct: rate_limited: Wait. (request " + requestID + ")",
		},
		{
			"the service noticed first that the context's deadline passed", refuses(apierr.New(apierr.DeadlineExceeded, "Too late.")),
			client.Error{Code: client.Timeout, Status: 504, RequestID: requestID, Message: "the call's deadline passed"},
			"the call's deadline passed",
		},
		{
			"a date in Retry-After counts as none", respondsWith(503, "text/plain", "", "Retry-After", "Fri, 31 Dec 1999 23:59:59 GMT"),
			client.Error{Code: client.UnexpectedAnswer, Status: 503},
			"answered 503",
		},
		{
			"a proxy's page", respondsWith(502, "text/html; charset=utf-8", html),
			client.Error{Code: client.UnexpectedAnswer, Status: 502},
			`storefront: UpdateProduct: unexpected_answer: answered 502 Bad Gateway with "text/html", which is not the service's: check the base URL and what stands before the service`,
		},
		{
			"a page where the service should be", respondsWith(200, "text/html", html),
			client.Error{Code: client.UnexpectedAnswer, Status: 200},
			"check the base URL",
		},
		{
			"JSON of somebody else", respondsWith(404, "application/json", `{"code":"not_found","message":"no route"}`),
			client.Error{Code: client.UnexpectedAnswer, Status: 404},
			"answered 404 Not Found",
		},
		{
			"nothing at all", respondsWith(500, "", ""),
			client.Error{Code: client.UnexpectedAnswer, Status: 500},
			"answered 500 Internal Server Error",
		},
		{
			"a redirect is not followed", respondsWith(307, "text/html", "", "Location", "https://elsewhere.example/"),
			client.Error{Code: client.UnexpectedAnswer, Status: 307},
			"(it redirects to https://elsewhere.example/)",
		},
		{
			"nobody listens", breaks(syscall.ECONNREFUSED),
			client.Error{Code: client.NetworkError},
			"no whole answer: ",
		},
		{
			"a connection that was reset is no cancellation", breaks(syscall.ECONNRESET),
			client.Error{Code: client.NetworkError},
			"reset",
		},
		{
			"an answer that breaks off", func(w http.ResponseWriter, r *http.Request) error {
				return respondsWith(200, "application/proto", "\x0a\x24half of an")(w, r)
			},
			client.Error{Code: client.NetworkError, Status: 200},
			"no whole answer: ",
		},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			service := playing(row.answer)
			_, err := service.open(t, client.WithMaxRetries(0)).Products.Update(t.Context(), "x",
				client.ProductChange{Title: client.Set("x")})
			var got *client.Error
			require.ErrorAs(t, err, &got)
			require.Contains(t, err.Error(), row.text)
			require.Equal(t, "UpdateProduct", got.Operation)
			require.Equal(t, row.want.Code, got.Code)
			require.Equal(t, row.want.Status, got.Status)
			require.Equal(t, row.want.RequestID, got.RequestID)
			require.Equal(t, row.want.RetryAfter, got.RetryAfter)
			require.True(t, proto.Equal(row.want.Details, got.Details), "%v", got.Details)
			require.Equal(t, row.want.Details == nil, got.Details == nil)
			if row.want.Message != "" {
				require.Equal(t, row.want.Message, got.Message)
			}
			require.NotContains(t, err.Error(), key)
			var cause *connect.Error
			require.ErrorAs(t, err, &cause, "what is below can be reached")
			require.Len(t, service.requests, 1)
		})
	}
}

func TestErrorTellsWhoGaveUp(t *testing.T) {
	t.Parallel()
	shop := playing(hangs).open(t, client.WithMaxRetries(0))
	var got *client.Error

	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(time.Millisecond, cancel)
	_, err := shop.Store.Get(ctx)
	require.ErrorAs(t, err, &got)
	require.Equal(t, client.Canceled, got.Code)
	require.ErrorIs(t, err, context.Canceled)

	ctx, cancel = context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	_, err = shop.Store.Get(ctx)
	require.ErrorAs(t, err, &got)
	require.Equal(t, client.Timeout, got.Code)
	require.ErrorIs(t, err, context.DeadlineExceeded)

	own := playing(hangs).open(t, client.WithHTTPClient(&http.Client{Transport: playing(hangs), Timeout: time.Millisecond}),
		client.WithMaxRetries(0))
	_, err = own.Store.Get(t.Context())
	require.ErrorAs(t, err, &got)
	require.Equal(t, client.Timeout, got.Code, "the HTTP client's own")
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestErrorTellsThatNothingWasSent(t *testing.T) {
	t.Parallel()
	service := playing(respondsWith(200, "application/proto", ""))
	_, err := service.open(t).Customers.Create(t.Context(), client.NewCustomer{Name: "\xff"})
	var got *client.Error
	require.ErrorAs(t, err, &got)
	require.Equal(t, client.InvalidRequest, got.Code)
	require.ErrorContains(t, err, "UTF-8")
	require.Empty(t, service.requests)
}

// They need real sockets, because the connection closes in the middle of a request.
func TestErrorOfARealConnection(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		serve  http.HandlerFunc
	}{
		{"closed before an answer", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }},
		{"closed within an answer", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/proto")
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, "\x0a\x24")
			panic(http.ErrAbortHandler)
		}},
	} {
		t.Run(row.reason, func(t *testing.T) {
			server := serving(t, row.serve)
			shop, err := client.New(server, key, client.WithMaxRetries(0))
			require.NoError(t, err)
			_, err = shop.Store.Get(t.Context())
			var got *client.Error
			require.ErrorAs(t, err, &got)
			require.Equal(t, client.NetworkError, got.Code)
			require.False(t, errors.Is(err, context.Canceled))
			require.False(t, strings.Contains(err.Error(), key))
		})
	}
}
