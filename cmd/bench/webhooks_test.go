package main

import (
	"runtime"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/cmd/bench/receiver"
)

func TestWebhooksAreMeasuredFromCommitToArrival(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("no file names whom the worker trusts")
	}
	onEach(t, func(t *testing.T, database string) {
		code, out := bench(t, "webhooks", "--stores=3", "--events=60", "--seconds=1", "--rate=30", "--rounds=1", "--hanging=1",
			"--waiting=5", database)
		require.Zero(t, code, out)
		for _, figure := range []string{
			"| pace | commit to arrival, p99 |", "| drain | " + drainRate + " |", "| drain | workers |",
			"| hanging | commit to arrival, p100 |", "| hanging | requests that hung |",
		} {
			require.Contains(t, out, figure)
		}
	})
}

func TestPaymentsAreMatchedWithTheirArrivals(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)
	orders := []uuid.UUID{uuid.New(), uuid.New(), uuid.New()}
	var events []storedEvent
	for _, order := range orders {
		events = append(events, storedEvent{id: uuid.New(), subject: order})
	}
	payments := []payment{{orders[0], at}, {orders[1], at.Add(time.Second)}, {orders[2], at.Add(2 * time.Second)}}
	arrival := func(n int, after time.Duration) receiver.Request {
		return receiver.Request{Event: events[n].id, Arrived: payments[n].at.Add(after), Status: 204}
	}
	all := []receiver.Request{arrival(2, 9*time.Millisecond), arrival(0, time.Millisecond), arrival(1, 20*time.Millisecond)}

	times, err := deliveryTimes(payments, events, all, at.Add(time.Second))
	require.NoError(t, err)
	require.Equal(t, []time.Duration{9 * time.Millisecond, 20 * time.Millisecond}, times, "sorted, without the warm-up")

	hung := receiver.Request{Event: uuid.New(), Arrived: at}
	_, err = deliveryTimes(payments, events, append(all[:3:3], hung), at)
	require.NoError(t, err, "a webhook that hangs is none of those measured")

	for _, row := range []struct {
		why, says string
		payments  []payment
		events    []storedEvent
		requests  []receiver.Request
	}{
		{"one event is lost", "never arrived", payments, events, all[:2]},
		{"one comes twice", "arrived twice", payments, events, append(all[:3:3], arrival(1, time.Minute))},
		{"a payment left no event", "has no event", payments, events[:2], all},
		{"an event of nobody's", "nobody caused", payments[:2], events, all},
	} {
		t.Run(row.why, func(t *testing.T) {
			_, err := deliveryTimes(row.payments, row.events, row.requests, at)
			require.ErrorContains(t, err, row.says)
		})
	}
}

func TestFiguresAreMediansOfRounds(t *testing.T) {
	t.Parallel()
	r := &webhooksRun{}
	for _, v := range []float64{900, 1200, 1000} {
		r.add(measureDrain, drainRate, "events/s", v)
	}
	r.add(measureDrain, "workers", "CPU-ms/event", 0.456)
	require.Equal(t, [][]string{
		{measureDrain, drainRate, "1000 (900–1200)", "events/s"}, {measureDrain, "workers", "0.46", "CPU-ms/event"},
	}, r.rows())
}

func TestThereAreOrdersForEveryMeasure(t *testing.T) {
	t.Parallel()
	c := &webhooksCommand{Stores: 10, Events: 1000, Rate: 40, Seconds: 9, Rounds: 3, Waiting: 5}
	require.Equal(t, (2*400+3*1000)/10+1, c.orders(), "two paced measures with their warm-up, three drains")
	c.Measure = []string{measureHanging}
	require.Equal(t, 41, c.orders())
	c.Waiting = 300
	require.Equal(t, 300, c.orders(), "those that hang need more than the others")
}
