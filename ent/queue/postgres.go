package queue

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"go.storefront.example/ent/db"
)

// Settings are what a worker's connections to PostgreSQL should have. The tables are mostly empty when
// PostgreSQL gathers statistics and plans statements, and in an empty table every plan costs the same,
// also one that is ruinous in a full table. So settings and statements leave it one plan only: LATERAL
// with a LIMIT looks up each row alone; a range of one id, in the order of ids, makes it use the
// id's index; and the row is then changed by its ctid.
func Settings() map[string]string {
	return map[string]string{
		"enable_seqscan": "off", "enable_bitmapscan": "off", "enable_hashjoin": "off", "enable_mergejoin": "off", "jit": "off",
		// Where one index has the order, another one and a sort are never cheaper.
		"enable_sort": "off", "enable_incremental_sort": "off",
	}
}

func setLocally() string {
	var set strings.Builder
	for _, name := range slices.Sorted(maps.Keys(Settings())) {
		fmt.Fprintf(&set, "SET LOCAL %s = %s;", name, Settings()[name])
	}
	return set.String()
}

// present is the time of the database's clock, unless the db.DB has a clock of its own.
const present = `COALESCE($1::timestamptz, now())`

// held selects and locks the rows that still have the lease. A locked row keeps its ctid until the end
// of the statement.
const held = `held AS (
 SELECT d.place, r.* FROM r CROSS JOIN LATERAL (SELECT ctid AS place FROM deliveries
  WHERE id >= r.id AND id <= r.id AND lease = r.lease ORDER BY id LIMIT 1 FOR UPDATE) d)`

// markStatement marks the webhooks that meet a condition, and returns those of them that it skipped
// because their rows are locked.
func markStatement(since, condition string) string {
	row := " FROM webhooks WHERE id >= r.id AND id <= r.id AND " + condition + " ORDER BY id LIMIT 1"
	return `WITH r AS (SELECT value::uuid AS id FROM jsonb_array_elements_text($2::jsonb)),
asked AS (SELECT w.id FROM r CROSS JOIN LATERAL (SELECT id` + row + `) w),
free AS (SELECT w.id, w.place FROM asked r CROSS JOIN LATERAL (SELECT id, ctid AS place` + row + ` FOR UPDATE SKIP LOCKED) w),
marked AS (UPDATE webhooks w SET failing_since = ` + since + ` FROM free f WHERE w.ctid = f.place)
SELECT id FROM asked EXCEPT SELECT id FROM free`
}

// markedSince is the present as the column has it.
const markedSince = "date_trunc('milliseconds', " + present + ")"

var postgres = &dialect{
	moment:     "COALESCE($%d::timestamptz, now())",
	later:      present + " + $2::bigint * interval '1 millisecond'",
	forUpdate:  " FOR UPDATE",
	skipLocked: " FOR UPDATE SKIP LOCKED",
	planSafely: setLocally(),
	leftover:   "_default", // whole days are dropped

	// The order of a store's webhooks is that of their index by store. Without it the planner might read
	// the whole primary key, in which the id precedes the store.
	take: `WITH taken AS (
 DELETE FROM outbox WHERE id = ANY (ARRAY(SELECT id FROM outbox WHERE id > $1 ORDER BY id LIMIT $2 FOR UPDATE SKIP LOCKED))
 RETURNING id, event_id, store_id, type)
SELECT t.id, t.event_id, t.store_id, t.type, w.id, w.url, w.secret, w.secret_key, w.epoch, w.epoch_since, e.payload, e.request_id, e.trace
 FROM taken t
 LEFT JOIN LATERAL (SELECT * FROM webhooks w WHERE w.store_id = t.store_id AND w.enabled AND w.events ? t.type
  ORDER BY w.created_at, w.id OFFSET 0) w ON true
 LEFT JOIN LATERAL (SELECT payload, request_id, trace FROM events
  WHERE id >= t.event_id AND id <= t.event_id AND store_id = t.store_id ORDER BY id LIMIT 1) e ON true
 ORDER BY t.id, w.id`,

	insert: `INSERT INTO deliveries
 (id, store_id, webhook_id, event_id, event_type, retry, due_at, lease, attempts, created_at, epoch)
SELECT r.id, r.store_id, r.webhook_id, r.event_id, r.event_type, false,
 GREATEST(` + present + `, CASE WHEN r.epoch IS NULL THEN (SELECT w.epoch_since FROM webhooks w WHERE w.id = r.webhook_id) ELSE r.since END)
  + CASE WHEN r.lease IS NULL THEN 0 ELSE $2::bigint END * interval '1 millisecond',
 r.lease, '[]', $3, COALESCE(r.epoch, (SELECT w.epoch FROM webhooks w WHERE w.id = r.webhook_id), 0)
 FROM jsonb_to_recordset($4::jsonb) AS r(id uuid, store_id uuid, webhook_id uuid, event_id uuid, event_type text, lease uuid, epoch bigint, since timestamptz)`,

	// The index of due times has what became due in a span.
	dueSince: `SELECT n.at, d.store_id, d.webhook_id, d.retry, NULL::timestamptz FROM (SELECT ` + present + ` AS at) n LEFT JOIN (
 SELECT DISTINCT store_id, webhook_id, retry FROM (
  SELECT store_id, webhook_id, retry FROM deliveries WHERE due_at > $2 AND due_at <= ` + present + ` ORDER BY due_at OFFSET 0) s
 ) d ON true`,

	// Lanes are found by jumping along their index from the first row of one to the first of the next,
	// however many rows each has.
	due: `WITH RECURSIVE lanes AS (
 (SELECT store_id, webhook_id, retry, due_at FROM deliveries ORDER BY store_id, webhook_id, retry, due_at LIMIT 1)
 UNION ALL
 SELECT n.* FROM lanes l CROSS JOIN LATERAL (
  SELECT d.store_id, d.webhook_id, d.retry, d.due_at FROM deliveries d
  WHERE (d.store_id, d.webhook_id, d.retry) > (l.store_id, l.webhook_id, l.retry)
  ORDER BY d.store_id, d.webhook_id, d.retry, d.due_at LIMIT 1) n)
SELECT n.at, d.* FROM (SELECT ` + present + ` AS at) n LEFT JOIN (SELECT * FROM lanes WHERE due_at <= ` + present + `) d ON true`,

	end: []string{`WITH r AS (
 SELECT * FROM jsonb_to_recordset($2::jsonb) AS r(id uuid, lease uuid, status text, attempts text)),
` + held + `,
gone AS (
 DELETE FROM deliveries d USING held h WHERE d.ctid = h.place
 RETURNING d.id, d.store_id, d.webhook_id, d.event_id, d.event_type, h.status, h.attempts, d.created_at)
INSERT INTO finished_deliveries (id, store_id, webhook_id, event_id, event_type, status, attempts, created_at, finished_at)
SELECT id, store_id, webhook_id, event_id, event_type, status, convert_to(attempts, 'UTF8'), created_at, $1 FROM gone`},

	wait: `WITH r AS (
 SELECT * FROM jsonb_to_recordset($2::jsonb) AS r(id uuid, lease uuid, attempts text, delay bigint)),
` + held + `
UPDATE deliveries d SET retry = true, lease = NULL, attempts = convert_to(h.attempts, 'UTF8'),
 due_at = ` + present + ` + h.delay * interval '1 millisecond'
 FROM held h WHERE d.ctid = h.place`,

	release: `WITH r AS (SELECT * FROM jsonb_to_recordset($2::jsonb) AS r(id uuid, lease uuid)),
` + held + `
UPDATE deliveries d SET lease = NULL, due_at = ` + present + ` FROM held h WHERE d.ctid = h.place`,

	health: `SELECT id, COALESCE(failing_since <= ` + present + ` - $2::bigint * interval '1 millisecond', false), epoch
 FROM webhooks WHERE enabled AND id IN (SELECT value::uuid FROM jsonb_array_elements_text($3::jsonb))`,
	relapsed: markStatement(markedSince, "enabled"),
	failing:  markStatement(markedSince, "enabled AND failing_since IS NULL"),
	// It names the present all the same, as PostgreSQL refuses an argument that is not used.
	healthy: markStatement("CASE WHEN false THEN "+markedSince+" END", "failing_since IS NOT NULL"),

	missed: `WITH RECURSIVE lanes AS (
 (SELECT * FROM deliveries ORDER BY store_id, webhook_id, retry, due_at LIMIT 1)
 UNION ALL
 SELECT n.* FROM lanes l CROSS JOIN LATERAL (
  SELECT * FROM deliveries d WHERE (d.store_id, d.webhook_id, d.retry) > (l.store_id, l.webhook_id, l.retry)
  ORDER BY d.store_id, d.webhook_id, d.retry, d.due_at LIMIT 1) n)
SELECT d.store_id, d.webhook_id, d.epoch FROM lanes d WHERE (d.lease IS NULL OR d.due_at <= ` + present + `)` + andMissed,

	hold: `UPDATE resends SET due_at = GREATEST(
  COALESCE($1::timestamptz, clock_timestamp()) + $2::bigint * interval '1 millisecond', due_at + interval '1 millisecond')
 WHERE id = $3 RETURNING due_at`,

	// It waits for a relay that has locked entries of the page's events, perhaps before the webhook was
	// enabled, and locks those that are left until the step commits. An event has one entry.
	keepQueued: `SELECT o.id FROM (SELECT id` + pageOfEvents + `) page CROSS JOIN LATERAL (SELECT id FROM outbox
 WHERE store_id = $1 AND event_id >= page.id AND event_id <= page.id ORDER BY event_id LIMIT 1 FOR SHARE) o`,

	webhookOf: "LATERAL (SELECT w.id FROM webhooks w WHERE w.store_id = d.store_id AND w.id = d.webhook_id AND " + current + " LIMIT 1) w ON true",
	ended:     endedPostgres,

	// The oldest entry has the id of its event, which contains the time. Deliveries are counted lane by
	// lane, so that first attempts and retries do not read each other's rows, nor those that became due
	// before their webhook was disabled.
	backlog: `WITH RECURSIVE lanes AS (
 (SELECT store_id, webhook_id FROM deliveries ORDER BY store_id, webhook_id LIMIT 1)
 UNION ALL
 SELECT n.store_id, n.webhook_id FROM lanes l CROSS JOIN LATERAL (
  SELECT d.store_id, d.webhook_id FROM deliveries d
  WHERE (d.store_id, d.webhook_id) > (l.store_id, l.webhook_id) ORDER BY d.store_id, d.webhook_id LIMIT 1) n),
live AS (
 SELECT l.*, w.since FROM lanes l CROSS JOIN LATERAL (
  SELECT COALESCE(w.epoch_since, '-infinity') AS since FROM webhooks w
  WHERE w.store_id = l.store_id AND w.id = l.webhook_id AND w.enabled LIMIT 1) w)
SELECT (SELECT event_id FROM outbox ORDER BY id LIMIT 1),
 (SELECT count(*) FROM (SELECT id FROM outbox ORDER BY id LIMIT 10000) o),
 (SELECT count(*) FROM (SELECT 1 FROM live l CROSS JOIN LATERAL (
  SELECT d.id FROM deliveries d WHERE d.store_id = l.store_id AND d.webhook_id = l.webhook_id AND d.retry = false AND d.due_at >= l.since
  ORDER BY d.due_at, d.id LIMIT 10000) d LIMIT 10000) f),
 (SELECT count(*) FROM (SELECT 1 FROM live l CROSS JOIN LATERAL (
  SELECT d.id FROM deliveries d WHERE d.store_id = l.store_id AND d.webhook_id = l.webhook_id AND d.retry = true AND d.due_at >= l.since
  ORDER BY d.due_at, d.id LIMIT 10000) d LIMIT 10000) r)`,

	contains: "position(lower($5::text) IN lower(convert_from(payload, 'UTF8'))) > 0",
	search:   searchPostgres,
	claim:    claimPostgres,
	movePage: movePagePostgres,
	mark:     markPostgres,
	together: func(_ context.Context, q *Queue, write func(execer) error) error { return write(q.db.Writer()) },
}

// endedPostgres selects the journal of a store in one status, newest first: below the delivery whose id is
// argument number before, or all of it if that is 0. It compares the three columns as one row, so that only
// the index with all three has the order. With equalities PostgreSQL might instead read the rows of all
// stores by id and drop the others', which takes long if the store's rows are old.
func endedPostgres(status, which string, before int) string {
	last := "<= ($1, '" + status + "', '" + uuid.Max.String() + "')"
	if before > 0 {
		last = "< ($1, '" + status + "', $" + strconv.Itoa(before) + ")"
	}
	return endedColumns + `
 WHERE (store_id, status, id) >= ($1, '` + status + `', '` + uuid.Nil.String() + `') AND (store_id, status, id) ` + last + which +
		" ORDER BY store_id DESC, status DESC, id DESC"
}

func searchPostgres(_ context.Context, q *Queue) (after int64, found bool, err error) {
	return q.outbox.start(q.db.Now()), true, nil
}

const claimStatement = `WITH want AS (
 SELECT r.store_id, r.webhook_id, r.retry, r.max, GREATEST(r.after, w.epoch_since) AS after
 FROM jsonb_to_recordset($2::jsonb) AS r(store_id uuid, webhook_id uuid, retry boolean, max integer, after timestamptz)
 CROSS JOIN LATERAL (SELECT epoch_since FROM webhooks w WHERE w.store_id = r.store_id AND w.id = r.webhook_id AND w.enabled LIMIT 1) w),
due AS (
 SELECT f.place, f.due_at FROM want CROSS JOIN LATERAL (
  SELECT d.ctid AS place, d.due_at FROM deliveries d
  WHERE d.store_id = want.store_id AND d.webhook_id = want.webhook_id AND d.retry = want.retry
   AND d.due_at >= want.after AND d.due_at <= ` + present + `
  ORDER BY d.due_at, d.id LIMIT want.max FOR UPDATE SKIP LOCKED) f),
leased AS (
 UPDATE deliveries d SET lease = gen_random_uuid(), due_at = ` + present + ` + $3::bigint * interval '1 millisecond'
 FROM due WHERE d.ctid = due.place
 RETURNING d.*, due.due_at AS was_due_at)
SELECT d.id, d.lease, d.store_id, d.webhook_id, d.retry, d.event_id, d.event_type, d.attempts, d.created_at, d.epoch, d.was_due_at,
 COALESCE(w.enabled, false), w.url, w.secret, w.secret_key, e.payload, e.request_id, e.trace
 FROM leased d
 LEFT JOIN LATERAL (SELECT * FROM webhooks w WHERE w.store_id = d.store_id AND w.id = d.webhook_id AND ` + current + ` LIMIT 1) w ON true
 LEFT JOIN LATERAL (SELECT payload, request_id, trace FROM events
  WHERE id >= d.event_id AND id <= d.event_id AND store_id = d.store_id ORDER BY id LIMIT 1) e ON true
 ORDER BY d.was_due_at, d.id`

func markPostgres(ctx context.Context, on execer, statement string, at any, webhooks []uuid.UUID) (skipped []uuid.UUID, err error) {
	if len(webhooks) == 0 {
		return nil, nil
	}
	set, err := rowset(webhooks)
	if err != nil {
		return nil, err
	}
	return idsIn(db.Rows(ctx, on, statement, at, set))
}

// wantRow is a Want as the statement reads it.
type wantRow struct {
	StoreID   uuid.UUID `json:"store_id"`
	WebhookID uuid.UUID `json:"webhook_id"`
	Retry     bool      `json:"retry"`
	Max       int       `json:"max"`
	After     time.Time `json:"after"`
}

func claimPostgres(ctx context.Context, q *Queue, wants []Want, lease time.Duration, done *Claimed) error {
	rows := make([]wantRow, len(wants))
	for i, w := range wants {
		rows[i] = wantRow{w.StoreID, w.WebhookID, w.Retry, w.Max, w.After}
		if w.After.IsZero() {
			rows[i].After = time.Unix(0, 0) // PostgreSQL does not read Go's zero time from JSON
		}
	}
	set, err := rowset(rows)
	if err != nil {
		return err
	}
	if err := done.scan(db.Rows(ctx, q.db.Writer(), claimStatement, q.db.Moment(), set, lease.Milliseconds())); err != nil {
		return err
	}
	return lookAgain(ctx, q.db.Writer(), done.Deliveries)
}

// cancelStatement reads a page along the lanes' index and then locks only the cancelled rows, so that no
// claim skips a row that this has only read.
var cancelStatement = `WITH page AS (
 SELECT d.id, d.retry, d.due_at, w.id IS NULL AS cancelled FROM (
  SELECT * FROM deliveries d WHERE d.store_id = $2 AND d.webhook_id = $3 AND (d.retry, d.due_at, d.id) > ($4, $5, $6)
  ORDER BY d.retry, d.due_at, d.id LIMIT ` + strconv.Itoa(cancelBatch) + `) d
 LEFT JOIN LATERAL (SELECT w.id FROM webhooks w WHERE w.store_id = $2 AND w.id = $3 AND ` + current + ` LIMIT 1) w ON true),
held AS (
 SELECT h.place FROM page CROSS JOIN LATERAL (SELECT ctid AS place FROM deliveries
  WHERE id >= page.id AND id <= page.id AND (lease IS NULL OR due_at <= ` + present + `) ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED) h
 WHERE page.cancelled),
gone AS (
 DELETE FROM deliveries d USING held h WHERE d.ctid = h.place
 RETURNING d.id, d.store_id, d.webhook_id, d.event_id, d.event_type, d.attempts, d.created_at, d.epoch),
moved AS (
 INSERT INTO finished_deliveries (id, store_id, webhook_id, event_id, event_type, status, attempts, created_at, finished_at)
 SELECT id, store_id, webhook_id, event_id, event_type, 'cancelled', attempts, created_at, GREATEST(created_at, COALESCE(` + cancelledAt + `, $7))
 FROM gone d)
SELECT (SELECT count(*) FROM page), (SELECT count(*) FROM page WHERE cancelled), (SELECT count(*) FROM gone), retry, due_at, id
 FROM page ORDER BY retry DESC, due_at DESC, id DESC LIMIT 1`

func movePagePostgres(ctx context.Context, tx *sql.Tx, now any, c cancellation) (found looked, err error) {
	err = tx.QueryRowContext(ctx, cancelStatement, now, c.storeID, c.webhookID, c.position.retry, c.position.due, c.position.id, c.at).
		Scan(&found.rows, &found.cancelled, &found.moved, &found.last.retry, &found.last.due, &found.last.id)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return found, err
}
