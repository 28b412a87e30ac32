package server

import (
	"net/http"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"go.storefront.example/ent/store"
	"go.storefront.example/server/rest"
)

// metrics are what /metrics shows. Every label is of bounded variety: none holds a store, a key
// or a path as a client wrote it.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.HistogramVec
	refusals *prometheus.CounterVec
}

func newMetrics(s *store.Store) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "storefront_request_duration_seconds",
			Help:    "How long requests to the public API took, by face, route, method and status.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}, []string{"face", "route", "method", "status"}),
		refusals: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "storefront_refusals_total",
			Help: "Requests to the public API that were refused, by code.",
		}, []string{"code"}),
	}
	m.registry.MustRegister(m.requests, m.refusals,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		collectors.NewDBStatsCollector(s.Reader(), "read"))
	if s.Writer() != s.Reader() {
		m.registry.MustRegister(collectors.NewDBStatsCollector(s.Writer(), "write"))
	}
	return m
}

func (m *metrics) observe(r rest.Request) {
	m.requests.WithLabelValues(string(r.Face), r.Route, r.Method, strconv.Itoa(r.Status)).Observe(r.Duration.Seconds())
	if r.Code != "" {
		m.refusals.WithLabelValues(r.Code).Inc()
	}
}

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}
