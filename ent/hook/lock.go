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

// lockableQuery has the methods of an ent query that lock its rows and read them. R is the type of a row, and Q the type of the
// query.
type lockableQuery[Q any, R ent.Value] interface {
	ForUpdate(opts ...sql.LockOption) Q
	Only(ctx context.Context) (R, error)
	All(ctx context.Context) ([]R, error)
}

// LockRow returns the row that the query q finds, and locks it until the transaction ends. The transaction may then change
// the row. LockRow fails with ent's NotFoundError if there is no such row, or if options has db.SkipLocked and another
// transaction has locked the row.
//
// A transaction locks every row that it changes before it asks for the time (Time), in the order store, order, customer,
// payment link; if it locks a product, a key or a webhook, it locks no other row. So transactions never deadlock.
func LockRow[Q lockableQuery[Q, R], R ent.Value](ctx context.Context, q Q, options ...string) (R, error) {
	row, err := db.Lock(recorderFrom(ctx).db, q, options...).Only(ctx)
	if err != nil {
		return row, err
	}
	return row, MarkLocked(ctx, row)
}

// LockRows locks and returns all rows that q finds, in the order of q, as LockRow does for one row.
func LockRows[Q lockableQuery[Q, R], R ent.Value](ctx context.Context, q Q) ([]R, error) {
	rows, err := db.Lock(recorderFrom(ctx).db, q).All(ctx)
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		if err := MarkLocked(ctx, row); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// lockedRow is a row that no other transaction changes before the commit.
type lockedRow struct {
	row        ent.Value // as this transaction last read or changed it
	lastMoment time.Time // the row's last moment before this transaction; zero for a new row
}

// MarkLocked records that the transaction has locked these rows (FOR UPDATE or FOR NO KEY UPDATE; on SQLite the transaction
// itself is enough) and read them after that. The transaction may change no other rows.
func MarkLocked(ctx context.Context, rows ...ent.Value) error {
	r := recorderFrom(ctx)
	for _, row := range rows {
		var err error
		switch row := row.(type) {
		case *ent.Store:
			err = r.lock(row.ID, row, &row.CreatedAt, &row.UpdatedAt)
		case *ent.Product:
			err = r.lock(row.ID, row, &row.CreatedAt, &row.UpdatedAt, row.PublishedAt)
		case *ent.Customer:
			err = r.lock(row.ID, row, &row.CreatedAt, &row.UpdatedAt)
		case *ent.Order:
			err = r.lock(row.ID, row, &row.CreatedAt, &row.UpdatedAt, row.PaidAt)
		case *ent.PaymentLink:
			err = r.lock(row.ID, row, &row.CreatedAt, &row.UpdatedAt, row.LastPaidAt, row.DisabledAt)
		case *ent.ApiKey:
			err = r.lock(row.ID, row, &row.CreatedAt, row.RevokedAt)
		case *ent.Webhook:
			err = r.lock(row.ID, row, &row.CreatedAt, &row.UpdatedAt, row.DisabledAt, row.FailingSince)
		default:
			err = errors.New("its moments are not known")
		}
		if err != nil {
			return fmt.Errorf("lock a %T: %w", row, err)
		}
	}
	return nil
}

// errLockAfterTime is returned if a transaction locks a row after it has called Time. While the transaction
// waited for the lock, another transaction may have given the row a later moment.
var errLockAfterTime = errors.New("the transaction has asked for its time (hook.Time) before this lock")

func (r *recorder) lock(id uuid.UUID, row ent.Value, moments ...*time.Time) error {
	if _, known := r.rows[id]; known {
		return nil // keep the first lastMoment, because row may have this transaction's own moment by now
	}
	if !r.now.IsZero() {
		return errLockAfterTime
	}
	o := lockedRow{row: row}
	for _, at := range moments {
		if at != nil && at.After(o.lastMoment) {
			o.lastMoment = at.UTC().Truncate(time.Millisecond)
		}
	}
	r.rows[id] = o
	return nil
}
