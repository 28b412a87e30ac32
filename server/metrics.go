package server

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"go.storefront.example/server/edge"
	"go.storefront.example/server/limit"
)

// metrics are a server's metrics of the public API. Every label has few values: none contains a
// store, a key or a path as a client wrote it.
type metrics struct {
	requests *prometheus.HistogramVec
	refusals *prometheus.CounterVec
	limits   *prometheus.CounterVec
}

func newMetrics(into prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "storefront_request_duration_seconds",
			Help:    "How long requests to the public API took, by protocol, route, method and status.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}, []string{"protocol", "route", "method", "status"}),
		refusals: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "storefront_refusals_total",
			Help: "Requests to the public API that were refused, by code.",
		}, []string{"code"}),
		limits: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "storefront_rate_limit_hits_total",
			Help: "Requests to the public API that were beyond a limit: that of their key, or that of their address for unknown keys.",
		}, []string{"limit"}),
	}
	// Series start at zero: a rate needs a first value.
	for _, limit := range []string{edge.LimitKey, edge.LimitAddress} {
		m.limits.WithLabelValues(limit)
	}
	for _, c := range []prometheus.Collector{m.requests, m.refusals, m.limits} {
		if err := into.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// loadMetrics report a server's present load, read from its limiter.
func loadMetrics(load func() limit.Load) []prometheus.Collector {
	return []prometheus.Collector{
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "storefront_requests_running", Help: "Requests that have a slot, on both listeners.",
		}, func() float64 { return float64(load().Running) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "storefront_requests_waiting", Help: "Requests that wait for a slot, on both listeners.",
		}, func() float64 { return float64(load().Waiting) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "storefront_requests_shed_total", Help: "Requests that were refused because they got no slot in time, on both " +
				"listeners.",
		}, func() float64 { return float64(load().Refused) }),
	}
}

// connectionMetrics report how full a server's public listener is.
func connectionMetrics(connections func() (open int, refused uint64)) []prometheus.Collector {
	return []prometheus.Collector{
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "storefront_connections_open", Help: "Connections to the public API that are open.",
		}, func() float64 { open, _ := connections(); return float64(open) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "storefront_connections_refused_total", Help: "Connections to the public API that were closed at once, because too " +
				"many were open.",
		}, func() float64 { _, refused := connections(); return float64(refused) }),
	}
}

func (m *metrics) observe(r edge.Request) {
	m.requests.WithLabelValues(string(r.Protocol), r.Route, r.Method, strconv.Itoa(r.Status)).Observe(r.Duration.Seconds())
	if r.Code != "" {
		m.refusals.WithLabelValues(r.Code).Inc()
	}
	if r.Limit != "" {
		m.limits.WithLabelValues(r.Limit).Inc()
	}
}
