package yardstick

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the driver named "sqlite"
)

// sqlite works on two pools, as the service does: one connection that writes and several that
// read. Times are Unix milliseconds in the file.
type sqlite struct {
	reader, writer *sql.DB

	admission, byID, countOrders, pageOrders, countCustomers, pageCustomers *sql.Stmt
	known, insertCustomer, insertEntry, insertEvent                         *sql.Stmt
}

func openSQLite(ctx context.Context, path string, conns int) (*sqlite, error) {
	s := &sqlite{}
	var err error
	if s.writer, err = openFile(path, "immediate", "synchronous(normal)", "foreign_keys(1)", "journal_mode(wal)"); err != nil {
		return nil, err
	}
	s.writer.SetMaxOpenConns(1)
	if s.reader, err = openFile(path, "deferred", "query_only(1)"); err != nil {
		return nil, errors.Join(err, s.writer.Close())
	}
	s.reader.SetMaxOpenConns(conns)
	s.reader.SetMaxIdleConns(conns)
	for _, p := range []struct {
		statement **sql.Stmt
		db        *sql.DB
		text      string
	}{
		{&s.admission, s.writer, sqliteAdmit},
		{&s.byID, s.reader, sqliteOrderColumns + oneOrder},
		{&s.countOrders, s.reader, countOrders},
		{&s.pageOrders, s.reader, sqliteOrderColumns + pageOfOrders},
		{&s.countCustomers, s.reader, countCustomers},
		{&s.pageCustomers, s.reader, sqliteCustomerColumns + pageOfCustomers},
		{&s.known, s.writer, sqliteCustomerColumns + knownCustomers},
		{&s.insertCustomer, s.writer, insertCustomer},
		{&s.insertEntry, s.writer, insertEntry},
		{&s.insertEvent, s.writer, insertEvent},
	} {
		if *p.statement, err = p.db.PrepareContext(ctx, p.text); err != nil {
			return nil, errors.Join(err, s.close())
		}
	}
	return s, nil
}

func openFile(path, txlock string, pragmas ...string) (*sql.DB, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if path = filepath.ToSlash(path); !strings.HasPrefix(path, "/") {
		path = "/" + path // a drive letter
	}
	uri := url.URL{Scheme: "file", Path: path, RawQuery: url.Values{
		"_txlock": {txlock},
		"_pragma": append(pragmas, "busy_timeout(10000)", "cache_size(-16000)", "temp_store(memory)",
			"journal_size_limit(67108864)"),
	}.Encode()}
	return sql.Open("sqlite", uri.String())
}

// close closes the pools and with them their statements; the writer last, which folds the
// write-ahead log into the file.
func (s *sqlite) close() error { return errors.Join(s.reader.Close(), s.writer.Close()) }

const sqliteAdmit = `
INSERT INTO rate_counters (id, minute, count)
SELECT k.id, ?2, 1 FROM api_keys k WHERE k.fingerprint = ?1
ON CONFLICT (id) DO UPDATE SET
	minute = excluded.minute,
	count = CASE WHEN rate_counters.minute = excluded.minute THEN rate_counters.count + 1 ELSE 1 END
RETURNING count, (
	SELECT json_object('id', k.id, 'name', k.name, 'scopes', json(CAST(k.scopes AS TEXT)),
		'expires', k.expires_at, 'revoked', k.revoked_at,
		'store', json_object('id', s.id, 'slug', s.slug, 'currency', s.currency, 'country', s.country, 'status', s.status))
	FROM api_keys k JOIN stores s ON s.id = k.store_id WHERE k.fingerprint = ?1)`

func (s *sqlite) admit(ctx context.Context, fingerprint []byte, now time.Time) (*caller, error) {
	c := &caller{}
	var text []byte
	err := s.admission.QueryRowContext(ctx, fingerprint, now.Unix()/60).Scan(&c.count, &text)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, errUnknownKey
	}
	if err != nil {
		return nil, err
	}
	return c, json.Unmarshal(text, c)
}

const (
	// Casts keep the driver from reading the column as a time by its declared type.
	sqliteOrderColumns = `
SELECT o.id, o.reference, o.status, o.amount, o.platform_fee_percent, o.note,
	CAST(o.paid_at AS INTEGER), CAST(o.created_at AS INTEGER),
	c.id, c.name, c.email, c.phone, l.id, l.code, l.title,
	i.id, i.product_id, i.type, i.title, i.unit_amount, i.quantity`

	sqliteCustomerColumns = `
SELECT id, name, email, phone, orders_count, total_paid, CAST(created_at AS INTEGER) FROM customers`
)

// milliseconds spells a moment as the file has it.
func milliseconds(at int64) string { return stamp(time.UnixMilli(at)) }

func (s *sqlite) order(ctx context.Context, c *caller, id string) (*order, error) {
	orders, err := readSQLiteOrders(ctx, s.byID, c, 1, c.Store.ID, id)
	if err == nil && len(orders) == 0 {
		err = errNotFound
	}
	if err != nil {
		return nil, err
	}
	return orders[0], nil
}

func (s *sqlite) orders(ctx context.Context, c *caller, size int, offset int64) ([]*order, int64, error) {
	var total int64
	if err := s.countOrders.QueryRowContext(ctx, c.Store.ID).Scan(&total); err != nil {
		return nil, 0, err
	}
	orders, err := readSQLiteOrders(ctx, s.pageOrders, c, size, c.Store.ID, size, offset)
	return orders, total, err
}

func readSQLiteOrders(ctx context.Context, statement *sql.Stmt, c *caller, size int, args ...any) ([]*order, error) {
	rows, err := statement.QueryContext(ctx, args...) //nolint:rowserrcheck // readOrders does.
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	return readOrders(rows, c, size, milliseconds)
}
