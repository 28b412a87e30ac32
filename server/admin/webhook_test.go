package admin_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/id"
	"go.storefront.example/ent/queue"
	"go.storefront.example/ent/seal"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/service"
)

// newHooked is an operator of two stores with one webhook each, whose ids it returns.
func newHooked(t *testing.T, s *db.DB) (o *admin.Operator, one, two string) {
	t.Helper()
	key, err := seal.ParseKey(seal.NewKey())
	require.NoError(t, err)
	o = admin.New(s, service.New(s, service.Options{Secrets: seal.NewRing(key)}))
	ids := make([]string, 2)
	for i, slug := range []string{"one", "two"} {
		_, err := o.CreateStore(t.Context(), service.StoreDraft{StoreChange: service.StoreChange{Name: new(slug)}, Slug: slug, Currency: "XAF", Country: "CM"})
		require.NoError(t, err)
		w, err := o.CreateWebhook(t.Context(), slug, service.WebhookDraft{URL: "https://receiver.example.com"})
		require.NoError(t, err)
		require.NotEmpty(t, w.Secret)
		ids[i] = w.ID.String()
	}
	return o, ids[0], ids[1]
}

// What an id alone names is changed in the store that owns it, under the operator's name.
func TestOperatorFindsTheOwnerOfAWebhook(t *testing.T) {
	t.Parallel()
	rows := []struct {
		action string // in the journal; empty when there is no entry
		do     func(ctx context.Context, o *admin.Operator, id string) error
	}{
		{"webhook.updated", func(ctx context.Context, o *admin.Operator, id string) error {
			_, err := o.UpdateWebhook(ctx, id, service.WebhookChange{Description: new("Compta")})
			return err
		}},
		{"webhook.secret_rotated", func(ctx context.Context, o *admin.Operator, id string) error {
			_, err := o.RotateSecret(ctx, id)
			return err
		}},
		{"", func(ctx context.Context, o *admin.Operator, id string) error {
			_, err := o.PingWebhook(ctx, id)
			return err
		}},
		{"", func(ctx context.Context, o *admin.Operator, id string) error {
			_, err := o.ListDeliveriesTo(ctx, service.DeliverySearch{WebhookID: id, Limit: 5})
			return err
		}},
		{"", func(ctx context.Context, o *admin.Operator, id string) error {
			_, err := o.ResendSince(ctx, id, time.Unix(0, 0), time.Hour, func(queue.Resend) {})
			return err
		}},
		{"webhook.disabled", func(ctx context.Context, o *admin.Operator, id string) error {
			_, err := o.DisableWebhook(ctx, id)
			return err
		}},
		{"webhook.enabled", func(ctx context.Context, o *admin.Operator, id string) error {
			_, err := o.EnableWebhook(ctx, id)
			return err
		}},
		{"webhook.deleted", func(ctx context.Context, o *admin.Operator, id string) error {
			_, err := o.DeleteWebhook(ctx, id)
			return err
		}},
	}
	dbtest.Run(t, func(t *testing.T, s *db.DB) {
		o, _, id := newHooked(t, s)
		untouched, err := o.ListActivity(t.Context(), "one", 100)
		require.NoError(t, err)
		for _, row := range rows {
			for _, unknown := range []string{uuid.NewString(), "", "x", "{" + id + "}", strings.ReplaceAll(id, "-", "")} {
				require.Equal(t, apierr.WebhookNotFound, codeOf(row.do(t.Context(), o, unknown)), "%s %q", row.action, unknown)
			}
			require.NoError(t, row.do(t.Context(), o, strings.ToUpper(id)), row.action)
			if row.action == "" {
				continue
			}
			entries, err := o.ListActivity(t.Context(), "two", 1)
			require.NoError(t, err)
			require.Equal(t, row.action, entries[0].Action)
			require.Equal(t, id, entries[0].ResourceID.String())
			require.Equal(t, tenant.ActorOperator, entries[0].ActorType)
		}
		after, err := o.ListActivity(t.Context(), "one", 100)
		require.NoError(t, err)
		require.Len(t, after, len(untouched), "the other store is as it was")
		_, err = o.CreateWebhook(t.Context(), "nowhere", service.WebhookDraft{})
		require.Equal(t, apierr.StoreNotFound, codeOf(err))
		_, err = o.ListWebhooks(t.Context(), "nowhere", 5)
		require.Equal(t, apierr.StoreNotFound, codeOf(err))
	})
}

func TestOperatorFindsTheOwnerOfADelivery(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, s *db.DB) {
		o, _, id := newHooked(t, s)
		ctx := t.Context()
		ping, err := o.PingWebhook(ctx, id)
		require.NoError(t, err)
		shown, err := o.GetDelivery(ctx, strings.ToUpper(ping.ID.String()))
		require.NoError(t, err)
		require.Equal(t, ping, shown.Entry)
		_, err = o.ResendDelivery(ctx, ping.ID.String())
		require.Equal(t, apierr.DeliveryPending, codeOf(err))
		_, err = o.DeleteWebhook(ctx, id)
		require.NoError(t, err)
		shown, err = o.GetDelivery(ctx, ping.ID.String())
		require.NoError(t, err, "it outlives its webhook")
		require.Equal(t, queue.Cancelled, shown.Status)
		for _, unknown := range []string{uuid.NewString(), "", "x", id, "{" + ping.ID.String() + "}"} {
			_, err = o.GetDelivery(ctx, unknown)
			require.Equal(t, apierr.DeliveryNotFound, codeOf(err), unknown)
			_, err = o.ResendDelivery(ctx, unknown)
			require.Equal(t, apierr.DeliveryNotFound, codeOf(err), unknown)
		}
		for slug, want := range map[string]int{"one": 0, "two": 1} {
			found, err := o.ListDeliveries(ctx, slug, service.DeliverySearch{Limit: 5})
			require.NoError(t, err)
			require.Len(t, found, want, slug)
		}
		_, err = o.ListDeliveries(ctx, "nowhere", service.DeliverySearch{Limit: 5})
		require.Equal(t, apierr.StoreNotFound, codeOf(err))
	})
}

// A resend that another process has taken over is waited for; with the context it is given up.
func TestOperatorWaitsForAResendThatAnotherProcessTook(t *testing.T) {
	t.Parallel()
	const n = 1100
	dbtest.Run(t, func(t *testing.T, s *db.DB) {
		o, _, webhook := newHooked(t, s)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		in, err := o.In(ctx, "two")
		require.NoError(t, err)
		owner, _, _ := tenant.From(in)
		require.NoError(t, s.WithTx(in, func(ctx context.Context, tx *ent.Tx) error {
			many := make([]*ent.EventCreate, n)
			for i := range many {
				at := hook.Time(ctx).Add(-time.Hour)
				many[i] = tx.Event.Create().SetID(id.At(at)).SetStoreID(owner.ID).SetType(hook.OrderPaid).SetPayload([]byte("{}")).SetCreatedAt(at)
			}
			return tx.Event.CreateBulk(many...).Exec(ctx)
		}))
		other := service.New(s, service.Options{})
		since := time.Unix(0, 0)
		var taken queue.Resend
		var seen []queue.Resend
		done, err := o.ResendSince(ctx, webhook, since, time.Millisecond, func(so queue.Resend) {
			seen = append(seen, so)
			switch {
			case len(seen) == 1:
				taken, err = other.ResendSince(in, webhook, since)
				require.NoError(t, err)
			case so.Elsewhere:
				taken, err = other.ContinueResend(in, taken)
				require.NoError(t, err)
			}
		})
		require.NoError(t, err)
		require.True(t, done.Finished)
		require.Equal(t, n, done.Resent)
		require.Equal(t, taken.ID, done.ID)
		require.True(t, seen[1].Elsewhere)
		require.Equal(t, n, s.Client().Delivery.Query().CountX(ctx))

		cancel()
		_, err = o.ResendSince(ctx, webhook, since, time.Hour, func(queue.Resend) {})
		require.ErrorIs(t, err, context.Canceled)
	})
}
