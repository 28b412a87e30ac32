package queue

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"go.storefront.example/ent/db"
)

const (
	// collectEvery is how long a look at the backlog is told again before there is another: scrapers
	// may come as often as they like.
	collectEvery = 5 * time.Second
	// collectTimeout bounds a look, so that a database that is slow does not hold the scrape up.
	collectTimeout = time.Second
)

// shared ends the HELP of what is read from the database.
const shared = " Read from the database: every server and worker on it tells the same, so take the max and do not add."

var (
	lagDesc = prometheus.NewDesc("storefront_outbox_lag_seconds",
		"Age of the oldest event that no worker has taken from the outbox."+shared, nil, nil)
	rowsDesc = prometheus.NewDesc("storefront_outbox_rows",
		"Events in the outbox, counted up to 10000."+shared, nil, nil)
	waitingDesc = prometheus.NewDesc("storefront_deliveries_waiting",
		"Deliveries that wait for their first attempt or for a retry, or are in it, counted up to 10000 each."+shared, []string{"attempt"}, nil)
)

// Collector is the backlog of a database as Prometheus metrics. Goroutines may share it.
type Collector struct {
	store *db.DB
	log   *slog.Logger
	read  func(context.Context, *db.DB) (Backlog, error)

	mu   sync.Mutex
	last Backlog
	err  error
	at   time.Time
}

var _ prometheus.Collector = (*Collector)(nil)

// NewCollector returns the metrics of a database's backlog. While the database cannot be asked they
// are not there, which the log tells.
func NewCollector(s *db.DB, log *slog.Logger) *Collector {
	return &Collector{store: s, log: log, read: ReadBacklog}
}

// Describe implements prometheus.Collector.
func (c *Collector) Describe(into chan<- *prometheus.Desc) {
	into <- lagDesc
	into <- rowsDesc
	into <- waitingDesc
}

// Collect implements prometheus.Collector.
func (c *Collector) Collect(into chan<- prometheus.Metric) {
	b, err := c.look(time.Now())
	if err != nil {
		return
	}
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		into <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	gauge(lagDesc, b.Lag.Seconds())
	gauge(rowsDesc, float64(b.Outbox))
	gauge(waitingDesc, float64(b.First), "first")
	gauge(waitingDesc, float64(b.Retries), "retry")
}

// look reads the backlog, unless that was done a moment ago.
func (c *Collector) look(now time.Time) (Backlog, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.at.IsZero() && now.Sub(c.at) < collectEvery {
		return c.last, c.err
	}
	ctx, cancel := context.WithTimeout(context.Background(), collectTimeout)
	defer cancel()
	c.last, c.err = c.read(ctx, c.store)
	c.at = now
	if c.err != nil {
		c.log.WarnContext(ctx, "backlog not read", "error", c.err)
	}
	return c.last, c.err
}
