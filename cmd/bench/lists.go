package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"go.storefront.example/ent/count"
)

// listsCommand measures lists of orders in stores of different sizes.
type listsCommand struct {
	serviceFlags
	databaseFlags
	Against     string  `type:"path" placeholder:"FILE" help:"Another build of it, measured in turns with this one."`
	Sizes       []int   `default:"1000,100000" placeholder:"N,…" help:"Orders of each store. On PostgreSQL they take a superuser."`
	Pages       []int64 `default:"1,400,100000" placeholder:"N,…" help:"Pages of 25 to ask for, the last one if a list has fewer."`
	Keys        int     `default:"1500" help:"API keys of each store, for 120 requests a minute each."`
	Connections int     `default:"2" help:"Connections that ask at the same time."`
	Rounds      int     `default:"3" help:"How many rounds to measure; each measures every list once, in turn."`
	Seconds     float64 `default:"1" help:"Length of a round of one list."`
}

func (listsCommand) Help() string {
	return `Example: bench lists --database-url postgres://postgres@127.0.0.1:5432/postgres --sizes 1000,100000,10000000`
}

func (c *listsCommand) Validate() error {
	flags := map[string]int{"keys": c.Keys, "connections": c.Connections, "rounds": c.Rounds, "pages": int(slices.Min(c.Pages))}
	if c.Seconds < 0.05 || c.Seconds > 600 {
		return errors.New("--seconds must be from 0.05 to 600")
	}
	return cmp.Or(atLeast(1, flags), atLeast(100, map[string]int{"sizes": slices.Min(c.Sizes)}), c.check())
}

// sizedStore is a store in the database of one build, with the number of its orders.
type sizedStore struct {
	*stage
	store storeData
	size  int
}

// measuredList is a list of orders. rounds has the rounds of each store.
type measuredList struct {
	title, query string
	page         int64
	rounds       [][]round
}

func (c *listsCommand) Run(ctx context.Context, io streams) (err error) {
	w, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	programs := []string{w.binary}
	if c.Against != "" {
		programs = append(programs, c.Against)
	}
	sizes, now := len(c.Sizes), time.Now().UTC()
	var stores []sizedStore
	for _, program := range programs {
		data := shape{stores: sizes, keys: c.Keys, products: sizes, orders: sizes, customers: 100 * sizes}
		s, err := openStage(ctx, workspace{w.folder, program}, c.DatabaseURL, data)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, s.close(ctx)) }()
		for i, size := range c.Sizes {
			io.progress("making %d orders for %s", size, filepath.Base(program))
			if err := s.makeOrders(ctx, s.stores[i], size, now); err != nil {
				return fmt.Errorf("make orders: %w", err)
			}
			stores = append(stores, sizedStore{s, s.stores[i], size})
		}
		if err := s.serve(ctx); err != nil {
			return err
		}
	}
	year := "from=" + now.AddDate(-2, 0, 0).Format(time.RFC3339) + "&to=" + now.AddDate(-1, 0, 0).Format(time.RFC3339)
	filters := [][2]string{{"none", ""}, {"status", "status=PAID"}, {"a year", year}, {"status, a year", "status=PAID&" + year}}
	var lists []*measuredList
	for _, filter := range filters {
		for _, page := range c.Pages {
			lists = append(lists, &measuredList{filter[0], filter[1], page, make([][]round, len(stores))})
		}
	}
	for n := range c.Rounds + 1 { // the first round only warms up
		for _, l := range lists {
			for i, s := range stores {
				measured, err := c.round(ctx, s, l)
				if err != nil {
					return fmt.Errorf("list orders (%s, page %d) in a store of %d: %w", l.title, l.page, s.size, err)
				}
				if n > 0 {
					l.rounds[i] = append(l.rounds[i], measured)
				}
			}
		}
		io.progress("round %d of %d", n, c.Rounds)
	}
	name := func(s sizedStore) string { return fmt.Sprintf("%s with %d orders", filepath.Base(s.binary), s.size) }
	fmt.Fprintf(io.out, "%s; %d connections, %d rounds of %g s in turns.\n", stores[0].title(), c.Connections, c.Rounds, c.Seconds)
	fmt.Fprintf(io.out, "Each cell: %s; then the last beside the first.\n\n", cell(stores, name))
	writeTable(io.out, []string{"filter", "page", "p50 ms", "server CPU µs", "database CPU µs", "CPU of both"}, tableOf(lists))
	return nil
}

func tableOf(lists []*measuredList) (rows [][]string) {
	for _, l := range lists {
		all := make([]figures, len(l.rounds))
		for i, rounds := range l.rounds {
			all[i] = summarize(rounds)
		}
		first, last := all[0], all[len(all)-1]
		both := "n/a"
		if first.measuredCPU && last.measuredCPU && first.server > 0 {
			both = fmt.Sprintf("× %.2f", float64(last.server+last.database)/float64(first.server+first.database))
		}
		rows = append(rows, []string{
			l.title, strconv.FormatInt(l.page, 10), cell(all, func(f figures) string { return millis(f.p50) }),
			cell(all, func(f figures) string { return micros(f.server, f.measuredCPU) }),
			cell(all, func(f figures) string { return micros(f.database, f.measuredCPU) }), both,
		})
	}
	return rows
}

// round measures the page l.page of a store's list, or the last page.
func (c *listsCommand) round(ctx context.Context, s sizedStore, l *measuredList) (round, error) {
	asked := newClient(at(s.server.api))
	defer asked.close()
	_, body, err := asked.exchange(request{method: "GET", path: "/v1/orders?pageSize=1&" + l.query, key: s.store.key(0)})
	var list struct{ Total int64 }
	if err == nil {
		err = json.Unmarshal(body, &list)
	}
	if err != nil {
		return round{}, err
	}
	page := max(1, min(l.page, (list.Total+24)/25))
	keys := &rotation{stores: []storeData{s.store}}
	path := "/v1/orders?pageSize=25&page=" + strconv.FormatInt(page, 10) + "&" + l.query
	load := closedLoop{address: s.server.api, clients: c.Connections, strict: true, next: keys.repeat("GET", path, "")}
	return variantOf(s.stage).round(ctx, load, seconds(c.Seconds))
}

const (
	// years is how long a store's orders are spread. batch is how many one statement makes.
	years, batch = 3, 500_000

	intoOrders = "INSERT INTO orders" +
		" (id, store_id, reference, status, amount, platform_fee_percent, customer_id, created_at, updated_at)"

	// The id is a UUIDv7 (RFC 9562, 5.7): its first 12 digits are the row's time, the others follow from the row's number.
	ordersSQLite = intoOrders + `
 WITH RECURSIVE n (n) AS (SELECT CAST($3 AS integer) UNION ALL SELECT n + 1 FROM n WHERE n < $4),
 r AS (SELECT n, CAST($2 + (n + 0.5) * $6 AS integer) AS at, printf('%024x', n * 2654435761) AS tail FROM n)
 SELECT substr(printf('%012x', at), 1, 8) || '-' || substr(printf('%012x', at), 9) || '-7' || substr(tail, 1, 3) || '-8'
  || substr(tail, 4, 3) || '-' || substr(tail, 13),
  $1, 'FLAT-' || n, CASE n % 5 WHEN 0 THEN 'PENDING' WHEN 1 THEN 'FAILED' ELSE 'PAID' END, 1000, 5, $5, at, at FROM r`

	ordersPostgres = intoOrders + `
 SELECT CAST(lpad(to_hex(at), 12, '0') || '7000' || '8000' || lpad(to_hex(n), 12, '0') AS uuid), CAST($1 AS uuid), 'FLAT-' || n,
  CASE n % 5 WHEN 0 THEN 'PENDING' WHEN 1 THEN 'FAILED' ELSE 'PAID' END, 1000, 5, CAST($5 AS uuid),
  to_timestamp(at / 1000.0), to_timestamp(at / 1000.0)
 FROM (SELECT n, CAST($2 + (n + 0.5) * $6 AS bigint) AS at FROM generate_series(CAST($3 AS integer), CAST($4 AS integer)) n) r`
)

// makeOrders spreads size orders evenly over three years, with ids in their order. On PostgreSQL it switches triggers and
// foreign keys off, and then computes the counts of the store's lists.
func (s *stage) makeOrders(ctx context.Context, store storeData, size int, now time.Time) error {
	handle, err := s.open(ctx)
	if err != nil {
		return err
	}
	conn, err := handle.Writer().Conn(ctx)
	if err != nil {
		return err
	}
	statement := ordersSQLite
	if !s.database.sqlite {
		statement = ordersPostgres
		if _, err := conn.ExecContext(ctx, "SET session_replication_role = replica"); err != nil {
			return errors.Join(err, conn.Close())
		}
	}
	start := now.AddDate(-years, 0, 0)
	gap := float64(now.Sub(start).Milliseconds()) / float64(size)
	for first := 0; first < size; first += batch {
		last := min(first+batch, size) - 1
		_, err := conn.ExecContext(ctx, statement, store.id, float64(start.UnixMilli()), first, last, store.customer, gap)
		if err != nil {
			return errors.Join(err, conn.Close())
		}
	}
	if s.database.sqlite {
		return conn.Close()
	}
	_, err = conn.ExecContext(ctx, "RESET session_replication_role")
	if err = errors.Join(err, conn.Close()); err != nil {
		return err
	}
	if _, err := handle.Writer().ExecContext(ctx, "VACUUM ANALYZE orders"); err != nil {
		return err
	}
	if _, err := count.New(handle).Recount(ctx, store.id); err != nil {
		return err
	}
	_, err = handle.Writer().ExecContext(ctx, "VACUUM ANALYZE row_counts")
	return err
}
