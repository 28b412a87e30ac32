package client_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"go.storefront.example/client"
	"go.storefront.example/server/apierr"
)

func serving(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

var (
	limited     = refuses(apierr.New(apierr.RateLimited, "Wait."), "Retry-After", "17")
	unavailable = refuses(apierr.New(apierr.Unavailable, "Not now."))
	internal    = refuses(apierr.New(apierr.InternalError, "Sorry."))
	refused     = refuses(apierr.New(apierr.StoreUnavailable, "Closed."))
	gateway     = respondsWith(502, "text/html", "<html>")
	proxyLimit  = respondsWith(429, "text/html", "<html>", "Retry-After", "2")
	dead        = breaks(syscall.ECONNRESET)
	// done has the fields that every answer has: the id x, which is field 1 of an object, and the page size 1, field 2 of a
	// list.
	done = respondsWith(200, "application/proto", "\x0a\x01x\x10\x01")
	// empty is an answer whose body a proxy dropped.
	empty = respondsWith(200, "application/proto", "")
)

// operations has one call for each operation, by name.
var operations = map[string]func(context.Context, *client.Client) error{
	"GetStore": func(ctx context.Context, c *client.Client) error { _, err := c.Store.Get(ctx); return err },
	"ListOrders": func(ctx context.Context, c *client.Client) error {
		_, err := c.Orders.Page(ctx, client.OrderFilter{})
		return err
	},
	"UpdateProduct": func(ctx context.Context, c *client.Client) error {
		_, err := c.Products.Update(ctx, "x", client.ProductChange{})
		return err
	},
	"CreateCustomer": func(ctx context.Context, c *client.Client) error {
		_, err := c.Customers.Create(ctx, client.NewCustomer{Name: "Awa"})
		return err
	},
	"CreatePaymentLink": func(ctx context.Context, c *client.Client) error {
		_, err := c.PaymentLinks.Create(ctx, client.NewPaymentLink{Title: "x"})
		return err
	},
	"EnablePaymentLink": func(ctx context.Context, c *client.Client) error {
		_, err := c.PaymentLinks.Enable(ctx, "x")
		return err
	},
}

func TestRequestsAreSentAgain(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason    string
		operation string
		answers   []answer
		timeout   time.Duration // of the context; 0 means none
		requests  int
		want      client.Code // "" means success
	}{
		{"what succeeds is sent once", "GetStore", []answer{done}, 0, 1, ""},
		{"a limit is waited for", "GetStore", []answer{limited, done}, 0, 2, ""},
		{"of writes too: a refused request changed nothing", "UpdateProduct", []answer{limited, limited, done}, 0, 3, ""},
		{"a proxy's limit as well", "CreateCustomer", []answer{proxyLimit, done}, 0, 2, ""},
		{"a limit is not waited for in vain", "GetStore", []answer{limited, done}, 17 * time.Second, 1, client.RateLimited},
		{"the deadline leaves time for it", "GetStore", []answer{limited, done}, 18 * time.Second, 2, ""},
		{"nor for longer than a minute", "GetStore", []answer{respondsWith(429, "", "", "Retry-After", "61"), done}, 0, 1,
			client.UnexpectedAnswer},
		{"a minute is waited for", "GetStore", []answer{respondsWith(429, "", "", "Retry-After", "60"), done}, 0, 2, ""},
		{"reads outlive a failure of the service", "ListOrders", []answer{internal, unavailable, done}, 0, 3, ""},
		{"and of what stands before it", "ListOrders", []answer{gateway, done}, 0, 2, ""},
		{"and an answer without its body", "GetStore", []answer{empty, done}, 0, 2, ""},
		{"of a list too, which would end there", "ListOrders", []answer{empty}, 0, 4, client.NetworkError},
		{"a payment link without its body is no answer", "CreatePaymentLink", []answer{empty, done}, 0, 1, client.NetworkError},
		{"nobody waits for ages, nor retries at once", "GetStore", []answer{respondsWith(429, "", "", "Retry-After", "99999999999"), done},
			0, 1, client.UnexpectedAnswer},
		{"nor where a proxy sends the header twice", "GetStore", []answer{respondsWith(429, "", "", "Retry-After", "61, 61"), done}, 0, 1,
			client.UnexpectedAnswer},
		{"what is too large is not read again", "GetStore", []answer{respondsWith(200, "application/proto",
			strings.Repeat("\x0a\x01x", 11<<20)), done}, 0, 1, client.UnexpectedAnswer},
		{"nor kept, as a proxy's page", "GetStore", []answer{respondsWith(404, "application/json", strings.Repeat(" ", 33<<20)), done}, 0, 1,
			client.UnexpectedAnswer},
		{"and of the network", "GetStore", []answer{dead, dead, done}, 0, 3, ""},
		{"but not for ever", "GetStore", []answer{dead}, 0, 4, client.NetworkError},
		{"the last failure is what is told", "GetStore", []answer{dead, dead, dead, unavailable}, 0, 4, client.Unavailable},
		{"a change may be carried out twice", "UpdateProduct", []answer{internal, done}, 0, 2, ""},
		{"also if its answer was lost", "UpdateProduct", []answer{dead, done}, 0, 2, ""},
		{"a customer is never recorded twice", "CreateCustomer", []answer{gateway, dead, done}, 0, 3, ""},
		{"an enabled link stays enabled", "EnablePaymentLink", []answer{unavailable, dead, limited, done}, 0, 4, ""},
		{"a payment link is made once, whatever the service answers", "CreatePaymentLink", []answer{unavailable, done}, 0, 1,
			client.Unavailable},
		{"or a proxy", "CreatePaymentLink", []answer{gateway, done}, 0, 1, client.UnexpectedAnswer},
		{"or if nothing comes back", "CreatePaymentLink", []answer{dead, done}, 0, 1, client.NetworkError},
		{"but the limit kept it from being made", "CreatePaymentLink", []answer{limited, done}, 0, 2, ""},
		{"a refusal stays one", "GetStore", []answer{refused, done}, 0, 1, client.StoreUnavailable},
		{"so does a wrong address", "GetStore", []answer{respondsWith(404, "text/html", ""), done}, 0, 1, client.UnexpectedAnswer},
		{"nobody waits for a context that ends", "GetStore", []answer{hangs, done}, time.Second, 1, client.Timeout},
	} {
		t.Run(row.reason, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				service := playing(row.answers...)
				ctx := t.Context()
				if row.timeout > 0 {
					bounded, cancel := context.WithTimeout(ctx, row.timeout)
					defer cancel()
					ctx = bounded
				}
				err := operations[row.operation](ctx, service.open(t))
				require.Len(t, service.requests, row.requests)
				if row.want == "" {
					require.NoError(t, err)
					return
				}
				var got *client.Error
				require.ErrorAs(t, err, &got)
				require.Equal(t, row.want, got.Code)
			})
		})
	}
}

func (s *script) pauses() []time.Duration {
	var all []time.Duration
	for i := 1; i < len(s.at); i++ {
		all = append(all, s.at[i].Sub(s.at[i-1]))
	}
	return all
}

func TestPausesGrow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		service := playing(dead)
		_, err := service.open(t, client.WithMaxRetries(8)).Store.Get(t.Context())
		require.Error(t, err)
		pauses := service.pauses()
		require.Len(t, pauses, 8)
		most := 250 * time.Millisecond
		for i, pause := range pauses {
			require.GreaterOrEqual(t, pause, most/2, "pause %d", i)
			require.Less(t, pause, most, "pause %d", i)
			most = min(2*most, 8*time.Second)
		}
		once := slices.Clone(pauses)
		service.at = nil
		_, err = service.open(t, client.WithMaxRetries(8)).Store.Get(t.Context())
		require.Error(t, err)
		require.NotEqual(t, once, service.pauses(), "chance keeps clients apart")
	})
}

func TestPausesAreWhatTheServiceAsksFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		service := playing(limited, proxyLimit, respondsWith(503, "", "", "Retry-After", "5"), done)
		_, err := service.open(t).Store.Get(t.Context())
		require.NoError(t, err)
		require.Equal(t, []time.Duration{17 * time.Second, 2 * time.Second, 5 * time.Second}, service.pauses())
	})
}

func TestAPauseEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		service := playing(limited)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(3*time.Second, cancel)
		start := time.Now()
		_, err := service.open(t).Store.Get(ctx)
		require.Equal(t, 3*time.Second, time.Since(start))
		require.ErrorIs(t, err, context.Canceled)
		var got *client.Error
		require.ErrorAs(t, err, &got)
		require.Equal(t, client.Canceled, got.Code)
		require.Len(t, service.requests, 1)
	})
}

// An attempt ends after 30 s, and all together at the call's timeout.
func TestACallHasOneDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		service := playing(hangs, done)
		_, err := service.open(t).Store.Get(t.Context())
		require.NoError(t, err)
		require.InDelta(t, 30, service.pauses()[0].Seconds(), 0.3)

		for _, row := range []struct {
			options []client.Option
			want    time.Duration
		}{
			{nil, 2 * time.Minute},
			{[]client.Option{client.WithTimeout(45 * time.Second)}, 45 * time.Second},
			{[]client.Option{client.WithTimeout(5 * time.Second)}, 5 * time.Second},
		} {
			start := time.Now()
			_, err = playing(hangs).open(t, append(row.options, client.WithMaxRetries(99))...).Store.Get(t.Context())
			require.ErrorIs(t, err, context.DeadlineExceeded)
			var got *client.Error
			require.ErrorAs(t, err, &got)
			require.Equal(t, client.Timeout, got.Code)
			require.Equal(t, row.want, time.Since(start))
		}
	})
}

func TestEachAttemptIsWhole(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var bodies []string
		collect := func(next answer) answer {
			return func(w http.ResponseWriter, r *http.Request) error {
				body := make([]byte, r.ContentLength)
				_, _ = r.Body.Read(body)
				bodies = append(bodies, string(body))
				return next(w, r)
			}
		}
		service := playing(collect(limited), collect(done))
		_, err := service.open(t, client.WithUserAgent("crm/1.4")).Customers.Create(t.Context(), client.NewCustomer{Name: "Awa Ngo"})
		require.NoError(t, err)
		require.Equal(t, []string{"\n\x07Awa Ngo", "\n\x07Awa Ngo"}, bodies)
		for _, r := range service.requests {
			require.Equal(t, "https://api.example.com/storefront.v1.CustomerService/CreateCustomer", r.URL.String())
			require.Equal(t, []string{"Bearer " + key}, r.Header["Authorization"])
			require.Regexp(t, `^crm/1\.4 storefront-go/\S+$`, r.Header.Get("User-Agent"))
		}
	})
}

func TestGoroutinesShareAClient(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		service := playing(limited, dead, gateway, done)
		shop := service.open(t, client.WithMaxRetries(9))
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() {
				for _, operation := range []string{"GetStore", "ListOrders"} {
					if err := operations[operation](t.Context(), shop); err != nil {
						t.Error(err)
					}
				}
			})
		}
		group.Wait()
		require.Len(t, service.requests, 8*2+3)
	})
}
