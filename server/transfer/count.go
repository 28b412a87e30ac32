package transfer

import (
	"cmp"
	"fmt"

	"github.com/google/uuid"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/hook"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/customer"
	"go.storefront.example/gen/ent/order"
	"go.storefront.example/gen/ent/paymentlink"
	"go.storefront.example/server/shop"
	"go.storefront.example/server/validate"
)

// lockBuyers locks the customers of the orders, and sets b.buyers, b.created and b.completed. It refuses a new order whose
// customer it can neither find nor create.
func (b *orders) lockBuyers(c *hook.Change) error {
	var ids []uuid.UUID
	rows := make([]row[ent.Customer], len(b.fresh))
	for i, l := range b.fresh {
		rows[i] = l.data.buyer
		ids = append(ids, l.data.buyer.id)
	}
	for _, o := range b.moved {
		ids = append(ids, o.data.CustomerID)
	}
	existing, stores, err := b.lockPeople(c, ids, rows)
	if err != nil {
		return err
	}
	all := peopleOf(existing)
	b.buyers, b.completed, b.created = map[uuid.UUID]*ent.Customer{}, map[uuid.UUID]*ent.Customer{}, nil
	for _, o := range b.moved {
		if at := all.Index("id", o.data.CustomerID.String()); at != Nobody {
			b.buyers[o.data.CustomerID] = existing[at]
		}
	}
	match := b.options.GetMatchCustomers()
	for i, l := range b.fresh {
		buyer := &b.fresh[i].data.buyer
		contact := contactOf(buyer.id, &buyer.data)
		m := all.Find(contact, match)
		found := m.Person != Nobody && m.Field != "id" // the customer was found by e-mail or phone
		switch store, ok := stores[buyer.id]; {
		case buyer.id == uuid.Nil:
			b.refuse(l.index, "reference", "is no order of the store, and a new one needs a buyer, an amount, and items with titles and prices")
		case ok && store != b.t.ID:
			b.refuse(l.index, "customer.id", b.otherStoresID(buyer.id))
		case m.Person == Nobody && len(buyer.names) == 0:
			b.refuse(l.index, "customer.id", "is no customer of the store, and without an e-mail or a phone none can be made")
		case found && !match:
			b.refuse(l.index, "customer."+m.Field, otherCustomers)
		case m.Owner != Nobody && (m.Person == Nobody || found && all.All[m.Person].Phone == 0):
			b.refuse(l.index, "customer.phone", otherCustomers)
		case m.Person == Nobody:
			all.Add(contact, i, i, "")
			b.created = append(b.created, *buyer)
		case m.Person >= len(existing):
			first := &b.created[m.Person-len(existing)]
			if buyer.id = first.id; found {
				first.data = shop.Completed(&first.data, &buyer.data)
				all.Complete(m.Person, contact, false)
			}
		default:
			buyer.id = existing[m.Person].ID
			b.buyers[buyer.id] = existing[m.Person]
			if found {
				known := cmp.Or(b.completed[buyer.id], existing[m.Person])
				b.completed[buyer.id] = new(shop.Completed(known, &buyer.data))
				all.Complete(m.Person, contact, false)
			}
		}
	}
	return nil
}

func (b *orders) saveBuyers(c *hook.Change) error {
	for id, next := range b.completed {
		row, err := shop.CompleteCustomer(c, b.buyers[id], next)
		if err != nil {
			return fmt.Errorf("complete a customer: %w", err)
		}
		b.buyers[id] = row
	}
	return nil
}

// lockLinks locks the payment links of the orders that are new or become paid, and refuses a new order with an unknown link.
func (b *orders) lockLinks(c *hook.Change) error {
	var ids []uuid.UUID
	for _, l := range b.paid {
		if l.data.PaymentLinkID != nil {
			ids = append(ids, *l.data.PaymentLinkID)
		}
	}
	for _, l := range b.fresh {
		if l.data.order.PaymentLinkID != nil {
			ids = append(ids, *l.data.order.PaymentLinkID)
		}
	}
	b.links = map[uuid.UUID]*ent.PaymentLink{}
	if len(ids) == 0 {
		return nil
	}
	rows, err := hook.LockRows(c, c.Tx.PaymentLink.Query().Where(b.inStore(ids)))
	if err != nil {
		return fmt.Errorf("read the payment links: %w", err)
	}
	for _, r := range rows {
		b.links[r.ID] = r
	}
	for _, l := range b.fresh {
		if id := l.data.order.PaymentLinkID; id != nil && b.links[*id] == nil {
			b.refuse(l.index, "paymentLink.id", "is no payment link of the store")
		}
	}
	return nil
}

// count computes the new counters, and refuses rows that take one past validate.MaxAmount.
//
// A customer's counters are counted anew from all orders, because an imported customer's may include orders that are imported
// only now. Payments are added to a link's counters, because the batch has only orders that are new or were not paid before.
func (b *orders) count(c *hook.Change) error {
	now := c.Time() // may be called now, because all rows are locked
	counts := map[uuid.UUID]*ent.Customer{}
	var ids []uuid.UUID
	for id, buyer := range b.buyers {
		counts[id], buyer.OrdersCount, buyer.TotalPaid = buyer, 0, 0
		ids = append(ids, id)
	}
	for i := range b.created {
		counts[b.created[i].id] = &b.created[i].data
	}
	if err := b.countExisting(c, ids, counts); err != nil {
		return err
	}
	for _, l := range b.paid {
		if l.data.Status == order.StatusPAID && counts[l.data.CustomerID].TotalPaid > validate.MaxAmount {
			b.refusePast(l.index, "customer's totalPaid")
		}
		b.countForLink(l.index, l.data)
	}
	for i := range b.fresh {
		l := &b.fresh[i]
		o := &l.data.order
		setDefaultTime(&o.CreatedAt, now)
		if o.PaidAt == nil && wasPaid(o) {
			o.PaidAt = &o.CreatedAt
		}
		if buyer := counts[l.data.buyer.id]; buyer != nil { // nil if the row was refused
			buyer.OrdersCount++
			if o.Status == order.StatusPAID {
				b.pay(l.index, o.Amount, "customer's totalPaid", &buyer.TotalPaid)
			}
		}
		b.countForLink(l.index, o)
	}
	return nil
}

// countForLink adds an order that was paid to the counters of its payment link, if it has one.
func (b *orders) countForLink(index int, o *ent.Order) {
	if o.PaymentLinkID == nil || !wasPaid(o) || b.links[*o.PaymentLinkID] == nil {
		return
	}
	link := b.links[*o.PaymentLinkID]
	b.pay(index, o.Amount, "payment link's paidAmount", &link.PaidAmount)
	link.PaidCount++
	if link.LastPaidAt == nil || o.PaidAt.After(*link.LastPaidAt) {
		link.LastPaidAt = o.PaidAt
	}
}

// pay adds an amount to a total, or refuses the row if the total would pass validate.MaxAmount.
func (b *orders) pay(index int, amount int64, name string, total *int64) {
	if *total > validate.MaxAmount-amount {
		b.refusePast(index, name)
		return
	}
	*total += amount
}

func (b *orders) refusePast(index int, total string) {
	b.refuse(index, "amount", fmt.Sprintf("takes the %s past %d", total, int64(validate.MaxAmount)))
}

// countExisting sets the counters of the customers with these ids to those of the orders in the database.
func (b *orders) countExisting(c *hook.Change, ids []uuid.UUID, counts map[uuid.UUID]*ent.Customer) error {
	const sums = "count(*) AS orders, coalesce(sum(CASE WHEN status = 'PAID' THEN amount END), 0) AS paid FROM orders " +
		"WHERE store_id = $1 AND customer_id "
	customerIDs := b.tableOf("uuid", "$2")
	// LATERAL makes PostgreSQL find the orders of each customer by an index.
	query := db.ByDialect(b.db, "SELECT v, r.orders, r.paid FROM "+customerIDs+" t CROSS JOIN LATERAL (SELECT "+sums+"= v) r",
		"SELECT customer_id, "+sums+"IN "+customerIDs+" GROUP BY customer_id")
	for row := range db.Rows(c, c.Tx, query, b.t.ID, listOf(ids)) {
		var id uuid.UUID
		var orders int32
		var paid int64
		if err := row.Scan(&id, &orders, &paid); err != nil {
			return fmt.Errorf("count the customers' orders: %w", err)
		}
		counts[id].OrdersCount, counts[id].TotalPaid = orders, paid
	}
	return nil
}

// storeCounters updates the counters of rows that the import did not create.
func (b *orders) storeCounters(c *hook.Change) error {
	for id, buyer := range b.buyers {
		err := c.Tx.Customer.Update().Where(customer.StoreID(b.t.ID),
			customer.ID(id)).SetOrdersCount(buyer.OrdersCount).SetTotalPaid(buyer.TotalPaid).Exec(c)
		if err != nil {
			return fmt.Errorf("set a customer's counters: %w", err)
		}
	}
	for id, link := range b.links {
		err := c.Tx.PaymentLink.UpdateOneID(id).Where(paymentlink.StoreID(b.t.ID)).SetPaidCount(link.PaidCount).
			SetPaidAmount(link.PaidAmount).SetNillableLastPaidAt(link.LastPaidAt).Exec(c)
		if err != nil {
			return fmt.Errorf("count a payment link's payments: %w", err)
		}
	}
	return nil
}
