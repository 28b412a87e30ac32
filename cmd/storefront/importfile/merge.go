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

type completion struct {
	// fill has the first value among the merged rows of each field that this row lacks.
	fill          *storefrontv1.Customer
	orders, total int64
	// present, ownOrders and ownTotal are this row's set fields, count and total, once collectMerged has read it.
	present             map[protoreflect.Name]bool
	ownOrders, ownTotal int64
}

// summedFields are never in completion.fill, because addCounts sums them.
var summedFields = map[protoreflect.Name]bool{"orders_count": true, "total_paid": true}

// root follows merges: if 7 was merged into 5, and 5 into 2, root(7) is 2.
func (l *loader) root(row int) int {
	for {
		m, merged := l.merged[row]
		if !merged {
			return row
		}
		row = m.target
	}
}

// collectMerged reads the file once more for the merged rows' values, because all merges are known only after the first pass.
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

// addCounts adds the counts of m, the merged row e, unless adds is false. If a sum would exceed its limit, it refuses e and
// clears m.
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

// complete gives a row the values and counts of those merged into it, and takes away a phone that another customer has.
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
	// The sum exceeds its limit only if e comes after the merged rows. Then e is about a stored customer, who keeps the stored
	// count and total.
	m.OrdersCount += int32(min(c.orders, math.MaxInt32-int64(m.OrdersCount))) //nolint:gosec // The sum is at most the largest int32.
	m.TotalPaid += min(c.total, max(0, validate.MaxAmount-m.TotalPaid))
}
