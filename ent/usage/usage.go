// Package usage counts the use of keys and webhooks for a store's owner: how many requests of a key a day, and attempts of a
// webhook an hour, succeeded and failed. It also lists the refused requests of a key.
//
//	request, attempt ──► Recorder: memory, bounded ──every flushEvery──► tallies, refused_requests ──► pages
//
// No request waits for the database: uses that do not fit into memory are dropped, and the drops counted. A killed process
// loses its uses since the last flush. A key has at most MaxRefusedPerKey refused requests in the database; the worker's sweep
// deletes them after Retention, and the tallies after TallyRetention.
//
// It stores no body, no value and no address of a request.
package usage

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	entsql "entgo.io/ent/dialect/sql"
	"github.com/google/uuid"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/id"
)

const (
	// Retention is how long refused requests are kept.
	Retention = 7 * 24 * time.Hour
	// TallyRetention is how long tallies are kept.
	TallyRetention = 8 * 24 * time.Hour
	// MaxRefusedPerKey is how many of a key's refused requests are kept: the newest.
	MaxRefusedPerKey = 200

	// Hour is the length of a webhook's tally, which begins at a whole hour.
	Hour = time.Hour
	// Day is the length of an API key's tally, which begins at midnight in UTC.
	Day = 24 * time.Hour
)

const (
	// flushEvery is not shorter, because it would keep the only writer of SQLite busier.
	flushEvery   = 5 * time.Second
	flushTimeout = 5 * time.Second
	// maxBuffered and maxBufferedPerKey bound the refused requests in memory, and maxTallies the counts.
	maxBuffered       = 5000
	maxBufferedPerKey = 20
	maxTallies        = 50000
	batchSize         = 500
	// maxFields is how many names of refused fields are stored of one request at most.
	maxFields = 20
)

var (
	//go:embed postgres.sql
	postgresSQL string
	//go:embed sqlite.sql
	sqliteSQL string

	postgres, sqlite = db.Statements(postgresSQL), db.Statements(sqliteSQL)
)

// Refused is one refused request.
type Refused struct {
	StoreID   uuid.UUID `json:"store_id"`
	KeyID     uuid.UUID `json:"key_id"`
	RequestID uuid.UUID `json:"request_id"`
	Method    string    `json:"method"`
	Route     string    `json:"route"`
	Code      string    `json:"code"`
	Status    int       `json:"status"`
	// Fields are names of the API, and never invented by a caller, because nobody erases them.
	Fields []string  `json:"-"`
	At     time.Time `json:"-"`
}

type subject struct {
	store, id uuid.UUID
	began     int64 // Unix milliseconds
}

type count struct{ succeeded, failed, millis int64 }

// Recorder counts uses and writes them every flushEvery. Goroutines may share it.
type Recorder struct {
	db  *db.DB
	log *slog.Logger
	// dropped is the number of uses that did not fit into memory.
	dropped atomic.Int64

	mu      sync.Mutex
	tallies map[subject]count
	refused []Refused
	perKey  map[uuid.UUID]int
}

// New returns a recorder that writes to d while the caller runs Run.
func New(d *db.DB, log *slog.Logger) *Recorder {
	return &Recorder{db: d, log: log, tallies: map[subject]count{}, perKey: map[uuid.UUID]int{}}
}

// Dropped returns how many uses memory had no room for.
func (l *Recorder) Dropped() int64 { return l.dropped.Load() }

// Count adds one use, of duration, of the key or webhook subjectID to the period that contains at.
func (l *Recorder) Count(storeID, subjectID uuid.UUID, at time.Time, period time.Duration, succeeded bool,
	duration time.Duration) {
	c := count{millis: duration.Milliseconds()}
	if succeeded {
		c.succeeded = 1
	} else {
		c.failed = 1
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.add(subject{storeID, subjectID, at.Truncate(period).UnixMilli()}, c)
}

// add drops c if memory has no room for another count. The caller holds the lock.
func (l *Recorder) add(s subject, c count) {
	sum, known := l.tallies[s]
	if !known && len(l.tallies) >= maxTallies {
		l.dropped.Add(c.succeeded + c.failed)
		return
	}
	l.tallies[s] = count{sum.succeeded + c.succeeded, sum.failed + c.failed, sum.millis + c.millis}
}

// Refuse records a refused request.
func (l *Recorder) Refuse(r Refused) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.refused) >= maxBuffered || l.perKey[r.KeyID] >= maxBufferedPerKey {
		l.dropped.Add(1)
		return
	}
	r.Fields = r.Fields[:min(len(r.Fields), maxFields)]
	l.perKey[r.KeyID]++
	l.refused = append(l.refused, r)
}

// Run writes until the context ends, and then once more. It returns the error of that last write and logs earlier ones.
func (l *Recorder) Run(ctx context.Context) error {
	ticker := time.NewTicker(flushEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return l.Flush(context.WithoutCancel(ctx))
		case <-ticker.C:
		}
		if err := l.Flush(ctx); err != nil && ctx.Err() == nil {
			l.log.WarnContext(ctx, "write the use of keys and webhooks", "error", err)
		}
	}
}

// Flush writes all recorded uses. If it fails, the counts stay for the next Flush, and the refused requests are lost.
func (l *Recorder) Flush(ctx context.Context) error {
	l.mu.Lock()
	tallies, refused := l.tallies, l.refused
	l.tallies, l.refused, l.perKey = map[subject]count{}, nil, map[uuid.UUID]int{}
	l.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, flushTimeout)
	defer cancel()
	return errors.Join(l.writeTallies(ctx, tallies), l.writeRefused(ctx, refused))
}

// writeTallies writes in the order that all processes use, so that no two deadlock.
func (l *Recorder) writeTallies(ctx context.Context, tallies map[subject]count) error {
	type row struct {
		ID        uuid.UUID `json:"id"`
		StoreID   uuid.UUID `json:"store_id"`
		SubjectID uuid.UUID `json:"subject_id"`
		BeganAt   int64     `json:"began_at"`
		Succeeded int64     `json:"succeeded"`
		Failed    int64     `json:"failed"`
		Millis    int64     `json:"millis"`
	}
	order := slices.SortedFunc(maps.Keys(tallies), func(a, b subject) int {
		return cmp.Or(bytes.Compare(a.store[:], b.store[:]), bytes.Compare(a.id[:], b.id[:]), cmp.Compare(a.began, b.began))
	})
	for len(order) > 0 {
		part := order[:min(len(order), batchSize)]
		rows := make([]row, len(part))
		for i, s := range part {
			c := tallies[s]
			rows[i] = row{id.At(time.UnixMilli(s.began)), s.store, s.id, s.began, c.succeeded, c.failed, c.millis}
		}
		if err := write(ctx, l.db, "add tallies", rows); err != nil {
			l.mu.Lock()
			defer l.mu.Unlock()
			for _, s := range order {
				l.add(s, tallies[s])
			}
			return err
		}
		order = order[len(part):]
	}
	return nil
}

// writeRefused deletes the oldest requests of each key that has more than MaxRefusedPerKey.
func (l *Recorder) writeRefused(ctx context.Context, refused []Refused) error {
	type row struct {
		Refused
		ID     uuid.UUID `json:"id"`
		Fields string    `json:"fields"`
		At     int64     `json:"at"`
	}
	for len(refused) > 0 {
		part := refused[:min(len(refused), batchSize)]
		rows := make([]row, len(part))
		for i, r := range part {
			rows[i] = row{r, id.At(r.At), strings.Join(r.Fields, "\n"), r.At.UnixMilli()}
		}
		err := write(ctx, l.db, "add refused", rows)
		if err == nil {
			err = write(ctx, l.db, "trim refused", rows)
		}
		if err != nil {
			l.dropped.Add(int64(len(refused)))
			return err
		}
		refused = refused[len(part):]
	}
	return nil
}

func write[Row any](ctx context.Context, d *db.DB, statement string, rows []Row) error {
	set, err := json.Marshal(rows)
	if err == nil {
		_, err = d.Writer().ExecContext(ctx, db.ByDialect(d, postgres, sqlite)[statement], string(set))
	}
	if err != nil {
		return fmt.Errorf("write usage: %w", err)
	}
	return nil
}

// Tally counts the successes and failures of one API key or webhook in one period.
type Tally struct {
	SubjectID         uuid.UUID
	BeganAt           time.Time
	Succeeded, Failed int64
	// Duration is the sum of the durations of the successes and failures.
	Duration time.Duration
}

// Tallies lists the tallies whose periods began at since or later, oldest first.
func Tallies(ctx context.Context, d *db.DB, storeID uuid.UUID, subjects []uuid.UUID, since time.Time) ([]Tally, error) {
	selector := entsql.Dialect(d.Dialect()).Select("subject_id", "began_at", "succeeded", "failed", "duration_ms").
		From(entsql.Table("tallies")).Where(entsql.And(entsql.EQ("store_id", storeID), entsql.GTE("began_at", since))).OrderBy(
		"began_at")
	entsql.FieldIn("subject_id", subjects...)(selector)
	query, args := selector.Query()
	all := []Tally{}
	for row := range db.Rows(ctx, d.Reader(), query, args...) {
		var t Tally
		var millis int64
		if err := row.Scan(&t.SubjectID, &t.BeganAt, &t.Succeeded, &t.Failed, &millis); err != nil {
			return nil, fmt.Errorf("read usage: %w", err)
		}
		t.Duration = time.Duration(millis) * time.Millisecond
		all = append(all, t)
	}
	return all, nil
}

// RefusedOf returns at most limit refused requests of a key, newest first.
func RefusedOf(ctx context.Context, d *db.DB, storeID, keyID uuid.UUID, limit int) ([]Refused, error) {
	all := []Refused{}
	for row := range db.Rows(ctx, d.Reader(), `SELECT store_id, key_id, request_id, method, route, code, status, fields, created_at
 FROM refused_requests WHERE store_id = $1 AND key_id = $2 AND created_at >= $3 ORDER BY id DESC LIMIT $4`,
		storeID, keyID, d.Now().Add(-Retention), limit) {
		var r Refused
		var fields string
		err := row.Scan(&r.StoreID, &r.KeyID, &r.RequestID, &r.Method, &r.Route, &r.Code, &r.Status, &fields, &r.At)
		if err != nil {
			return nil, fmt.Errorf("read refused requests: %w", err)
		}
		r.Fields = strings.FieldsFunc(fields, func(c rune) bool { return c == '\n' })
		all = append(all, r)
	}
	return all, nil
}
