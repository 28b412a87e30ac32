package shop_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/seal"
	"go.storefront.example/ent/tenant"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/shop"
	"go.storefront.example/server/shop/shoptest"
	"go.storefront.example/server/webhooks"
)

// Several requests under one key create one secret, and only one answer shows it.
func TestSecretIsMadeOnceUnderAKey(t *testing.T) {
	t.Parallel()
	for _, database := range dbtest.Databases() {
		t.Run(database, func(t *testing.T) {
			t.Parallel()
			clock := shoptest.NewClock()
			d := dbtest.New(t, database, db.Config{Clock: clock.Now})
			key, err := seal.ParseKey(seal.NewKey())
			require.NoError(t, err)
			rules := webhooks.New(d, webhooks.Options{Secrets: seal.NewKeyring(key)})
			in := shoptest.New(t, d, shop.Options{}).Ctx
			hook, err := rules.CreateWebhook(in, webhooks.Registration{URL: "https://receiver.example.com/hooks"})
			require.NoError(t, err)
			entries := func() int { return d.Client().ActivityEntry.Query().CountX(in) }
			for name, do := range map[string]func(ctx context.Context) error{
				"a key": func(ctx context.Context) error {
					_, err := shop.New(d, shop.Options{}).CreateKey(ctx, shop.KeyDraft{Name: "crm", Scopes: []string{"store:read"},
						Lifetime: adminv1.Key_DAYS_30})
					return err
				},
				"a webhook": func(ctx context.Context) error {
					_, err := rules.CreateWebhook(ctx, webhooks.Registration{URL: "https://shop.example.com/hooks"})
					return err
				},
				"a secret": func(ctx context.Context) error {
					_, err := rules.RotateSecret(ctx, hook.ID.String())
					return err
				},
			} {
				key := tenant.WithIdempotencyKey(in, "form-1")
				before := entries()
				require.NoError(t, do(key), name)
				clock.Advance(shop.IdempotencyWindow - time.Millisecond)
				require.Equal(t, apierr.IdempotencyKeyReused, shoptest.RefusalCode(do(key)), name)
				require.Equal(t, before+1, entries(), name)
				clock.Advance(time.Millisecond)
				require.NoError(t, do(key), "%s: after a day the key is forgotten", name)
				require.Equal(t, apierr.ValidationFailed, shoptest.RefusalCode(do(tenant.WithIdempotencyKey(in, "a\nb"))), name)
				require.NoError(t, do(tenant.WithIdempotencyKey(in, "form-2")), name)
				require.NoError(t, do(in), name)
				require.Equal(t, before+4, entries(), name)
			}
		})
	}
}

// These JSON texts must stay the same in later versions, because a repeated request is compared with the stored fingerprint
// of the first one. If a field is added, the JSON of a request without this field must not show it.
func TestRequestHasOneFormForItsIdempotencyKey(t *testing.T) {
	t.Parallel()
	for want, draft := range map[string]shop.OrderDraft{
		`{}`: {},
		`{"Amount":0,"Buyer":{"Email":"","Phone":""},"Note":""}`: {
			Amount: new(int64(0)), Buyer: shop.Buyer{Email: new(""), Phone: new("")}, Note: new("")},
		`{"Amount":5,"Buyer":{"Email":"a","Name":"b","Phone":"c"},"CustomerID":"d","Lines":[{"ProductID":"e","Quantity":2},{}],` +
			`"Note":"f","PaymentLinkID":"g"}`: {
			Amount: new(int64(5)), Buyer: shop.Buyer{Email: new("a"), Name: "b", Phone: new("c")}, CustomerID: "d",
			Lines: []shop.OrderLine{{ProductID: "e", Quantity: 2}, {}}, Note: new("f"), PaymentLinkID: "g"},
	} {
		text, err := json.Marshal(draft)
		require.NoError(t, err)
		require.Equal(t, want, string(text))
	}
}
