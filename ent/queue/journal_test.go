package queue_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/fanout"
	"go.storefront.example/ent/id"
	"go.storefront.example/ent/queue"
)

func TestEntriesAreMergedNewestFirst(t *testing.T) {
	t.Parallel()
	forEach(t, 0, func(t *testing.T, s *db.DB, c *handClock) {
		o := newOutlet(t, s, "atelier")
		other, elsewhere := o.newWebhook(), newOutlet(t, s, "elsewhere")
		// Make one delivery a minute: succeeded, waiting, failed, cancelled, and again from the start.
		var made []fanout.Delivery
		for i := range 12 {
			c.advance(time.Minute)
			d := o.draft([]uuid.UUID{o.webhook, other}[i/4%2], uuid.New())
			if i >= 8 {
				d.EventType = "customer.created"
			}
			switch i % 4 {
			case 0:
				o.ended(d, queue.Succeeded)
			case 1:
				o.add(d)
			case 2:
				o.ended(d, queue.Failed)
			case 3:
				o.ended(d, queue.Cancelled)
			}
			made = append(made, d)
		}
		elsewhere.add(elsewhere.draft(elsewhere.webhook, uuid.New()))
		elsewhere.ended(elsewhere.draft(elsewhere.webhook, uuid.New()), queue.Failed)
		statuses := []string{queue.Succeeded, queue.Pending, queue.Failed, queue.Cancelled}
		rows := []struct {
			reason string
			search queue.Search
			want   []int // the deliveries that the search must find, by their indexes in made
		}{
			{"all", queue.Search{Limit: 50}, []int{11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0}},
			{"the newest, whatever their status", queue.Search{Limit: 5}, []int{11, 10, 9, 8, 7}},
			{"pending", queue.Search{Limit: 50, Status: queue.Pending}, []int{9, 5, 1}},
			{"the newest of a status", queue.Search{Limit: 2, Status: queue.Failed}, []int{10, 6}},
			{"one webhook", queue.Search{Limit: 3, WebhookID: other}, []int{7, 6, 5}},
			{"one webhook and status", queue.Search{Limit: 50, WebhookID: o.webhook, Status: queue.Cancelled}, []int{11, 3}},
			{"one webhook since it was made", queue.Search{Limit: 50, WebhookID: other}, []int{7, 6, 5, 4}},
			{"one type", queue.Search{Limit: 50, EventType: "customer.created"}, []int{11, 10, 9, 8}},
			{"one type to one webhook in one status", queue.Search{Limit: 50, WebhookID: o.webhook, EventType: "customer.created",
				Status: queue.Failed}, []int{10}},
			{"a type that nothing was sent of", queue.Search{Limit: 50, EventType: "order.failed"}, nil},
			{"what is older than one", queue.Search{Limit: 3, Before: made[8].ID}, []int{7, 6, 5}},
			{"what is older than one, of a status", queue.Search{Limit: 50, Status: queue.Failed, Before: made[10].ID}, []int{6, 2}},
			{"what is older than one, pending", queue.Search{Limit: 50, Status: queue.Pending, Before: made[9].ID}, []int{5, 1}},
			{"what is older than one, to one webhook since it was made", queue.Search{Limit: 50, WebhookID: other, Before: made[6].ID},
				[]int{5, 4}},
			{"from one time on, before another", queue.Search{Limit: 50, Since: id.Time(made[3].ID), Until: id.Time(made[6].ID)},
				[]int{5, 4, 3}},
			{"before a time and older than one", queue.Search{Limit: 50, Until: id.Time(made[6].ID), Before: made[4].ID},
				[]int{3, 2, 1, 0}},
			{"from one time on, to one webhook since it was made, of a type", queue.Search{Limit: 50, WebhookID: other,
				Since: id.Time(made[6].ID), EventType: "order.paid"}, []int{7, 6}},
			{"nothing is older than the oldest", queue.Search{Limit: 50, Before: made[0].ID}, nil},
			{"a webhook that nothing was sent to", queue.Search{Limit: 50, WebhookID: uuid.New()}, nil},
		}
		for _, row := range rows {
			row.search.StoreID = o.owner
			found, err := queue.Entries(o.ctx, s, row.search)
			require.NoError(t, err, row.reason)
			var got []int
			for _, e := range found {
				for i, d := range made {
					if d.ID == e.ID {
						got = append(got, i)
						require.Equal(t, statuses[i%4], e.Status, row.reason)
						require.Equal(t, d, fanout.Delivery{ID: e.ID, StoreID: e.StoreID, WebhookID: e.WebhookID, EventID: e.EventID,
							EventType: e.EventType, Epoch: 1})
						require.Equal(t, e.Status == queue.Pending, e.NextAttemptAt != nil)
						require.Equal(t, e.Status != queue.Pending, e.FinishedAt != nil)
						require.Empty(t, e.Attempts)
						require.Nil(t, e.Last())
						require.Equal(t, id.Time(d.ID), e.CreatedAt.UTC())
					}
				}
			}
			require.Equal(t, row.want, got, row.reason)
			require.Len(t, found, len(row.want), row.reason)
		}
	})
}

func TestEntryIsFoundByItsIDAlone(t *testing.T) {
	t.Parallel()
	forEach(t, 0, func(t *testing.T, d *db.DB, _ *handClock) {
		o := newOutlet(t, d, "atelier")
		waiting, ended := o.draft(o.webhook, uuid.New()), o.draft(o.webhook, uuid.New())
		o.add(waiting)
		o.ended(ended, queue.Failed)
		found, err := queue.FindEntry(o.ctx, d, d.Reader(), ended.ID)
		require.NoError(t, err)
		require.Equal(t, queue.Failed, found.Status)
		require.Nil(t, found.NextAttemptAt)
		found, err = queue.FindEntry(o.ctx, d, d.Reader(), waiting.ID)
		require.NoError(t, err)
		require.Equal(t, queue.Pending, found.Status)
		require.Equal(t, noon, *found.NextAttemptAt, "due at once")
		require.Nil(t, found.FinishedAt)

		due := noon.Add(time.Hour)
		o.exec("UPDATE deliveries SET lease = $1, due_at = $2, attempts = $3 WHERE id = $4", uuid.New(), due,
			[]byte(`[{"number":1,"startedAt":"2026-10-01T12:00:00.000Z","durationMs":5,"statusCode":500,"error":"status 500"},`+
				`{"number":2,"startedAt":"2026-10-01T12:01:00.000Z","durationMs":7,"statusCode":null,"error":"timeout"}]`), waiting.ID)
		found, err = queue.FindEntry(o.ctx, d, d.Reader(), waiting.ID)
		require.NoError(t, err)
		require.Nil(t, found.NextAttemptAt, "an attempt is being made")
		require.Len(t, found.Attempts, 2)
		require.Equal(t, &queue.Attempt{Number: 2, StartedAt: noon.Add(time.Minute), Duration: 7 * time.Millisecond, Error: "timeout"},
			found.Last())
		_, err = queue.FindEntry(o.ctx, d, d.Reader(), uuid.New())
		require.ErrorIs(t, err, queue.ErrNoDelivery)
	})
}

// A damaged delivery is listed without attempts, and the others as always.
func TestEntriesWithDamagedAttempts(t *testing.T) {
	t.Parallel()
	forEach(t, 0, func(t *testing.T, d *db.DB, _ *handClock) {
		o := newOutlet(t, d, "atelier")
		ended, waiting, sound := o.draft(o.webhook, uuid.New()), o.draft(o.webhook, uuid.New()), o.draft(o.webhook, uuid.New())
		o.ended(ended, queue.Failed)
		o.add(waiting, sound)
		o.exec("UPDATE finished_deliveries SET attempts = $1 WHERE id = $2", []byte(`[{"number":1,`), ended.ID)
		o.exec("UPDATE deliveries SET attempts = $1 WHERE id = $2", []byte("\xff"), waiting.ID)
		found, err := queue.Entries(o.ctx, d, queue.Search{StoreID: o.owner, Limit: 50})
		require.NoError(t, err)
		require.Len(t, found, 3)
		for id, status := range map[uuid.UUID]string{ended.ID: queue.Failed, waiting.ID: queue.Pending} {
			one, err := queue.FindEntry(o.ctx, d, d.Reader(), id)
			require.NoError(t, err)
			require.Equal(t, status, one.Status)
			require.Empty(t, one.Attempts)
		}
	})
}
