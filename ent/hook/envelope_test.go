package hook_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/apijson"
	"go.storefront.example/ent/hook"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
)

// TestEnvelopeBytes compares an envelope with the bytes that webhook receivers have seen. It decodes the order in these
// bytes and encodes it again, because an event shows an order in the same bytes as the answer to a GET.
func TestEnvelopeBytes(t *testing.T) {
	t.Parallel()
	want, err := os.ReadFile("testdata/envelope.json")
	require.NoError(t, err)
	var golden struct {
		ID    uuid.UUID              `json:"id"`
		Store struct{ ID uuid.UUID } `json:"store"`
		Data  json.RawMessage        `json:"data"`
	}
	require.NoError(t, json.Unmarshal(want, &golden))
	order := &storefrontv1.Order{}
	require.NoError(t, apijson.Unmarshal(golden.Data, order))
	require.Equal(t, string(golden.Data), string(apijson.Marshal(order)))
	got := hook.Envelope(golden.ID, hook.OrderPaid, time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC), golden.Store.ID, "boutique", order)
	require.Equal(t, string(want), string(got)+"\n")
}

// ReadEnvelope reads back what Envelope and PingEnvelope return, and refuses any other text.
func TestReadEnvelope(t *testing.T) {
	t.Parallel()
	id, store, at := uuid.New(), uuid.New(), time.Date(2026, 9, 1, 12, 0, 0, 5e6, time.UTC)
	customer := &storefrontv1.Customer{Id: uuid.NewString(), Name: "Zoë <\"&\u2028", Email: new("a@example.com"), Currency: "XAF",
		CreatedAt: apijson.Timestamp(at)}
	payload := string(hook.Envelope(id, hook.CustomerCreated, at, store, "boutique", customer))
	read, err := hook.ReadEnvelope([]byte(payload))
	require.NoError(t, err)
	require.Equal(t, id, read.ID)
	require.Equal(t, hook.CustomerCreated, read.Type)
	require.True(t, at.Equal(read.CreatedAt))
	require.Equal(t, apijson.Marshal(customer), apijson.Marshal(read.Data))
	ping := string(hook.PingEnvelope(id, at, store, "boutique", "Hello"))
	read, err = hook.ReadEnvelope([]byte(ping))
	require.NoError(t, err)
	require.Nil(t, read.Data)

	for reason, text := range map[string]string{
		"empty":                  "",
		"no envelope":            `{"a":1}`,
		"forgotten":              hook.Forgotten,
		"text behind it":         payload + " ",
		"text before it":         " " + payload,
		"an unknown type":        strings.Replace(payload, hook.CustomerCreated, "customer.seen", 1),
		"data of another type":   strings.Replace(payload, hook.CustomerCreated, hook.OrderPaid, 1),
		"an unknown field":       strings.Replace(payload, `"data":{`, `"data":{"x":1,`, 1),
		"a repeated field":       strings.Replace(payload, `"data":{`, `"data":{"name":"Awa",`, 1),
		"a field beside it":      strings.TrimSuffix(payload, "}") + `,"x":"Awa"}`,
		"a second envelope":      strings.Replace(payload, `"data":{`, `"data":{},"data":{`, 1),
		"a field of the store":   strings.Replace(payload, `"slug":`, `"x":"Awa","slug":`, 1),
		"a field of the ping":    strings.Replace(ping, `"message":`, `"x":"Awa","message":`, 1),
		"a ping with a name":     strings.Replace(ping, `"message":`, `"message":"Awa","message":`, 1),
		"a case that is another": strings.Replace(payload, `"data":`, `"Data":`, 1),
	} {
		_, err := hook.ReadEnvelope([]byte(text))
		require.Error(t, err, reason)
	}
}

// FuzzReadEnvelope checks that no text causes a panic, and that ReadEnvelope returns the payload's id and type.
func FuzzReadEnvelope(f *testing.F) {
	id, at := uuid.New(), time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)
	f.Add(hook.PingEnvelope(id, at, id, "s", "m"))
	f.Add(hook.Envelope(id, hook.OrderPaid, at, id, "s", &storefrontv1.Order{Note: new("n")}))
	f.Add(hook.Envelope(id, hook.ProductPublished, at, id, "s", &storefrontv1.Product{Title: "t"}))
	f.Fuzz(func(t *testing.T, payload []byte) {
		read, err := hook.ReadEnvelope(payload)
		if err == nil {
			require.Contains(t, string(payload), `{"id":"`+read.ID.String()+`","type":"`+read.Type+`"`)
		}
	})
}
