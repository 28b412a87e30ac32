package resource

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"go.storefront.example/ent/tenant"
	"go.storefront.example/ent/wire"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
)

const (
	orderColumns = `SELECT o.id, o.reference, o.status, o.amount, o.platform_fee_percent, o.note, o.paid_at, o.created_at,
 c.id, c.name, c.email, c.phone, l.id, l.code, l.title,
 i.id, i.product_id, i.type, i.title, i.unit_amount, i.quantity`

	orderJoins = `
 JOIN customers c ON c.id = o.customer_id AND c.store_id = o.store_id
 LEFT JOIN payment_links l ON l.id = o.payment_link_id AND l.store_id = o.store_id
 LEFT JOIN order_items i ON i.store_id = o.store_id AND i.order_id = o.id`

	// Two look-ups by primary key, one by the index on the items, whatever the size of the store.
	orderByID = orderColumns + `
 FROM orders o` + orderJoins + `
 WHERE o.store_id = $1 AND o.id = $2
 ORDER BY i.position`
)

// FindOrder reads an order of the store with its customer, its items and its payment link. It
// returns ErrNotFound when the store has no such order.
func FindOrder(ctx context.Context, q Querier, store tenant.Store, id uuid.UUID) (*storefrontv1.Order, error) {
	orders, err := scanOrders(ctx, q, store.Currency, 1, orderByID, store.ID, id)
	if err != nil {
		return nil, fmt.Errorf("read order: %w", err)
	}
	if len(orders) == 0 {
		return nil, ErrNotFound
	}
	return orders[0], nil
}

// OrderFilter chooses the orders of a list; zero fields filter nothing.
type OrderFilter struct {
	Status storefrontv1.Order_Status
	// From is inclusive, To exclusive, both on createdAt.
	From, To *time.Time
}

func (w OrderFilter) filter(store tenant.Store) *filter {
	f := &filter{}
	f.and("store_id =", store.ID)
	if w.Status != 0 {
		f.and("status =", w.Status.String())
	}
	if w.From != nil {
		f.and("created_at >=", *w.From)
	}
	if w.To != nil {
		f.and("created_at <", *w.To)
	}
	return f
}

// Orders reads a page of the matching orders, newest first, and counts all that match. Counting
// reads entries of the index in the order of the list and touches no row, so it costs as much as
// there are matching orders, some ten million a second. The first page is read straight down the
// index. For any other page the ids come from the index alone, so that a deep page passes over index
// entries and never over rows, and the page's rows are then looked up by id.
func Orders(ctx context.Context, q Querier, store tenant.Store, which OrderFilter, page Page) (orders []*storefrontv1.Order, total int64, err error) {
	f := which.filter(store)
	total, err = count(ctx, q, "SELECT count(*) FROM orders WHERE "+string(f.where), f.args...)
	if err != nil {
		return nil, 0, fmt.Errorf("count orders: %w", err)
	}
	if page.Offset >= total {
		return nil, total, nil
	}
	columns, join := "*", ") o"
	if page.Offset > 0 {
		columns, join = "id", ") p JOIN orders o ON o.id = p.id"
	}
	query := orderColumns + `
 FROM (SELECT ` + columns + ` FROM orders WHERE ` + string(f.where) + `
  ORDER BY created_at DESC, id DESC` + f.limit(page) + join + orderJoins + `
 ORDER BY o.created_at DESC, o.id DESC, i.position`
	orders, err = scanOrders(ctx, q, store.Currency, page.Size, query, f.args...)
	if err != nil {
		return nil, 0, fmt.Errorf("list orders: %w", err)
	}
	return orders, total, nil
}

// scanOrders folds the rows of the join, one for each item, into one message for each order.
func scanOrders(ctx context.Context, q Querier, currency string, size int, query string, args ...any) ([]*storefrontv1.Order, error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()

	orders := make([]*storefrontv1.Order, 0, size)
	var (
		id, reference, status, customerID, customerName string
		note, email, phone, linkID, linkCode, linkTitle *string
		itemID, productID, itemType, itemTitle          *string
		amount                                          int64
		fee                                             float64
		paidAt                                          sql.NullTime
		createdAt                                       time.Time
		unitAmount, quantity                            sql.NullInt64
	)
	columns := []any{&id, &reference, &status, &amount, &fee, &note, &paidAt, &createdAt,
		&customerID, &customerName, &email, &phone, &linkID, &linkCode, &linkTitle,
		&itemID, &productID, &itemType, &itemTitle, &unitAmount, &quantity}
	for rows.Next() {
		if err := rows.Scan(columns...); err != nil {
			return nil, err
		}
		if len(orders) == 0 || orders[len(orders)-1].Id != id {
			o := &storefrontv1.Order{
				Id: id, Reference: reference, Status: storefrontv1.Order_Status(storefrontv1.Order_Status_value[status]),
				Amount: amount, Currency: currency, PlatformFeePercent: fee, Note: note,
				Customer:  &storefrontv1.Order_Customer{Id: customerID, Name: customerName, Email: email, Phone: phone},
				CreatedAt: wire.Timestamp(createdAt),
			}
			if paidAt.Valid {
				o.PaidAt = wire.Timestamp(paidAt.Time)
			}
			if linkID != nil {
				o.PaymentLink = &storefrontv1.Order_PaymentLink{Id: *linkID, Code: *linkCode, Title: *linkTitle}
			}
			orders = append(orders, o)
		}
		if itemID != nil {
			o := orders[len(orders)-1]
			o.Items = append(o.Items, &storefrontv1.Order_Item{
				Id: *itemID, ProductId: *productID, Title: *itemTitle,
				Type:       storefrontv1.Product_Type(storefrontv1.Product_Type_value[*itemType]),
				UnitAmount: unitAmount.Int64, Quantity: int32(quantity.Int64),
			})
		}
	}
	return orders, errors.Join(rows.Err(), rows.Close())
}
