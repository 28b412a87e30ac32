package yardstick

// rows is what the results of both drivers have in common.
type rows interface {
	Next() bool
	Scan(places ...any) error
	Err() error
}

// joined is a row of the join of orders with their items: an order is as many rows as it has items.
// Moments are of the type T.
type joined[T any] struct {
	order
	paidAt    *T
	createdAt T

	linkID, linkCode, linkTitle            *string
	itemID, productID, itemType, itemTitle *string
	unitAmount, quantity                   *int64
}

// readOrders gathers the rows of a join into orders; stamp spells a moment.
func readOrders[T any](found rows, c *caller, size int, stamp func(T) string) ([]*order, error) {
	orders := make([]*order, 0, size)
	for found.Next() {
		var j joined[T]
		if err := found.Scan(&j.ID, &j.Reference, &j.Status, &j.Amount, &j.PlatformFeePercent, &j.Note, &j.paidAt, &j.createdAt,
			&j.Customer.ID, &j.Customer.Name, &j.Customer.Email, &j.Customer.Phone, &j.linkID, &j.linkCode, &j.linkTitle,
			&j.itemID, &j.productID, &j.itemType, &j.itemTitle, &j.unitAmount, &j.quantity); err != nil {
			return nil, err
		}
		if n := len(orders); n == 0 || orders[n-1].ID != j.ID {
			o := j.order
			o.Currency, o.CreatedAt, o.Items = c.Store.Currency, stamp(j.createdAt), make([]orderItem, 0, 3)
			if j.paidAt != nil {
				text := stamp(*j.paidAt)
				o.PaidAt = &text
			}
			if j.linkID != nil {
				o.PaymentLink = &orderLink{*j.linkID, *j.linkCode, *j.linkTitle}
			}
			orders = append(orders, &o)
		}
		if j.itemID != nil {
			o := orders[len(orders)-1]
			o.Items = append(o.Items, orderItem{*j.itemID, *j.productID, *j.itemType, *j.itemTitle, *j.unitAmount, *j.quantity})
		}
	}
	return orders, found.Err()
}

// readCustomers reads the rows of customers.
func readCustomers[T any](found rows, c *caller, size int, stamp func(T) string) ([]*customer, error) {
	customers := make([]*customer, 0, size)
	for found.Next() {
		one := &customer{Currency: c.Store.Currency}
		var createdAt T
		if err := found.Scan(&one.ID, &one.Name, &one.Email, &one.Phone, &one.OrdersCount, &one.TotalPaid, &createdAt); err != nil {
			return nil, err
		}
		one.CreatedAt = stamp(createdAt)
		customers = append(customers, one)
	}
	return customers, found.Err()
}

// What follows the columns of a statement is the same on both databases.
const (
	orderJoins = `
JOIN customers c ON c.id = o.customer_id
LEFT JOIN payment_links l ON l.id = o.payment_link_id
LEFT JOIN order_items i ON i.store_id = o.store_id AND i.order_id = o.id`

	oneOrder = `
FROM orders o` + orderJoins + `
WHERE o.store_id = $1 AND o.id = $2
ORDER BY i.position`

	countOrders = `SELECT count(*) FROM orders WHERE store_id = $1`

	pageOfOrders = `
FROM (
	SELECT * FROM orders WHERE store_id = $1
	ORDER BY created_at DESC, id DESC LIMIT $2 OFFSET $3
) o` + orderJoins + `
ORDER BY o.created_at DESC, o.id DESC, i.position`

	countCustomers = `SELECT count(*) FROM customers WHERE store_id = $1 AND search LIKE $2 ESCAPE '\'`

	pageOfCustomers = `
WHERE store_id = $1 AND search LIKE $2 ESCAPE '\'
ORDER BY created_at DESC, id DESC LIMIT $3 OFFSET $4`

	knownCustomers = `
WHERE store_id = $1 AND (email = $2 OR phone = $3) ORDER BY id`

	insertCustomer = `
INSERT INTO customers (id, store_id, name, email, phone, search, orders_count, total_paid, created_at, updated_at)
VALUES ($1, $2, $3, $4, $5, $6, 0, 0, $7, $7)`

	insertEntry = `
INSERT INTO activity_entries
	(id, store_id, actor_type, actor_id, actor_name, action, resource_type, resource_id, changes, created_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`

	insertEvent = `INSERT INTO events (id, store_id, type, payload, created_at) VALUES ($1, $2, $3, $4, $5)`
)
