package shop_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/seal"
	"go.storefront.example/gen/ent"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/shop"
	"go.storefront.example/server/shop/shoptest"
	"go.storefront.example/server/webhooks"
)

// What makes a secret is done once under a key, and its secret is in one answer.
func TestSecretIsMadeOnceUnderAKey(t *testing.T) {
	t.Parallel()
	for _, database := range dbtest.Databases() {
		t.Run(database, func(t *testing.T) {
			t.Parallel()
			clock := shoptest.NewClock()
			s := dbtest.New(t, database, db.Config{Clock: clock.Now})
			key, err := seal.ParseKey(seal.NewKey())
			require.NoError(t, err)
			rules := webhooks.New(s, webhooks.Options{Secrets: seal.NewRing(key)})
			in := shoptest.New(t, s, shop.Options{}).Ctx
			hook, err := rules.CreateWebhook(in, webhooks.Draft{URL: "https://receiver.example.com/hooks"})
			require.NoError(t, err)
			entries := func() int { return s.Client().ActivityEntry.Query().CountX(in) }
			for name, do := range map[string]func(ctx context.Context) error{
				"a key": func(ctx context.Context) error {
					_, err := shop.New(s, shop.Options{}).CreateKey(ctx, shop.KeyDraft{Name: "crm", Scopes: []string{"store:read"},
						Lifetime: adminv1.Key_DAYS_30})
					return err
				},
				"a webhook": func(ctx context.Context) error {
					_, err := rules.CreateWebhook(ctx, webhooks.Draft{URL: "https://shop.example.com/hooks"})
					return err
				},
				"a secret": func(ctx context.Context) error {
					_, err := rules.RotateSecret(ctx, hook.ID.String())
					return err
				},
			} {
				key := shop.WithIdempotencyKey(in, "form-1")
				before := entries()
				require.NoError(t, do(key), name)
				clock.Advance(shop.IdempotencyWindow - time.Millisecond)
				require.Equal(t, apierr.IdempotencyKeyReused, shoptest.RefusalCode(do(key)), name)
				require.Equal(t, before+1, entries(), name)
				clock.Advance(time.Millisecond)
				require.NoError(t, do(key), "%s: after a day the key is forgotten", name)
				require.Equal(t, apierr.ValidationFailed, shoptest.RefusalCode(do(shop.WithIdempotencyKey(in, "a\nb"))), name)
				require.NoError(t, do(shop.WithIdempotencyKey(in, "form-2")), name)
				require.NoError(t, do(in), name)
				require.Equal(t, before+4, entries(), name)
			}
		})
	}
}

// sentBefore is a request of a release, and sentNow the same of the next one, which has more fields.
type sentBefore struct {
	Name  string
	Lines []lineBefore
}

type lineBefore struct{ Product string }

type sentNow struct {
	Note  *string
	Name  string
	Lines []lineNow
	Gift  bool
	At    time.Time
}

type lineNow struct {
	Product string
	Price   *int64
}

func TestRepeatedRequestIsTheSameAfterAnUpgradeThatAddsFields(t *testing.T) {
	t.Parallel()
	for _, database := range dbtest.Databases() {
		t.Run(database, func(t *testing.T) {
			t.Parallel()
			s := dbtest.New(t, database, db.Config{})
			in := shop.WithIdempotencyKey(shoptest.New(t, s, shop.Options{}).Ctx, "psp-4711")
			made := 0
			send := func(asked any) (int32, error) {
				answer, err := shop.Once(in, s, uuid.Max, "order.create", asked, func(context.Context, *ent.Tx) (*storefrontv1.Error, error) {
					made++
					return &storefrontv1.Error{StatusCode: int32(made)}, nil
				})
				return answer.GetStatusCode(), err
			}
			first, err := send(sentBefore{Name: "Awa", Lines: []lineBefore{{"soap"}}})
			require.NoError(t, err)
			again, err := send(sentNow{Name: "Awa", Lines: []lineNow{{Product: "soap"}}})
			require.NoError(t, err)
			require.Equal(t, first, again)
			require.Equal(t, 1, made)
			for name, other := range map[string]sentNow{
				"another name":             {Name: "Ada", Lines: []lineNow{{Product: "soap"}}},
				"one line more":            {Name: "Awa", Lines: []lineNow{{Product: "soap"}, {Product: "soap"}}},
				"a new field":              {Name: "Awa", Lines: []lineNow{{Product: "soap"}}, Gift: true},
				"a new field of a line":    {Name: "Awa", Lines: []lineNow{{Product: "soap", Price: new(int64(0))}}},
				"a new field, set to zero": {Name: "Awa", Lines: []lineNow{{Product: "soap"}}, Note: new("")},
				"a new time":               {Name: "Awa", Lines: []lineNow{{Product: "soap"}}, At: time.UnixMilli(1)},
			} {
				_, err := send(other)
				require.Equal(t, apierr.IdempotencyKeyReused, shoptest.RefusalCode(err), name)
			}
		})
	}
}
