package worker

import (
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"go.storefront.example/ent/id"
	"go.storefront.example/ent/queue"
)

// The values of the label operation. No label names a store, a webhook or a receiver.
const (
	opClaim  = "claim"
	opFinish = "finish"
	opCancel = "cancel"
)

// noAnswer is the label status of an attempt without a response.
const noAnswer = "none"

type metrics struct {
	attempts   *prometheus.HistogramVec
	failures   *prometheus.CounterVec
	deliveries *prometheus.CounterVec
	latency    prometheus.Histogram
	disabled   prometheus.Counter
	lost       prometheus.Counter
	unsigned   prometheus.Counter
	queue      *prometheus.HistogramVec
	running    prometheus.Gauge
	limit      prometheus.Gauge
}

// newMetrics registers the metrics, unless the registerer is nil.
func newMetrics(registerer prometheus.Registerer, limit int) (*metrics, error) {
	m := &metrics{
		attempts: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "storefront_attempt_duration_seconds",
			Help:    "How long attempts took, by the class of the receiver's status: 2xx, 3xx, 4xx, 5xx, or none without an answer.",
			Buckets: []float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}, []string{"status"}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "storefront_attempt_failures_total", Help: "Attempts that failed, by problem.",
		}, []string{"problem"}),
		deliveries: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "storefront_deliveries_total",
			Help: "Deliveries that this worker ended, by result: succeeded, failed after the last attempt, or cancelled.",
		}, []string{"result"}),
		latency: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "storefront_delivery_latency_seconds",
			Help:    "Time from an event to the success of its delivery, retries and resends included.",
			Buckets: []float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600, 21600, 86400},
		}),
		disabled: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "storefront_webhooks_disabled_total", Help: "Webhooks that this worker disabled because they failed for too long.",
		}),
		lost: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "storefront_leases_lost_total", Help: "Attempts whose outcome came too late, after their lease had ended.",
		}),
		unsigned: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "storefront_deliveries_unsigned_total",
			Help: "Times that a delivery was put off because this worker lacks the key of its webhook's secret.",
		}),
		queue: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "storefront_queue_duration_seconds",
			Help:    "How long the worker's work on the queue took, by operation: claim, finish or cancel, each for a batch.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5},
		}, []string{"operation"}),
		running: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "storefront_attempts_running", Help: "Attempts that are being made.",
		}),
		limit: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "storefront_attempts_limit", Help: "How many attempts the worker makes at a time.",
		}),
	}
	m.limit.Set(float64(limit))
	// A rate misses the first increase of a series that begins later.
	for _, class := range []string{"2xx", "3xx", "4xx", "5xx", noAnswer} {
		m.attempts.WithLabelValues(class)
	}
	for _, result := range []string{queue.Succeeded, queue.Failed, queue.Cancelled} {
		m.deliveries.WithLabelValues(result)
	}
	if registerer == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{
		m.attempts, m.failures, m.deliveries, m.latency, m.disabled, m.lost, m.unsigned, m.queue, m.running, m.limit,
	} {
		if err := registerer.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// observe records how long an operation of the queue took, such as a claim.
func (m *metrics) observe(operation string, start time.Time) {
	m.queue.WithLabelValues(operation).Observe(time.Since(start).Seconds())
}

func (m *metrics) attempted(a queue.Attempt) {
	m.attempts.WithLabelValues(classOf(a.StatusCode)).Observe(a.Duration.Seconds())
	if !a.Succeeded() {
		m.failures.WithLabelValues(kindOf(a.Error)).Inc()
	}
}

// ended counts the outcomes that were written. lost is how many changed nothing.
func (m *metrics) ended(outcomes []queue.Outcome, lost int) {
	if lost == len(outcomes) {
		return // an earlier call may have written them and returned an error
	}
	for _, o := range outcomes {
		if o.Status == queue.Pending {
			continue
		}
		m.deliveries.WithLabelValues(o.Status).Inc()
		if o.Status == queue.Succeeded {
			answered := o.Attempt.StartedAt.Add(o.Attempt.Duration)
			m.latency.Observe(max(0, answered.Sub(id.Time(o.Delivery.EventID)).Seconds()))
		}
	}
}

func (m *metrics) cancelled(n int) { m.deliveries.WithLabelValues(queue.Cancelled).Add(float64(n)) }

// classOf returns a class such as "4xx", or noAnswer for what is no status.
func classOf(status int) string {
	if status < 200 || status > 599 {
		return noAnswer
	}
	return strconv.Itoa(status/100) + "xx"
}

// kindOf returns "status" for "status 500".
func kindOf(problem string) string {
	for _, kind := range []string{"status", "redirect"} {
		if strings.HasPrefix(problem, kind+" ") {
			return kind
		}
	}
	return problem
}
