package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
)

type apiCommand struct {
	serviceFlags
	databaseFlags
	Against     string   `type:"path" placeholder:"FILE" help:"Another build of it, measured in turns with this one."`
	Stores      int      `default:"20" help:"Stores in the data set."`
	Products    int      `default:"2000" help:"Products, over all stores."`
	Orders      int      `default:"20000" help:"Orders of 1 to 3 items, over all stores."`
	Customers   int      `default:"10000" help:"Customers, over all stores."`
	Keys        int      `default:"1000" help:"API keys of each store: the limit of 120 requests a minute stays on."`
	Connections int      `default:"8" help:"Connections that ask at the same time, each waiting for its answer."`
	Rounds      int      `default:"6" help:"Rounds of each operation; in each one, both builds are measured."`
	Seconds     float64  `default:"3" help:"Length of a round of one build."`
	Operation   []string `placeholder:"NAME" help:"Measure only these; the report has the names."`
	Citus       string   `placeholder:"URLS" help:"Nodes of a Citus cluster, the coordinator first: there too, in turns."`
	Nginx       string   `type:"path" placeholder:"FILE" help:"nginx's program: measure one installation and two behind it, in turns."`
}

func (apiCommand) Help() string {
	return `Example: bench api --database-url postgres://postgres@127.0.0.1:5432/postgres --against ./storefront-before

A run takes about operations × rounds × builds × databases × seconds. Progress goes to standard error, the
table to standard output. Run it on a machine that does nothing else.`
}

func (c *apiCommand) Validate() error {
	err := atLeast(1, map[string]int{
		"stores": c.Stores, "products": c.Products, "orders": c.Orders, "customers": c.Customers, "keys": c.Keys,
		"connections": c.Connections, "rounds": c.Rounds,
	})
	switch {
	case err != nil:
		return err
	case c.Seconds < 0.05 || c.Seconds > 600:
		return errors.New("--seconds must be from 0.05 to 600")
	case c.Orders < c.Stores || c.Customers < c.Stores || c.Products < c.Stores:
		return errors.New("every store needs a product, a customer and an order")
	}
	for _, name := range c.Operation {
		if !slices.ContainsFunc(operations, func(o operation) bool { return o.name == name }) {
			return fmt.Errorf("--operation: there is no %q", name)
		}
	}
	if c.Nginx != "" && c.Against+c.Citus != "" {
		return errors.New("--nginx compares one installation with two: leave --against and --citus out")
	}
	if c.Citus != "" && (c.DatabaseURL == "" || len(strings.Fields(c.Citus)) < 2) {
		return errors.New("--citus must be a coordinator and a worker at least, beside the plain PostgreSQL of --database-url")
	}
	return c.check()
}

// operation is one of the measured calls. If operator is true, it goes to the admin listener.
type operation struct {
	name     string
	next     func(s *stage) request
	operator bool
}

// listedPages is how many pages of a list, from the first, are requested.
const listedPages = 4

// operations that write come last, so that those that read find the data set unchanged.
var operations = []operation{
	{name: "get-order", next: func(s *stage) request {
		store, key := s.keys.next()
		return request{method: "GET", path: "/v1/orders/" + store.orders[rand.IntN(len(store.orders))].String(), key: key}
	}},
	{name: "list-orders", next: func(s *stage) request {
		_, key := s.keys.next()
		return request{method: "GET", path: "/v1/orders?pageSize=25&page=" + strconv.Itoa(1+rand.IntN(listedPages)), key: key}
	}},
	{name: "search-customers", next: func(s *stage) request {
		_, key := s.keys.next()
		return request{method: "GET", path: "/v1/customers?q=" + surname(rand.IntN(len(syllables)*len(syllables))), key: key}
	}},
	{name: "create-customer", next: func(s *stage) request { return s.keys.newCustomer() }},
	{name: "record-and-pay-order", next: func(s *stage) request {
		store, _ := s.keys.next()
		recorded := s.recordOrder(store)
		recorded.followUp = func(created uuid.UUID) request { return s.payOrder(store, created) }
		return recorded
	}, operator: true},
}

// warmUp lets statements be prepared, caches filled and connections opened before the first round.
const warmUp = 500 * time.Millisecond

// Run makes the data sets, starts the builds, measures and reports.
func (c *apiCommand) Run(ctx context.Context, io streams) (err error) {
	w, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	programs := []string{w.binary}
	if c.Against != "" {
		programs = append(programs, c.Against)
	}
	if c.Nginx != "" {
		programs = append(programs, w.binary)
	}
	servers := []string{c.DatabaseURL}
	if c.Citus != "" {
		servers = append(servers, c.Citus)
	}
	var stages []*stage
	defer func() {
		for _, s := range stages {
			err = errors.Join(err, s.close(ctx))
		}
	}()
	var variants []*variant
	for _, program := range programs {
		for _, server := range servers {
			io.progress("making the data set of %s", filepath.Base(program))
			data := shape{stores: c.Stores, keys: c.Keys, products: c.Products, orders: c.Orders, customers: c.Customers}
			s, err := openStage(ctx, workspace{w.folder, program}, server, data)
			if err != nil {
				return err
			}
			stages = append(stages, s)
			if err := s.serve(ctx); err != nil {
				return err
			}
			variants = append(variants, variantOf(s))
		}
	}
	if c.Nginx != "" {
		proxy, address, err := startNginx(ctx, c.Nginx, w.folder, stages)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, proxy.stop()) }()
		variants = []*variant{
			{name: "one installation behind nginx", stages: stages[:1], api: address, proxy: proxy},
			{name: "two on " + stages[0].database.title, stages: stages, api: address, proxy: proxy},
		}
	}
	var rows [][]string
	for _, o := range operations {
		if len(c.Operation) > 0 && !slices.Contains(c.Operation, o.name) || c.Nginx != "" && o.operator {
			continue
		}
		row, err := c.measure(ctx, io, variants, o)
		if err != nil {
			return fmt.Errorf("%s: %w", o.name, err)
		}
		rows = append(rows, row)
	}
	var names []string
	for _, s := range variants {
		names = append(names, s.name)
	}
	fmt.Fprintf(io.out, "%s, %s, %d CPUs; %d connections, %d rounds of %g s.\n",
		runtime.Version(), runtime.GOOS, runtime.NumCPU(), c.Connections, c.Rounds, c.Seconds)
	fmt.Fprintf(io.out, "%d stores, %d keys, %d products, %d orders, %d customers. Each cell: %s.\n\n",
		c.Stores, c.Stores*c.Keys, c.Products, c.Orders, c.Customers, strings.Join(names, " · "))
	header := []string{"operation", "requests/s", "p50 ms", "p99 ms", "server CPU µs", "database CPU µs", "coordinator's of it",
		"ratio (min–max)"}
	writeTable(io.out, header, rows)
	return nil
}

// variant is measured in turns with others: a build with its database, or installations behind nginx.
type variant struct {
	name   string
	stages []*stage
	// api is nginx's address if proxy is set, otherwise the server's.
	api   string
	proxy *process // nginx, or nil
	turn  atomic.Int64
}

// variantOf has one database and one server, without nginx.
func variantOf(s *stage) *variant {
	return &variant{name: filepath.Base(s.binary) + " on " + s.database.title, stages: []*stage{s}, api: s.server.api}
}

// next returns the stage whose server gets the next request, in turns.
func (v *variant) next() *stage { return v.stages[int(v.turn.Add(1))%len(v.stages)] }

// cpuTimes is the processor time that processes have used so far.
type cpuTimes struct {
	server      time.Duration // the servers and nginx; on SQLite also the database
	database    time.Duration
	coordinator time.Duration // the coordinator's part of database
}

func (v *variant) cpu() (sum cpuTimes, err error) {
	var processes []*process
	if v.proxy != nil {
		processes = append(processes, v.proxy)
	}
	for _, st := range v.stages {
		processes = append(processes, st.server)
	}
	for _, p := range processes {
		time, failure := p.cpu()
		sum.server += time
		err = errors.Join(err, failure)
	}
	// All databases of a variant are on one PostgreSQL server, whose time counts once.
	var failure error
	sum.database, sum.coordinator, failure = v.stages[0].database.cpu()
	return sum, errors.Join(err, failure)
}

// measure returns the operation's row of the table.
func (c *apiCommand) measure(ctx context.Context, io streams, variants []*variant, o operation) ([]string, error) {
	length := seconds(c.Seconds)
	rounds := make([][]round, len(variants))
	for n := range c.Rounds + 1 {
		for turn := range variants {
			// A machine that slows down during a round would favour a variant that always came first.
			i := (n + turn) % len(variants)
			load := closedLoop{
				address: variants[i].api, clients: c.Connections * len(variants[i].stages), strict: true,
				next: func() request { return o.next(variants[i].next()) },
			}
			if o.operator {
				load.address = variants[i].stages[0].server.admin
			}
			if n == 0 {
				if _, err := variants[i].round(ctx, load, min(warmUp, length)); err != nil {
					return nil, err
				}
				continue
			}
			r, err := variants[i].round(ctx, load, length)
			if err != nil {
				return nil, err
			}
			rounds[i] = append(rounds[i], r)
		}
		if n > 0 {
			rates := cell(rounds, func(measured []round) string { return fmt.Sprintf("%.0f", measured[n-1].rate()) })
			io.progress("%s %d/%d: %s requests/s", o.name, n, c.Rounds, rates)
		}
	}
	all := make([]figures, len(variants))
	for i := range variants {
		all[i] = summarize(rounds[i])
	}
	ratio := cell(rounds[1:], func(measured []round) string {
		ratios := make([]float64, c.Rounds)
		for n := range ratios {
			ratios[n] = rounds[0][n].rate() / measured[n].rate()
		}
		return fmt.Sprintf("%.2f (%.2f–%.2f)", median(ratios), slices.Min(ratios), slices.Max(ratios))
	})
	if ratio == "" {
		ratio = "–"
	}
	return []string{
		o.name, cell(all, func(f figures) string { return fmt.Sprintf("%.0f", f.rate) }),
		cell(all, func(f figures) string { return millis(f.p50) }), cell(all, func(f figures) string { return millis(f.p99) }),
		cell(all, func(f figures) string { return micros(f.server, f.measuredCPU) }),
		cell(all, func(f figures) string { return micros(f.database, f.measuredCPU) }),
		cell(all, func(f figures) string { return micros(f.coordinator, f.measuredCPU) }), ratio,
	}, nil
}

type round struct {
	took             time.Duration
	latencies        []time.Duration // of each request, unsorted
	server, database time.Duration   // processor time; on SQLite, the server's includes the database's
	coordinator      time.Duration   // the coordinator's part of database; equal to database if there is only one PostgreSQL
	measuredCPU      bool            // false if the system does not report processor times
}

// rate is in requests a second.
func (r round) rate() float64 { return float64(len(r.latencies)) / r.took.Seconds() }

// round sends load's requests to the variant for a time.
func (v *variant) round(ctx context.Context, load closedLoop, length time.Duration) (round, error) {
	before, beforeErr := v.cpu()
	calls, took, err := load.run(ctx, length)
	if err != nil {
		return round{}, err
	}
	after, afterErr := v.cpu()
	return round{
		took: took, latencies: latencies(calls), server: after.server - before.server, database: after.database - before.database,
		coordinator: after.coordinator - before.coordinator, measuredCPU: errors.Join(beforeErr, afterErr) == nil,
	}, nil
}

// figures summarize all rounds: the median of the requests a second, percentiles of all latencies, and the mean processor time
// for one request.
type figures struct {
	rate                                    float64
	p50, p99, server, database, coordinator time.Duration
	measuredCPU                             bool
}

func summarize(rounds []round) figures {
	f := figures{measuredCPU: true}
	var rates []float64
	var times []time.Duration
	for _, r := range rounds {
		rates = append(rates, r.rate())
		times = append(times, r.latencies...)
		f.server += r.server
		f.database += r.database
		f.coordinator += r.coordinator
		f.measuredCPU = f.measuredCPU && r.measuredCPU
	}
	slices.Sort(times)
	f.rate, f.p50, f.p99 = median(rates), percentile(times, 50), percentile(times, 99)
	requests := time.Duration(max(1, len(times)))
	f.server, f.database, f.coordinator = f.server/requests, f.database/requests, f.coordinator/requests
	return f
}

// cell joins the texts of the variants' values with " · ".
func cell[T any](values []T, text func(T) string) string {
	parts := make([]string, len(values))
	for i, v := range values {
		parts[i] = text(v)
	}
	return strings.Join(parts, " · ")
}

func millis(d time.Duration) string { return fmt.Sprintf("%.2f", d.Seconds()*1e3) }

func micros(d time.Duration, measured bool) string {
	if !measured {
		return "n/a"
	}
	return strconv.FormatInt(d.Microseconds(), 10)
}

func (s *stage) title() string {
	return fmt.Sprintf("%s; %s, %s, %d CPUs", s.database.title, runtime.Version(), runtime.GOOS, runtime.NumCPU())
}

// writeTable writes a Markdown table whose first column is aligned to the left.
func writeTable(w io.Writer, header []string, rows [][]string) {
	fmt.Fprintf(w, "| %s |\n|---%s|\n", strings.Join(header, " | "), strings.Repeat("|---:", len(header)-1))
	for _, row := range rows {
		fmt.Fprintf(w, "| %s |\n", strings.Join(row, " | "))
	}
}
