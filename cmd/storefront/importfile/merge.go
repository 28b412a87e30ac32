package importfile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/validate"
)

// completion has what a row of customers gets from the rows that were merged into it.
type completion struct {
	// fill has, for each field, the first value among the rows that were merged into this row. complete uses it if this row
	// has none.
	fill          *storefrontv1.Customer
	orders, total int64
	// The names of the fields that are set in the row itself, and its own order count and total. All are empty until
	// collectMerged has read the row.
	present             map[protoreflect.Name]bool
	ownOrders, ownTotal int64
}

// summedFields are the fields whose values are summed when rows are merged. addCounts sums them, so they are never set in
// completion.fill.
var summedFields = map[protoreflect.Name]bool{"orders_count": true, "total_paid": true}

// root returns the number of the row into which a row was merged, directly or through other merged rows. For a row that was
// not merged it returns the row's own number.
func (l *loader) root(row int) int {
	for {
		m, merged := l.merged[row]
		if !merged {
			return row
		}
		row = m.target
	}
}

// collectMerged reads the file once more, if rows were merged into others, and collects the merged rows' values in memory. It
// runs after the first pass, because a row anywhere in the file may have been merged into an earlier one.
func (l *loader) collectMerged(ctx context.Context) error {
	l.completions = map[int]*completion{}
	for row := range l.merged {
		l.completions[l.root(row)] = &completion{fill: &storefrontv1.Customer{}, present: map[protoreflect.Name]bool{}}
	}
	if len(l.merged) == 0 {
		return nil
	}
	next, err := l.open()
	if err != nil {
		return err
	}
	for l.row = 1; ; l.row++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		e, err := next()
		if errors.Is(err, io.EOF) {
			return nil
		} else if _, bad := errors.AsType[*LineError](err); err != nil && !bad {
			return err
		}
		e.row = l.row
		c := l.completions[l.root(e.row)]
		m, ok := e.message.(*storefrontv1.Customer)
		if c == nil || !ok {
			continue
		}
		if l.phoneless[e.row] {
			m.Phone = nil
		}
		found, merged := l.merged[e.row]
		if !merged {
			c.ownOrders, c.ownTotal = int64(m.GetOrdersCount()), m.GetTotalPaid()
		} else if err := l.addCounts(e, c, m, found.adds); err != nil {
			return err
		}
		m.ProtoReflect().Range(func(f protoreflect.FieldDescriptor, value protoreflect.Value) bool {
			switch {
			case !merged:
				c.present[f.Name()] = true
			case !c.present[f.Name()] && !summedFields[f.Name()] && !c.fill.ProtoReflect().Has(f):
				c.fill.ProtoReflect().Set(f, value)
			}
			return true
		})
	}
}

// addCounts adds the order count and the total of a merged row to c, which has the sums for the row into which it was merged.
// If a sum would exceed its limit, addCounts refuses the merged row and clears all its values.
func (l *loader) addCounts(e *entry, c *completion, m *storefrontv1.Customer, adds bool) error {
	if !adds {
		return nil
	}
	orders, total := c.orders+int64(m.GetOrdersCount()), c.total+m.GetTotalPaid()
	switch {
	case total > validate.MaxAmount-c.ownTotal:
		e.refuse("totalPaid", fmt.Sprintf("takes the customer's totalPaid past %d", int64(validate.MaxAmount)))
	case orders > math.MaxInt32-c.ownOrders:
		e.refuse("ordersCount", fmt.Sprintf("takes the customer's ordersCount past %d", math.MaxInt32))
	default:
		c.orders, c.total = orders, total
		return nil
	}
	l.report.Merged--
	l.report.Lines--
	proto.Reset(m)
	return l.reportBatch([]*entry{e})
}

// complete sets the row's empty fields to the values of the rows merged into it. It removes the row's phone if another
// customer has it. In the first pass complete changes nothing, because merged rows and phones are known only after it.
func (l *loader) complete(e *entry) {
	if phone := phoneOf(e.message); l.phoneless[e.row] && phone != nil {
		*phone = nil
	}
	m, ok := e.message.(*storefrontv1.Customer)
	c := l.completions[e.row]
	if !ok || c == nil {
		return
	}
	c.fill.ProtoReflect().Range(func(f protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		if !m.ProtoReflect().Has(f) {
			m.ProtoReflect().Set(f, value)
		}
		return true
	})
	// A sum can exceed its limit only for a row that comes later in the file than the rows merged into it, because addCounts did not
	// know the numbers of this row. Such a row is about a stored customer, who keeps the stored numbers. So it does not matter
	// that the sum is cut here.
	m.OrdersCount += int32(min(c.orders, math.MaxInt32-int64(m.OrdersCount))) //nolint:gosec // The sum is at most the largest int32.
	m.TotalPaid += min(c.total, max(0, validate.MaxAmount-m.TotalPaid))
}
