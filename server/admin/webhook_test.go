package admin_test

import (
	"cmp"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/id"
	"go.storefront.example/ent/queue"
	"go.storefront.example/ent/seal"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/webhooks"
)

func newHooked(t *testing.T, d *db.DB) (o *admin.Operator, one, two string) {
	t.Helper()
	key, err := seal.ParseKey(seal.NewKey())
	require.NoError(t, err)
	o = admin.New(d, admin.Options{Webhooks: webhooks.Options{Secrets: seal.NewKeyring(key)}})
	ids := make([]string, 2)
	for i, slug := range []string{"one", "two"} {
		_, err := o.CreateStore(t.Context(), &adminv1.CreateStoreRequest{Name: slug, Slug: slug, Currency: "XAF", Country: "CM"})
		require.NoError(t, err)
		w, err := o.CreateWebhook(t.Context(), &adminv1.CreateWebhookRequest{Store: slug, Url: "https://receiver.example.com"})
		require.NoError(t, err)
		require.NotEmpty(t, w.Secret)
		ids[i] = w.GetWebhook().GetId()
	}
	return o, ids[0], ids[1]
}

// The webhook is changed in the store that owns it, and the journal shows the operator.
func TestOperatorFindsTheOwnerOfAWebhook(t *testing.T) {
	t.Parallel()
	rows := []struct {
		action string // the action in the journal; empty if there is no entry
		do     func(ctx context.Context, o *admin.Operator, id string) error
	}{
		{"webhook.updated", func(ctx context.Context, o *admin.Operator, id string) error {
			_, err := o.UpdateWebhook(ctx, &adminv1.UpdateWebhookRequest{Id: id, Description: new("Compta")})
			return err
		}},
		{"webhook.secret_rotated", func(ctx context.Context, o *admin.Operator, id string) error {
			_, err := o.RotateSecret(ctx, &adminv1.RotateSecretRequest{Id: id})
			return err
		}},
		{"", func(ctx context.Context, o *admin.Operator, id string) error {
			_, err := o.PingWebhook(ctx, &adminv1.PingWebhookRequest{Id: id})
			return err
		}},
		{"", func(ctx context.Context, o *admin.Operator, id string) error {
			// For ListDeliveries an empty id means all webhooks.
			_, err := o.ListDeliveries(ctx, &adminv1.ListDeliveriesRequest{WebhookId: cmp.Or(id, "-")})
			return err
		}},
		{"", func(ctx context.Context, o *admin.Operator, id string) error {
			_, err := admin.Resend(ctx, o, &adminv1.StartResendRequest{WebhookId: id, Since: timestamppb.New(time.Unix(0, 0))},
				func(*adminv1.Resend) {})
			return err
		}},
		{"webhook.disabled", func(ctx context.Context, o *admin.Operator, id string) error {
			_, err := o.DisableWebhook(ctx, &adminv1.DisableWebhookRequest{Id: id})
			return err
		}},
		{"webhook.enabled", func(ctx context.Context, o *admin.Operator, id string) error {
			_, err := o.EnableWebhook(ctx, &adminv1.EnableWebhookRequest{Id: id})
			return err
		}},
		{"webhook.deleted", func(ctx context.Context, o *admin.Operator, id string) error {
			_, err := o.DeleteWebhook(ctx, &adminv1.DeleteWebhookRequest{Id: id})
			return err
		}},
	}
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		o, _, id := newHooked(t, d)
		untouched := activity(t.Context(), t, o, "one", 100)
		for _, row := range rows {
			for _, unknown := range []string{uuid.NewString(), "", "x", "{" + id + "}", strings.ReplaceAll(id, "-", "")} {
				require.Equal(t, apierr.WebhookNotFound, codeOf(row.do(t.Context(), o, unknown)), "%s %q", row.action, unknown)
			}
			require.NoError(t, row.do(t.Context(), o, strings.ToUpper(id)), row.action)
			if row.action == "" {
				continue
			}
			entries := activity(t.Context(), t, o, "two", 1)
			require.Equal(t, row.action, entries[0].Action)
			require.Equal(t, id, entries[0].GetResource().GetId())
			require.Equal(t, adminv1.ActivityEntry_Actor_operator, entries[0].GetActor().GetType())
		}
		after := activity(t.Context(), t, o, "one", 100)
		require.Len(t, after, len(untouched), "the other store is as it was")
		_, err := o.CreateWebhook(t.Context(), &adminv1.CreateWebhookRequest{Store: "nowhere"})
		require.Equal(t, apierr.StoreNotFound, codeOf(err))
		_, err = o.ListWebhooks(t.Context(), &adminv1.ListWebhooksRequest{Store: "nowhere"})
		require.Equal(t, apierr.StoreNotFound, codeOf(err))
	})
}

func TestOperatorFindsTheOwnerOfADelivery(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		o, _, id := newHooked(t, d)
		ctx := t.Context()
		ping, err := o.PingWebhook(ctx, &adminv1.PingWebhookRequest{Id: id})
		require.NoError(t, err)
		shown, err := o.GetDelivery(ctx, &adminv1.GetDeliveryRequest{Id: strings.ToUpper(ping.GetId())})
		require.NoError(t, err)
		require.True(t, proto.Equal(ping, shown.GetDelivery()))
		same, err := o.ResendDelivery(ctx, &adminv1.ResendDeliveryRequest{Id: ping.GetId()})
		require.NoError(t, err)
		require.True(t, proto.Equal(ping, same), "it is due")
		_, err = o.DeleteWebhook(ctx, &adminv1.DeleteWebhookRequest{Id: id})
		require.NoError(t, err)
		shown, err = o.GetDelivery(ctx, &adminv1.GetDeliveryRequest{Id: ping.GetId()})
		require.NoError(t, err, "it outlives its webhook")
		require.Equal(t, adminv1.Delivery_cancelled, shown.GetDelivery().GetStatus())
		for _, unknown := range []string{uuid.NewString(), "", "x", id, "{" + ping.GetId() + "}"} {
			_, err = o.GetDelivery(ctx, &adminv1.GetDeliveryRequest{Id: unknown})
			require.Equal(t, apierr.DeliveryNotFound, codeOf(err), unknown)
			_, err = o.ResendDelivery(ctx, &adminv1.ResendDeliveryRequest{Id: unknown})
			require.Equal(t, apierr.DeliveryNotFound, codeOf(err), unknown)
		}
		for slug, want := range map[string]int{"one": 0, "two": 1} {
			found, err := o.ListDeliveries(ctx, &adminv1.ListDeliveriesRequest{Store: slug})
			require.NoError(t, err)
			require.Len(t, found.GetDeliveries(), want, slug)
		}
		_, err = o.ListDeliveries(ctx, &adminv1.ListDeliveriesRequest{Store: "nowhere"})
		require.Equal(t, apierr.StoreNotFound, codeOf(err))
	})
}

// If another process finishes a resend job, Resend returns it. It fails with context.Canceled if the context is cancelled.
func TestOperatorWaitsForAResendThatAnotherProcessTook(t *testing.T) {
	t.Parallel()
	const n = 1100
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		o, _, webhook := newHooked(t, d)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		within, err := o.WithStore(ctx, "two")
		require.NoError(t, err)
		owner, _, _ := tenant.From(within)
		require.NoError(t, hook.Run(within, d, func(c *hook.Change) error {
			many := make([]*ent.EventCreate, n)
			for i := range many {
				at := c.Time().Add(-time.Hour)
				many[i] = c.Tx.Event.Create().SetID(id.At(at)).SetStoreID(owner.ID).SetType(hook.OrderPaid).SetPayload(
					[]byte("{}")).SetCreatedAt(at)
			}
			return c.Tx.Event.CreateBulk(many...).Exec(c)
		}))
		other := webhooks.New(d, webhooks.Options{})
		since := time.Unix(0, 0)
		var taken queue.Resend
		seen := 0
		in := &adminv1.StartResendRequest{WebhookId: webhook, Since: timestamppb.New(since)}
		done, err := admin.Resend(ctx, o, in, func(job *adminv1.Resend) {
			if seen++; seen > 1 {
				return
			}
			id, err := uuid.Parse(job.GetId())
			require.NoError(t, err)
			for !taken.Finished {
				taken, err = other.ContinueResend(within, id)
				require.NoError(t, err)
			}
		})
		require.NoError(t, err)
		require.Equal(t, adminv1.Resend_finished, done.GetState())
		require.EqualValues(t, n, done.GetResent())
		require.Equal(t, taken.ID.String(), done.GetId())
		require.Equal(t, n, dbtest.Count(t, d, "deliveries"))

		cancel()
		_, err = admin.Resend(ctx, o, in, func(*adminv1.Resend) {})
		require.ErrorIs(t, err, context.Canceled)
	})
}
