package read

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"go.storefront.example/ent/tenant"
	"go.storefront.example/ent/wire"
	"go.storefront.example/gen/ent"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
)

const (
	customerColumns = `SELECT c.id, c.name, c.email, c.phone, c.orders_count, c.total_paid, c.created_at`

	customerByID = customerColumns + `
 FROM customers c WHERE c.store_id = $1 AND c.id = $2`
)

// Customer reads a customer of the store. It returns ErrNotFound when the store has no such
// customer.
func Customer(ctx context.Context, q Querier, store tenant.Store, id uuid.UUID) (*storefrontv1.Customer, error) {
	customers, err := scanCustomers(ctx, q, store.Currency, 1, customerByID, store.ID, id)
	if err != nil {
		return nil, fmt.Errorf("read customer: %w", err)
	}
	if len(customers) == 0 {
		return nil, ErrNotFound
	}
	return customers[0], nil
}

// IdentifiedCustomers reads the customers of the store that an e-mail in lower case or a phone in
// E.164 form identifies, by id: none, one, or two that each have one of the two. With lock their
// rows are held for the rest of the transaction, which SQLite neither needs nor knows.
func IdentifiedCustomers(ctx context.Context, q Querier, store tenant.Store, email, phone *string, lock bool) ([]*ent.Customer, error) {
	query := `SELECT id, store_id, name, email, phone, search, orders_count, total_paid, created_at, updated_at
 FROM customers WHERE store_id = $1 AND `
	args := []any{store.ID}
	switch {
	case phone == nil:
		query, args = query+"email = $2", append(args, *email)
	case email == nil:
		query, args = query+"phone = $2", append(args, *phone)
	default:
		query, args = query+"(email = $2 OR phone = $3)", append(args, *email, *phone)
	}
	query += " ORDER BY id"
	if lock {
		query += " FOR NO KEY UPDATE" // new orders refer to its id, which stays
	}
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("look for the customer: %w", err)
	}
	defer rows.Close()
	var found []*ent.Customer
	for rows.Next() {
		c := &ent.Customer{}
		err := rows.Scan(&c.ID, &c.StoreID, &c.Name, &c.Email, &c.Phone, &c.Search, &c.OrdersCount, &c.TotalPaid, &c.CreatedAt, &c.UpdatedAt)
		if err != nil {
			return nil, fmt.Errorf("look for the customer: %w", err)
		}
		found = append(found, c)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return nil, fmt.Errorf("look for the customer: %w", err)
	}
	return found, nil
}

// customerFilter finds the store's customers, or those in whose name, e-mail or phone the text
// occurs.
func customerFilter(store tenant.Store, text string) *filter {
	f := &filter{}
	f.and("store_id =", store.ID)
	if text != "" {
		f.and("search LIKE", contains(text))
		f.where = append(f.where, ` ESCAPE '\'`...)
	}
	return f
}

// CountCustomers returns how many customers match the text; empty text matches all. Without text
// it counts index entries. With text of three characters or more PostgreSQL looks the text's
// trigrams up in an index that starts with the store, so that the cost follows the matches;
// shorter text, and any text on SQLite, is compared along the store's part of an index.
func CountCustomers(ctx context.Context, q Querier, store tenant.Store, text string) (int64, error) {
	f := customerFilter(store, text)
	n, err := count(ctx, q, "SELECT count(*) FROM customers WHERE "+string(f.where), f.args...)
	if err != nil {
		return 0, fmt.Errorf("count customers: %w", err)
	}
	return n, nil
}

// Customers reads a page of the customers that match the text, newest first, at the cost that
// CountCustomers names and one look-up for each row of the page.
func Customers(ctx context.Context, q Querier, store tenant.Store, text string, page Page) ([]*storefrontv1.Customer, error) {
	f := customerFilter(store, text)
	columns, join := "*", ") c"
	if page.Offset > 0 {
		columns, join = "id", ") p JOIN customers c ON c.id = p.id"
	}
	query := customerColumns + `
 FROM (SELECT ` + columns + ` FROM customers WHERE ` + string(f.where) + `
  ORDER BY created_at DESC, id DESC` + f.limit(page) + join + `
 ORDER BY c.created_at DESC, c.id DESC`
	customers, err := scanCustomers(ctx, q, store.Currency, page.Size, query, f.args...)
	if err != nil {
		return nil, fmt.Errorf("list customers: %w", err)
	}
	return customers, nil
}

func scanCustomers(ctx context.Context, q Querier, currency string, size int, query string, args ...any) ([]*storefrontv1.Customer, error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()

	customers := make([]*storefrontv1.Customer, 0, size)
	var createdAt time.Time
	for rows.Next() {
		c := &storefrontv1.Customer{Currency: currency}
		if err := rows.Scan(&c.Id, &c.Name, &c.Email, &c.Phone, &c.OrdersCount, &c.TotalPaid, &createdAt); err != nil {
			return nil, err
		}
		c.CreatedAt = wire.Timestamp(createdAt)
		customers = append(customers, c)
	}
	return customers, errors.Join(rows.Err(), rows.Close())
}
