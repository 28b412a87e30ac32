package queue

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"

	"go.storefront.example/ent/db"
	"go.storefront.example/gen/ent"
)

// SendBatch is how many waiting deliveries one SendWaiting makes due.
const SendBatch = 500

// sendNow is the statement that makes waiting deliveries d of a webhook due, for which a condition holds. The next attempt
// of each is made at once; it stays the same delivery. What is due, being attempted or cancelled is left alone. Argument
// 1 is the store's id; webhook and now are the numbers of the webhook's id and of the database's Moment.
func (d *dialect) sendNow(webhook, now int, which string) string {
	return fmt.Sprintf(`UPDATE deliveries AS d SET due_at = %[1]s WHERE d.store_id = $1 AND d.webhook_id = $%[2]d AND d.lease IS NULL
 AND d.due_at > %[1]s AND %[3]s AND EXISTS (SELECT 1 FROM webhooks w WHERE w.store_id = $1 AND w.id = $%[2]d AND %[4]s)`, d.present(now), webhook, which, attemptable)
}

// SendNow makes a delivery due, if it waits for its next attempt. The caller wakes the workers after the commit
// (db.DB.Announce).
func SendNow(ctx context.Context, tx *ent.Tx, s *db.DB, e Entry) error {
	_, err := sendWhere(ctx, tx, s, dialectOf(s).sendNow(2, 3, "d.id = $4"), e.StoreID, e.WebhookID, s.Moment(), e.ID)
	return err
}

// SendWaiting makes the next SendBatch deliveries of a webhook due that wait for another attempt, and returns how many
// there were. The caller wakes the workers as after SendNow.
func SendWaiting(ctx context.Context, tx *ent.Tx, s *db.DB, storeID, webhookID uuid.UUID) (int, error) {
	d := dialectOf(s)
	return sendWhere(ctx, tx, s, d.sendNow(2, 3, `d.id IN (SELECT id FROM deliveries WHERE store_id = $1 AND webhook_id = $2
  AND retry = true AND due_at > `+d.present(3)+" AND lease IS NULL ORDER BY due_at, id LIMIT "+strconv.Itoa(SendBatch)+")"), storeID, webhookID, s.Moment())
}

// sendPage makes due what waits at a resend's webhook of the events that its next step looks at.
func sendPage(ctx context.Context, tx *ent.Tx, s *db.DB, job resending) (int, error) {
	return sendWhere(ctx, tx, s, dialectOf(s).sendNow(5, 6, "d.event_id IN (SELECT id"+pageOfEvents+")"),
		job.StoreID, job.positionAt, job.positionID, job.until, job.WebhookID, s.Moment())
}

func sendWhere(ctx context.Context, tx *ent.Tx, s *db.DB, statement string, args ...any) (int, error) {
	n, err := affected(tx.ExecContext(ctx, statement, args...))
	return int(n), wrap("send waiting deliveries now", err)
}

// Retries is what waits at a webhook for another attempt.
type Retries struct {
	// Count is how many deliveries, up to MaxRetries.
	Count int
	// Next is when the next of them is due, by the database's clock; nil without any.
	Next *time.Time
}

// MaxRetries is as far as Retries counts.
const MaxRetries = 1000

// ReadRetries returns what waits at a webhook for another attempt.
func ReadRetries(ctx context.Context, s *db.DB, storeID, webhookID uuid.UUID) (r Retries, err error) {
	var next storedTime
	err = s.Reader().QueryRowContext(ctx, `SELECT count(*), min(due_at) FROM (
 SELECT d.due_at FROM deliveries d JOIN webhooks w ON w.store_id = d.store_id AND w.id = d.webhook_id AND `+attemptable+`
 WHERE d.store_id = $1 AND d.webhook_id = $2 AND d.retry = true AND d.due_at > `+dialectOf(s).present(3)+` AND d.lease IS NULL
 ORDER BY d.due_at LIMIT `+strconv.Itoa(MaxRetries)+") n", storeID, webhookID, s.Moment()).Scan(&r.Count, &next)
	r.Next = next.at
	return r, wrap("count what waits", err)
}
