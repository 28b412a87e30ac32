package importing

import (
	"context"
	"fmt"
	"slices"

	"entgo.io/ent/dialect"
	"github.com/google/uuid"

	"go.storefront.example/ent/db"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/customer"
	"go.storefront.example/gen/ent/order"
	"go.storefront.example/gen/ent/paymentlink"
	"go.storefront.example/server/validate"
)

// countForCustomers counts the orders of each customer of the batch: how many there are in any status,
// and the sum of those that are PAID. It counts the rows, with the customers locked, so that the counter
// of a customer who was imported with one does not include orders twice.
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
	if err := b.countThere(ctx, tx, ids, counts); err != nil {
		return err
	}
	for _, l := range b.paid {
		if c := counts[l.row.CustomerID]; l.row.Status == order.StatusPAID && c.TotalPaid > validate.MaxAmount {
			b.within(l.index, l.row.Amount, "customer's totalPaid", c.TotalPaid)
		}
	}
	for _, l := range b.fresh {
		c := counts[l.row.buyer.ID]
		if c == nil {
			continue // the row is refused
		}
		c.OrdersCount++
		if l.row.order.Status == order.StatusPAID {
			c.TotalPaid = b.within(l.index, l.row.order.Amount, "customer's totalPaid", c.TotalPaid)
		}
	}
	return nil
}

// countThere counts the orders that the store has of each of the customers.
func (b *orders) countThere(ctx context.Context, tx *ent.Tx, ids []uuid.UUID, counts map[uuid.UUID]*ent.Customer) error {
	if len(ids) == 0 {
		return nil
	}
	list, of := listOf(b.db.Dialect(), ids, "$2")
	const sums = "count(*) AS orders, sum(CASE WHEN status = 'PAID' THEN amount END) AS paid FROM orders WHERE store_id = $1 AND " +
		"customer_id "
	query := "SELECT customer_id, " + sums + "IN " + of + " GROUP BY customer_id"
	if b.db.Dialect() == dialect.Postgres {
		// A look-up for each customer, as in holding.
		query = "SELECT v, r.orders, r.paid FROM " + of + " t CROSS JOIN LATERAL (SELECT " + sums + "= v) r WHERE r.orders > 0"
	}
	for row := range db.Rows(ctx, tx, query, b.t.ID, list) {
		var id uuid.UUID
		var orders int32
		var paid *int64
		if err := row.Scan(&id, &orders, &paid); err != nil {
			return fmt.Errorf("count the customers' orders: %w", err)
		}
		counts[id].OrdersCount = orders
		if paid != nil {
			counts[id].TotalPaid = *paid
		}
	}
	return nil
}

// within adds an order's amount to a total, and refuses the row that takes it past validate.MaxAmount.
func (b *orders) within(index int, amount int64, total string, before int64) int64 {
	if before > validate.MaxAmount-amount {
		b.refuse(index, "amount", fmt.Sprintf("takes the %s past %d", total, int64(validate.MaxAmount)))
		return before
	}
	return before + amount
}

// setCounters updates the counters of customers whom the store had before; new ones are inserted with
// theirs.
func (b *orders) setCounters(ctx context.Context, tx *ent.Tx) error {
	for id, c := range b.buyers {
		err := tx.Customer.Update().Where(customer.StoreID(b.t.ID),
			customer.ID(id)).SetOrdersCount(c.OrdersCount).SetTotalPaid(c.TotalPaid).Exec(ctx)
		if err != nil {
			return fmt.Errorf("set a customer's counters: %w", err)
		}
	}
	return nil
}

// withinLinks refuses the first row that takes a payment link's paidAmount past validate.MaxAmount.
func (b *orders) withinLinks() {
	paid := map[uuid.UUID]int64{}
	for id, link := range b.links {
		paid[id] = link.PaidAmount
	}
	for _, l := range b.paid {
		if id := l.row.PaymentLinkID; id != nil {
			paid[*id] = b.within(l.index, l.row.Amount, "payment link's paidAmount", paid[*id])
		}
	}
	for _, l := range b.fresh {
		if id := l.row.order.PaymentLinkID; id != nil && taken(&l.row.order) {
			paid[*id] = b.within(l.index, l.row.order.Amount, "payment link's paidAmount", paid[*id])
		}
	}
}

// countForLinks adds the payments of the batch to the counters of its payment links, as paying the
// orders would have. The orders are new to the store or were not paid before, so none is counted twice.
func (b *orders) countForLinks(ctx context.Context, tx *ent.Tx) error {
	for _, link := range b.links {
		var count int32
		var amount int64
		last := link.LastPaidAt
		all := slices.Clone(b.stored)
		for _, l := range b.paid {
			all = append(all, l.row)
		}
		for _, o := range all {
			if o.PaymentLinkID == nil || *o.PaymentLinkID != link.ID || !taken(o) {
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
