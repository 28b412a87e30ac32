package webhook_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"go.storefront.example/client/webhook"
	"go.storefront.example/ent/apijson"
	"go.storefront.example/ent/hook"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
)

const (
	secret  = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"
	another = "whsec_Hx4dHBsaGRgXFhUUExIREA8ODQwLCgkIBwYFBAMCAQA"
	eventID = "01a1fc49-23e5-7d82-9e18-79e8a42fda29"
	storeID = "0198c1f0-0000-7000-8000-0000000000aa"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 123e6, time.UTC)

func atNoon() webhook.Option { return webhook.WithNow(func() time.Time { return noon }) }

func envelope(kind, data string) []byte {
	return []byte(`{"id":"` + eventID + `","type":"` + kind + `","createdAt":"2026-11-21T04:06:59.158Z","store":{"id":"` + storeID +
		`","slug":"douala"},"data":` + data + `}`)
}

// order is a message with every kind of field: nested, repeated and absent fields, enums and times.
var order = &storefrontv1.Order{
	Id: "o", Reference: "R-1", Status: storefrontv1.Order_PAID, Amount: 9007199254740991, Currency: "XAF", PlatformFeePercent: 2.5,
	Customer: &storefrontv1.Order_Customer{Id: "c", Name: "Awa Ngó", Email: new("awa@example.com")},
	Items: []*storefrontv1.Order_Item{{Id: "i", ProductId: "p", Type: storefrontv1.Product_COURSE, Title: "Écrire", UnitAmount: 5,
		Quantity: 2}},
	PaymentLink: &storefrontv1.Order_PaymentLink{
		Id: "l", Code: "abc", Title: "Acompte",
	},
	PaidAt: timestamppb.New(noon), CreatedAt: timestamppb.New(noon),
}

func TestVerifyReadsEveryType(t *testing.T) {
	t.Parallel()
	customer := &storefrontv1.Customer{Id: "c", Phone: new("+237670000001"), TotalPaid: 12, Currency: "XAF",
		CreatedAt: timestamppb.New(noon)}
	product := &storefrontv1.Product{Id: "p", Title: "x", Type: storefrontv1.Product_EVENT, Status: storefrontv1.Product_ARCHIVED,
		CreatedAt: timestamppb.New(noon), UpdatedAt: timestamppb.New(noon)}
	var read []string
	for _, row := range []struct {
		kind webhook.Type
		// theirs is the event type as the service's own code names it.
		theirs string
		data   proto.Message
	}{
		{webhook.OrderPaid, hook.OrderPaid, order},
		{webhook.OrderFailed, hook.OrderFailed, order},
		{webhook.PaymentLinkPaid, hook.PaymentLinkPaid, order},
		{webhook.CustomerCreated, hook.CustomerCreated, customer},
		{webhook.ProductPublished, hook.ProductPublished, product},
		{webhook.ProductArchived, hook.ProductArchived, product},
	} {
		require.Equal(t, row.theirs, string(row.kind))
		read = append(read, row.theirs)
		data := string(apijson.Marshal(row.data))
		body := envelope(string(row.kind), data)
		event, err := webhook.Verify(body, webhook.Sign(body, secret, noon), secret, atNoon())
		require.NoError(t, err, row.kind)
		require.Equal(t, eventID, event.ID)
		require.Equal(t, row.kind, event.Type)
		require.Equal(t, time.Date(2026, 11, 21, 4, 6, 59, 158e6, time.UTC), event.CreatedAt)
		require.Equal(t, webhook.Store{ID: storeID, Slug: "douala"}, event.Store)
		require.Equal(t, data, string(event.Raw))
		got, ok := event.Data.(proto.Message)
		require.True(t, ok, "%T", event.Data)
		require.True(t, proto.Equal(row.data, got), "%s: %v", row.kind, got)
	}
	require.ElementsMatch(t, hook.EventTypes(), read, "every type that the service sends")

	body := envelope("ping", `{"message":"hello","sentAt":"2026-11-21T12:00:00.123Z"}`)
	event, err := webhook.Verify(body, webhook.Sign(body, secret, noon), secret, atNoon())
	require.NoError(t, err)
	require.Equal(t, &webhook.PingData{Message: "hello", SentAt: noon}, event.Data)
}

func TestWhatIsNewerIsNoError(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason, kind, data string
		want               any
	}{
		{"a type", "store.renamed", `{"name":"x"}`, nil},
		{"a type whose data is no object", "store.counted", `[1,2]`, nil},
		{"a field", "customer.created", `{"id":"c","mood":{"deep":[null]}}`, &storefrontv1.Customer{Id: "c"}},
		{"a field of something nested", "order.paid", `{"id":"o","customer":{"id":"c","mood":1}}`, &storefrontv1.Order{Id: "o",
			Customer: &storefrontv1.Order_Customer{Id: "c"}}},
		{"a value of an enum", "product.published", `{"id":"p","status":"SOLD_OUT","type":"FILE"}`, &storefrontv1.Product{Id: "p",
			Type: storefrontv1.Product_FILE}},
		{"a value of an enum in a list", "order.paid", `{"id":"o","items":[{"id":"i","type":"HOLOGRAM"}]}`,
			&storefrontv1.Order{Id: "o", Items: []*storefrontv1.Order_Item{{Id: "i"}}}},
		{"a field of a ping", "ping", `{"message":"hello","by":"Awa"}`, &webhook.PingData{Message: "hello"}},
	} {
		t.Run(row.reason, func(t *testing.T) {
			body := envelope(row.kind, row.data)
			body = append(body[:len(body)-1], `,"apiVersion":"v2"}`...)
			event, err := webhook.Verify(body, webhook.Sign(body, secret, noon), secret, atNoon())
			require.NoError(t, err)
			require.Equal(t, webhook.Type(row.kind), event.Type)
			require.Equal(t, row.data, string(event.Raw), "nothing is lost")
			if want, ok := row.want.(proto.Message); ok {
				require.True(t, proto.Equal(want, event.Data.(proto.Message)), "%s: %v", row.reason, event.Data)
				return
			}
			require.Equal(t, row.want, event.Data)
		})
	}
}

func TestVerifyRefuses(t *testing.T) {
	t.Parallel()
	body := envelope("ping", `{"message":"hello"}`)
	signed := webhook.Sign(body, secret, noon)
	for _, row := range []struct {
		reason              string
		body                []byte
		header, replacement string
		options             []webhook.Option
		want                error
	}{
		{"the right secret", body, signed, secret, nil, nil},
		{"an empty secret, for which anybody can sign", body, webhook.Sign(body, "", noon), "", nil, webhook.ErrNoSecret},
		{"an empty secret, whatever else is accepted", body, signed, "", []webhook.Option{webhook.WithSecrets(secret)},
			webhook.ErrNoSecret},
		{"an empty second secret accepts nothing", body, webhook.Sign(body, "", noon), secret,
			[]webhook.Option{webhook.WithSecrets("")}, webhook.ErrMismatch},
		{"the secret before this one", body, signed, another, []webhook.Option{webhook.WithSecrets("", secret)}, nil},
		{"of several secrets none", body, webhook.Sign(body, "whsec_x", noon), secret, []webhook.Option{webhook.WithSecrets(another)},
			webhook.ErrMismatch},
		{"the secret before this one, too old", body, webhook.Sign(body, secret, noon.Add(-time.Hour)), another,
			[]webhook.Option{webhook.WithSecrets(secret)}, webhook.ErrTimestamp},
		{"five minutes are tolerated", body, webhook.Sign(body, secret, noon.Add(-5*time.Minute)), secret, nil, nil},
		{"and no second more", body, webhook.Sign(body, secret, noon.Add(-5*time.Minute-time.Second)), secret, nil,
			webhook.ErrTimestamp},
		{"nor the future", body, webhook.Sign(body, secret, noon.Add(5*time.Minute+time.Second)), secret, nil, webhook.ErrTimestamp},
		{"another tolerance", body, webhook.Sign(body, secret, noon.Add(-time.Hour)), secret,
			[]webhook.Option{webhook.WithTolerance(time.Hour)}, nil},
		{"a changed body", append([]byte(" "), body...), signed, secret, nil, webhook.ErrMismatch},
		{"no header", body, "", secret, nil, webhook.ErrNoSignature},
	} {
		t.Run(row.reason, func(t *testing.T) {
			event, err := webhook.Verify(row.body, row.header, row.replacement, append(row.options, atNoon())...)
			require.ErrorIs(t, err, row.want)
			require.Equal(t, row.want == nil, event != nil)
			if err != nil {
				require.NotContains(t, err.Error(), secret)
			}
		})
	}
}

func TestVerifyRefusesWhatIsNoEvent(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		``, `null`, `[]`, `{}`, `{"id":"x"}`, `{"type":"ping","data":{}}`, `{"id":"x","type":"ping"}`, `not JSON`,
		string(envelope("ping", `"text"`)), string(envelope("order.paid", `null`)), string(envelope("order.paid", `[]`)),
		string(envelope("order.paid", `{"amount":"a lot"}`)), string(envelope("order.paid", `{}`)) + `{}`,
		strings.Replace(string(envelope("ping", `{}`)), "2026-11-21T", "yesterday ", 1),
	} {
		_, err := webhook.Verify([]byte(body), webhook.Sign([]byte(body), secret, noon), secret, atNoon())
		require.ErrorIs(t, err, webhook.ErrPayload, "%s", body)
	}
}

func request(body []byte) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/webhooks", strings.NewReader(string(body)))
	r.Header.Set(webhook.SignatureHeader, webhook.Sign(body, secret, noon))
	return r
}

func TestRead(t *testing.T) {
	t.Parallel()
	body := envelope("ping", `{"message":"hello"}`)
	event, err := webhook.Read(request(body), secret, atNoon())
	require.NoError(t, err)
	require.Equal(t, eventID, event.ID)

	changed := request(body)
	changed.Body = http.NoBody
	_, err = webhook.Read(changed, secret, atNoon())
	require.ErrorIs(t, err, webhook.ErrMismatch)

	largest := envelope("ping", `{"message":"`+strings.Repeat("x", webhook.MaxBodyBytes-len(envelope("ping", `{"message":""}`)))+
		`"}`)
	require.Len(t, largest, webhook.MaxBodyBytes)
	_, err = webhook.Read(request(largest), secret, atNoon())
	require.NoError(t, err)
	_, err = webhook.Read(request(append(largest, ' ')), secret, atNoon())
	require.ErrorIs(t, err, webhook.ErrTooLarge)

	gone := errors.New("connection reset")
	broken := request(body)
	broken.Body = http.MaxBytesReader(nil, readCloser{iotest.ErrReader(gone)}, 1<<20)
	_, err = webhook.Read(broken, secret, atNoon())
	require.ErrorIs(t, err, gone)
}
