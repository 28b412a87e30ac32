package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"go.storefront.example/ent/count"
	"go.storefront.example/ent/db"
)

// listsCommand measures lists of orders in stores of several sizes.
type listsCommand struct {
	DatabaseURL string  `name:"database-url" placeholder:"URL" help:"A PostgreSQL server on which databases may be created, as a superuser: postgres://…. Without it the database is an SQLite file in the temporary folder."`
	Sizes       []int   `default:"1000,100000" placeholder:"N,…" help:"Orders of each store. Ten million take minutes and 6 GB."`
	Pages       []int64 `default:"1,400,100000" placeholder:"N,…" help:"Pages of 25 to ask for; the last one where a list has fewer."`
	Keys        int     `default:"1500" help:"API keys of each store, for 120 requests a minute each."`
	Connections int     `default:"2" help:"Connections that ask at the same time."`
	Rounds      int     `default:"3" help:"Rounds, each of all lists in turns."`
	Seconds     float64 `default:"1" help:"Length of a round of one list."`
	Output      string  `short:"o" enum:"markdown,json" default:"markdown" help:"markdown or json."`
}

// Help is shown below the usage line.
func (listsCommand) Help() string {
	return `Example: bench lists --database-url postgres://postgres@127.0.0.1:5432/postgres --sizes 1000,100000,10000000`
}

// Validate refuses numbers that make no benchmark.
func (c *listsCommand) Validate() error {
	if c.Keys < 1 || c.Connections < 1 || c.Rounds < 1 {
		return errors.New("--keys, --connections and --rounds must be whole numbers from 1")
	}
	if c.Seconds < 0.05 || c.Seconds > 600 {
		return errors.New("--seconds must be from 0.05 to 600")
	}
	for _, n := range c.Sizes {
		if n < 100 || n > 100_000_000 {
			return errors.New("--sizes must be whole numbers from 100")
		}
	}
	for _, n := range c.Pages {
		if n < 1 {
			return errors.New("--pages must be whole numbers from 1")
		}
	}
	return nil
}

// years is over how long the orders of a store are spread.
const years = 3

// listFilter is one set of filters of a list.
type listFilter struct{ title, query string }

// measuredList is a list with the figures of each size of store, as -o json prints it.
type measuredList struct {
	Filter string    `json:"filter"`
	Page   int64     `json:"page"`
	Sizes  []figures `json:"sizes"`

	query  string
	rounds [][]round
}

// Run makes the stores, measures and reports.
func (c *listsCommand) Run(ctx context.Context, io streams) (err error) {
	d, err := newDatabase(ctx, c.DatabaseURL)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.drop(context.WithoutCancel(ctx))) }()
	now := time.Now().UTC()
	n := len(c.Sizes)
	data := newDataset(shape{stores: n, keys: c.Keys, products: n, orders: n, customers: 100 * n}, now)
	if err := d.fill(ctx, data); err != nil {
		return fmt.Errorf("make the data set: %w", err)
	}
	for i, size := range c.Sizes {
		_, _ = fmt.Fprintf(io.err, "making %d orders\n", size)
		if err := d.makeOrders(ctx, data.stores[i], size, now); err != nil {
			return fmt.Errorf("make orders: %w", err)
		}
	}
	s, err := startSide(ctx, kindService, d, max(c.Connections, 2*runtime.GOMAXPROCS(0)))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	year := "from=" + now.AddDate(-2, 0, 0).Format(time.RFC3339) + "&to=" + now.AddDate(-1, 0, 0).Format(time.RFC3339)
	var lists []*measuredList
	for _, f := range []listFilter{{"none", ""}, {"status", "status=PAID"}, {"a year", year}, {"status, a year", "status=PAID&" + year}} {
		for _, page := range c.Pages {
			lists = append(lists, &measuredList{Filter: f.title, Page: page, query: f.query, rounds: make([][]round, n)})
		}
	}
	for round := range c.Rounds + 1 { // the first one warms up
		for _, l := range lists {
			for i := range c.Sizes {
				measured, err := c.round(ctx, s, d, &data.stores[i], l)
				if err != nil {
					return fmt.Errorf("list orders (%s, page %d) in a store of %d: %w", l.Filter, l.Page, c.Sizes[i], err)
				}
				if round > 0 {
					l.rounds[i] = append(l.rounds[i], measured)
				}
			}
		}
		_, _ = fmt.Fprintf(io.err, "round %d of %d\n", round, c.Rounds)
	}
	return c.report(io, d, lists)
}

// round asks for one page of one store. Its number is looked up first: it is the last one if the
// list has fewer.
func (c *listsCommand) round(ctx context.Context, s *side, d *database, store *storeData, l *measuredList) (round, error) {
	asked := newClient(at(s.address))
	defer asked.close()
	_, body, err := asked.exchange(store.get(0, "/v1/orders?pageSize=1&"+l.query))
	var list struct{ Total int64 }
	if err == nil {
		err = json.Unmarshal(body, &list)
	}
	if err != nil {
		return round{}, err
	}
	page := max(1, min(l.Page, (list.Total+24)/25))
	path := "/v1/orders?pageSize=25&page=" + strconv.FormatInt(page, 10) + "&" + l.query
	var turn atomic.Int64
	return s.round(ctx, d, closedLoop{address: s.address, clients: c.Connections, strict: true, next: func(int) request {
		return store.get(int(turn.Add(1)), path)
	}}, time.Duration(c.Seconds*float64(time.Second)))
}

func (c *listsCommand) report(io streams, d *database, lists []*measuredList) error {
	r := &report{inProcess: d.inProcess()}
	for _, l := range lists {
		for _, rounds := range l.rounds {
			l.Sizes = append(l.Sizes, r.figures(rounds))
		}
	}
	if c.Output == "json" {
		return json.NewEncoder(io.out).Encode(lists)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s; %s on %s/%s, %d CPUs; %d connections, %d rounds of %g s in turns.\nEach cell: %s orders; then the last beside the first.\n\n",
		d.name, runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), c.Connections, c.Rounds, c.Seconds, join(c.Sizes, strconv.Itoa))
	b.WriteString("| filter | page | p50 ms | server CPU µs | database CPU µs | CPU of both |\n|---|---:|---:|---:|---:|---:|\n")
	for _, l := range lists {
		both := func(f figures) float64 { return orZero(f.ServerCPUMicros) + orZero(f.DatabaseCPUMicros) }
		database := "in the server"
		if !r.inProcess {
			database = join(l.Sizes, func(f figures) string { return fmt.Sprintf("%.0f", orZero(f.DatabaseCPUMicros)) })
		}
		fmt.Fprintf(&b, "| %s | %d | %s | %s | %s | × %.2f |\n", l.Filter, l.Page,
			join(l.Sizes, func(f figures) string { return fmt.Sprintf("%.2f", f.P50Millis) }),
			join(l.Sizes, func(f figures) string { return fmt.Sprintf("%.0f", orZero(f.ServerCPUMicros)) }), database,
			both(l.Sizes[len(l.Sizes)-1])/both(l.Sizes[0]))
	}
	_, err := io.out.Write([]byte(b.String()))
	return err
}

func join[T any](values []T, text func(T) string) string {
	parts := make([]string, len(values))
	for i, v := range values {
		parts[i] = text(v)
	}
	return strings.Join(parts, " · ")
}

func orZero(v *float64) float64 {
	if v == nil {
		return 0
	}
	return *v
}

// batch is how many orders one statement makes.
const batch = 500_000

// makeOrders adds orders to a store, one after the other over the years, with ids in that order. On
// PostgreSQL it loads past the triggers, of foreign keys too, and has them counted afterwards as the
// migration has.
func (d *database) makeOrders(ctx context.Context, store storeData, size int, now time.Time) error {
	s, err := db.Open(ctx, db.Config{URL: d.url, MaxConns: 2})
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	conn, err := s.Writer().Conn(ctx)
	if err != nil {
		return err
	}
	// Of one id a place, then eight bytes: the rest of a UUIDv7.
	statement := `INSERT INTO orders (id, store_id, reference, status, amount, platform_fee_percent, customer_id, created_at, updated_at)
 WITH RECURSIVE n (n) AS (SELECT CAST($3 AS integer) UNION ALL SELECT n + 1 FROM n WHERE n < $4),
 r AS (SELECT n, CAST($2 + (n + 0.5) * $6 AS integer) AS at, printf('%024x', n * 2654435761) AS tail FROM n)
 SELECT substr(printf('%012x', at), 1, 8) || '-' || substr(printf('%012x', at), 9) || '-7' || substr(tail, 1, 3) || '-8' || substr(tail, 4, 3) || '-' || substr(tail, 13),
  $1, 'FLAT-' || n, CASE n % 5 WHEN 0 THEN 'PENDING' WHEN 1 THEN 'FAILED' ELSE 'PAID' END, 1000, 5, $5, at, at FROM r`
	if !d.inProcess() {
		statement = `INSERT INTO orders (id, store_id, reference, status, amount, platform_fee_percent, customer_id, created_at, updated_at)
 SELECT CAST(lpad(to_hex(at), 12, '0') || '7000' || '8000' || lpad(to_hex(n), 12, '0') AS uuid), CAST($1 AS uuid), 'FLAT-' || n,
  CASE n % 5 WHEN 0 THEN 'PENDING' WHEN 1 THEN 'FAILED' ELSE 'PAID' END, 1000, 5, CAST($5 AS uuid), to_timestamp(at / 1000.0), to_timestamp(at / 1000.0)
 FROM (SELECT n, CAST($2 + (n + 0.5) * $6 AS bigint) AS at FROM generate_series(CAST($3 AS integer), CAST($4 AS integer)) n) r`
		if _, err := conn.ExecContext(ctx, "SET session_replication_role = replica"); err != nil {
			return err
		}
	}
	start := now.AddDate(-years, 0, 0)
	gap := float64(now.Sub(start).Milliseconds()) / float64(size)
	for first := 0; first < size; first += batch {
		_, err := conn.ExecContext(ctx, statement, store.id, float64(start.UnixMilli()), first, min(first+batch, size)-1, store.buyer, gap)
		if err != nil {
			return err
		}
	}
	if err := conn.Close(); err != nil || d.inProcess() {
		return err
	}
	if _, err := s.Writer().ExecContext(ctx, "VACUUM ANALYZE orders"); err != nil {
		return err
	}
	if _, err := count.On(s).Recount(ctx, store.id); err != nil {
		return err
	}
	_, err = s.Writer().ExecContext(ctx, "VACUUM ANALYZE row_counts")
	return err
}
