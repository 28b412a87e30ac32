package rpc_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"go.storefront.example/ent/apijson"
	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/admin"
)

// caller calls methods in one protocol and remembers which.
type caller struct {
	*bench
	http    *http.Client
	options []connect.ClientOption
	called  map[string]bool
}

// ask calls a method that must answer.
func ask[Out any, In any](c *caller, method string, in *In) *Out {
	c.Helper()
	out, err := try[Out](c, method, in)
	require.NoError(c, err, method)
	return out
}

func try[Out any, In any](c *caller, method string, in *In) (*Out, error) {
	c.called[method] = true
	answer, err := connect.NewClient[In, Out](c.http, c.url+"/storefront.admin.v1."+method, c.options...).CallUnary(c.Context(),
		connect.NewRequest(in))
	if err != nil {
		return nil, err
	}
	return answer.Msg, nil
}

// procedures lists the methods of the operator's services, as Service/Method.
func procedures(t *testing.T) []string {
	t.Helper()
	var all []string
	protoregistry.GlobalFiles.RangeFilesByPackage("storefront.admin.v1", func(file protoreflect.FileDescriptor) bool {
		for i := range file.Services().Len() {
			service := file.Services().Get(i)
			for j := range service.Methods().Len() {
				all = append(all, fmt.Sprintf("%s/%s", service.Name(), service.Methods().Get(j).Name()))
			}
		}
		return true
	})
	require.NotEmpty(t, all)
	return all
}

// Every method works in every protocol and on every database.
func TestEveryMethod(t *testing.T) {
	t.Parallel()
	for _, database := range dbtest.Databases() {
		for name, face := range map[string]struct {
			h2c     bool
			options []connect.ClientOption
		}{
			"connect-json":   {false, []connect.ClientOption{connect.WithProtoJSON()}},
			"connect-binary": {false, nil},
			"grpc":           {true, []connect.ClientOption{connect.WithGRPC()}},
			"grpc-web":       {false, []connect.ClientOption{connect.WithGRPCWeb()}},
		} {
			t.Run(database+"/"+name, func(t *testing.T) {
				t.Parallel()
				b := newBench(t, database, db.Config{})
				c := &caller{b, b.http(face.h2c), append(face.options, b.as(token)), map[string]bool{}}
				c.stores()
				product := c.products()
				customer := c.customers()
				link := c.links()
				c.orders(product, customer, link)
				c.keys()
				c.hooks(product)
				c.journals()
				c.imports()
				for _, procedure := range procedures(t) {
					require.True(t, c.called[procedure], "%s was not called", procedure)
				}
			})
		}
	}
}

func (c *caller) stores() {
	made := ask[storefrontv1.Store](c, "StoreService/CreateStore", &adminv1.CreateStoreRequest{
		Name: "Two", Slug: "two", Currency: "KWD", Country: "KW", Url: new("https://two.example"), Description: new("d"),
		SupportEmail: new("help@two.example"), Phone: new("+96522345678"), WhatsappPhone: new("+96522345679"),
		SocialLinks: map[string]string{"facebook": "https://facebook.example/two"}, Status: storefrontv1.Store_suspended.Enum(),
		PaymentLinksOpen: new(false), UnavailableTypes: []storefrontv1.Product_Type{storefrontv1.Product_MEETING},
		PlatformFeePercent: new(2.5),
	})
	require.Equal(c, storefrontv1.Store_suspended, made.GetStatus())
	require.Equal(c, "https://facebook.example/two", made.GetSocialLinks()["facebook"])
	list := ask[adminv1.ListStoresResponse](c, "StoreService/ListStores", &adminv1.ListStoresRequest{PageSize: new(int32(1))})
	require.Len(c, list.GetStores(), 1)
	require.Equal(c, "two", list.GetStores()[0].GetSlug(), "newest first")
	require.True(c, proto.Equal(made, ask[storefrontv1.Store](c, "StoreService/GetStore",
		&adminv1.GetStoreRequest{Store: made.GetId()})))
	changed := ask[storefrontv1.Store](c, "StoreService/UpdateStore", &adminv1.UpdateStoreRequest{
		Store: "two", Status: storefrontv1.Store_open.Enum(), Description: new(""),
		UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"status", "description", "social_links", "unavailable_types"}},
	})
	require.Equal(c, storefrontv1.Store_open, changed.GetStatus())
	require.Empty(c, changed.GetSocialLinks(), "what is named without a value is cleared")
	require.Equal(c, "Two", changed.GetName(), "what is not named stays")
	changed = ask[storefrontv1.Store](c, "StoreService/UpdateStore", &adminv1.UpdateStoreRequest{Store: "two", Name: new("Deux")})
	require.Equal(c, "Deux", changed.GetName(), "without a mask, what is present is changed")
	settings := ask[adminv1.StoreSettings](c, "StoreService/GetStoreSettings", &adminv1.GetStoreSettingsRequest{Store: "two"})
	require.True(c, proto.Equal(&adminv1.StoreSettings{PlatformFeePercent: 2.5}, settings))
}

func (c *caller) products() string {
	p := ask[storefrontv1.Product](c, "ProductService/CreateProduct", &adminv1.CreateProductRequest{
		Store: "s", Title: "Guide", Type: storefrontv1.Product_FILE, PriceAmount: new(int64(1500)), CompareAtAmount: new(int64(2000)),
		Slug: "guide", Summary: new("s"), Description: new("<p>d</p>"), CoverUrl: new("https://s.example/a.png"),
		ContentReady: new(true),
	})
	require.Equal(c, storefrontv1.Product_DRAFT, p.GetStatus())
	list := ask[storefrontv1.ListProductsResponse](c, "ProductService/ListProducts", &adminv1.ListProductsRequest{
		Store: "s", Q: new("GUI"), Status: storefrontv1.Product_DRAFT.Enum(), Type: storefrontv1.Product_FILE.Enum(),
		PageSize: new(int32(5)), Page: new(int64(1)),
	})
	require.EqualValues(c, 1, list.GetTotal())
	require.True(c, proto.Equal(p, ask[storefrontv1.Product](c, "ProductService/GetProduct",
		&storefrontv1.GetProductRequest{Id: p.GetId()})))
	require.True(c, proto.Equal(p, ask[storefrontv1.Product](c, "ProductService/FindProduct", &adminv1.FindProductRequest{Store: "s",
		Name: "guide"})))
	changed := ask[storefrontv1.Product](c, "ProductService/UpdateProduct", &adminv1.UpdateProductRequest{
		Id: p.GetId(), Status: storefrontv1.Product_PUBLISHED.Enum(), PriceAmount: new(int64(1200)),
		UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"status", "price_amount", "compare_at_amount", "cover_url"}},
	})
	require.Equal(c, storefrontv1.Product_PUBLISHED, changed.GetStatus())
	require.Nil(c, changed.CompareAtAmount)
	require.Nil(c, changed.CoverUrl)
	require.EqualValues(c, 1200, changed.GetPriceAmount())
	return p.GetId()
}

func (c *caller) customers() string {
	in := &adminv1.CreateCustomerRequest{Store: "s", Name: "Awa", Email: new("Awa@Example.com")}
	made := ask[adminv1.CreateCustomerResponse](c, "CustomerService/CreateCustomer", in)
	require.True(c, made.GetCreated())
	again := ask[adminv1.CreateCustomerResponse](c, "CustomerService/CreateCustomer", in)
	require.False(c, again.GetCreated())
	id := made.GetCustomer().GetId()
	require.Equal(c, id, again.GetCustomer().GetId())
	list := ask[storefrontv1.ListCustomersResponse](c, "CustomerService/ListCustomers", &adminv1.ListCustomersRequest{Store: "s",
		Q: new("awa")})
	require.EqualValues(c, 1, list.GetTotal())
	changed := ask[storefrontv1.Customer](c, "CustomerService/UpdateCustomer", &storefrontv1.UpdateCustomerRequest{Id: id,
		Phone: new("670000001")})
	require.Equal(c, "+237670000001", changed.GetPhone())
	require.True(c, proto.Equal(changed, ask[storefrontv1.Customer](c, "CustomerService/GetCustomer",
		&storefrontv1.GetCustomerRequest{Id: id})))
	for _, name := range []string{"AWA@example.com", "670 00 00 01", id} {
		require.True(c, proto.Equal(changed, ask[storefrontv1.Customer](c, "CustomerService/FindCustomer",
			&adminv1.FindCustomerRequest{Store: "s", Name: name})), name)
	}
	return id
}

func (c *caller) links() string {
	l := ask[storefrontv1.PaymentLink](c, "PaymentLinkService/CreatePaymentLink", &adminv1.CreatePaymentLinkRequest{
		Store: "s", Title: "Soutien", Pricing: storefrontv1.PaymentLink_OPEN, MinAmount: new(int64(500)), Description: new("d"),
		CoverUrl: new("https://s.example/b.png"), ThankYouMessage: new("Merci"), MaxPayments: new(int32(9)),
		ExpiresAt: timestamppb.New(time.Now().Add(time.Hour)),
	})
	require.Equal(c, storefrontv1.PaymentLink_ACTIVE, l.GetAvailability())
	off := ask[storefrontv1.PaymentLink](c, "PaymentLinkService/DisablePaymentLink",
		&adminv1.DisablePaymentLinkRequest{Id: l.GetId()})
	require.Equal(c, storefrontv1.PaymentLink_DISABLED, off.GetAvailability())
	list := ask[storefrontv1.ListPaymentLinksResponse](c, "PaymentLinkService/ListPaymentLinks", &adminv1.ListPaymentLinksRequest{
		Store: "s", Status: storefrontv1.ListPaymentLinksRequest_inactive.Enum(),
	})
	require.EqualValues(c, 1, list.GetTotal())
	on := ask[storefrontv1.PaymentLink](c, "PaymentLinkService/EnablePaymentLink",
		&storefrontv1.EnablePaymentLinkRequest{Id: l.GetId()})
	require.Equal(c, storefrontv1.PaymentLink_ACTIVE, on.GetAvailability())
	changed := ask[storefrontv1.PaymentLink](c, "PaymentLinkService/UpdatePaymentLink",
		&storefrontv1.UpdatePaymentLinkRequest{Id: l.GetId(), Title: new("Don")})
	require.Equal(c, "Don", ask[storefrontv1.PaymentLink](c, "PaymentLinkService/GetPaymentLink",
		&storefrontv1.GetPaymentLinkRequest{Id: l.GetId()}).GetTitle())
	require.Equal(c, l.GetCode(), changed.GetCode())
	require.True(c, proto.Equal(changed, ask[storefrontv1.PaymentLink](c, "PaymentLinkService/FindPaymentLink",
		&adminv1.FindPaymentLinkRequest{Store: "s", Name: l.GetCode()})))
	return l.GetId()
}

func (c *caller) orders(product, customer, link string) {
	in := &adminv1.CreateOrderRequest{
		Store: "s", CustomerId: customer, Items: []*adminv1.CreateOrderRequest_Item{{ProductId: product, Quantity: 2}},
		Note: new("Vite"), IdempotencyKey: "checkout-1",
	}
	o := ask[storefrontv1.Order](c, "OrderService/CreateOrder", in)
	require.EqualValues(c, 2400, o.GetAmount())
	paid := ask[storefrontv1.Order](c, "OrderService/PayOrder", &adminv1.PayOrderRequest{Id: o.GetId(), IdempotencyKey: "p"})
	require.Equal(c, storefrontv1.Order_PAID, paid.GetStatus())
	require.Equal(c, string(apijson.Marshal(o)), string(apijson.Marshal(ask[storefrontv1.Order](c, "OrderService/CreateOrder", in))),
		"the same key, the same answer")
	refunded := ask[storefrontv1.Order](c, "OrderService/RefundOrder", &adminv1.RefundOrderRequest{Id: o.GetId(),
		IdempotencyKey: "r"})
	require.Equal(c, storefrontv1.Order_REFUNDED, refunded.GetStatus())
	require.True(c, proto.Equal(paid, ask[storefrontv1.Order](c, "OrderService/PayOrder", &adminv1.PayOrderRequest{Id: o.GetId(),
		IdempotencyKey: "p"})))
	_, err := try[storefrontv1.Order](c, "OrderService/CreateOrder", &adminv1.CreateOrderRequest{
		Store: "s", CustomerId: customer, PaymentLinkId: link, Amount: new(int64(700)), IdempotencyKey: "checkout-1",
	})
	require.EqualValues(c, "idempotency_key_reused", codeOf(err))
	require.Equal(c, connect.CodeAlreadyExists, connect.CodeOf(err))

	o = ask[storefrontv1.Order](c, "OrderService/CreateOrder", &adminv1.CreateOrderRequest{
		Store: "s", Name: "Ada", Email: new("ada@example.com"), Phone: new("670000009"), PaymentLinkId: link, Amount: new(int64(700)),
	})
	require.Equal(c, "Ada", o.GetCustomer().GetName())
	failed := ask[storefrontv1.Order](c, "OrderService/FailOrder", &adminv1.FailOrderRequest{Id: o.GetId()})
	require.Equal(c, storefrontv1.Order_FAILED, failed.GetStatus())
	o = ask[storefrontv1.Order](c, "OrderService/CreateOrder", &adminv1.CreateOrderRequest{Store: "s", CustomerId: customer,
		PaymentLinkId: link, Amount: new(int64(700))})
	cancelled := ask[storefrontv1.Order](c, "OrderService/CancelOrder", &adminv1.CancelOrderRequest{Id: o.GetId()})
	require.Equal(c, storefrontv1.Order_CANCELLED, cancelled.GetStatus())
	list := ask[storefrontv1.ListOrdersResponse](c, "OrderService/ListOrders", &adminv1.ListOrdersRequest{
		Store: "s", Status: storefrontv1.Order_CANCELLED.Enum(), From: timestamppb.New(time.Now().Add(-time.Hour)),
		To: timestamppb.New(time.Now().Add(time.Hour)),
	})
	require.EqualValues(c, 1, list.GetTotal())
	require.True(c, proto.Equal(cancelled, ask[storefrontv1.Order](c, "OrderService/GetOrder",
		&storefrontv1.GetOrderRequest{Id: o.GetId()})))
	require.True(c, proto.Equal(cancelled, ask[storefrontv1.Order](c, "OrderService/FindOrder", &adminv1.FindOrderRequest{Store: "s",
		Name: o.GetReference()})))
}

func (c *caller) keys() {
	made := ask[adminv1.CreateKeyResponse](c, "KeyService/CreateKey", &adminv1.CreateKeyRequest{
		Store: "s", Name: "crm", Scopes: []string{"orders:read"}, Lifetime: adminv1.Key_DAYS_90,
	})
	require.Regexp(c, `^svc_live_`, made.GetSecret())
	require.Equal(c, adminv1.Key_active, made.GetKey().GetStatus())
	revoked := ask[adminv1.Key](c, "KeyService/RevokeKey", &adminv1.RevokeKeyRequest{Id: made.GetKey().GetId()})
	require.Equal(c, adminv1.Key_revoked, revoked.GetStatus())
	require.True(c, proto.Equal(revoked, ask[adminv1.Key](c, "KeyService/GetKey", &adminv1.GetKeyRequest{Id: revoked.GetId()})))
	list := ask[adminv1.ListKeysResponse](c, "KeyService/ListKeys", &adminv1.ListKeysRequest{Store: "s"})
	require.True(c, proto.Equal(revoked, list.GetKeys()[0]))
	require.NotContains(c, c.log.String(), made.GetSecret())
}

func (c *caller) hooks(product string) {
	made := ask[adminv1.CreateWebhookResponse](c, "WebhookService/CreateWebhook", &adminv1.CreateWebhookRequest{
		Store: "s", Url: "https://shop.example.com/hooks", Description: "d", Events: []string{"product.archived"},
	})
	id, secret := made.GetWebhook().GetId(), made.GetSecret()
	require.Regexp(c, `^whsec_`, secret)
	rotated := ask[adminv1.RotateSecretResponse](c, "WebhookService/RotateSecret", &adminv1.RotateSecretRequest{Id: id})
	require.NotEqual(c, secret, rotated.GetSecret())
	changed := ask[adminv1.Webhook](c, "WebhookService/UpdateWebhook", &adminv1.UpdateWebhookRequest{
		Id: id, Events: []string{"product.archived", "order.paid"}, Description: new(""),
		UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"events", "description"}},
	})
	require.Equal(c, []string{"order.paid", "product.archived"}, changed.GetEvents())
	require.Empty(c, changed.GetDescription())
	require.Equal(c, "https://shop.example.com/hooks", changed.GetUrl())
	ping := ask[adminv1.Delivery](c, "WebhookService/PingWebhook", &adminv1.PingWebhookRequest{Id: id})
	require.Equal(c, adminv1.Delivery_pending, ping.GetStatus())
	off := ask[adminv1.Webhook](c, "WebhookService/DisableWebhook", &adminv1.DisableWebhookRequest{Id: id})
	require.Equal(c, adminv1.Webhook_disabled, off.GetState())
	ask[storefrontv1.Product](c, "ProductService/UpdateProduct", &adminv1.UpdateProductRequest{Id: product,
		Status: storefrontv1.Product_ARCHIVED.Enum()})
	on := ask[adminv1.Webhook](c, "WebhookService/EnableWebhook", &adminv1.EnableWebhookRequest{Id: id})
	require.Equal(c, adminv1.Webhook_enabled, on.GetState())
	require.True(c, proto.Equal(on, ask[adminv1.Webhook](c, "WebhookService/GetWebhook", &adminv1.GetWebhookRequest{Id: id})))
	list := ask[adminv1.ListWebhooksResponse](c, "WebhookService/ListWebhooks", &adminv1.ListWebhooksRequest{Store: "s"})
	require.True(c, proto.Equal(on, list.GetWebhooks()[0]))

	again := ask[adminv1.Delivery](c, "DeliveryService/ResendDelivery", &adminv1.ResendDeliveryRequest{Id: ping.GetId()})
	require.Equal(c, ping.GetEventId(), again.GetEventId())
	require.True(c, proto.Equal(again, ask[adminv1.Delivery](c, "DeliveryService/FindDelivery", &adminv1.FindDeliveryRequest{
		Store: "s", Name: again.GetId()[len(again.GetId())-12:]})))
	job := ask[adminv1.Resend](c, "DeliveryService/StartResend", &adminv1.StartResendRequest{WebhookId: id,
		Since: timestamppb.New(time.Now().Add(-time.Hour))})
	require.Equal(c, adminv1.Resend_running, job.GetState())
	job = ask[adminv1.Resend](c, "DeliveryService/ContinueResend", &adminv1.ContinueResendRequest{Id: job.GetId()})
	require.Equal(c, adminv1.Resend_finished, job.GetState())
	require.EqualValues(c, 2, job.GetResent(), "order.paid and product.archived, which came while it was disabled")
	found := ask[adminv1.ListDeliveriesResponse](c, "DeliveryService/ListDeliveries", &adminv1.ListDeliveriesRequest{
		Store: "s", Status: adminv1.Delivery_pending.Enum(), EventType: "product.archived",
	})
	require.Len(c, found.GetDeliveries(), 1)
	shown := ask[adminv1.GetDeliveryResponse](c, "DeliveryService/GetDelivery",
		&adminv1.GetDeliveryRequest{Id: found.GetDeliveries()[0].GetId()})
	event := ask[adminv1.Event](c, "EventService/GetEvent", &adminv1.GetEventRequest{Id: shown.GetDelivery().GetEventId()})
	require.Equal(c, event.GetPayload(), shown.GetPayload())
	eventID := uuid.MustParse(shown.GetDelivery().GetEventId())
	require.Equal(c, string(c.db.Client().Event.GetX(c.Context(), eventID).Payload), shown.GetPayload(), "byte for byte")
	gone := ask[adminv1.Webhook](c, "WebhookService/DeleteWebhook", &adminv1.DeleteWebhookRequest{Id: id})
	require.Equal(c, id, gone.GetId())
}

func (c *caller) journals() {
	newest := ask[adminv1.ListActivityResponse](c, "ActivityService/ListActivity", &adminv1.ListActivityRequest{Store: "s",
		PageSize: new(int32(1))})
	entries := newest.GetEntries()
	require.Equal(c, "webhook.deleted", entries[0].GetAction())
	require.Equal(c, adminv1.ActivityEntry_Actor_operator, entries[0].GetActor().GetType())
	require.True(c, json.Valid([]byte(entries[0].GetChanges())), entries[0].GetChanges())
	older := ask[adminv1.ListActivityResponse](c, "ActivityService/ListActivity", &adminv1.ListActivityRequest{
		Store: "s", PageSize: new(int32(1)), PageToken: newest.GetNextPageToken(),
	}).GetEntries()
	both := ask[adminv1.ListActivityResponse](c, "ActivityService/ListActivity",
		&adminv1.ListActivityRequest{Store: "s"}).GetEntries()
	require.True(c, proto.Equal(both[1], older[0]))
	events := ask[adminv1.ListEventsResponse](c, "EventService/ListEvents", &adminv1.ListEventsRequest{Store: "s",
		Type: "order.paid"}).GetEvents()
	require.Len(c, events, 1)
	require.Contains(c, events[0].GetPayload(), events[0].GetId())
	c.watches()
	c.dashboards()
}

// watches follows the events from the newest on.
func (c *caller) watches() {
	ping := ask[adminv1.Event](c, "EventService/CreatePing", &adminv1.CreatePingRequest{Store: "s"})
	const watch = "EventService/WatchEvents"
	c.called[watch] = true
	ctx, stop := context.WithCancel(c.Context())
	defer stop()
	in := connect.NewRequest(&adminv1.WatchEventsRequest{Store: "s", Since: ping.GetCreatedAt(), Types: []string{"ping"}})
	in.Header().Set("Authorization", "Bearer "+token)
	client := connect.NewClient[adminv1.WatchEventsRequest, adminv1.WatchEventsResponse](c.http, c.url+"/storefront.admin.v1."+watch,
		c.options...)
	stream, err := client.CallServerStream(ctx, in)
	require.NoError(c, err)
	defer stream.Close()
	require.True(c, stream.Receive(), stream.Err())
	require.Empty(c, stream.Msg().GetEvents())
	require.True(c, stream.Receive(), stream.Err())
	require.Equal(c, ping.GetPayload(), stream.Msg().GetEvents()[0].GetPayload())
}

func (c *caller) dashboards() {
	var made [3]*adminv1.CreateSignInLinkResponse
	for i := range made {
		made[i] = ask[adminv1.CreateSignInLinkResponse](c, "DashboardService/CreateSignInLink", &adminv1.CreateSignInLinkRequest{
			Store: "s", Member: "Awa", Role: adminv1.Session_owner, BaseUrl: "https://operator.example.com",
			ExpiresSeconds: new(int32(60)),
		})
		require.Regexp(c, `^https://operator\.example\.com/dashboard/sign-in\?token=[\w-]{43}$`, made[i].GetUrl())
	}
	_, secret, _ := strings.Cut(made[0].GetUrl(), "token=")
	session, err := c.operator.SignIn(c.Context(), secret)
	require.NoError(c, err)
	_, _, err = c.operator.InSession(c.Context(), session, true)
	require.NoError(c, err)
	for _, store := range []string{"", "s"} {
		all := ask[adminv1.ListSessionsResponse](c, "DashboardService/ListSessions", &adminv1.ListSessionsRequest{Store: store,
			PageSize: new(int32(3))}).GetSessions()
		require.Len(c, all, 3)
		byID := map[string]*adminv1.Session{}
		for _, one := range all {
			byID[one.GetId()] = one
		}
		begun := byID[made[0].GetId()]
		require.Equal(c, adminv1.Session_session, begun.GetKind())
		require.Equal(c, "s", begun.GetStore().GetSlug())
		require.Equal(c, "Awa", begun.GetMember())
		require.Equal(c, adminv1.Session_owner, begun.GetRole())
		require.Equal(c, admin.SessionLength, begun.GetExpiresAt().AsTime().Sub(begun.GetCreatedAt().AsTime()))
		require.NotNil(c, begun.GetLastUsedAt())
		require.Nil(c, begun.GetEndedAt())
		require.Equal(c, adminv1.Session_link, byID[made[1].GetId()].GetKind())
		require.Nil(c, byID[made[1].GetId()].GetLastUsedAt())
	}
	ended := ask[adminv1.Session](c, "DashboardService/RevokeSession", &adminv1.RevokeSessionRequest{Id: made[0].GetId()})
	require.NotNil(c, ended.GetEndedAt())
	_, _, err = c.operator.InSession(c.Context(), session, true)
	require.ErrorIs(c, err, admin.ErrNoSession)
	both := ask[adminv1.RevokeSessionsResponse](c, "DashboardService/RevokeSessions", &adminv1.RevokeSessionsRequest{Store: "s",
		Member: "Awa"})
	require.EqualValues(c, 0, both.GetSessions())
	require.EqualValues(c, 2, both.GetLinks())
	require.NotContains(c, c.log.String(), secret)
	require.NotContains(c, c.log.String(), session)
}
