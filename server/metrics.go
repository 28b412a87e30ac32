package server

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"go.storefront.example/server/certificate"
	"go.storefront.example/server/edge"
)

// observer returns a function that counts a request to the public API. No label has a store, a key, or a path as the client
// wrote it.
func observer(into prometheus.Registerer) func(edge.Request) {
	add := promauto.With(into)
	requests := add.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "storefront_request_duration_seconds",
		Help:    "How long requests to the public API took, by protocol, route, method and status.",
		Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
	}, []string{"protocol", "route", "method", "status"})
	refusals := add.NewCounterVec(prometheus.CounterOpts{
		Name: "storefront_refusals_total",
		Help: "Requests to the public API that were refused, by code.",
	}, []string{"code"})
	limits := add.NewCounterVec(prometheus.CounterOpts{
		Name: "storefront_rate_limit_hits_total",
		Help: "Requests to the public API that were beyond a limit: that of their key, or that of their address for unknown keys.",
	}, []string{"limit"})
	// Prometheus computes rates from differences, so a counter that began with its first hit would not show it.
	for _, limit := range []string{edge.LimitKey, edge.LimitAddress} {
		limits.WithLabelValues(limit)
	}
	return func(r edge.Request) {
		requests.WithLabelValues(string(r.Protocol), r.Route, r.Method, strconv.Itoa(r.Status)).Observe(r.Duration.Seconds())
		if r.Code != "" {
			refusals.WithLabelValues(r.Code).Inc()
		}
		if r.Limit != "" {
			limits.WithLabelValues(r.Limit).Inc()
		}
	}
}

// addLoad registers the metrics of the server's load and of the public listener's connections.
func (s *Server) addLoad(into prometheus.Registerer) {
	add := promauto.With(into)
	gauge := func(name, help string, value func() float64) {
		add.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value)
	}
	counter := func(name, help string, value func() float64) {
		add.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, value)
	}
	gauge("storefront_requests_running", "Requests that have a slot, on both listeners.",
		func() float64 { return float64(s.slots.Load().Running) })
	gauge("storefront_requests_waiting", "Requests that wait for a slot, on both listeners.",
		func() float64 { return float64(s.slots.Load().Waiting) })
	counter("storefront_requests_shed_total", "Requests that were refused because they got no slot in time, on both listeners.",
		func() float64 { return float64(s.slots.Load().Refused) })
	gauge("storefront_connections_open", "Connections to the public API that are open.",
		func() float64 { open, _ := s.public.Connections(); return float64(open) })
	counter("storefront_connections_refused_total", "Connections to the public API that were closed at once, because too many "+
		"were open.",
		func() float64 { _, refused := s.public.Connections(); return float64(refused) })
	if s.usage != nil {
		counter("storefront_request_log_dropped_total",
			"Requests that are missing from the dashboard's log of requests: there was no room in memory, or they could not be written.",
			func() float64 { return float64(s.usage.Dropped()) })
	}
}

var expiryDesc = prometheus.NewDesc("storefront_certificate_expires_timestamp_seconds",
	"When the certificate of a name of the public listener ends; 0 while there is none.", []string{"name"}, nil)

// certificateExpiries collects the ends of certificates; none without TLS.
type certificateExpiries struct{ source *certificate.Source }

func (certificateExpiries) Describe(all chan<- *prometheus.Desc) { all <- expiryDesc }

func (c certificateExpiries) Collect(all chan<- prometheus.Metric) {
	if c.source == nil {
		return
	}
	for name, at := range c.source.Expiries() {
		ends := 0.0
		if !at.IsZero() {
			ends = float64(at.Unix())
		}
		all <- prometheus.MustNewConstMetric(expiryDesc, prometheus.GaugeValue, ends, name)
	}
}
