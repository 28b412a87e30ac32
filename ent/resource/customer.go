package resource

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"go.storefront.example/ent/invisible"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/customer"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
)

var customerShape = shapeOf[ent.Customer, storefrontv1.Customer](customer.FieldUpdatedAt)

// Customer returns the message for a row of a store with this currency. The message shares the row's texts.
func Customer(row *ent.Customer, currency string) *storefrontv1.Customer {
	m := customerShape.fill(&storefrontv1.Customer{Currency: currency}, row)
	m.Name = invisible.OneLine(m.Name)
	return m
}

// ForgottenDomain is the domain of ForgottenEmail. It receives no mail (RFC 2606, section 2), and no request may set an e-mail of
// it or of a domain below it.
const ForgottenDomain = "forgotten.invalid"

// ForgottenEmail returns the e-mail that a customer has after the erasure of its data. It contains only the customer's id.
func ForgottenEmail(id uuid.UUID) string { return id.String() + "@" + ForgottenDomain }

// IsForgotten reports whether the customer of the row was erased, so that the row has no personal data.
func IsForgotten(row *ent.Customer) bool {
	return row.Name == "" && row.Phone == nil && row.Email != nil && *row.Email == ForgottenEmail(row.ID)
}

var selectCustomers = "SELECT " + customerShape.selected("c") + " FROM customers c WHERE c.store_id = $1 AND "

// ReadCustomer reads a customer of the store. It fails with ErrNotFound if the store has no such customer.
func ReadCustomer(ctx context.Context, q Querier, store tenant.Store, id uuid.UUID) (*storefrontv1.Customer, error) {
	rows, err := scanCustomers(ctx, q, store, selectCustomers+"c.id = $2", store.ID, id)
	if err != nil {
		return nil, fmt.Errorf("read customer: %w", err)
	}
	if len(rows) == 0 {
		return nil, ErrNotFound
	}
	return Customer(rows[0], store.Currency), nil
}

// IdentifiedCustomers reads the customers of the store who have this e-mail (in lower case) or this phone (in E.164 form).
// One of the two may be nil and then matches nobody. It finds at most two customers, one by the e-mail and one by the phone,
// in the order of their ids. The rows lack their search text. rowLock is the clause of db.DB.RowLock, or "".
func IdentifiedCustomers(ctx context.Context, q Querier, store tenant.Store, email, phone *string, rowLock string) (
	[]*ent.Customer, error) {
	query := selectCustomers
	args := []any{store.ID}
	switch {
	case phone == nil:
		query, args = query+"c.email = $2", append(args, *email)
	case email == nil:
		query, args = query+"c.phone = $2", append(args, *phone)
	default:
		query, args = query+"(c.email = $2 OR c.phone = $3)", append(args, *email, *phone)
	}
	found, err := scanCustomers(ctx, q, store, query+" ORDER BY c.id"+rowLock, args...)
	if err != nil {
		return nil, fmt.Errorf("look for the customer: %w", err)
	}
	return found, nil
}

var customerList = list{table: "customers", alias: "c", columns: customerShape.selected("c")}

// customerFilter returns a filter for the store's customers whose name, e-mail or phone contains the text; "" matches all
// customers. If the text looks like a phone, its digits are compared with the phone's digits.
func customerFilter(l Lists, store tenant.Store, text string) *filter {
	f := &filter{args: []any{store.ID}}
	if text == "" {
		return f
	}
	column, patterns := l.searchColumn("search", FoldCase(text)), []string{textPattern(text)}
	if digits, ok := phoneDigits(text); ok {
		column, patterns = l.searchColumn("search", FoldCase(text), digits), append(patterns, phonePattern(digits))
	}
	for i, pattern := range patterns {
		patterns[i] = column + " LIKE " + f.args.Add(pattern) + ` ESCAPE '\'`
	}
	condition := "(" + strings.Join(patterns, " OR ") + ")"
	f.search(condition)
	return f
}

// Customers reads a page of the store's customers that match the text, newest first. total is the number of all matches. An
// empty text matches all customers; the cost is then the same for every page and every size of the store (see statement).
// For another text, PostgreSQL looks up the text's trigrams (three characters of a word) in an index that starts with the
// store, so the cost grows with the number of matches. If the text has no trigram, and always on SQLite, the text is
// compared with the search texts of all the store's customers in an index.
func Customers(ctx context.Context, l Lists, store tenant.Store, text string, page Page) (customers []*storefrontv1.Customer,
	total int64, err error) {
	err = l.read(ctx, customerList, customerFilter(l, store, text), page, &total, func(rows *sql.Rows) error {
		c := &ent.Customer{StoreID: store.ID}
		err := customerShape.scan(rows, c, &total)
		customers = append(customers, Customer(c, store.Currency))
		return err
	})
	if err != nil {
		return nil, 0, fmt.Errorf("list customers: %w", err)
	}
	return customers, total, nil
}

func scanCustomers(ctx context.Context, q Querier, store tenant.Store, query string, args ...any) (customers []*ent.Customer,
	err error) {
	err = forEachRow(ctx, q, query, args, func(rows *sql.Rows) error {
		c := &ent.Customer{StoreID: store.ID}
		customers = append(customers, c)
		return customerShape.scan(rows, c)
	})
	return customers, err
}
