package admin

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/seal"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/webhooks"
)

func TestResealWritesNothingOverWhatItHasNotRead(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		key := func() seal.Key {
			k, err := seal.ParseKey(seal.NewKey())
			require.NoError(t, err)
			return k
		}
		older, current := key(), key()
		late := New(d, Options{Webhooks: webhooks.Options{Secrets: seal.NewKeyring(older)}})
		ctx := t.Context()
		_, err := late.CreateStore(ctx, &adminv1.CreateStoreRequest{Name: "S", Slug: "s", Currency: "XAF", Country: "CM"})
		require.NoError(t, err)
		created, err := late.CreateWebhook(ctx, &adminv1.CreateWebhookRequest{Store: "s", Url: "https://receiver.example.com"})
		require.NoError(t, err)
		id := uuid.MustParse(created.GetWebhook().GetId())

		read := d.Client().Webhook.Query().AllX(ctx)
		_, err = late.RotateSecret(ctx, &adminv1.RotateSecretRequest{Id: id.String()})
		require.NoError(t, err)
		before := d.Client().Webhook.GetX(ctx, id)

		n, err := reseal(ctx, d, seal.NewKeyring(current, older), read)
		require.NoError(t, err)
		require.Zero(t, n)
		require.Equal(t, before.Secret, d.Client().Webhook.GetX(ctx, id).Secret)
	})
}
