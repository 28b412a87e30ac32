package admin

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"go.storefront.example/ent/db"
)

// watchPosition is a place in the order of a database's commits.
//
//	PostgreSQL  a snapshot: an event is new if the snapshot does not see its transaction, so that no late commit is missed
//	SQLite      the last event's row: one transaction at a time writes, and a later event has a higher row number
//
// After a restoration or a move to another node, the events of the last seconds may be sent a second time.
type watchPosition struct {
	// earliest is the earliest of the database's times at the reads shortly before the position.
	earliest time.Time
	// mark is the snapshot XMIN:XMAX:XIP,XIP… or the row NUMBER/ID. It is empty before the first.
	mark string
}

// String returns the position as a client gets it.
func (p watchPosition) String() string {
	return fmt.Sprintf("%d.%s", p.earliest.UnixMilli(), p.mark)
}

func parsePosition(d *db.DB, text string) (*watchPosition, bool) {
	earliest, mark, ok := strings.Cut(text, ".")
	at, err := strconv.ParseInt(earliest, 10, 48)
	if !ok || err != nil {
		return nil, false
	}
	p := &watchPosition{time.UnixMilli(at).UTC(), mark}
	if db.ByDialect(d, true, false) {
		_, _, err = p.snapshot()
	} else {
		_, _, err = p.row()
	}
	return p, err == nil
}

// snapshot reads the mark on PostgreSQL. The snapshot sees no transaction from the number next on, and none of those that were
// running, an array.
func (p watchPosition) snapshot() (next int64, running string, err error) {
	if p.mark == "" {
		return 0, "{}", nil
	}
	parts := strings.Split(p.mark, ":")
	if len(parts) != 3 {
		return 0, "", strconv.ErrSyntax
	}
	if next, err = strconv.ParseInt(parts[1], 10, 64); err != nil || parts[2] == "" {
		return next, "{}", err
	}
	for number := range strings.SplitSeq(parts[2], ",") {
		if _, err := strconv.ParseInt(number, 10, 64); err != nil {
			return 0, "", err
		}
	}
	return next, "{" + parts[2] + "}", nil
}

// row reads the mark on SQLite.
func (p watchPosition) row() (number int64, id uuid.UUID, err error) {
	if p.mark == "" {
		return 0, uuid.Nil, nil
	}
	before, after, _ := strings.Cut(p.mark, "/")
	if number, err = strconv.ParseInt(before, 10, 64); err == nil {
		id, err = uuid.Parse(after)
	}
	return number, id, err
}

// watchPostgres returns the current snapshot, the time, and the ids of new events or null. xmin has the lower 32 bits of the
// number of the transaction that wrote the row. If the snapshot is of another database, all events of the last seconds are new.
const watchPostgres = `WITH seen AS MATERIALIZED (
 SELECT s::text AS snapshot, pg_snapshot_xmax(s)::text::bigint AS next, COALESCE($2::timestamptz, now()) AS at FROM pg_current_snapshot() AS s)
SELECT seen.snapshot, seen.at, e.id FROM seen LEFT JOIN LATERAL (
 SELECT e.id, e.created_at, seen.next - ((seen.next - e.xmin::text::bigint) & 4294967295) AS writer FROM events e
 WHERE e.store_id = $1 AND e.created_at >= LEAST($3::timestamptz, seen.at) - $4::bigint * interval '1 millisecond'
) e ON $5::bigint > seen.next OR e.writer >= $5::bigint OR e.writer = ANY ($6::bigint[])
ORDER BY e.created_at, e.id`

func (w *watch) postgresArgs() ([]any, error) {
	next, running, err := w.position.snapshot()
	var earliest any
	if len(w.times) > 0 {
		earliest = w.earliest(w.times[0].database)
	}
	return []any{w.store, w.db.TimeArg(), earliest, watchOverlap.Milliseconds(), next, running}, err
}

// watchSQLite returns the last event's row, null, and the ids of new events or null. If the row of the position is gone, its
// number may be another row's, so all events of the last seconds are new.
const watchSQLite = `SELECT COALESCE((SELECT rowid || '/' || id FROM events ORDER BY rowid DESC LIMIT 1), ''), NULL, e.id
FROM (SELECT 1) LEFT JOIN (
 SELECT id, created_at FROM events WHERE store_id = $1 AND created_at >= $2
  AND (rowid > $3 OR NOT EXISTS (SELECT 1 FROM events WHERE rowid = $3 AND id = $4))
) e ON true ORDER BY e.created_at, e.id`

func (w *watch) sqliteArgs() ([]any, error) {
	number, id, err := w.position.row()
	return []any{w.store, w.earliest(w.db.Now()).Add(-watchOverlap), number, id}, err
}
