package resource

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/google/uuid"

	"go.storefront.example/ent/apijson"
	"go.storefront.example/ent/invisible"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
)

const (
	orderColumns = `o.id, o.reference, o.status, o.amount, o.platform_fee_percent, o.note, o.paid_at, o.created_at,
 c.id, c.name, c.email, c.phone, l.id, l.code, l.title,
 i.id, i.product_id, i.type, i.title, i.unit_amount, i.quantity`

	// Each join names the store, argument 1, so that a database distributed by store reads from one machine.
	customerOfOrder = "customers c ON c.id = o.customer_id AND c.store_id = $1"
	linkAndItems    = `
 LEFT JOIN payment_links l ON l.id = o.payment_link_id AND l.store_id = $1
 LEFT JOIN order_items i ON i.store_id = $1 AND i.order_id = o.id`

	// orderByID is the statement that reads one order. As in a list's statement, the first column is the total, which is not
	// needed here. It costs the same in a store of any size: it looks up the order, the
	// customer and the payment link by their primary keys, and the items by an index.
	orderByID = "SELECT 0, " + orderColumns + orderFrom

	orderFrom = `
 FROM orders o
 JOIN ` + customerOfOrder + linkAndItems + `
 WHERE o.store_id = $1 AND o.id = $2
 ORDER BY i.position`

	// ordersAfter reads the $4 oldest of the store's orders after the order created at $2 with the id $3.
	ordersAfter = "SELECT 0, " + orderColumns + `
 FROM (SELECT * FROM orders WHERE store_id = $1 AND (created_at, id) > ($2, $3) ORDER BY created_at, id LIMIT $4) o
 JOIN ` + customerOfOrder + linkAndItems + `
 ORDER BY o.created_at, o.id, i.position`
)

// ReadOrder reads an order of the store with its customer, items and payment link. It fails with ErrNotFound if the store has
// no such order.
func ReadOrder(ctx context.Context, q Querier, store tenant.Store, id uuid.UUID) (*storefrontv1.Order, error) {
	s := &orderScan{currency: store.Currency}
	if err := forEachRow(ctx, q, orderByID, []any{store.ID, id}, s.scan); err != nil {
		return nil, fmt.Errorf("read order: %w", err)
	}
	if len(s.orders) == 0 {
		return nil, ErrNotFound
	}
	return s.orders[0], nil
}

// EachOrder calls fn with each of the store's orders, oldest first. An order has everything that ReadOrder reads. EachOrder
// reads the orders in several statements; each reads at most size orders.
func EachOrder(ctx context.Context, q Querier, store tenant.Store, size int, fn func(*storefrontv1.Order) error) error {
	s, lastID := &orderScan{currency: store.Currency}, uuid.Nil.String()
	for {
		s.orders = nil
		if err := forEachRow(ctx, q, ordersAfter, []any{store.ID, s.createdAt, lastID, size}, s.scan); err != nil {
			return fmt.Errorf("read orders: %w", err)
		}
		for _, o := range s.orders {
			if err := fn(o); err != nil {
				return err
			}
		}
		if len(s.orders) < size {
			return nil
		}
		lastID = s.id
	}
}

// OrderFilter chooses the orders of a list; zero fields filter nothing.
type OrderFilter struct {
	Status storefrontv1.Order_Status
	// From and To limit createdAt: From is inclusive, To exclusive, and nil means no limit.
	From, To *time.Time
}

func (o OrderFilter) filter(store tenant.Store) *filter {
	f := &filter{args: []any{store.ID}, from: o.From, to: o.To}
	if o.Status != 0 {
		f.facet("status", o.Status.String())
	}
	return f
}

// orderList has the SQL of lists of orders. It uses left joins, because the row of an empty page has no order and so no
// customer.
var orderList = list{table: "orders", alias: "o", columns: orderColumns, joins: "\n LEFT JOIN " + customerOfOrder + linkAndItems,
	order: ", i.position"}

// Orders reads a page of the orders that match the criteria, newest first. total is the number of all matching orders. The cost
// is the same for every page and size of the store (see statement).
func Orders(ctx context.Context, l Lists, store tenant.Store, criteria OrderFilter, page Page) (orders []*storefrontv1.Order,
	total int64, err error) {
	s := &orderScan{currency: store.Currency, orders: make([]*storefrontv1.Order, 0, page.Size)}
	if err := l.read(ctx, orderList, criteria.filter(store), page, &s.total, s.scan); err != nil {
		return nil, 0, fmt.Errorf("list orders: %w", err)
	}
	return s.orders, s.total, nil
}

// orderScan reads rows of orders joined with their items, one row for each item. It makes one message of all rows of an
// order.
type orderScan struct {
	currency string
	orders   []*storefrontv1.Order
	total    int64

	id, reference, status, customerID, customerName string
	note, email, phone, linkID, linkCode, linkTitle *string
	itemID, productID, itemType, itemTitle          *string
	amount                                          int64
	fee                                             float64
	paidAt                                          sql.NullTime
	createdAt                                       time.Time
	unitAmount, quantity                            sql.NullInt64
	columns                                         []any
	extra                                           []any // destinations of the columns after orderColumns
}

func (s *orderScan) scan(rows *sql.Rows) error {
	if s.columns == nil {
		s.columns = []any{&s.total, &s.id, &s.reference, &s.status, &s.amount, &s.fee, &s.note, &s.paidAt, &s.createdAt,
			&s.customerID, &s.customerName, &s.email, &s.phone, &s.linkID, &s.linkCode, &s.linkTitle,
			&s.itemID, &s.productID, &s.itemType, &s.itemTitle, &s.unitAmount, &s.quantity}
		s.columns = append(s.columns, s.extra...)
	}
	if err := rows.Scan(s.columns...); err != nil {
		return err
	}
	if len(s.orders) == 0 || s.orders[len(s.orders)-1].Id != s.id {
		s.orders = append(s.orders, s.order())
	}
	if s.itemID != nil {
		o := s.orders[len(s.orders)-1]
		o.Items = append(o.Items, orderItem(*s.itemID, *s.productID, *s.itemType, *s.itemTitle, s.unitAmount.Int64,
			int32(s.quantity.Int64)))
	}
	return nil
}

func orderItem(id, productID, itemType, title string, unitAmount int64, quantity int32) *storefrontv1.Order_Item {
	return &storefrontv1.Order_Item{
		Id: id, ProductId: productID, Type: storefrontv1.Product_Type(storefrontv1.Product_Type_value[itemType]),
		Title: invisible.OneLine(title), UnitAmount: unitAmount, Quantity: quantity,
	}
}

// Order returns the message that ReadOrder would return for these rows once they are stored. link is nil for an order from
// the catalogue.
func Order(row *ent.Order, buyer *ent.Customer, link *ent.PaymentLink, items []*ent.OrderItem,
	currency string) *storefrontv1.Order {
	s := &orderScan{
		currency: currency, id: row.ID.String(), reference: row.Reference, status: row.Status.String(), amount: row.Amount,
		fee: row.PlatformFeePercent, note: row.Note, createdAt: row.CreatedAt,
		customerID: buyer.ID.String(), customerName: buyer.Name, email: buyer.Email, phone: buyer.Phone,
	}
	if row.PaidAt != nil {
		s.paidAt = sql.NullTime{Time: *row.PaidAt, Valid: true}
	}
	if link != nil {
		linkID := link.ID.String()
		s.linkID, s.linkCode, s.linkTitle = &linkID, &link.Code, &link.Title
	}
	o := s.order()
	for _, i := range items {
		o.Items = append(o.Items, orderItem(i.ID.String(), i.ProductID.String(), i.Type.String(), i.Title, i.UnitAmount, i.Quantity))
	}
	return o
}

// order returns the order of the row that was scanned last, without its items.
func (s *orderScan) order() *storefrontv1.Order {
	o := &storefrontv1.Order{
		Id: s.id, Reference: invisible.OneLine(s.reference), Status: storefrontv1.Order_Status(storefrontv1.Order_Status_value[s.status]),
		Amount: s.amount, Currency: s.currency, PlatformFeePercent: s.fee, Note: s.note,
		Customer:  &storefrontv1.Order_Customer{Id: s.customerID, Name: invisible.OneLine(s.customerName), Email: s.email, Phone: s.phone},
		CreatedAt: apijson.Timestamp(s.createdAt),
	}
	if s.paidAt.Valid {
		o.PaidAt = apijson.Timestamp(s.paidAt.Time)
	}
	if s.linkID != nil {
		o.PaymentLink = &storefrontv1.Order_PaymentLink{Id: *s.linkID, Code: *s.linkCode, Title: invisible.OneLine(*s.linkTitle)}
	}
	return o
}
