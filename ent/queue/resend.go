package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/fanout"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/id"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/webhook"
)

const (
	resendStep = 500
	// resendAhead extends a resend to events with a later time, which a host whose clock was ahead has given them.
	resendAhead = time.Minute
)

// Resend is a job that sends a webhook every event since a time, except the events that were delivered to it.
//
//	OrderResend ──► unfinished ──► StepResend: the next events, position moves on ──┐
//	                    ▲            │ killed: any process continues                │
//	                    └────────────┴──────────────────────────────────────────────┤
//	                                 finished: no event left, or its webhook was disabled or deleted
//
// One transaction contains a step and its deliveries, and steps for one webhook run one after the other. So no event is left
// out or sent twice, however many processes take part and wherever they die, and however many resends of one webhook there
// are.
type Resend struct {
	ID, StoreID, WebhookID uuid.UUID
	// Since is the time of the oldest events that the resend sends.
	Since time.Time
	// Resent counts the deliveries that the resend created or made due.
	Resent int
	// Finished is true if all steps are done, or Stopped is true.
	Finished bool
	// Stopped is true if the webhook was disabled or deleted.
	Stopped bool
}

// OrderResend creates a resend without running a step. The caller has locked the row of the enabled webhook in tx.
func OrderResend(c *hook.Change, storeID, webhookID uuid.UUID, since time.Time) (Resend, error) {
	now := c.Time()
	r := Resend{ID: id.At(now), StoreID: storeID, WebhookID: webhookID, Since: since}
	_, err := c.Tx.ExecContext(c, shared["order resend"], r.ID, storeID, webhookID, since, now.Add(resendAhead), uuid.Nil, now)
	return r, wrap("order a resend", err)
}

// MaxUndelivered is the highest number that CountUndelivered counts exactly.
const MaxUndelivered = 10_000

// Undelivered is what a resend would send; MaxUndelivered + 1 events mean more. Older is how many are older than the webhook.
type Undelivered struct{ Events, Older int }

// CountUndelivered counts the subscribed events since a time of which no delivery to the webhook has succeeded.
func CountUndelivered(ctx context.Context, d *db.DB, w *ent.Webhook, since time.Time) (n Undelivered, err error) {
	var args db.Args
	older, store, from, until, webhookID := args.Add(w.CreatedAt), args.Add(w.StoreID), args.Add(since), args.Add(d.Now().Add(resendAhead)),
		args.Add(w.ID)
	types := make([]string, len(w.Events))
	for i, name := range w.Events {
		types[i] = args.Add(name)
	}
	err = d.Reader().QueryRowContext(ctx, `SELECT count(*), count(CASE WHEN u.created_at < `+older+` THEN 1 END) FROM (SELECT e.created_at
 FROM events e WHERE e.store_id = `+store+` AND e.created_at >= `+from+` AND e.created_at < `+until+` AND e.type IN (`+strings.Join(types, ", ")+`)
  AND NOT EXISTS (SELECT 1 FROM finished_deliveries f WHERE f.store_id = e.store_id AND f.webhook_id = `+webhookID+`
   AND f.event_id = e.id AND f.status = 'succeeded') LIMIT `+args.Add(MaxUndelivered+1)+`) u`, args...).Scan(&n.Events, &n.Older)
	return n, wrap("count undelivered events", err)
}

type resendJob struct {
	Resend
	until      time.Time
	positionAt time.Time // time of the last event that the resend has read
	positionID uuid.UUID // id of the last event that the resend has read
}

func readResend(ctx context.Context, q db.Querier, resendID uuid.UUID) (job resendJob, err error) {
	err = ErrNoResend
	for row := range db.Rows(ctx, q, shared["resend"], resendID) {
		err = row.Scan(&job.ID, &job.StoreID, &job.WebhookID, &job.Since, &job.Resent, &job.Finished, &job.Stopped,
			&job.until, &job.positionAt, &job.positionID)
	}
	return job, wrap("read the resend", err)
}

// UnfinishedResends lists unfinished resends, the oldest first.
func UnfinishedResends(ctx context.Context, d *db.DB, limit int) ([]uuid.UUID, error) {
	found, err := scanIDs(db.Rows(ctx, d.Reader(), "SELECT id FROM resends WHERE finished_at IS NULL ORDER BY id LIMIT $1",
		limit))
	return found, wrap("list resends", err)
}

// ErrNoResend means that there is no resend with this id.
var ErrNoResend = errors.New("no such resend")

// StepResend runs one step: it makes waiting deliveries of the next events due, and adds one for each subscribed event without
// a pending or succeeded delivery. It fails with ErrNoResend, and does nothing to a finished resend.
func StepResend(ctx context.Context, d *db.DB, resendID uuid.UUID) (Resend, error) {
	r, err := hook.Answer(ctx, d, func(c *hook.Change) (Resend, error) {
		job, err := readResend(c, c.Tx, resendID)
		if err != nil {
			return Resend{}, err
		}
		// The webhook's row comes first, as in disabling a webhook and creating a resend.
		w, err := hook.LockRow(c, c.Tx.Webhook.Query().Where(webhook.StoreID(job.StoreID), webhook.ID(job.WebhookID)))
		if err != nil && !ent.IsNotFound(err) {
			return Resend{}, fmt.Errorf("read the webhook: %w", err)
		}
		// Other steps may have run before the lock was granted.
		if job, err = readResend(c, c.Tx, resendID); err != nil {
			return Resend{}, err
		}
		switch {
		case job.Finished:
		case w == nil || !w.Enabled:
			job.Finished, job.Stopped = true, true
			err = job.save(c)
		default:
			err = step(c, &job, w)
		}
		return job.Resend, err
	})
	if err != nil {
		return Resend{}, fmt.Errorf("step of resend %s: %w", resendID, err)
	}
	d.Announce()
	return r, nil
}

// step runs one step of job, whose webhook's row w tx has locked.
func step(c *hook.Change, job *resendJob, w *ent.Webhook) error {
	dialect := dialectOf(c.DB)
	now := c.Time()
	var events []uuid.UUID
	var due []fanout.Delivery
	for row := range db.Rows(c, c.Tx, shared["next events"], job.StoreID, job.positionAt, job.positionID, job.until) {
		next := fanout.Delivery{ID: id.At(now), StoreID: w.StoreID, WebhookID: w.ID, Epoch: w.Epoch}
		if err := row.Scan(&next.EventID, &next.EventType, &job.positionAt); err != nil {
			return fmt.Errorf("read events: %w", err)
		}
		job.positionID = next.EventID
		events = append(events, next.EventID)
		// No webhook subscribes to pings.
		if slices.Contains(w.Events, next.EventType) {
			due = append(due, next)
		}
	}
	settled, err := deliveriesOf(c, dialect, w, events)
	if err != nil {
		return fmt.Errorf("read their deliveries: %w", err)
	}
	due = slices.DeleteFunc(due, func(n fanout.Delivery) bool { return settled[n.EventID] })
	sentNow, err := send(c, "send events", job.StoreID, job.WebhookID, c.DB.TimeArg(), dialect.array(events))
	if err != nil {
		return err
	}
	added, err := fanout.Add(c, c.DB, c.Tx, now, due)
	if err != nil {
		return fmt.Errorf("add deliveries: %w", err)
	}
	job.Resent += sentNow + added
	job.Finished = len(events) < resendStep
	return job.save(c)
}

// deliveriesOf has the events with a delivery to w; true if one has succeeded or is pending, so that the event needs no other.
func deliveriesOf(c *hook.Change, d *dialect, w *ent.Webhook, events []uuid.UUID) (map[uuid.UUID]bool, error) {
	settled := map[uuid.UUID]bool{}
	if d.relays {
		// Read the outbox before the deliveries, because an entry leaves it only once its delivery exists.
		relayedLater, err := scanIDs(db.Rows(c, c.Tx, d.statements["relayed later"], w.StoreID, w.ID, d.array(events)))
		if err != nil {
			return nil, err
		}
		for _, event := range relayedLater {
			settled[event] = true
		}
	}
	for row := range db.Rows(c, c.Tx, d.statements["deliveries of"], w.StoreID, w.ID, d.array(events)) {
		var event uuid.UUID
		var settles bool
		if err := row.Scan(&event, &settles); err != nil {
			return nil, err
		}
		settled[event] = settled[event] || settles
	}
	return settled, nil
}

func (job resendJob) save(c *hook.Change) error {
	var finishedAt *time.Time
	if job.Finished {
		finishedAt = new(c.Time())
	}
	_, err := c.Tx.ExecContext(c, shared["save resend"], job.Resent, job.positionAt, job.positionID, job.Stopped,
		finishedAt, job.StoreID, job.ID)
	return wrap("move the resend on", err)
}

// SendBatch is how many waiting deliveries one call of SendWaiting makes due at most.
const SendBatch = 500

// SendNow makes a waiting delivery due. The caller wakes the workers after the commit (db.DB.Announce).
func SendNow(c *hook.Change, e Entry) error {
	_, err := send(c, "send one", e.StoreID, e.WebhookID, c.DB.TimeArg(), e.ID)
	return err
}

// SendWaiting makes at most SendBatch of a webhook's waiting retries due, the earliest first. The caller wakes the workers
// after the commit (db.DB.Announce).
func SendWaiting(c *hook.Change, storeID, webhookID uuid.UUID) (int, error) {
	return send(c, "send retries", storeID, webhookID, c.DB.TimeArg(), SendBatch)
}

func send(c *hook.Change, name string, args ...any) (int, error) {
	n, err := dialectOf(c.DB).exec(c, c.Tx, name, args...)
	return int(n), wrap("send waiting deliveries now", err)
}

// Retries is how many deliveries wait at a webhook for another attempt, and until when.
type Retries struct {
	// Count is at most MaxRetries + 1, which means more.
	Count int
	// Next is the earliest due time by the database's clock; nil if none waits.
	Next *time.Time
}

// MaxRetries is the highest number of waiting deliveries that ReadRetries counts exactly.
const MaxRetries = 1000

// ReadRetries counts the deliveries that wait at a webhook for another attempt.
func ReadRetries(ctx context.Context, d *db.DB, storeID, webhookID uuid.UUID) (r Retries, err error) {
	var next storedTime
	err = d.Reader().QueryRowContext(ctx, shared["retries"], storeID, webhookID, d.TimeArg(), MaxRetries+1).Scan(&r.Count, &next)
	r.Next = next.at
	return r, wrap("count what waits", err)
}
