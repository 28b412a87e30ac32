package rpc_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/tenant"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/admin/rpc"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/edge"
	"go.storefront.example/server/limit"
)

// post calls a method such as "StoreService/ListStores" or, for the store s, "storefront.v1.StoreService/GetStore", as curl
// does. The refusal is nil for status 200. headers are pairs.
func (b *bench) post(method, body string, headers ...string) (*http.Response, []byte, *storefrontv1.Error) {
	b.Helper()
	path := "/storefront.admin.v1." + method
	if strings.HasPrefix(method, "storefront.v1.") {
		path = "/" + method
	}
	r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, b.url+path, strings.NewReader(body))
	require.NoError(b, err)
	if path == "/"+method {
		r.Header.Set("Storefront-Store", "s")
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+token)
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Content-Type" {
			r.Header.Del("Content-Type")
		}
		r.Header[headers[i]] = append(r.Header[headers[i]], headers[i+1])
	}
	return b.do(r)
}

func (b *bench) do(r *http.Request) (*http.Response, []byte, *storefrontv1.Error) {
	b.Helper()
	answer, err := http.DefaultClient.Do(r)
	require.NoError(b, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	require.NoError(b, err)
	if answer.StatusCode == http.StatusOK {
		return answer, text, nil
	}
	var refused struct {
		Details []struct{ Type, Value string }
	}
	require.NoError(b, json.Unmarshal(text, &refused), "%s", text)
	require.Len(b, refused.Details, 1, "%s", text)
	value, err := base64.RawStdEncoding.DecodeString(refused.Details[0].Value)
	require.NoError(b, err)
	detail := &storefrontv1.Error{}
	require.NoError(b, proto.Unmarshal(value, detail))
	require.Equal(b, answer.Header.Get("X-Request-Id"), detail.GetRequestId())
	return answer, text, detail
}

// With the code and the details of the method's refusal, and the request id of the log line.
func TestRefusalsComeAsTheyAre(t *testing.T) {
	t.Parallel()
	b := newBench(t, dbtest.SQLite, db.Config{})
	none, order := uuid.NewString(), b.order()
	for name, row := range map[string]struct {
		method, body string
		headers      []string
		status       int
		code         apierr.Code
		fields       []string
	}{
		"no such store":        {"StoreService/GetStoreSettings", `{"store":"nowhere"}`, nil, 404, apierr.StoreNotFound, nil},
		"no such product":      {"storefront.v1.ProductService/GetProduct", `{"id":"` + none + `"}`, nil, 404, apierr.ProductNotFound, nil},
		"no such order":        {"OrderService/PayOrder", `{"id":"` + none + `"}`, nil, 404, apierr.OrderNotFound, nil},
		"no such customer":     {"storefront.v1.CustomerService/GetCustomer", `{"id":""}`, nil, 404, apierr.CustomerNotFound, nil},
		"no such payment link": {"PaymentLinkService/DisablePaymentLink", `{"id":"x"}`, nil, 404, apierr.PaymentLinkNotFound, nil},
		"no such key":          {"KeyService/RevokeKey", `{"id":"` + none + `"}`, nil, 404, apierr.APIKeyNotFound, nil},
		"no such webhook":      {"WebhookService/EnableWebhook", `{"id":"` + none + `"}`, nil, 404, apierr.WebhookNotFound, nil},
		"no such delivery":     {"DeliveryService/GetDelivery", `{"id":"` + none + `"}`, nil, 404, apierr.DeliveryNotFound, nil},
		"no such event":        {"EventService/GetEvent", `{"id":"` + none + `"}`, nil, 404, apierr.EventNotFound, nil},
		"no such resend":       {"DeliveryService/ContinueResend", `{"id":"` + none + `"}`, nil, 404, apierr.ResendNotFound, nil},
		"a resend by no id":    {"DeliveryService/ContinueResend", `{"id":"x"}`, nil, 404, apierr.ResendNotFound, nil},
		"a resend since never": {"DeliveryService/StartResend", `{"webhookId":"` + none + `"}`, nil, 400, apierr.ValidationFailed,
			[]string{"since"}},
		"a slug that is taken": {"StoreService/CreateStore", `{"name":"S","slug":"s","currency":"XAF","country":"CM"}`, nil, 409,
			apierr.SlugTaken, nil},
		"a phone that is none": {"storefront.v1.CustomerService/CreateCustomer", `{"phone":"12"}`, nil, 400, apierr.PhoneInvalid, nil},
		"nobody": {"storefront.v1.CustomerService/CreateCustomer", `{"name":"A"}`, nil, 400,
			apierr.CustomerIdentifierRequired, nil},
		"a private address": {"WebhookService/CreateWebhook", `{"store":"s","url":"https://127.0.0.1/"}`, nil, 400,
			apierr.WebhookURLInvalid, nil},
		"every field that does not decode": {
			"storefront.v1.ProductService/UpdateProduct", `{"id":"` + none + `","status":"SOLD","price":5,"id":"x"}`, nil, 400,
			apierr.ValidationFailed, []string{"status", "price", "id"},
		},
		"no JSON": {"StoreService/GetStoreSettings", `{`, nil, 400, apierr.ValidationFailed, nil},
		"null for what cannot be null": {"StoreService/UpdateStore", `{"store":"s","name":null,"paymentLinksOpen":null}`, nil, 400,
			apierr.ValidationFailed, []string{"name", "paymentLinksOpen"}},
		"the zero of an enum": {"StoreService/UpdateStore", `{"store":"s","status":"STATUS_UNSPECIFIED"}`, nil, 400,
			apierr.ValidationFailed, []string{"status"}},
		"a mask that names nothing": {"StoreService/UpdateStore", `{"store":"s","updateMask":"store,slug"}`, nil, 400,
			apierr.ValidationFailed, []string{"updateMask"}},
		"null for a webhook": {"WebhookService/UpdateWebhook", `{"store":"s","id":"` + none + `","url":null,"description":null}`,
			nil, 400, apierr.ValidationFailed, []string{"url", "description"}},
		"a mask with no field of a webhook": {"WebhookService/UpdateWebhook", `{"id":"` + none + `","updateMask":"id,store"}`, nil, 400,
			apierr.ValidationFailed, []string{"updateMask"}},
		"a webhook of nobody": {"WebhookService/UpdateWebhook", `{"id":"` + none + `","events":[]}`, nil, 404,
			apierr.WebhookNotFound, nil},
		"a list of none": {"StoreService/ListStores", `{"pageSize":0}`, nil, 400, apierr.ValidationFailed,
			[]string{"pageSize"}},
		"deliveries of nobody": {"DeliveryService/ListDeliveries", `{}`, nil, 400, apierr.ValidationFailed,
			[]string{"store"}},
		"a page of too many": {"storefront.v1.OrderService/ListOrders", `{"pageSize":101}`, nil, 400,
			apierr.ValidationFailed, []string{"pageSize"}},
		"another role": {"DashboardService/CreateSignInLink",
			`{"store":"s","member":"A","role":"editor","baseUrl":"https://a.example"}`, nil, 400, apierr.ValidationFailed,
			[]string{"role"}},
		"a link for no time": {"DashboardService/CreateSignInLink",
			`{"store":"s","member":"A","role":"owner","expiresSeconds":0,"baseUrl":"https://a.example"}`, nil, 400,
			apierr.ValidationFailed, []string{"expiresSeconds"}},
		"a link to nowhere": {"DashboardService/CreateSignInLink", `{"store":"s","member":"A","role":"owner"}`, nil, 400,
			apierr.ValidationFailed, []string{"baseUrl"}},
		"a link over http": {"DashboardService/CreateSignInLink",
			`{"store":"s","member":"A","role":"owner","baseUrl":"http://a.example"}`, nil, 400, apierr.ValidationFailed,
			[]string{"baseUrl"}},
		"no such session": {"DashboardService/RevokeSession", `{"id":"` + none + `"}`, nil, 404,
			apierr.SessionNotFound, nil},
		"a session by no id":   {"DashboardService/RevokeSession", `{"id":"x"}`, nil, 404, apierr.SessionNotFound, nil},
		"sessions of no store": {"DashboardService/RevokeSessions", `{}`, nil, 404, apierr.StoreNotFound, nil},
		"sessions of an unknown store": {"DashboardService/ListSessions", `{"store":"nowhere"}`, nil, 404, apierr.StoreNotFound,
			nil},
		"no sessions": {"DashboardService/ListSessions", `{"pageSize":0}`, nil, 400, apierr.ValidationFailed,
			[]string{"pageSize"}},
		"an idempotency key of 256": {"OrderService/PayOrder", `{"id":"ORDER","idempotencyKey":"` + strings.Repeat("k", 256) +
			`"}`, nil, 400, apierr.ValidationFailed, []string{"idempotencyKey"}},
		"a member of no name": {"StoreService/GetStoreSettings", `{"store":"s"}`, []string{"Storefront-Member", " "}, 400,
			apierr.ValidationFailed, []string{"Storefront-Member"}},
		"a member of too long a name": {"StoreService/GetStoreSettings", `{"store":"s"}`, []string{"Storefront-Member",
			strings.Repeat("x", 101)}, 400, apierr.ValidationFailed, []string{"Storefront-Member"}},
		"a member with a line feed": {"StoreService/GetStoreSettings", `{"store":"s"}`, []string{"Storefront-Member", "A%0D%0AB"}, 400,
			apierr.ValidationFailed, []string{"Storefront-Member"}},
		"a member that is no text": {"StoreService/GetStoreSettings", `{"store":"s"}`, []string{"Storefront-Member", "A%FF"}, 400,
			apierr.ValidationFailed, []string{"Storefront-Member"}},
		"a member that does not decode": {"StoreService/GetStoreSettings", `{"store":"s"}`, []string{"Storefront-Member", "100%"}, 400,
			apierr.ValidationFailed, []string{"Storefront-Member"}},
		"two members": {"StoreService/GetStoreSettings", `{"store":"s"}`, []string{"Storefront-Member", "A",
			"Storefront-Member", "B"}, 400, apierr.ValidationFailed, []string{"Storefront-Member"}},
		"a body of more than one megabyte": {"StoreService/GetStoreSettings", `{"store":"` + strings.Repeat("s", edge.MaxBodyBytes) + `"}`, nil,
			429, apierr.PayloadTooLarge, nil},
	} {
		answer, text, refused := b.post(row.method, strings.Replace(row.body, "ORDER", order, 1), row.headers...)
		require.NotNil(t, refused, "%s: %s", name, text)
		require.EqualValues(t, row.code, refused.GetCode(), name)
		require.Equal(t, row.status, answer.StatusCode, name)
		var fields []string
		for _, f := range refused.GetDetails().GetFields() {
			fields = append(fields, f.GetField())
		}
		require.Equal(t, row.fields, fields, name)
		require.Contains(t, b.log.String(), `"request_id":"`+refused.GetRequestId()+`"`, name)
	}
}

func (b *bench) order() string {
	b.Helper()
	p, err := b.operator.CreateProduct(b.Context(), &adminv1.CreateProductRequest{Store: "s", Title: "P", PriceAmount: new(int64(5)),
		Type: storefrontv1.Product_FILE})
	require.NoError(b, err)
	o, err := b.operator.CreateOrder(b.Context(), &adminv1.CreateOrderRequest{
		Store: "s", Email: new("a@example.com"), Items: []*adminv1.CreateOrderRequest_Item{{ProductId: p.GetId(), Quantity: 1}},
	})
	require.NoError(b, err)
	return o.GetId()
}

func TestTheNamesInJSONAreTheChange(t *testing.T) {
	t.Parallel()
	b := newBench(t, dbtest.SQLite, db.Config{})
	_, text, _ := b.post("ProductService/CreateProduct",
		`{"store":"s","title":"P","type":"FILE","priceAmount":5,"compareAtAmount":9,"coverUrl":"https://s.example/a.png"}`)
	var p struct{ ID string }
	require.NoError(t, json.Unmarshal(text, &p))
	_, text, refused := b.post("ProductService/SetProductContent", `{"product":{"id":"`+p.ID+`","compareAtAmount":null},"contentReady":true}`)
	require.Nil(t, refused, "%s", text)
	require.Contains(t, string(text), `"compareAtAmount":null`)
	require.Contains(t, string(text), `"coverUrl":"https://s.example/a.png"`, "what is not named stays")
	_, text, refused = b.post("StoreService/UpdateStore",
		`{"store":"s","socialLinks":{"x":"https://x.example/s"},"unavailableTypes":["EVENT"]}`)
	require.Nil(t, refused, "%s", text)
	require.Contains(t, string(text), `"socialLinks":{"x":"https://x.example/s"}`)
	_, text, refused = b.post("StoreService/UpdateStore", `{"store":"s","socialLinks":{}}`)
	require.Nil(t, refused, "%s", text)
	require.Contains(t, string(text), `"socialLinks":{}`)
}

func TestTheNamesOfTheProtosAreReadToo(t *testing.T) {
	t.Parallel()
	b := newBench(t, dbtest.SQLite, db.Config{})
	_, text, refused := b.post("ProductService/CreateProduct", `{"store":"s","title":"P","type":"FILE","price_amount":5}`)
	require.Nil(t, refused, "%s", text)
	require.Contains(t, string(text), `"priceAmount":5`)
	_, text, refused = b.post("StoreService/UpdateStore", `{"store":"s","support_email":"a@example.com"}`)
	require.Nil(t, refused, "%s", text)
	require.Contains(t, string(text), `"supportEmail":"a@example.com"`)
	_, text, refused = b.post("StoreService/ListStores", `{"page_size":0}`)
	require.NotNil(t, refused, "%s", text)
	require.Equal(t, "pageSize", refused.GetDetails().GetFields()[0].GetField())
}

func TestTheJournalNamesTheMember(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		b := newBenchOn(t, d)
		_, _, refused := b.post("StoreService/UpdateStore", `{"store":"s","name":"A"}`, "Storefront-Member", " Awa%20Ng%C3%B4%20100%25")
		require.Nil(t, refused)
		client, err := rpc.NewClient(b.url+"/", token)
		require.NoError(t, err)
		_, err = client.UpdateStore(tenant.WithMember(t.Context(), "Zoé % /"), &adminv1.UpdateStoreRequest{Store: "s", Name: new("B")})
		require.NoError(t, err)
		_, _, refused = b.post("StoreService/CreateStore", `{"name":"T","slug":"t","currency":"XAF","country":"CM"}`,
			"Storefront-Member", "Awa")
		require.Nil(t, refused)
		found, err := client.ListActivity(t.Context(), &adminv1.ListActivityRequest{Store: "s"})
		require.NoError(t, err)
		entries := found.GetEntries()
		require.Len(t, entries, 3)
		for i, want := range []*adminv1.ActivityEntry_Actor{
			{Type: adminv1.ActivityEntry_Actor_member, Name: "Zoé % /"}, {Type: adminv1.ActivityEntry_Actor_member, Name: "Awa Ngô 100%"},
			{Type: adminv1.ActivityEntry_Actor_operator, Name: "operator"},
		} {
			require.True(t, proto.Equal(want, entries[i].GetActor()), entries[i])
		}
		found, err = client.ListActivity(t.Context(), &adminv1.ListActivityRequest{Store: "t"})
		require.NoError(t, err)
		require.Equal(t, adminv1.ActivityEntry_Actor_member, found.GetEntries()[0].GetActor().GetType())
		require.Contains(t, b.log.String(), `"member":"Awa Ngô 100%"`)
	})
}

// The log line has the ids of the events, and nothing of the request's body.
func TestTheLogTellsWhatACallCaused(t *testing.T) {
	t.Parallel()
	b := newBench(t, dbtest.SQLite, db.Config{})
	id := b.order()
	answer, _, refused := b.post("OrderService/PayOrder", `{"id":"`+id+`"}`)
	require.Nil(t, refused)
	found, err := b.operator.ListEvents(t.Context(), &adminv1.ListEventsRequest{Store: "s", PageSize: new(int32(1))})
	require.NoError(t, err)
	event := b.db.Client().Event.GetX(t.Context(), uuid.MustParse(found.GetEvents()[0].GetId()))
	require.Equal(t, answer.Header.Get("X-Request-Id"), event.RequestID.String())
	lines := bytes.Split(bytes.TrimSpace([]byte(b.log.String())), []byte("\n"))
	var line struct {
		Route    string
		Request  string   `json:"request_id"`
		EventIDs []string `json:"event_ids"`
	}
	require.NoError(t, json.Unmarshal(lines[len(lines)-1], &line))
	require.Equal(t, "/storefront.admin.v1.OrderService/PayOrder", line.Route)
	require.Equal(t, answer.Header.Get("X-Request-Id"), line.Request)
	require.Equal(t, []string{event.ID.String()}, line.EventIDs)
	require.NotContains(t, b.log.String(), "a@example.com")
}

func TestAnUnknownMethodIsNotLoggedAsItCame(t *testing.T) {
	t.Parallel()
	b := newBench(t, dbtest.SQLite, db.Config{})
	_, err := connect.NewClient[adminv1.ListStoresRequest, storefrontv1.Store](b.http(true),
		b.url+"/storefront.admin.v1.StoreService/Hunter2",
		connect.WithGRPC(), b.withToken(token)).CallUnary(t.Context(), connect.NewRequest(&adminv1.ListStoresRequest{}))
	require.Equal(t, connect.CodeUnimplemented, connect.CodeOf(err))
	require.NotContains(t, b.log.String(), "Hunter2")
	require.Contains(t, b.log.String(), `"route":"unmatched"`)
}

// A call that gets no slot in time, or has no token, is refused.
func TestCallsWaitForASlot(t *testing.T) {
	t.Parallel()
	b := newBench(t, dbtest.SQLite, db.Config{})
	giveBack := make([]func(), benchSlots)
	for i := range giveBack {
		var err error
		giveBack[i], err = b.slots.Acquire(t.Context(), limit.Operator, false)
		require.NoError(t, err)
	}
	answer, _, refused := b.post("StoreService/GetStoreSettings", `{"store":"s"}`)
	require.Equal(t, http.StatusServiceUnavailable, answer.StatusCode)
	require.Equal(t, "1", answer.Header.Get("Retry-After"))
	require.Equal(t, string(apierr.Unavailable), refused.GetCode())
	answer, _, _ = b.post("StoreService/GetStoreSettings", `{"store":"s"}`, "Authorization", "Bearer x")
	require.Equal(t, http.StatusUnauthorized, answer.StatusCode)
	for _, give := range giveBack {
		give()
	}
	answer, _, _ = b.post("StoreService/GetStoreSettings", `{"store":"s"}`)
	require.Equal(t, http.StatusOK, answer.StatusCode)
	require.Zero(t, b.slots.Load().Running, "the slot is given back")
}
