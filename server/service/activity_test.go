package service_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/service"
)

func TestActivityIsReadPageByPage(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, s *db.DB) {
		b := newBench(t, s, service.Options{})
		other := b.newStore("other")
		for range 7 {
			b.product("Guide", 5)
		}
		whole, err := b.ListActivityBefore(b.ctx, "", 100)
		require.NoError(t, err)
		require.Len(t, whole, 8, "the store's creation and seven products")
		var ids, paged []uuid.UUID
		for _, e := range whole {
			ids = append(ids, e.ID)
		}
		for last := ""; ; last = paged[len(paged)-1].String() {
			page, err := b.ListActivityBefore(b.ctx, last, 3)
			require.NoError(t, err)
			for _, e := range page {
				paged = append(paged, e.ID)
			}
			if len(page) < 3 {
				break
			}
		}
		require.Equal(t, ids, paged, "each entry once, in the same order, those of one millisecond too")

		elsewhere, err := b.ListActivity(other, 1)
		require.NoError(t, err)
		for _, id := range []string{elsewhere[0].ID.String(), uuid.NewString(), "x"} {
			_, err := b.ListActivityBefore(b.ctx, id, 3)
			refused(t, err, apierr.ValidationFailed)
		}
	})
}

func TestKeyAndWebhookAreFoundInTheirStoreOnly(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, s *db.DB) {
		b := newBench(t, s, sealing(t))
		other := b.newStore("other")
		k, err := b.CreateKey(b.ctx, service.KeyDraft{Name: "crm", Scopes: []string{"store:read"}, Lifetime: "30d"})
		require.NoError(t, err)
		w := b.hook()
		found, err := b.GetKey(b.ctx, k.ID.String())
		require.NoError(t, err)
		require.Equal(t, k.Hint, found.Hint)
		require.Empty(t, found.Text)
		hooked, err := b.GetWebhook(b.ctx, w.ID.String())
		require.NoError(t, err)
		require.Equal(t, w.URL, hooked.URL)
		require.Empty(t, hooked.Secret)
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
