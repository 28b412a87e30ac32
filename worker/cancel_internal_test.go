package worker

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/fanout"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/id"
	"go.storefront.example/ent/queue"
)

// Two workers move each delivery once and send none, and deliver an event of another store meanwhile.
func TestRunningWorkersCancelALargeBacklog(t *testing.T) {
	t.Parallel()
	const n = 3000
	forEach(t, func(t *testing.T, in *installation) {
		m, other := in.newMerchant("atelier"), in.newMerchant("elsewhere")
		disabled, enabled := m.newWebhook(), other.newWebhook()
		m.change(func(c *hook.Change) error {
			if err := c.MarkLocked(c.Tx.Webhook.GetX(c, disabled)); err != nil {
				return err
			}
			drafts := make([]fanout.Delivery, n)
			for i := range drafts {
				drafts[i] = fanout.Delivery{ID: id.At(m.Now()), StoreID: m.id, WebhookID: disabled, EventID: uuid.New(),
					EventType: hook.OrderPaid,
					Epoch:     1}
			}
			if _, err := fanout.Add(c, m.DB, c.Tx, c.Time(), drafts); err != nil {
				return err
			}
			if err := c.Tx.Webhook.UpdateOneID(disabled).SetEnabled(false).Exec(c); err != nil {
				return err
			}
			return queue.Cancel(c, m.id, disabled)
		})
		in.receiver.watch()
		first, second := in.run(), in.run()
		event := other.emit(hook.OrderPaid, 1)[0]
		r := in.arrives()
		require.Equal(t, pair{event, enabled}, pair{r.event, r.webhook})
		require.Eventually(t, func() bool {
			return dbtest.Count(t, in.DB, "finished_deliveries WHERE webhook_id = $1 AND status = $2", disabled,
				queue.Cancelled) == n
		}, hangGuard, 5*time.Millisecond)
		first.stop()
		second.stop()
		first.wait()
		second.wait()
		require.Len(t, in.receiver.got(), 1, "requests at the receiver")
		require.Zero(t, dbtest.Count(t, in.DB, "deliveries"))
	})
}
