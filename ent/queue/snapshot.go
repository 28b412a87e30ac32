package queue

import (
	"context"
	"time"

	"go.storefront.example/ent/db"
)

// HeldSnapshot is a snapshot of PostgreSQL that somebody holds open. While it is, VACUUM removes no row that died since, and every scan of
// the outbox, the deliveries and the row deltas passes over the dead ones.
type HeldSnapshot struct {
	// Holder names the session, the prepared transaction, the replication slot or the standby.
	Holder string
	// Age is since when; nil for slots and standbys, of which PostgreSQL does not note that.
	Age *time.Duration
	// Transactions is how many transactions have begun since.
	Transactions int64
}

// Snapshots is what holds snapshots open, and what that costs.
type Snapshots struct {
	// Held are those of this database that the role may see, the oldest first.
	Held []HeldSnapshot
	// DeadRows is about how many dead rows of the outbox, the deliveries and the row deltas are kept.
	DeadRows int64
}

// Oldest is the age of the oldest snapshot whose age is known, 0 if there is none.
func (s Snapshots) Oldest() (oldest time.Duration) {
	for _, h := range s.Held {
		if h.Age != nil {
			oldest = max(oldest, *h.Age)
		}
	}
	return oldest
}

// ReadSnapshots looks for snapshots that are held open. It returns nil on SQLite, which keeps no dead rows.
func ReadSnapshots(ctx context.Context, d *db.DB) (*Snapshots, error) {
	dialect := dialectOf(d)
	if dialect.singleWriter {
		return nil, nil
	}
	var found Snapshots
	for row := range db.Rows(ctx, d.Reader(), dialect.statements["snapshots"]) {
		var h HeldSnapshot
		var seconds *float64
		if err := row.Scan(&h.Holder, &seconds, &h.Transactions); err != nil {
			return nil, wrap("look for held snapshots", err)
		}
		if seconds != nil {
			h.Age = new(time.Duration(max(0, *seconds) * float64(time.Second)))
		}
		found.Held = append(found.Held, h)
	}
	return &found, wrap("count dead rows", d.Reader().QueryRowContext(ctx, dialect.statements["dead rows"]).Scan(&found.DeadRows))
}
