package queue

import (
	"context"
	"time"

	"github.com/google/uuid"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/id"
)

// MaxCounted is as far as the rows of a Backlog are counted: what is beyond it is a great deal,
// and counting it would cost more than it tells.
const MaxCounted = 10000

// Backlog is what there is to do.
type Backlog struct {
	// Lag is how long ago the oldest event happened that no worker has taken from the outbox; 0 when
	// there is none.
	Lag time.Duration
	// Outbox is how many events are in the outbox, up to MaxCounted.
	Outbox int
	// First is how many deliveries wait for their first attempt or are in it, up to MaxCounted; what is
	// cancelled and still to be moved to the journal does not count.
	First int
	// Retries is how many deliveries wait for another attempt or are in it, up to MaxCounted.
	Retries int
}

const (
	// The oldest entry names its event, and that the time. Deliveries are counted lane by lane, so
	// that neither kind has to pass the rows of the other, and none those that were due before their
	// webhook was disabled.
	backlogPostgres = `WITH RECURSIVE lanes AS (
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
  ORDER BY d.due_at, d.id LIMIT 10000) d LIMIT 10000) r)`

	// The embedded database has no more than one machine's work, and reads it off the index.
	backlogSQLite = `SELECT (SELECT event_id FROM outbox ORDER BY id LIMIT 1),
 (SELECT count(*) FROM (SELECT id FROM outbox ORDER BY id LIMIT 10000)),
 (SELECT count(*) FROM (SELECT d.id FROM webhooks w CROSS JOIN deliveries d ON d.store_id = w.store_id AND d.webhook_id = w.id AND d.retry = false
  AND d.due_at >= COALESCE(w.epoch_since, 0) WHERE w.enabled LIMIT 10000)),
 (SELECT count(*) FROM (SELECT d.id FROM webhooks w CROSS JOIN deliveries d ON d.store_id = w.store_id AND d.webhook_id = w.id AND d.retry = true
  AND d.due_at >= COALESCE(w.epoch_since, 0) WHERE w.enabled LIMIT 10000))`
)

// ReadBacklog looks at what there is to do, in one statement that reads indexes.
func ReadBacklog(ctx context.Context, s *db.DB) (Backlog, error) {
	statement := backlogPostgres
	if On(s).sqlite() {
		statement = backlogSQLite
	}
	var (
		b      Backlog
		oldest uuid.NullUUID
	)
	if err := s.Reader().QueryRowContext(ctx, statement).Scan(&oldest, &b.Outbox, &b.First, &b.Retries); err != nil {
		return Backlog{}, wrap("read the backlog", err)
	}
	if oldest.Valid {
		b.Lag = max(0, s.Now().Sub(id.Time(oldest.UUID)))
	}
	return b, nil
}
