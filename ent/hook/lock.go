package hook

import (
	"context"
	"errors"
	"fmt"
	"time"

	"entgo.io/ent/dialect/sql"
	"github.com/google/uuid"

	"go.storefront.example/ent/db"
	"go.storefront.example/gen/ent"
)

// lockableQuery is an ent query of the type Q for rows of the type R.
type lockableQuery[Q any, R ent.Value] interface {
	ForUpdate(opts ...sql.LockOption) Q
	Only(ctx context.Context) (R, error)
	All(ctx context.Context) ([]R, error)
}

// LockRow locks and returns the row that q finds, which the change may then change. It fails with ent's NotFoundError if there
// is none, or if options has db.SkipLocked and another transaction has locked the row.
//
// A change locks every row that it changes before it asks for the time (Change.Time), in the order store, order, customer,
// payment link; if it locks a product, a key or a webhook, it locks no other row. So changes never deadlock.
func LockRow[Q lockableQuery[Q, R], R ent.Value](c *Change, q Q, options ...string) (R, error) {
	row, err := db.Lock(c.DB, q, options...).Only(c)
	if err != nil {
		return row, err
	}
	return row, c.MarkLocked(row)
}

// LockRows locks and returns all rows that q finds, in the order of q, as LockRow does for one row.
func LockRows[Q lockableQuery[Q, R], R ent.Value](c *Change, q Q) ([]R, error) {
	rows, err := db.Lock(c.DB, q).All(c)
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		if err := c.MarkLocked(row); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// LockIDs locks all rows that q finds and returns their ids. The change may not change them, because it has not read them.
func LockIDs[Q interface {
	ForUpdate(opts ...sql.LockOption) Q
	IDs(ctx context.Context) ([]uuid.UUID, error)
}](c *Change, q Q) ([]uuid.UUID, error) {
	if !c.now.IsZero() {
		return nil, errLockAfterTime
	}
	return db.Lock(c.DB, q).IDs(c)
}

// lockedRow is a row that no other transaction changes before the commit.
type lockedRow struct {
	row        ent.Value // as this transaction last read or changed it
	lastMoment time.Time // the row's last moment before this transaction; zero for a new row
}

// MarkLocked records that the change has locked these rows (FOR UPDATE or FOR NO KEY UPDATE; on SQLite the transaction itself
// is enough) and read them after that.
func (c *Change) MarkLocked(rows ...ent.Value) error {
	for _, row := range rows {
		var err error
		switch row := row.(type) {
		case *ent.Store:
			err = c.lock(row.ID, row, &row.CreatedAt, &row.UpdatedAt)
		case *ent.Product:
			err = c.lock(row.ID, row, &row.CreatedAt, &row.UpdatedAt, row.PublishedAt)
		case *ent.Customer:
			err = c.lock(row.ID, row, &row.CreatedAt, &row.UpdatedAt)
		case *ent.Order:
			err = c.lock(row.ID, row, &row.CreatedAt, &row.UpdatedAt, row.PaidAt)
		case *ent.PaymentLink:
			err = c.lock(row.ID, row, &row.CreatedAt, &row.UpdatedAt, row.LastPaidAt, row.DisabledAt)
		case *ent.ApiKey:
			err = c.lock(row.ID, row, &row.CreatedAt, row.RevokedAt)
		case *ent.Webhook:
			err = c.lock(row.ID, row, &row.CreatedAt, &row.UpdatedAt, row.DisabledAt, row.FailingSince)
		default:
			err = errors.New("its moments are not known")
		}
		if err != nil {
			return fmt.Errorf("lock a %T: %w", row, err)
		}
	}
	return nil
}

// errLockAfterTime is returned if a change locks a row after it has called Time. While the change waited for the lock, another
// one may have given the row a later moment.
var errLockAfterTime = errors.New("the change has asked for its time (Change.Time) before this lock")

func (c *Change) lock(id uuid.UUID, row ent.Value, moments ...*time.Time) error {
	if _, known := c.rows[id]; known {
		return nil // keep the first lastMoment, because row may have this transaction's own moment by now
	}
	if !c.now.IsZero() {
		return errLockAfterTime
	}
	o := lockedRow{row: row}
	for _, at := range moments {
		if at != nil && at.After(o.lastMoment) {
			o.lastMoment = at.UTC().Truncate(time.Millisecond)
		}
	}
	c.rows[id] = o
	return nil
}
