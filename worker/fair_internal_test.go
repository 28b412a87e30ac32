package worker

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/queue"
)

// Hundreds of deliveries wait for five receivers that never answer. Meanwhile all others are made.
func TestReceiversThatHangDelayNobody(t *testing.T) {
	t.Parallel()
	const hanging, waiting, healthy = 5, 300, 200
	rows := []struct {
		reason string
		stores int // stores with hanging webhooks
		known  bool
	}{
		{"webhooks of one store", 1, false},
		{"webhooks of five stores", 5, false},
		{"webhooks that have answered well until now, and have wide windows", 5, true},
	}
	for _, row := range rows {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			forEach(t, func(t *testing.T, in *installation) {
				hangs := map[uuid.UUID]bool{}
				var lanes []queue.Lane
				for i := range row.stores {
					m := in.newMerchant("hanging-" + string(rune('a'+i)))
					for range hanging / row.stores {
						webhook := m.newWebhook()
						hangs[webhook] = true
						lanes = append(lanes, queue.Lane{StoreID: m.id, WebhookID: webhook})
					}
					m.emit(hook.OrderPaid, waiting)
				}
				in.receiver.answers(func(r request) int {
					if hangs[r.webhook] {
						return hang
					}
					return 204
				})
				good := in.newMerchant("healthy")
				first := good.newWebhook()
				events := good.emit(hook.OrderPaid, healthy/2)
				w := in.run(func(w *Worker) {
					w.stopTimeout = time.Millisecond
					w.lanes = newLanes(64)
					for _, lane := range lanes {
						if row.known {
							w.lanes.webhook(lane).window, w.lanes.webhook(lane).proven = w.lanes.maxWindow, true
						}
					}
				})
				in.becomes(first, events[len(events)-1], "succeeded")
				// A new webhook gets its events, although the hanging ones occupy attempts.
				second := good.newWebhook(hook.OrderFailed)
				events = append(events, good.emit(hook.OrderFailed, healthy/2)...)
				for i, event := range events {
					webhook := first
					if i >= healthy/2 {
						webhook = second
					}
					require.Len(t, in.becomes(webhook, event, "succeeded"), 1)
				}
				held := 0
				for _, r := range in.receiver.got() {
					if hangs[r.webhook] {
						held++
						require.Equal(t, 1, r.attempt)
					}
				}
				most := hanging * firstWindow
				if row.known {
					most = hanging * newLanes(64).maxWindow
				}
				require.Positive(t, held)
				require.LessOrEqual(t, held, most, "each hangs with its window and no more")
				for webhook := range hangs {
					require.Empty(t, in.endedAt(webhook), "none has ended")
				}
				w.stop()
				w.wait()
			})
		})
	}
}

// endedAt returns the statuses of a webhook's finished deliveries.
func (in *installation) endedAt(webhook uuid.UUID) []string {
	in.t.Helper()
	rows, err := in.Reader().Query("SELECT status FROM finished_deliveries WHERE webhook_id = $1", webhook)
	require.NoError(in.t, err)
	defer rows.Close()
	var found []string
	for rows.Next() {
		var status string
		require.NoError(in.t, rows.Scan(&status))
		found = append(found, status)
	}
	require.NoError(in.t, rows.Err())
	return found
}

// Each request causes another event, so first attempts never run out.
func TestRetriesDoNotWaitForSteadyTraffic(t *testing.T) {
	t.Parallel()
	forEach(t, func(t *testing.T, in *installation) {
		const failed, waiting = 20, 100
		m := in.newMerchant("atelier")
		webhook := m.newWebhook()
		left := map[uuid.UUID]bool{}
		for range failed {
			left[m.enqueue(webhook, hook.OrderPaid)] = true
		}
		in.exec("UPDATE deliveries SET retry = $1, attempts = $2", true,
			[]byte(`[{"number":1,"startedAt":"2026-10-01T11:00:00.000Z","durationMs":5,"statusCode":500,"error":"status 500"}]`))
		m.emit(hook.OrderPaid, waiting)
		in.receiver.watch()
		w := in.run(func(w *Worker) { w.stopTimeout = time.Millisecond })
		first, most := 0, waiting+failed*newLanes(w.config.Concurrency).maxWindow
		for len(left) > 0 {
			if arrived := in.arrives(); left[arrived.event] {
				delete(left, arrived.event)
			} else {
				first++
				require.Less(t, first, most, "first attempts go before %d retries", len(left))
			}
			m.emit(hook.OrderPaid, 1)
		}
		require.Positive(t, first)
	})
}
