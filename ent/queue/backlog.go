package queue

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/fanout"
	"go.storefront.example/ent/id"
	"go.storefront.example/ent/notice"
)

// maxCounted is the highest count, because counting all rows would be slow.
const maxCounted = 10000

// Backlog is the work that waits in a database.
type Backlog struct {
	// Lag is for how long a delivery has been due for its first attempt although it is the next of its webhook and no worker
	// makes the attempt; 0 if there is none.
	Lag time.Duration
	// FirstAttempts waits for, or is in, its first attempt, up to maxCounted. Cancelled deliveries do not count.
	FirstAttempts int
	// Retries waits for, or is in, another attempt, up to maxCounted.
	Retries int
	// NoticesFailing is for how long notices have failed to arrive; 0 if they arrive.
	NoticesFailing time.Duration
	// ForgettingsFailing counts unfinished erasures whose last step failed.
	ForgettingsFailing int
	// BackupAge is that of the last verified backup of a SQLite file, or of the database; nil on PostgreSQL, which has its own
	// backups.
	BackupAge *time.Duration
	// Snapshots is nil on SQLite.
	Snapshots *Snapshots
}

// MarkBackup stores when a verified backup of a SQLite file began.
func MarkBackup(ctx context.Context, tx fanout.Tx, began time.Time) error {
	_, err := sqlite.exec(ctx, tx, "mark backup", began)
	return wrap("note the time of a backup", err)
}

// ReadBacklog reads only indexes.
func ReadBacklog(ctx context.Context, d *db.DB) (Backlog, error) {
	var b Backlog
	var err error
	if b.Lag, err = readLag(ctx, d); err != nil {
		return Backlog{}, err
	}
	if err := d.Reader().QueryRowContext(ctx, dialectOf(d).statements["backlog"]).Scan(&b.FirstAttempts, &b.Retries); err != nil {
		return Backlog{}, wrap("read the backlog", err)
	}
	if err := d.Reader().QueryRowContext(ctx, shared["forgettings failing"]).Scan(&b.ForgettingsFailing); err != nil {
		return Backlog{}, wrap("count failing forgettings", err)
	}
	if dialect := dialectOf(d); dialect.singleWriter {
		var last int64
		if err := d.Reader().QueryRowContext(ctx, dialect.statements["last backup"]).Scan(&last); err != nil {
			return Backlog{}, wrap("read the time of the last backup", err)
		}
		b.BackupAge = new(max(0, d.Now().Sub(time.UnixMilli(last))))
	}
	if b.Snapshots, err = ReadSnapshots(ctx, d); err != nil {
		return Backlog{}, err
	}
	if b.NoticesFailing, err = notice.FailingFor(ctx, d); err != nil {
		return Backlog{}, err
	}
	return b, nil
}

func readLag(ctx context.Context, d *db.DB) (lag time.Duration, err error) {
	dialect := dialectOf(d)
	var due storedTime
	if err := d.Reader().QueryRowContext(ctx, dialect.statements["longest due"], d.TimeArg()).Scan(&due); err != nil {
		return 0, wrap("read since when deliveries are due", err)
	}
	if due.at != nil {
		lag = max(0, d.Now().Sub(*due.at))
	}
	if dialect.relays {
		var event uuid.NullUUID
		if err := d.Reader().QueryRowContext(ctx, dialect.statements["oldest relayed later"]).Scan(&event); err != nil {
			return 0, wrap("read the outbox", err)
		}
		if event.Valid {
			lag = max(lag, d.Now().Sub(id.Time(event.UUID)))
		}
	}
	return lag, nil
}

const (
	// collectEvery is how long a reading is reused, so that frequent scrapes do not load the database.
	collectEvery = 5 * time.Second
	// collectTimeout keeps a slow database from delaying the scrape.
	collectTimeout = time.Second
)

const helpSuffix = " Read from the database: every server and worker on it reports the same value, " +
	"so take the max and do not add."

var (
	lagDesc = prometheus.NewDesc("storefront_delivery_lag_seconds",
		"For how long the next delivery of a webhook has been due without an attempt; 0 if none is."+helpSuffix, nil, nil)
	waitingDesc = prometheus.NewDesc("storefront_deliveries_waiting",
		"Deliveries that wait for their first attempt or for a retry, or are in it, counted up to 10000 each."+helpSuffix,
		[]string{"attempt"}, nil)
	noticesDesc = prometheus.NewDesc("storefront_notices_failing_seconds",
		"For how long the address of notices has accepted none; 0 if it does."+helpSuffix, nil, nil)
	forgettingsDesc = prometheus.NewDesc("storefront_forgettings_failing",
		"Customers who are still to be forgotten because the last step of that failed; each is tried again."+helpSuffix, nil, nil)
	backupDesc = prometheus.NewDesc("storefront_backup_age_seconds",
		"Age of the last verified backup of a SQLite database; without one, of the database."+helpSuffix, nil, nil)
	snapshotDesc = prometheus.NewDesc("storefront_snapshot_age_seconds",
		"Age of the oldest snapshot of PostgreSQL that a session or a prepared transaction holds open; 0 if there is none."+helpSuffix, nil, nil)
	deadRowsDesc = prometheus.NewDesc("storefront_dead_rows",
		"About how many dead rows of deliveries and row deltas PostgreSQL keeps."+helpSuffix, nil, nil)
)

// Collector exposes the backlog as Prometheus metrics. Goroutines may share it.
type Collector struct {
	db   *db.DB
	log  *slog.Logger
	read func(context.Context, *db.DB) (Backlog, error)

	mu   sync.Mutex
	last Backlog
	err  error
	at   time.Time
}

var _ prometheus.Collector = (*Collector)(nil)

// NewCollector returns a collector that, while the database cannot be read, returns no metrics and logs the error.
func NewCollector(d *db.DB, log *slog.Logger) *Collector {
	return &Collector{db: d, log: log, read: ReadBacklog}
}

// Describe implements prometheus.Collector.
func (c *Collector) Describe(ch chan<- *prometheus.Desc) {
	ch <- lagDesc
	ch <- waitingDesc
	ch <- noticesDesc
	ch <- forgettingsDesc
	ch <- backupDesc
	ch <- snapshotDesc
	ch <- deadRowsDesc
}

// Collect implements prometheus.Collector.
func (c *Collector) Collect(ch chan<- prometheus.Metric) {
	b, err := c.backlog(time.Now())
	if err != nil {
		return
	}
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	gauge(lagDesc, b.Lag.Seconds())
	gauge(waitingDesc, float64(b.FirstAttempts), "first")
	gauge(waitingDesc, float64(b.Retries), "retry")
	gauge(noticesDesc, b.NoticesFailing.Seconds())
	gauge(forgettingsDesc, float64(b.ForgettingsFailing))
	if b.BackupAge != nil {
		gauge(backupDesc, b.BackupAge.Seconds())
	}
	if b.Snapshots != nil {
		gauge(snapshotDesc, b.Snapshots.Oldest().Seconds())
		gauge(deadRowsDesc, float64(b.Snapshots.DeadRows))
	}
}

// backlog returns the last reading unless it is older than collectEvery.
func (c *Collector) backlog(now time.Time) (Backlog, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.at.IsZero() && now.Sub(c.at) < collectEvery {
		return c.last, c.err
	}
	ctx, cancel := context.WithTimeout(context.Background(), collectTimeout)
	defer cancel()
	c.last, c.err = c.read(ctx, c.db)
	c.at = now
	if c.err != nil {
		c.log.WarnContext(ctx, "backlog not read", "error", c.err)
	}
	return c.last, c.err
}
