package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"go.storefront.example/ent/resource"
)

const (
	// greedyConnections are how many of the greedy store's connections ask at the same time.
	greedyConnections = 16
	// greedyKeys are its keys: a key may ask 120 times in a minute, and it is the store's load that
	// counts.
	greedyKeys = 400
	// greedyPause is how long it waits after it was refused: next to nothing.
	greedyPause = 50 * time.Millisecond
	// fairRatio and fairP99 bound another store's p99 under a greedy one or a lock.
	fairRatio = 10
	fairP99   = 250 * time.Millisecond
)

// fillCustomers adds $2 customers to the store $1, over the days before now. Their ids are UUIDs of
// version 7 (RFC 9562, 5.7), and each of them is found by the letter a.
const fillCustomers = `INSERT INTO customers (id, store_id, name, email, phone, search, created_at, updated_at)
SELECT (t.hex || '7' || substr(t.hash, 1, 3) || '8' || substr(t.hash, 4, 15))::uuid, $1::uuid, 'Ada Crowd',
 'crowd.' || g || '@mail.example.com', '+23768' || lpad(g::text, 7, '0'),
 replace(replace($3::text, 'crowd.0@', 'crowd.' || g || '@'), '0000000', lpad(g::text, 7, '0')), t.at, t.at
 FROM generate_series(1, $2::bigint) AS g
 CROSS JOIN LATERAL (SELECT (extract(epoch FROM now()) * 1000)::bigint - 1000 * g AS ms) m
 CROSS JOIN LATERAL (SELECT lpad(to_hex(m.ms), 12, '0') AS hex, md5(g::text) AS hash, to_timestamp(m.ms / 1000.0) AS at) t`

// playGreedyStore has one store search a crowd of customers over many connections, and watches
// another store.
func playGreedyStore(ctx context.Context, p *play) (err error) {
	s, err := p.open(ctx, p.server, p.folder, shape{stores: 2, keys: greedyKeys, products: 20, orders: 20, customers: 20})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close(ctx)) }()
	greedy, other := s.stores[0], s.stores[1]
	began := time.Now()
	email, phone := "crowd.0@mail.example.com", "+237680000000"
	if err := s.sql(ctx, func(db *pgx.Conn) error {
		return withoutIndexes(ctx, db, func() error {
			_, err := db.Exec(ctx, fillCustomers, greedy.id, p.Customers, resource.CustomerSearch("Ada Crowd", &email, &phone))
			return err
		})
	}); err != nil {
		return fmt.Errorf("make the crowd: %w", err)
	}
	p.didf("%d customers in one store, made in %s", p.Customers, short(time.Since(began)))
	if err := s.serve(ctx); err != nil {
		return err
	}
	bystander := newBystander(s.api, other)
	quiet, err := bystander.watch(ctx, p.calm())
	if err != nil {
		return err
	}
	stop := s.insist(ctx, greedy, greedyConnections, request{method: "GET", path: "/v1/customers?q=a"})
	under, err := bystander.watch(ctx, p.Span)
	asked := stop()
	if err != nil {
		return err
	}
	p.bystander(quiet, under)
	counts := answers(asked, &p.wrong)
	p.didf("%d connections of that store asked for q=a for %s: %d served, %d refused with 503, %d with 429; p50 %s, longest %s",
		greedyConnections, p.Span, counts[served], counts[refused], counts[limited],
		fine(percentile(latencies(asked), 50)), fine(percentile(latencies(asked), 100)))
	p.fair(quiet, under)
	return nil
}

// withoutIndexes takes the indexes of the customers away that hold up nothing but the speed, does
// something, and makes them again.
func withoutIndexes(ctx context.Context, db *pgx.Conn, do func() error) error {
	rows, err := db.Query(ctx, "SELECT indexname, indexdef FROM pg_indexes WHERE tablename = 'customers' AND indexdef NOT LIKE 'CREATE UNIQUE%'")
	if err != nil {
		return err
	}
	type index struct{ Name, Definition string }
	indexes, err := pgx.CollectRows(rows, pgx.RowToStructByPos[index])
	if err != nil {
		return err
	}
	for _, i := range indexes {
		if _, err := db.Exec(ctx, "DROP INDEX "+pgx.Identifier{i.Name}.Sanitize()); err != nil {
			return err
		}
	}
	if err := do(); err != nil {
		return err
	}
	statements := []string{"SET maintenance_work_mem = '512MB'"}
	for _, i := range indexes {
		statements = append(statements, i.Definition)
	}
	for _, statement := range append(statements, "VACUUM ANALYZE customers") {
		if _, err := db.Exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// fair holds another store's answers against the bounds.
func (p *play) fair(quiet, under []call) {
	before, during := answers(quiet, &p.wrong), answers(under, &p.wrong)
	p.must(before[refused]+during[refused]+before[limited]+during[limited] == 0,
		"another store is never refused (%d of %d were)", during[refused]+during[limited], len(under))
	p.mustFast(p.ratio() < fairRatio, "its p99 stays under %d times its quiet one (%.1f)", fairRatio, p.ratio())
	p.mustFast(percentile(p.then, 99) < fairP99, "and under %s (%s)", fairP99, fine(percentile(p.then, 99)))
}

// insist starts clients that send a request of a store again and again; stop returns their calls.
func (s *stage) insist(ctx context.Context, store storeData, clients int, r request) (stop func() []call) {
	w := &workload{stores: []storeData{store}}
	return closedLoop{address: s.api, clients: clients, pause: greedyPause, next: func(int) request {
		_, key := w.take()
		return request{r.method, r.path, key, r.body}
	}}.start(ctx)
}

// sql does something on a connection to the database beside the service's. PostgreSQL only.
func (s *stage) sql(ctx context.Context, do func(db *pgx.Conn) error) error {
	db, err := pgx.Connect(ctx, s.db.url)
	if err != nil {
		return err
	}
	return errors.Join(do(db), db.Close(context.WithoutCancel(ctx)))
}
