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

	postgresCustomerColumns = `SELECT id::text, name, email, phone, orders_count::bigint, total_paid, created_at FROM customers`
)

func (p *postgres) order(ctx context.Context, c *caller, id string) (*order, error) {
	orders, err := p.readOrders(ctx, c, 1, postgresOrderColumns+oneOrder, c.Store.ID, id)
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
	if err := p.pool.QueryRow(ctx, countOrders, c.Store.ID).Scan(&total); err != nil {
		return nil, 0, err
	}
	orders, err := p.readOrders(ctx, c, size, postgresOrderColumns+pageOfOrders, c.Store.ID, size, offset)
	return orders, total, err
}

func (p *postgres) readOrders(ctx context.Context, c *caller, size int, query string, args ...any) ([]*order, error) {
	rows, err := p.pool.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	return readOrders(rows, c, size, stamp)
}

func (p *postgres) customers(ctx context.Context, c *caller, pattern string, size int, offset int64) ([]*customer, int64, error) {
	var total int64
	if err := p.pool.QueryRow(ctx, countCustomers, c.Store.ID, pattern).Scan(&total); err != nil {
		return nil, 0, err
	}
	rows, err := p.pool.Query(ctx, postgresCustomerColumns+pageOfCustomers, c.Store.ID, pattern, size, offset)
	if err != nil {
		return nil, 0, err
	}
	defer rows.Close()
	customers, err := readCustomers(rows, c, size, stamp)
	return customers, total, err
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
	rows, err := tx.Query(ctx, postgresCustomerColumns+knownCustomers+" FOR UPDATE", c.Store.ID, in.Email, in.Phone)
	if err != nil {
		return nil, false, err
	}
	known, err := readCustomers(rows, c, 0, stamp)
	rows.Close()
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
	if _, err := tx.Exec(ctx, insertCustomer, r.id, c.Store.ID, in.Name, in.Email, in.Phone, r.search, r.at); err != nil {
		return nil, false, err
	}
	if _, err := tx.Exec(ctx, insertEntry, r.entry, c.Store.ID, actorType, c.ID, c.Name,
		customerEvent, resourceType, r.id, r.changes, r.at); err != nil {
		return nil, false, err
	}
	if _, err := tx.Exec(ctx, insertEvent, r.event, c.Store.ID, customerEvent, r.envelope, r.at); err != nil {
		return nil, false, err
	}
	return r.made, true, nil
}
