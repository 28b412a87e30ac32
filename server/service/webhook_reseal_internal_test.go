package service

import (
	"context"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/seal"
	"go.storefront.example/ent/tenant"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
)

func TestResealWritesNothingOverWhatItHasNotRead(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, s *db.DB) {
		key := func() seal.Key {
			k, err := seal.ParseKey(seal.NewKey())
			require.NoError(t, err)
			return k
		}
		older, current := key(), key()
		late := New(s, Options{Secrets: seal.NewRing(older)})
		operator := tenant.Actor{Type: tenant.ActorOperator, Name: "operator"}
		_, err := late.CreateStore(t.Context(), operator, &adminv1.CreateStoreRequest{
			Name: "S", Slug: "s", Currency: "XAF", Country: "CM",
		})
		require.NoError(t, err)
		owner, err := late.FindStore(t.Context(), "s")
		require.NoError(t, err)
		ctx := tenant.With(context.Background(), owner, operator)
		made, err := late.CreateWebhook(ctx, WebhookDraft{URL: "https://receiver.example.com"})
		require.NoError(t, err)

		resealing := New(s, Options{Secrets: seal.NewRing(current, older)})
		read, err := resealing.sealedAfter(ctx, uuid.Nil, current.ID())
		require.NoError(t, err)
		require.Len(t, read, 1)
		_, err = late.RotateSecret(ctx, made.ID.String())
		require.NoError(t, err)
		before := s.Client().Webhook.GetX(ctx, made.ID)

		tx, err := s.Writer().BeginTx(ctx, nil)
		require.NoError(t, err)
		n, err := resealing.reseal(ctx, tx, read[0])
		require.NoError(t, err)
		require.NoError(t, tx.Commit())
		require.Zero(t, n)
		require.Equal(t, before.Secret, s.Client().Webhook.GetX(ctx, made.ID).Secret)
	})
}
