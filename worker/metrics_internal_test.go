package worker

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/hook"
	"go.storefront.example/worker/egress"
)

// values has the count and the sum of each histogram.
func values(t *testing.T, from prometheus.Gatherer) map[string]float64 {
	t.Helper()
	families, err := from.Gather()
	require.NoError(t, err)
	read := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := strings.TrimPrefix(f.GetName(), "storefront_")
			for _, l := range m.GetLabel() {
				name += " " + l.GetValue()
			}
			switch {
			case m.GetHistogram() != nil:
				read[name] = float64(m.GetHistogram().GetSampleCount())
				read[name+" sum"] = m.GetHistogram().GetSampleSum()
			case m.GetCounter() != nil:
				read[name] = m.GetCounter().GetValue()
			default:
				read[name] = m.GetGauge().GetValue()
			}
		}
	}
	return read
}

func TestMetricsTellWhatTheWorkerDid(t *testing.T) {
	t.Parallel()
	forEach(t, func(t *testing.T, in *installation) {
		registry := prometheus.NewPedanticRegistry()
		w := in.worker(func(c *Config) { c.Metrics = registry })
		before := values(t, registry)
		for _, zero := range []string{"attempt_duration_seconds 5xx", "attempt_duration_seconds none", "deliveries_total cancelled"} {
			require.Contains(t, before, zero, "a rate needs a start")
		}
		require.EqualValues(t, 32, before["attempts_limit"])

		m := in.newMerchant("atelier")
		m.newWebhook()
		arrives := func(answer int, late time.Duration) map[string]float64 {
			t.Helper()
			in.receiver.always(answer)
			m.emit(hook.OrderPaid, 1)
			in.clock.advance(late)
			require.Positive(t, w.pass())
			after, moved := values(t, registry), map[string]float64{}
			for name, value := range after {
				if value != before[name] && !strings.HasPrefix(name, "queue_") && !strings.HasSuffix(name, " sum") {
					moved[name] = value - before[name]
				}
			}
			before = after
			return moved
		}
		require.Equal(t, map[string]float64{
			"attempt_duration_seconds 2xx": 1, "deliveries_total succeeded": 1, "delivery_latency_seconds": 1,
		}, arrives(http.StatusOK, 3*time.Second))
		require.GreaterOrEqual(t, before["delivery_latency_seconds sum"], 3.0)
		require.Less(t, before["delivery_latency_seconds sum"], 3+hangGuard.Seconds())
		for answer, want := range map[int][]string{
			http.StatusFound:               {"3xx", "redirect"},
			http.StatusNotFound:            {"4xx", "status"},
			http.StatusInternalServerError: {"5xx", "status"},
			drop:                           {"none", egress.ProblemClosed},
		} {
			require.Equal(t, map[string]float64{
				"attempt_duration_seconds " + want[0]: 1, "attempt_failures_total " + want[1]: 1,
			}, arrives(answer, 0), "the delivery waits")
		}
		for _, name := range []string{"queue_duration_seconds claim", "queue_duration_seconds finish"} {
			require.Positive(t, before[name], name)
			require.Positive(t, before[name+" sum"], name)
		}

		// After three more days of failures the webhook is disabled, and its waiting deliveries are cancelled.
		in.clock.advance(73 * time.Hour)
		in.receiver.always(http.StatusBadGateway)
		require.Positive(t, w.pass())
		require.EqualValues(t, 1, values(t, registry)["webhooks_disabled_total"])
		require.Positive(t, values(t, registry)["queue_duration_seconds claim"])
		require.Zero(t, values(t, registry)["attempts_running"])
	})
}

func TestEndsOfDeliveriesAreCounted(t *testing.T) {
	t.Parallel()
	forEach(t, func(t *testing.T, in *installation) {
		registry := prometheus.NewPedanticRegistry()
		w := in.worker(func(c *Config) { c.Metrics, c.RetryDelays = registry, []time.Duration{time.Minute} })
		m := in.newMerchant("atelier")
		webhook := m.newWebhook()
		in.receiver.always(http.StatusInternalServerError)
		m.emit(hook.OrderPaid, 1)
		w.pass()
		in.clock.advance(2 * time.Minute)
		w.pass()
		require.EqualValues(t, 1, values(t, registry)["deliveries_total failed"])

		in.receiver.always(http.StatusOK)
		m.emit(hook.OrderPaid, 1)
		require.Equal(t, 1, w.begin(), "attempts that were due and are begun")
		require.Eventually(t, func() bool { return len(w.results) == 1 }, hangGuard, time.Millisecond)
		in.clock.advance(w.leaseDuration()) // the lease ends, so that another worker can lease the delivery
		require.Equal(t, 1, in.worker().pass(), "attempts that were due and are made")
		w.finish()
		after := values(t, registry)
		require.EqualValues(t, 1, after["leases_lost_total"])
		require.Zero(t, after["deliveries_total succeeded"], "what was lost is not counted")

		m.enqueue(webhook, hook.OrderPaid)
		in.exec("UPDATE webhooks SET enabled = false")
		w.pass()
		require.EqualValues(t, 1, values(t, registry)["deliveries_total cancelled"])
	})
}

func TestLabelsAreBounded(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]string{0: "none", 100: "none", 101: "none", 200: "2xx", 299: "2xx", 302: "3xx", 404: "4xx",
		599: "5xx", 600: "none", 999: "none", -1: "none"} {
		require.Equal(t, want, classOf(status), status)
	}
	for problem, want := range map[string]string{
		"status 500": "status", "redirect 302": "redirect", "timeout": "timeout", egress.ProblemHostname: egress.ProblemHostname,
	} {
		require.Equal(t, want, kindOf(problem))
	}
	_, err := newMetrics(nil, 1)
	require.NoError(t, err, "none are wanted")
	registry := prometheus.NewRegistry()
	_, err = newMetrics(registry, 1)
	require.NoError(t, err)
	_, err = newMetrics(registry, 1)
	require.Error(t, err, "one registerer takes one worker")
}
