package hook

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	"go.storefront.example/gen/ent"
)

// moment is the one time of a transaction.
//
//	Hold(order) Hold(customer) …  ──►  Time: settled, from now on the same  ──►  Flush, COMMIT
//	      rows are taken, some after a wait            changes, new rows
//
// The time is taken from the clock at its first use, when no other transaction can change the held
// rows, and is later than all their moments. So however long a transaction waited, and however far
// the clocks of two servers differ, the times of one object increase from commit to commit, and so
// do the ids made from them.
type moment struct {
	clock   *Clock
	settled time.Time // zero until the first use
	held    map[uuid.UUID]bool
	seen    []time.Time // the moments of the held rows
}

func (m *moment) time() time.Time {
	if m.settled.IsZero() {
		m.settled = m.clock.after(m.seen)
	}
	return m.settled
}

// Begin returns the context of a new transaction, whose time will be taken from the clock.
func Begin(ctx context.Context, clock *Clock) context.Context {
	return context.WithValue(ctx, contextKey{}, &recorder{
		moment: moment{clock: clock, held: map[uuid.UUID]bool{}},
		rows:   map[uuid.UUID]ent.Value{}, orders: map[uuid.UUID]proto.Message{},
	})
}

// Time is the one time of the context's transaction: UTC, in milliseconds, and later than every
// moment of the rows passed to Hold, except those more than an hour ahead of the clock. Its first
// use fixes it, so that must come after the last row is held, shortly before the commit. It panics
// outside of a transaction.
func Time(ctx context.Context) time.Time {
	return from(ctx).time()
}

// errHeldLate is a bug of the program, not a fault of the data.
var errHeldLate = errors.New("a row was taken after the time of the transaction was settled (hook.Time)")

// Hold notes rows that the transaction has locked (FOR UPDATE or FOR NO KEY UPDATE; on SQLite the
// transaction itself is enough) and then read, so that its time is later than theirs. It fails once
// the time is fixed, because the time could then lie before that of a row.
func Hold(ctx context.Context, rows ...ent.Value) error {
	r := from(ctx)
	if !r.settled.IsZero() {
		return errHeldLate
	}
	for _, row := range rows {
		switch row := row.(type) {
		case *ent.Store:
			r.hold(row.ID, &row.CreatedAt, &row.UpdatedAt)
		case *ent.Product:
			r.hold(row.ID, &row.CreatedAt, &row.UpdatedAt, row.PublishedAt)
		case *ent.Customer:
			r.hold(row.ID, &row.CreatedAt, &row.UpdatedAt)
		case *ent.Order:
			r.hold(row.ID, &row.CreatedAt, &row.UpdatedAt, row.PaidAt)
		case *ent.PaymentLink:
			r.hold(row.ID, &row.CreatedAt, &row.UpdatedAt, row.LastPaidAt, row.DisabledAt)
		case *ent.ApiKey:
			r.hold(row.ID, &row.CreatedAt, row.RevokedAt)
		case *ent.Webhook:
			r.hold(row.ID, &row.CreatedAt, &row.UpdatedAt, row.DisabledAt, row.FailingSince)
		default:
			return fmt.Errorf("hold a %T: its moments are not known", row)
		}
	}
	return nil
}

func (m *moment) hold(id uuid.UUID, moments ...*time.Time) {
	m.held[id] = true
	for _, at := range moments {
		if at != nil {
			m.seen = append(m.seen, *at)
		}
	}
}
