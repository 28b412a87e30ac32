package hook

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// Time returns the moment of a change of the locked rows with these ids: the current time or, if it is later, one
// millisecond after the last moment of these rows. So the moments of one object increase from commit to commit even if the
// clocks of two servers differ. Moments of different objects are only as exact as the clocks.
//
// The current time is read at the first call and stays the same for the whole transaction; it is in UTC and whole
// milliseconds. Call Time after locking the last row, because waiting for a lock would make the time old; in tests, locking
// a row after Time fails. The moment of an object stays the same within the transaction. Time panics outside of a
// transaction.
func Time(ctx context.Context, ids ...uuid.UUID) time.Time { return recorderFrom(ctx).time(ids...) }

func (r *recorder) time(ids ...uuid.UUID) time.Time {
	if r.now.IsZero() {
		r.now = r.db.Now()
	}
	at := r.now
	for _, id := range ids {
		if next := r.rows[id].lastMoment.Add(time.Millisecond); next.After(at) {
			at = next
		}
	}
	return at
}
