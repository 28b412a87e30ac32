package importing

import (
	"context"
	"fmt"

	"entgo.io/ent/dialect/sql"
	"github.com/google/uuid"

	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/customer"
	"go.storefront.example/gen/ent/order"
	"go.storefront.example/gen/ent/paymentlink"
	"go.storefront.example/server/validate"
)

// countForCustomers sets the counters of a batch's customers from the store's orders: how many
// there are in any status, and the sum of those that are PAID. They are computed from the rows,
// under the customers' locks, so that a counter loaded with its customer does not count orders
// twice, and none drifts.
//
// It refuses the first line that takes a customer's totalPaid past validate.MaxAmount.
func (b *orderBatch) countForCustomers(ctx context.Context, tx *ent.Tx, ids []uuid.UUID, lines []importLine[orderRow]) error {
	var counted []struct {
		CustomerID uuid.UUID `sql:"customer_id"`
		Orders     int32     `sql:"orders"`
		Paid       int64     `sql:"paid"`
	}
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
	paid := func(o *orderRow) (uuid.UUID, bool) { return o.buyer.ID, o.order.Status == order.StatusPAID }
	before := map[uuid.UUID]int64{}
	for _, c := range counted {
		before[c.CustomerID] = c.Paid
	}
	for _, l := range lines {
		if buyer, counts := paid(&l.row); counts {
			before[buyer] -= l.row.order.Amount
		}
	}
	if err := withinTotal(lines, "customer's totalPaid", before, paid); err != nil {
		return err
	}
	for _, c := range counted {
		err := tx.Customer.UpdateOneID(c.CustomerID).Where(customer.StoreID(b.t.ID)).
			SetOrdersCount(c.Orders).SetTotalPaid(c.Paid).Exec(ctx)
		if err != nil {
			return fmt.Errorf("set a customer's counters: %w", err)
		}
	}
	return nil
}

// withinTotal refuses the first line whose order takes a total past validate.MaxAmount. before holds each
// total without the lines, and counts returns the total to which an order is added.
func withinTotal(lines []importLine[orderRow], total string, before map[uuid.UUID]int64, counts func(*orderRow) (uuid.UUID, bool)) error {
	for _, l := range lines {
		id, counted := counts(&l.row)
		if !counted {
			continue
		}
		if before[id] += l.row.order.Amount; before[id] > validate.MaxAmount {
			return l.refuse("amount", fmt.Sprintf("takes the %s past %d", total, int64(validate.MaxAmount)))
		}
	}
	return nil
}

// countForLinks adds the payments of a batch to the counters of its payment links, as paying the
// orders would have. The orders are new to the store, so none is counted twice. It refuses the
// first line that takes a link's paidAmount past validate.MaxAmount.
func (b *orderBatch) countForLinks(ctx context.Context, tx *ent.Tx, links map[uuid.UUID]*ent.PaymentLink, lines []importLine[orderRow]) error {
	before := map[uuid.UUID]int64{}
	for id, link := range links {
		before[id] = link.PaidAmount
	}
	err := withinTotal(lines, "payment link's paidAmount", before, func(o *orderRow) (uuid.UUID, bool) {
		if o.order.PaymentLinkID == nil {
			return uuid.Nil, false
		}
		return *o.order.PaymentLinkID, o.taken()
	})
	if err != nil {
		return err
	}
	for _, link := range links {
		var count int32
		var amount int64
		last := link.LastPaidAt
		for _, l := range lines {
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
