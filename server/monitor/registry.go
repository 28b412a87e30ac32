package monitor

import (
	"log/slog"
	"runtime/debug"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/queue"
)

// NewRegistry returns the metrics of every process: of the Go runtime, the process, its version and clock, the connection
// pools, and the backlog of deliveries. A server and a worker in one process share it.
func NewRegistry(d *db.DB, log *slog.Logger) *prometheus.Registry {
	r := prometheus.NewRegistry()
	version := "(devel)"
	if build, ok := debug.ReadBuildInfo(); ok && build.Main.Version != "" {
		version = build.Main.Version
	}
	r.MustRegister(
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		collectors.NewDBStatsCollector(d.Reader(), "read"),
		queue.NewCollector(d, log),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "storefront_clock_offset_seconds",
			Help: "How far this process's clock is ahead of the database's, negative when behind; 0 on SQLite.",
		}, func() float64 { return d.ClockOffset().Seconds() }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "storefront_info", Help: "Always 1; the label is the version.", ConstLabels: prometheus.Labels{"version": version},
		}, func() float64 { return 1 }),
	)
	if d.Writer() != d.Reader() {
		r.MustRegister(collectors.NewDBStatsCollector(d.Writer(), "write"))
	}
	return r
}
