package hook

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"go.storefront.example/gen/ent"
)

// Time returns the moment of a change: now, or one millisecond after the last moment of the locked row
// with this id if that is later. So the moments of one object increase from commit to commit, however
// far the clocks of two servers differ; those of different objects are only as good as the clocks.
//
// Now is the same for the whole transaction, UTC and in milliseconds, and taken at the first call: call
// Time once the last row is locked, so that waiting for a lock makes no time old. The moment of an object
// stays the same within the transaction. Time panics outside of a transaction.
func Time(ctx context.Context, of ...uuid.UUID) time.Time { return from(ctx).time(of...) }

func (r *recorder) time(of ...uuid.UUID) time.Time {
	if r.now.IsZero() {
		r.now = r.clock()
	}
	at := r.now
	for _, id := range of {
		if next := r.rows[id].last.Add(time.Millisecond); next.After(at) {
			at = next
		}
	}
	return at
}

// NoteLocked notes rows that the transaction has locked (FOR UPDATE or FOR NO KEY UPDATE; on SQLite the
// transaction itself is enough) and then read. Only they can be changed.
func NoteLocked(ctx context.Context, rows ...ent.Value) error {
	r := from(ctx)
	for _, row := range rows {
		switch row := row.(type) {
		case *ent.Store:
			r.lock(row.ID, row, &row.CreatedAt, &row.UpdatedAt)
		case *ent.Product:
			r.lock(row.ID, row, &row.CreatedAt, &row.UpdatedAt, row.PublishedAt)
		case *ent.Customer:
			r.lock(row.ID, row, &row.CreatedAt, &row.UpdatedAt)
		case *ent.Order:
			r.lock(row.ID, row, &row.CreatedAt, &row.UpdatedAt, row.PaidAt)
		case *ent.PaymentLink:
			r.lock(row.ID, row, &row.CreatedAt, &row.UpdatedAt, row.LastPaidAt, row.DisabledAt)
		case *ent.ApiKey:
			r.lock(row.ID, row, &row.CreatedAt, row.RevokedAt)
		case *ent.Webhook:
			r.lock(row.ID, row, &row.CreatedAt, &row.UpdatedAt, row.DisabledAt, row.FailingSince)
		default:
			return fmt.Errorf("lock a %T: its moments are not known", row)
		}
	}
	return nil
}

func (r *recorder) lock(id uuid.UUID, row ent.Value, moments ...*time.Time) {
	if _, known := r.rows[id]; known {
		return // a second reading has this transaction's own moments
	}
	o := lockedRow{row: row}
	for _, at := range moments {
		if at != nil && at.After(o.last) {
			o.last = at.UTC().Truncate(time.Millisecond)
		}
	}
	r.rows[id] = o
}
