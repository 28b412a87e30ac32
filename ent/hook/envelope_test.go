package hook_test

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/apijson"
	"go.storefront.example/ent/hook"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
)

// TestEnvelopeBytes compares an event with the bytes that webhook receivers have seen. Its data is
// an order, which is read from the file and encoded again: a webhook carries the bytes of the GET.
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
