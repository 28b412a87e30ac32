package queue_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/id"
	"go.storefront.example/ent/queue"
)

func (o outlet) paid(at time.Time, payload string, status string) uuid.UUID {
	o.t.Helper()
	made := id.At(at)
	o.change(func(c *hook.Change) error {
		return c.Tx.Event.Create().SetID(made).SetStoreID(o.owner).SetType(hook.OrderPaid).SetPayload([]byte(payload)).SetCreatedAt(
			at).Exec(c)
	})
	o.ended(o.draft(o.webhook, made), status)
	return made
}

func TestEventsAreFoundByTheirText(t *testing.T) {
	t.Parallel()
	forEach(t, 0, func(t *testing.T, d *db.DB, c *handClock) {
		o, elsewhere := newOutlet(t, d, "atelier"), newOutlet(t, d, "elsewhere")
		var made []uuid.UUID
		for _, payload := range []string{
			`{"data":{"reference":"ORD-7K2M9QXW","customer":{"name":"Nadège \"N\" Fotso"}}}`,
			`{"data":{"reference":"ORD-AAAAAAAA","note":"50% off_today"}}`,
			`{"data":{"reference":"ORD-BBBBBBBB"}}`,
		} {
			c.advance(time.Minute)
			made = append(made, o.paid(d.Now(), payload, queue.Succeeded))
			elsewhere.paid(d.Now(), payload, queue.Succeeded)
		}
		for _, row := range []struct {
			reason string
			search queue.EventSearch
			want   []uuid.UUID
		}{
			{"a reference", queue.EventSearch{Text: "ORD-7K2M9QXW"}, made[:1]},
			{"in any case", queue.EventSearch{Text: "ord-7k2m"}, made[:1]},
			{"a quotation mark is written as JSON writes it", queue.EventSearch{Text: `Nadège "N"`}, made[:1]},
			{"what a pattern would mean is only itself", queue.EventSearch{Text: "5% o"}, nil},
			{"percent and underscore", queue.EventSearch{Text: "50% off_t"}, made[1:2]},
			{"newest first", queue.EventSearch{Text: "reference"}, []uuid.UUID{made[2], made[1], made[0]}},
			{"no more than asked for", queue.EventSearch{Text: "reference", Limit: 1}, []uuid.UUID{made[2]}},
			{"since a time", queue.EventSearch{Text: "reference", From: id.Time(made[1])}, []uuid.UUID{made[2], made[1]}},
			{"before a time", queue.EventSearch{Text: "reference", BeforeAt: id.Time(made[1])}, []uuid.UUID{made[0]}},
			{"from where a search ended", queue.EventSearch{Text: "reference", BeforeAt: id.Time(made[1]), BeforeID: made[1]},
				[]uuid.UUID{made[0]}},
			{"of a type", queue.EventSearch{Text: "reference", EventType: hook.OrderFailed}, nil},
		} {
			row.search.StoreID = o.owner
			if row.search.Limit == 0 {
				row.search.Limit = 25
			}
			found, err := queue.FindEvents(o.ctx, d, row.search)
			require.NoError(t, err, row.reason)
			require.Equal(t, row.want, found.IDs, row.reason)
		}
		entries, err := queue.EntriesOf(o.ctx, d, queue.Search{StoreID: o.owner}, made)
		require.NoError(t, err)
		require.Len(t, entries, 3)
		require.Equal(t, made[2], entries[0].EventID, "newest first")
		entries, err = queue.EntriesOf(o.ctx, d, queue.Search{StoreID: elsewhere.owner}, made)
		require.NoError(t, err)
		require.Empty(t, entries, "another store's")
		entries, err = queue.EntriesOf(o.ctx, d, queue.Search{StoreID: o.owner, Status: queue.Failed}, made)
		require.NoError(t, err)
		require.Empty(t, entries)
	})
}

func TestOfManyDeliveriesOfAnEventTheNewestThatMatchAreListed(t *testing.T) {
	t.Parallel()
	forEach(t, 0, func(t *testing.T, s *db.DB, c *handClock) {
		o := newOutlet(t, s, "atelier")
		event := o.paid(s.Now(), `{"data":{}}`, queue.Succeeded)
		const resends = 700
		for i := range resends {
			status := queue.Failed
			if i == 10 || i == resends-1 {
				status = queue.Succeeded
			}
			at := s.Now().Add(time.Duration(i+1) * time.Millisecond)
			d := o.draft(o.webhook, event)
			d.ID = id.At(at)
			o.endedAt(at, d, status)
		}
		newest := s.Now().Add(resends * time.Millisecond)
		entries, err := queue.EntriesOf(o.ctx, s, queue.Search{StoreID: o.owner}, []uuid.UUID{event})
		require.NoError(t, err)
		require.Equal(t, newest, entries[0].CreatedAt)
		for status, want := range map[string]int{queue.Succeeded: 3, queue.Failed: 500, queue.Pending: 0} {
			entries, err := queue.EntriesOf(o.ctx, s, queue.Search{StoreID: o.owner, WebhookID: o.webhook, EventType: hook.OrderPaid,
				Status: status}, []uuid.UUID{event})
			require.NoError(t, err)
			require.Len(t, entries, want, status)
		}
	})
}

func TestASearchLooksAtABoundedNumberOfEvents(t *testing.T) {
	t.Parallel()
	forEach(t, 0, func(t *testing.T, d *db.DB, _ *handClock) {
		o := newOutlet(t, d, "atelier")
		oldest := o.paid(d.Now().Add(-time.Hour), `{"data":{"reference":"ORD-7K2M9QXW"}}`, queue.Failed)
		for i := range queue.MaxSearched / 1000 {
			o.events(1000, d.Now().Add(time.Duration(i)*time.Second))
		}
		search := queue.EventSearch{StoreID: o.owner, Text: "ORD-7K2M9QXW", Limit: 25}
		found, err := queue.FindEvents(o.ctx, d, search)
		require.NoError(t, err)
		require.Empty(t, found.IDs)
		require.True(t, found.More)
		// On a slow machine the time limit ends a search before it has read MaxSearched events.
		require.False(t, found.EndAt.Before(d.Now()), "all but the oldest at most")
		for len(found.IDs) == 0 && found.More {
			from := found.EndAt
			search.BeforeAt, search.BeforeID = found.EndAt, found.EndID
			found, err = queue.FindEvents(o.ctx, d, search)
			require.NoError(t, err)
			require.True(t, found.EndAt.Before(from), "it goes on from where the one before ended")
		}
		require.Equal(t, []uuid.UUID{oldest}, found.IDs)
		require.False(t, found.More)
	})
}
