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
// The time is taken from the clock at its first use, when nobody else can change the rows any
// more, and lies behind every moment that they hold. So whatever a transaction waited for, and
// however far the clocks of two servers are apart, the times of one object increase from commit to
// commit, and the ids that are made of them too.
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

// Time is the one time of the transaction that the context belongs to: UTC, in milliseconds, and
// behind every moment of the rows that Hold was told of, but for those more than an hour ahead of
// the clock. Its first use settles it, so it comes after the last row was taken, and shortly before
// the commit. It panics outside of a transaction.
func Time(ctx context.Context) time.Time {
	return from(ctx).time()
}

// errHeldLate is a fault of the program, not of the data.
var errHeldLate = errors.New("a row was taken after the time of the transaction was settled (hook.Time)")

// Hold notes rows that the transaction has taken (FOR UPDATE or FOR NO KEY UPDATE; on SQLite the
// transaction itself is enough) and read after that, so that its time lies behind theirs. It fails
// once the time is settled: then it could lie before what the transaction waited for.
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

// Shown notes an order as the transaction read it after its last change, with all that it shows
// held, so that an event of it holds the same and is not read again.
func Shown(ctx context.Context, orderID uuid.UUID, order proto.Message) {
	from(ctx).orders[orderID] = order
}
