package main

import (
	"bytes"
	"encoding/json"
	"os"
	"runtime"
	"strings"
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
	binary, err := serviceBinary(t.Context(), "", t.TempDir())
	require.NoError(t, err)
	for _, row := range []struct {
		database, measures string
		extra              []string
		figures            []string
	}{
		{"sqlite", "poll,drain,hanging", nil, []string{
			"poll: commit to arrival, p50", "drain: " + drainPayments, "drain: " + drainRate, "drain: worker and database", "drain: a relay, p99",
			"yardstick: posts, signed, nothing stored", "drain: drain over yardstick", "hanging: commit to arrival, longest",
			"hanging: requests that hung",
		}},
		// The database's processor time is counted in ticks of ten milliseconds, of which 60 events may
		// take none.
		{"postgres", "pace,drain,together", []string{"--journal=3000", "--idle=1s", "--events=600"}, []string{
			"pace: commit to arrival, p99", "drain: " + drainRate, "drain: write-ahead log", "drain: database",
			"together: from the first commit to the last arrival", "journal: drain over that with an empty journal",
			"journal: the sweep of a day",
		}},
	} {
		t.Run(row.database, func(t *testing.T) {
			t.Parallel()
			args := append([]string{
				"webhooks", "--binary=" + binary, "--measure=" + row.measures, "--stores=3", "--events=60", "--seconds=1", "--rate=30",
				"--rounds=1", "--hanging=1", "--waiting=5", "--output=json",
			}, row.extra...)
			if row.database == "postgres" {
				server := os.Getenv("STOREFRONT_TEST_POSTGRES")
				if server == "" {
					require.NotEqual(t, "1", os.Getenv("STOREFRONT_TEST_REQUIRE"), "STOREFRONT_TEST_POSTGRES must name a PostgreSQL server")
					t.Skip("STOREFRONT_TEST_POSTGRES names no PostgreSQL server")
				}
				args = append(args, "--database-url="+server)
			}
			var out, progress bytes.Buffer
			require.Zero(t, run(t.Context(), args, strings.NewReader(""), &out, &progress), progress.String())
			var r webhookReport
			require.NoError(t, json.Unmarshal(out.Bytes(), &r))
			values := map[string]float64{}
			for _, f := range r.Figures {
				values[f.Measure+": "+f.Name] = f.Median
			}
			for _, name := range row.figures {
				require.Positive(t, values[name], name)
			}
		})
	}
}

func TestPaymentsAreMatchedWithTheirArrivals(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)
	orders := []uuid.UUID{uuid.New(), uuid.New(), uuid.New()}
	events := []committed{{id: uuid.New(), subject: orders[0]}, {id: uuid.New(), subject: orders[1]}, {id: uuid.New(), subject: orders[2]}}
	payments := []payment{{orders[0], at}, {orders[1], at.Add(time.Second)}, {orders[2], at.Add(2 * time.Second)}}
	arrival := func(n int, after time.Duration) receiver.Request {
		return receiver.Request{Event: events[n].id, Arrived: payments[n].at.Add(after), Status: 204}
	}
	all := []receiver.Request{arrival(2, 9*time.Millisecond), arrival(0, time.Millisecond), arrival(1, 20*time.Millisecond)}

	times, err := matched(payments, events, all, at.Add(time.Second))
	require.NoError(t, err)
	require.Equal(t, []time.Duration{9 * time.Millisecond, 20 * time.Millisecond}, times, "sorted, without the warm-up")

	hung := receiver.Request{Event: uuid.New(), Arrived: at}
	_, err = matched(payments, events, append(all[:3:3], hung), at)
	require.NoError(t, err, "a webhook that hangs is none of those measured")

	for _, row := range []struct {
		why, says string
		payments  []payment
		events    []committed
		requests  []receiver.Request
	}{
		{"one event is lost", "never arrived", payments, events, all[:2]},
		{"one comes twice", "arrived twice", payments, events, append(all[:3:3], arrival(1, time.Minute))},
		{"a payment left no event", "has no event", payments, events[:2], all},
		{"an event of nobody's", "nobody caused", payments[:2], events, all},
	} {
		t.Run(row.why, func(t *testing.T) {
			_, err := matched(row.payments, row.events, row.requests, at)
			require.ErrorContains(t, err, row.says)
		})
	}
}

func TestFiguresAreMediansOfRounds(t *testing.T) {
	t.Parallel()
	r := &webhookReport{Database: "PostgreSQL", FullPageWrites: "on"}
	for _, v := range []float64{900, 1200, 1000} {
		r.add(measureDrain, drainRate, "events/s", v)
	}
	r.add(measureDrain, "worker", "CPU-ms/event", 0.456)
	r.addLatencies(measurePace, []time.Duration{time.Millisecond, 2 * time.Millisecond, 30 * time.Millisecond})
	require.InDelta(t, 1000, r.find(measureDrain, drainRate, "events/s").Median, 0)
	require.Nil(t, r.find(measureJournal, drainRate, "events/s"))
	var b strings.Builder
	require.NoError(t, r.write(&b, "markdown"))
	for _, line := range []string{
		"full_page_writes on",
		"| drain | " + drainRate + " | 1000 (900–1200) | events/s |",
		"| drain | worker | 0.46 | CPU-ms/event |",
		"| pace | commit to arrival, p50 | 2.0 | ms |",
		"| pace | commit to arrival, longest | 30.0 | ms |",
	} {
		require.Contains(t, b.String(), line)
	}
}

func TestWhatAProcessSaysIsCutIntoLines(t *testing.T) {
	t.Parallel()
	var onLine []string
	s := &lineLog{onLine: func(line string) { onLine = append(onLine, line) }}
	for _, text := range []string{"one\ntw", "o\n", "", "three\nfour\nfive\nsix\nse"} {
		n, err := s.Write([]byte(text))
		require.NoError(t, err)
		require.Len(t, text, n)
	}
	require.Equal(t, []string{"one", "two", "three", "four", "five", "six"}, onLine)
	require.Equal(t, "two | three | four | five | six | se", s.last(), "the last lines, and what was begun")
}

func TestAWorkerTellsItsPaceWhenItStops(t *testing.T) {
	t.Parallel()
	l := &workerLog{}
	for _, line := range []string{
		`{"msg":"worker stopped","relays":4,"relay_p99_ms":0.5,"claims":2,"claim_p99_ms":7.25}`,
		`{"msg":"worker stopped","relays":9,"relay_p99_ms":2.5,"claims":1,"claim_p99_ms":1}`,
		`{"msg":"attempt","claim_p99_ms":99}`, `panic: none of JSON`,
	} {
		l.read(line)
	}
	r := &webhookReport{}
	r.addWorkerLog(measureDrain, l)
	require.InDelta(t, 7.25, r.find(measureDrain, "a claim, p99", "ms").Median, 1e-9, "the slowest worker's")
	require.InDelta(t, 2.5, r.find(measureDrain, "a relay, p99", "ms").Median, 1e-9)
}

func TestThereAreOrdersForEveryMeasure(t *testing.T) {
	t.Parallel()
	c := &webhooksCommand{Stores: 10, Events: 1000, Rate: 40, Seconds: 9, Rounds: 3, Waiting: 5, Idle: 9 * time.Second}
	require.Equal(t, (3*400+3*1000+1000)/10+1, c.orders(), "three paced measures with their warm-up, three drains, one together")
	c.Journal = 1
	require.Equal(t, (3*400+3*1000+1000+400+3*1000)/10+1, c.orders())
	c.Measure, c.Journal = []string{measureHanging}, 0
	require.Equal(t, 41, c.orders())
	c.Waiting = 300
	require.Equal(t, 300, c.orders(), "those that hang need more than the others")
}
