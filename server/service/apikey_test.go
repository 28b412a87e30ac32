package service_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/service"
)

func TestKeyAndWebhookAreFoundInTheirStoreOnly(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, s *db.DB) {
		b := newBench(t, s, sealing(t))
		other := b.newStore("other")
		k, err := b.CreateKey(b.ctx, service.KeyDraft{Name: "crm", Scopes: []string{"store:read"}, Lifetime: adminv1.Key_DAYS_30})
		require.NoError(t, err)
		w := b.hook()
		found, err := b.GetKey(b.ctx, k.ID.String())
		require.NoError(t, err)
		require.Equal(t, k.Hint, found.Hint)
		hooked, err := b.GetWebhook(b.ctx, w.ID.String())
		require.NoError(t, err)
		require.Equal(t, w.URL, hooked.URL)
		_, err = b.GetKey(other, k.ID.String())
		refused(t, err, apierr.APIKeyNotFound)
		_, err = b.GetWebhook(other, w.ID.String())
		refused(t, err, apierr.WebhookNotFound)
		for _, id := range []string{"", "x", uuid.NewString(), "{" + k.ID.String() + "}"} {
			_, err = b.GetKey(b.ctx, id)
			refused(t, err, apierr.APIKeyNotFound)
			_, err = b.GetWebhook(b.ctx, id)
			refused(t, err, apierr.WebhookNotFound)
		}
	})
}
