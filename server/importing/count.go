package importing

import (
	"context"
	"encoding/json"
	"fmt"

	"entgo.io/ent/dialect"
	"entgo.io/ent/dialect/sql"
	"github.com/google/uuid"

	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/order"
	"go.storefront.example/gen/ent/paymentlink"
	"go.storefront.example/server/validate"
)

// countForCustomers counts the orders of each customer of the batch: how many there are in any status,
// and the sum of those that are PAID. They are counted from the rows, under the customers' locks, so
// that a counter imported with its customer does not count orders twice, and none drifts.
//
// It refuses the first row that takes a customer's totalPaid past validate.MaxAmount.
func (b *orders) countForCustomers(ctx context.Context, tx *ent.Tx) error {
	counts := map[uuid.UUID]*ent.Customer{}
	ids := make([]uuid.UUID, 0, len(b.buyers))
	for id, c := range b.buyers {
		counts[id], c.OrdersCount, c.TotalPaid = c, 0, 0
		ids = append(ids, id)
	}
	for i := range b.created {
		counts[b.created[i].row.ID] = &b.created[i].row
	}
	var counted []struct {
		CustomerID uuid.UUID `sql:"customer_id"`
		Orders     int32     `sql:"orders"`
		Paid       int64     `sql:"paid"`
	}
	if len(ids) > 0 {
		err := tx.Order.Query().Where(order.StoreID(b.t.ID), order.CustomerIDIn(ids...)).
			GroupBy(order.FieldCustomerID).
			Aggregate(
				func(s *sql.Selector) string { return sql.As(sql.Count("*"), "orders") },
				func(s *sql.Selector) string {
					return sql.As(sql.Sum("CASE WHEN "+s.C(order.FieldStatus)+" = '"+order.StatusPAID.String()+"' THEN "+s.C(order.FieldAmount)+" ELSE 0 END"), "paid")
				},
			).Scan(ctx, &counted)
		if err != nil {
			return fmt.Errorf("count the customers' orders: %w", err)
		}
	}
	for _, c := range counted {
		counts[c.CustomerID].OrdersCount, counts[c.CustomerID].TotalPaid = c.Orders, c.Paid
	}
	for _, l := range b.fresh {
		c := counts[l.row.buyer.ID]
		if c == nil {
			continue // the row is refused
		}
		c.OrdersCount++
		if l.row.order.Status == order.StatusPAID {
			c.TotalPaid = b.within(l, "customer's totalPaid", c.TotalPaid)
		}
	}
	return nil
}

// within adds an order's amount to a total, and refuses the row that takes it past validate.MaxAmount.
func (b *orders) within(l row[orderRow], total string, before int64) int64 {
	if before > validate.MaxAmount-l.row.order.Amount {
		b.refuse(l.index, "amount", fmt.Sprintf("takes the %s past %d", total, int64(validate.MaxAmount)))
		return before
	}
	return before + l.row.order.Amount
}

// Statements that set the counters of customers of the store $1.
const (
	// countersOfMany sets those of $2, a JSON array of [id, orders, paid]: one round trip.
	countersOfMany = `UPDATE customers SET orders_count = (v->>1)::int, total_paid = (v->>2)::bigint
 FROM jsonb_array_elements($2::jsonb) v WHERE store_id = $1 AND id = (v->>0)::uuid`
	// countersOfOne sets those of one. On SQLite a statement costs no round trip, and the join above
	// would read every customer of the store.
	countersOfOne = `UPDATE customers SET orders_count = $3, total_paid = $4 WHERE store_id = $1 AND id = $2`
)

// setCounters sets the counters of the customers whom the store had before; the others are created
// with theirs.
func (b *orders) setCounters(ctx context.Context, tx *ent.Tx) error {
	counters := make([][3]any, 0, len(b.buyers))
	for id, c := range b.buyers {
		counters = append(counters, [3]any{id, c.OrdersCount, c.TotalPaid})
	}
	if len(counters) == 0 {
		return nil
	}
	if b.db.Dialect() == dialect.SQLite {
		for _, c := range counters {
			if _, err := tx.ExecContext(ctx, countersOfOne, b.t.ID, c[0], c[1], c[2]); err != nil {
				return fmt.Errorf("set a customer's counters: %w", err)
			}
		}
		return nil
	}
	text, err := json.Marshal(counters)
	if err != nil {
		return fmt.Errorf("encode the counters: %w", err)
	}
	if _, err := tx.ExecContext(ctx, countersOfMany, b.t.ID, string(text)); err != nil {
		return fmt.Errorf("set the customers' counters: %w", err)
	}
	return nil
}

// withinLinks refuses the first row that takes a payment link's paidAmount past validate.MaxAmount.
func (b *orders) withinLinks() {
	paid := map[uuid.UUID]int64{}
	for id, link := range b.links {
		paid[id] = link.PaidAmount
	}
	for _, l := range b.fresh {
		if id := l.row.order.PaymentLinkID; id != nil && l.row.taken() {
			paid[*id] = b.within(l, "payment link's paidAmount", paid[*id])
		}
	}
}

// countForLinks adds the payments of the batch to the counters of its payment links, as paying the
// orders would have. The orders are new to the store, so none is counted twice.
func (b *orders) countForLinks(ctx context.Context, tx *ent.Tx) error {
	for _, link := range b.links {
		var count int32
		var amount int64
		last := link.LastPaidAt
		for _, l := range b.fresh {
			o := &l.row.order
			if o.PaymentLinkID == nil || *o.PaymentLinkID != link.ID || !l.row.taken() {
				continue
			}
			count++
			amount += o.Amount
			if last == nil || o.PaidAt.After(*last) {
				last = o.PaidAt
			}
		}
		if count == 0 {
			continue
		}
		err := tx.PaymentLink.UpdateOneID(link.ID).Where(paymentlink.StoreID(b.t.ID)).
			AddPaidCount(count).AddPaidAmount(amount).SetLastPaidAt(*last).Exec(ctx)
		if err != nil {
			return fmt.Errorf("count a payment link's payments: %w", err)
		}
	}
	return nil
}
