package queue

import (
	"context"
	"time"

	"go.storefront.example/ent/db"
)

// HeldSnapshot is an open snapshot of PostgreSQL. Until it ends, VACUUM cannot remove the rows deleted since, which every scan
// of the deliveries and the row deltas must skip.
type HeldSnapshot struct {
	// Holder is a session, a prepared transaction, a replication slot or a standby.
	Holder string
	// Age is nil for replication slots and standbys, of which PostgreSQL does not store it.
	Age *time.Duration
	// Transactions is how many have begun since the snapshot.
	Transactions int64
}

// Snapshots has the open snapshots, and the dead rows that they keep.
type Snapshots struct {
	// Held are those of this database that the service's role may see, first the one since which the most transactions have
	// begun, because not every age is known.
	Held []HeldSnapshot
	// DeadRows is an estimate for the deliveries and the row deltas.
	DeadRows int64
}

// Oldest is the oldest known age, or 0.
func (s Snapshots) Oldest() (oldest time.Duration) {
	for _, h := range s.Held {
		if h.Age != nil {
			oldest = max(oldest, *h.Age)
		}
	}
	return oldest
}

// ReadSnapshots returns nil on SQLite, which keeps no dead rows.
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
