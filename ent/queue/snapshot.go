package queue

import (
	"context"
	"time"

	"go.storefront.example/ent/db"
)

// HeldSnapshot is a snapshot of PostgreSQL that a session or another holder keeps open. Until it ends, VACUUM cannot remove
// the rows that were deleted after it began, and every scan of the deliveries and the row deltas must skip these
// dead rows.
type HeldSnapshot struct {
	// Holder names who holds the snapshot: a session, a prepared transaction, a replication slot or a standby.
	Holder string
	// Age is nil for replication slots and standbys, because PostgreSQL does not store when they began.
	Age *time.Duration
	// Transactions is how many transactions have begun since the snapshot began.
	Transactions int64
}

// Snapshots has the snapshots that are held open, and the number of dead rows that they keep.
type Snapshots struct {
	// Held are the snapshots of this database that the service's database role may see. The first is the one since which the
	// most transactions have begun, because not every snapshot has a known age.
	Held []HeldSnapshot
	// DeadRows is about how many dead rows the deliveries and the row deltas have.
	DeadRows int64
}

// Oldest returns the age of the oldest snapshot whose age is known, or 0 if there is none.
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
