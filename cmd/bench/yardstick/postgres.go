package yardstick

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// postgres works on pgx, whose connections prepare each statement once.
type postgres struct{ pool *pgxpool.Pool }

func openPostgres(ctx context.Context, url string, conns int) (*postgres, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	config.MaxConns = int32(conns) //nolint:gosec // A pool has few connections.
	config.MinConns = config.MaxConns
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	return &postgres{pool}, nil
}

func (p *postgres) close() error {
	p.pool.Close()
	return nil
}

const postgresAdmit = `
WITH key AS (
	SELECT k.id, k.name, k.scopes,
		(extract(epoch FROM k.expires_at) * 1000)::bigint AS expires,
		(extract(epoch FROM k.revoked_at) * 1000)::bigint AS revoked,
		s.id AS store_id, s.slug, s.currency, s.country, s.status
	FROM api_keys k JOIN stores s ON s.id = k.store_id
	WHERE k.fingerprint = $1
), counted AS (
	INSERT INTO rate_counters AS r (id, minute, count) SELECT id, $2, 1 FROM key
	ON CONFLICT (id) DO UPDATE SET
		minute = excluded.minute,
		count = CASE WHEN r.minute = excluded.minute THEN r.count + 1 ELSE 1 END
	RETURNING count
)
SELECT key.id::text, key.name, key.scopes, key.expires, key.revoked,
	key.store_id::text, key.slug, key.currency, key.country, key.status, counted.count
FROM key, counted`

func (p *postgres) admit(ctx context.Context, fingerprint []byte, now time.Time) (*caller, error) {
	c := &caller{}
	err := p.pool.QueryRow(ctx, postgresAdmit, fingerprint, now.Unix()/60).Scan(
		&c.ID, &c.Name, &c.Scopes, &c.Expires, &c.Revoked,
		&c.Store.ID, &c.Store.Slug, &c.Store.Currency, &c.Store.Country, &c.Store.Status, &c.count)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, errUnknownKey
	}
	return c, err
}

const (
	postgresOrderColumns = `
SELECT o.id::text, o.reference, o.status, o.amount, o.platform_fee_percent, o.note, o.paid_at, o.created_at,
	c.id::text, c.name, c.email, c.phone, l.id::text, l.code, l.title,
	i.id::text, i.product_id::text, i.type, i.title, i.unit_amount, i.quantity::bigint`
	postgresOrderJoins = `
JOIN customers c ON c.id = o.customer_id
LEFT JOIN payment_links l ON l.id = o.payment_link_id
LEFT JOIN order_items i ON i.store_id = o.store_id AND i.order_id = o.id`

	postgresOrder = postgresOrderColumns + `
FROM orders o` + postgresOrderJoins + `
WHERE o.store_id = $1 AND o.id = $2
ORDER BY i.position`

	postgresCountOrders = `SELECT count(*) FROM orders WHERE store_id = $1`

	postgresOrders = postgresOrderColumns + `
FROM (
	SELECT * FROM orders WHERE store_id = $1
	ORDER BY created_at DESC, id DESC LIMIT $2 OFFSET $3
) o` + postgresOrderJoins + `
ORDER BY o.created_at DESC, o.id DESC, i.position`
)

func (p *postgres) order(ctx context.Context, c *caller, id string) (*order, error) {
	orders, err := p.readOrders(ctx, c, 1, postgresOrder, c.Store.ID, id)
	if err == nil && len(orders) == 0 {
		err = errNotFound
	}
	if err != nil {
		return nil, err
	}
	return orders[0], nil
}

func (p *postgres) orders(ctx context.Context, c *caller, size int, offset int64) ([]*order, int64, error) {
	var total int64
	if err := p.pool.QueryRow(ctx, postgresCountOrders, c.Store.ID).Scan(&total); err != nil {
		return nil, 0, err
	}
	orders, err := p.readOrders(ctx, c, size, postgresOrders, c.Store.ID, size, offset)
	return orders, total, err
}

func (p *postgres) readOrders(ctx context.Context, c *caller, size int, query string, args ...any) ([]*order, error) {
	rows, err := p.pool.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var (
		row                joined
		paidAt             *time.Time
		createdAt          time.Time
		unitAmount, number *int64
	)
	fold := folded{orders: make([]*order, 0, size)}
	for rows.Next() {
		row = joined{}
		if err := rows.Scan(append(row.leading(), &paidAt, &createdAt, &row.customer.ID, &row.customer.Name,
			&row.customer.Email, &row.customer.Phone, &row.linkID, &row.linkCode, &row.linkTitle,
			&row.itemID, &row.productID, &row.itemType, &row.itemTitle, &unitAmount, &number)...); err != nil {
			return nil, err
		}
		if o := fold.add(&row, c.Store.Currency); o != nil {
			o.CreatedAt = stamp(createdAt)
			if paidAt != nil {
				text := stamp(*paidAt)
				o.PaidAt = &text
			}
		}
		if row.itemID != nil {
			fold.item(&row, *unitAmount, *number)
		}
	}
	return fold.orders, rows.Err()
}

const (
	postgresCustomerColumns = `SELECT id::text, name, email, phone, orders_count::bigint, total_paid, created_at FROM customers`

	postgresCountCustomers = `SELECT count(*) FROM customers WHERE store_id = $1 AND search LIKE $2 ESCAPE '\'`

	postgresCustomers = postgresCustomerColumns + `
WHERE store_id = $1 AND search LIKE $2 ESCAPE '\'
ORDER BY created_at DESC, id DESC LIMIT $3 OFFSET $4`

	postgresKnown = postgresCustomerColumns + `
WHERE store_id = $1 AND (email = $2 OR phone = $3) ORDER BY id FOR UPDATE`

	postgresInsertCustomer = `
INSERT INTO customers (id, store_id, name, email, phone, search, orders_count, total_paid, created_at, updated_at)
VALUES ($1, $2, $3, $4, $5, $6, 0, 0, $7, $7)`

	postgresInsertEntry = `
INSERT INTO activity_entries
	(id, store_id, actor_type, actor_id, actor_name, action, resource_type, resource_id, changes, created_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`

	postgresInsertEvent = `INSERT INTO events (id, store_id, type, payload, created_at) VALUES ($1, $2, $3, $4, $5)`
)

func (p *postgres) customers(ctx context.Context, c *caller, pattern string, size int, offset int64) ([]*customer, int64, error) {
	var total int64
	if err := p.pool.QueryRow(ctx, postgresCountCustomers, c.Store.ID, pattern).Scan(&total); err != nil {
		return nil, 0, err
	}
	rows, err := p.pool.Query(ctx, postgresCustomers, c.Store.ID, pattern, size, offset)
	if err != nil {
		return nil, 0, err
	}
	customers, err := scanPostgresCustomers(rows, c, size)
	return customers, total, err
}

func scanPostgresCustomers(rows pgx.Rows, c *caller, size int) ([]*customer, error) {
	defer rows.Close()
	customers := make([]*customer, 0, size)
	for rows.Next() {
		found := &customer{Currency: c.Store.Currency}
		var createdAt time.Time
		if err := rows.Scan(&found.ID, &found.Name, &found.Email, &found.Phone,
			&found.OrdersCount, &found.TotalPaid, &createdAt); err != nil {
			return nil, err
		}
		found.CreatedAt = stamp(createdAt)
		customers = append(customers, found)
	}
	return customers, rows.Err()
}

// uniqueViolation is PostgreSQL's code for a row that another one forbids.
const uniqueViolation = "23505"

// attempts bounds how often a creation is run anew after it lost a race.
const attempts = 5

func (p *postgres) create(ctx context.Context, c *caller, in *newCustomer) (made *customer, created bool, err error) {
	for range attempts {
		err = pgx.BeginFunc(ctx, p.pool, func(tx pgx.Tx) error {
			made, created, err = createPostgres(ctx, tx, c, in)
			return err
		})
		if lost, ok := errors.AsType[*pgconn.PgError](err); !ok || lost.Code != uniqueViolation {
			break
		}
	}
	return made, created, err
}

func createPostgres(ctx context.Context, tx pgx.Tx, c *caller, in *newCustomer) (*customer, bool, error) {
	rows, err := tx.Query(ctx, postgresKnown, c.Store.ID, in.Email, in.Phone)
	if err != nil {
		return nil, false, err
	}
	known, err := scanPostgresCustomers(rows, c, 0)
	switch {
	case err != nil:
		return nil, false, err
	case len(known) == 1:
		return known[0], false, nil
	case len(known) > 1:
		return nil, false, errConflict
	}
	r, err := in.record(c, time.Now())
	if err != nil {
		return nil, false, err
	}
	if _, err := tx.Exec(ctx, postgresInsertCustomer, r.id, c.Store.ID, in.Name, in.Email, in.Phone, r.search, r.at); err != nil {
		return nil, false, err
	}
	if _, err := tx.Exec(ctx, postgresInsertEntry, r.entry, c.Store.ID, actorType, c.ID, c.Name,
		customerEvent, resourceType, r.id, r.changes, r.at); err != nil {
		return nil, false, err
	}
	if _, err := tx.Exec(ctx, postgresInsertEvent, r.event, c.Store.ID, customerEvent, r.envelope, r.at); err != nil {
		return nil, false, err
	}
	return r.made, true, nil
}
