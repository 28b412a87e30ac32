package program_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"go.storefront.example/client"
	"go.storefront.example/client/webhook"
	"go.storefront.example/ent/db/dbtest/need"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/conformance/devtest"
)

type delivery struct {
	header string
	body   []byte
}

// The client's verifier accepts each type of event and refuses a changed delivery, and the data equals the API's answer.
func TestEveryTypeOfEventIsVerified(t *testing.T) {
	t.Parallel()
	need.Heavy(t, "it builds the command and waits for its deliveries")
	server := devtest.Build(t).Start(t)
	shop, err := client.New(server.URL, server.Key)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), devtest.Timeout)
	defer cancel()

	arrivals := make(chan delivery, 10)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if body, err := io.ReadAll(r.Body); err == nil {
			arrivals <- delivery{r.Header.Get(webhook.SignatureHeader), body}
		}
	}))
	t.Cleanup(receiver.Close)
	made := server.Register(t, receiver.URL, "order.paid", "order.failed", "customer.created", "product.published",
		"product.archived", "payment_link.paid")

	// next waits for deliveries, in any order, and returns the events by their types.
	next := func(count int) map[webhook.Type]*webhook.Event {
		t.Helper()
		events := map[webhook.Type]*webhook.Event{}
		for range count {
			select {
			case got := <-arrivals:
				event := verified(t, got, made.Secret)
				events[event.Type] = event
			case <-ctx.Done():
				require.FailNow(t, "nothing arrives")
			}
		}
		require.Len(t, events, count)
		return events
	}
	requireData := func(want proto.Message, event *webhook.Event) {
		t.Helper()
		require.NotNil(t, event)
		got, typed := event.Data.(proto.Message)
		require.True(t, typed, "%T", event.Data)
		require.True(t, proto.Equal(want, got), "%s: %v, not %v", event.Type, got, want)
	}

	var ping struct{ ID string }
	server.RunCommand(t, &ping, "webhook", "ping", made.ID)
	pinged, typed := next(1)[webhook.Ping].Data.(*webhook.PingData)
	require.True(t, typed)
	require.NotEmpty(t, pinged.Message)
	require.WithinDuration(t, time.Now(), pinged.SentAt, devtest.Timeout)

	customer, err := shop.Customers.Create(ctx, client.NewCustomer{Name: "Awa Ngó", Email: "awa@example.net"})
	require.NoError(t, err)
	requireData(customer, next(1)[webhook.CustomerCreated])

	page, err := shop.Products.Page(ctx, client.ProductFilter{Status: client.ProductPublished, PageSize: 1})
	require.NoError(t, err)
	id := page.GetData()[0].GetId()
	product, err := shop.Products.Update(ctx, id, client.ProductChange{Status: client.Set(client.ProductArchived)})
	require.NoError(t, err)
	requireData(product, next(1)[webhook.ProductArchived])
	product, err = shop.Products.Update(ctx, id, client.ProductChange{Status: client.Set(client.ProductPublished)})
	require.NoError(t, err)
	requireData(product, next(1)[webhook.ProductPublished])

	var order struct{ ID string }
	server.RunCommand(t, &order, "order", "create", "--store", "demo", "--customer", customer.GetId(), "--product", id)
	server.RunCommand(t, &order, "order", "fail", order.ID)
	failed, err := shop.Orders.Get(ctx, order.ID)
	require.NoError(t, err)
	requireData(failed, next(1)[webhook.OrderFailed])

	link, err := shop.PaymentLinks.Create(ctx, client.NewPaymentLink{Title: "Acompte", Pricing: client.FixedPricing, Amount: 500})
	require.NoError(t, err)
	server.RunCommand(t, &order, "order", "create", "--store", "demo", "--customer", customer.GetId(), "--payment-link",
		link.GetId())
	server.RunCommand(t, &order, "order", "pay", order.ID)
	paid, err := shop.Orders.Get(ctx, order.ID)
	require.NoError(t, err)
	both := next(2)
	requireData(paid, both[webhook.OrderPaid])
	requireData(paid, both[webhook.PaymentLinkPaid])
	require.Equal(t, link.GetCode(), both[webhook.PaymentLinkPaid].Data.(*storefrontv1.Order).GetPaymentLink().GetCode())
	require.NotEqual(t, both[webhook.OrderPaid].ID, both[webhook.PaymentLinkPaid].ID, "two events")
}

// verified requires that a delivery is accepted, and refused once it is changed.
func verified(t *testing.T, got delivery, secret string) *webhook.Event {
	t.Helper()
	event, err := webhook.Verify(got.body, got.header, secret)
	require.NoError(t, err)

	changed := bytes.Replace(got.body, []byte(`"data":`), []byte(`"data" :`), 1)
	_, err = webhook.Verify(changed, got.header, secret)
	require.ErrorIs(t, err, webhook.ErrMismatch, "a changed body")

	_, err = webhook.Verify(got.body, got.header, secret+"x")
	require.ErrorIs(t, err, webhook.ErrMismatch, "a wrong secret")

	late := func() time.Time { return time.Now().Add(webhook.DefaultTolerance + time.Minute) }
	_, err = webhook.Verify(got.body, got.header, secret, webhook.WithNow(late))
	require.ErrorIs(t, err, webhook.ErrTimestamp, "an old timestamp")
	return event
}
