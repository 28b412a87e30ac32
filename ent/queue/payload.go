package queue

import (
	"context"
	"database/sql"
	"errors"
)

// lookAgain looks once more for events that were not found. PostgreSQL plans a statement by the
// partitions that there are; when one is being made just then, the statement waits for it and
// looks for the events that moved there in their old place. Taken for gone, an event would be
// lost. The next statement finds it; what that does not find is kept no longer.
func lookAgain(ctx context.Context, db interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}, deliveries []Delivery,
) error {
	for i := range deliveries {
		d := &deliveries[i]
		if d.Payload != nil {
			continue
		}
		var caused cause
		err := db.QueryRowContext(ctx, "SELECT payload, request_id, trace FROM events WHERE id = $1", d.EventID).
			Scan(&d.Payload, &caused.request, &caused.trace)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		caused.tell(d)
	}
	return nil
}
