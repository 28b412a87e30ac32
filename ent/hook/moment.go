package hook

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// Time returns the moment of a change: now, or one millisecond after the last moment of the locked row
// with this id if that is later. So the moments of one object increase from commit to commit, however
// far the clocks of two servers differ; those of different objects are only as good as the clocks.
//
// Now is the same for the whole transaction, UTC and in milliseconds, and taken at the first call: call
// Time once the last row is locked, because waiting for a lock would make the time old. In tests a later LockRow fails. The
// moment of an object stays the same within the transaction. Time panics outside of a transaction.
func Time(ctx context.Context, of ...uuid.UUID) time.Time { return from(ctx).time(of...) }

func (r *recorder) time(of ...uuid.UUID) time.Time {
	if r.now.IsZero() {
		r.now = r.db.Now()
	}
	at := r.now
	for _, id := range of {
		if next := r.rows[id].last.Add(time.Millisecond); next.After(at) {
			at = next
		}
	}
	return at
}
