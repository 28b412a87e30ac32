package queue_test

import (
	"database/sql"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/fanout"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/queue"
)

func TestCancelEndsWhatNoWorkerIsOn(t *testing.T) {
	t.Parallel()
	const tried = `[{"number":1,"startedAt":"2026-10-01T12:00:00.000Z","durationMs":5,"statusCode":500,"error":"status 500"}]`
	rows := []struct {
		reason string
		lease  bool
		due    time.Duration // after now
		ends   bool
	}{
		{"it waits for its first attempt", false, -time.Minute, true},
		{"it waits for a retry that is not due yet", false, time.Hour, true},
		{"an attempt is being made", true, time.Minute, false},
		{"the worker that made an attempt has died", true, -time.Minute, true},
	}
	dbtest.Run(t, func(t *testing.T, s *db.DB) {
		o := newOutlet(t, s, "atelier")
		other := o.newWebhook()
		drafts := make([]fanout.Delivery, len(rows))
		for i, row := range rows {
			drafts[i] = o.draft(o.webhook, uuid.New())
			o.add(drafts[i], o.draft(other, drafts[i].EventID))
			due := s.Now().Add(row.due)
			o.exec("UPDATE deliveries SET due_at = $1, attempts = $2, lease = $3, leased_until = $4 WHERE id = $5", due, []byte(tried),
				uuid.NullUUID{UUID: uuid.New(), Valid: row.lease}, sql.NullTime{Time: due, Valid: row.lease}, drafts[i].ID)
		}
		before := dbtest.Deliveries(t, s, "true")
		created := map[uuid.UUID]time.Time{}
		for _, d := range before {
			created[d.ID] = d.CreatedAt
		}
		o.change(func(c *hook.Change) error { return queue.Cancel(c, o.owner, o.webhook) })
		require.Equal(t, 3, o.cancelAll(queue.New(s)))
		require.Len(t, o.live(other), len(rows), "the other webhook's are left")
		for i, row := range rows {
			_, live := o.live(o.webhook)[drafts[i].EventID]
			require.Equal(t, row.ends, !live, row.reason)
			found := dbtest.FinishedDeliveries(t, s, "id = $1", drafts[i].ID)
			if !row.ends {
				require.Empty(t, found, row.reason)
				continue
			}
			require.Len(t, found, 1, row.reason)
			require.Equal(t, queue.Cancelled, found[0].Status)
			require.Equal(t, tried, string(found[0].Attempts), "the attempts stay")
			require.Equal(t, drafts[i].EventID, found[0].EventID)
			require.Equal(t, o.webhook, found[0].WebhookID)
			require.True(t, created[drafts[i].ID].Equal(found[0].CreatedAt))
			require.False(t, found[0].FinishedAt.Before(found[0].CreatedAt))
		}
	})
}

func (o outlet) cancelAll(q *queue.Queue) (total int) {
	o.t.Helper()
	for {
		found, err := q.FindCancelled(o.ctx)
		require.NoError(o.t, err)
		before := total
		for _, c := range found {
			moved, _, err := q.MoveCancelled(o.ctx, c)
			require.NoError(o.t, err)
			total += moved
		}
		if total == before {
			return total
		}
	}
}
