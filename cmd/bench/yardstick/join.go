package yardstick

// joined is a row of the join of orders with their items: an order is as many rows as it has items.
type joined struct {
	id, reference, status string
	amount                int64
	fee                   float64
	note                  *string
	customer              orderCustomer

	linkID, linkCode, linkTitle            *string
	itemID, productID, itemType, itemTitle *string
}

// leading are the places of the first columns, which both databases read alike.
func (j *joined) leading() []any {
	places := make([]any, 0, 21)
	return append(places, &j.id, &j.reference, &j.status, &j.amount, &j.fee, &j.note)
}

// folded gathers the rows of a join into orders.
type folded struct{ orders []*order }

// add begins the order of a row and returns it, or nil when the row goes on with the last order.
func (f *folded) add(j *joined, currency string) *order {
	if n := len(f.orders); n > 0 && f.orders[n-1].ID == j.id {
		return nil
	}
	o := &order{
		ID: j.id, Reference: j.reference, Status: j.status, Amount: j.amount, Currency: currency,
		PlatformFeePercent: j.fee, Customer: j.customer, Items: make([]orderItem, 0, 3), Note: j.note,
	}
	if j.linkID != nil {
		o.PaymentLink = &orderLink{*j.linkID, *j.linkCode, *j.linkTitle}
	}
	f.orders = append(f.orders, o)
	return o
}

// item adds the item of a row to the last order.
func (f *folded) item(j *joined, unitAmount, quantity int64) {
	o := f.orders[len(f.orders)-1]
	o.Items = append(o.Items, orderItem{*j.itemID, *j.productID, *j.itemType, *j.itemTitle, unitAmount, quantity})
}
