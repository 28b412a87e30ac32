package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"
)

// apiCommand measures the public API.
type apiCommand struct {
	DatabaseURL string   `name:"database-url" placeholder:"URL" help:"A PostgreSQL server on which databases may be created: postgres://…. Without it the database is an SQLite file in the temporary folder."`
	Stores      int      `default:"20" help:"Stores in the data set."`
	Products    int      `default:"2000" help:"Products, over all stores."`
	Orders      int      `default:"20000" help:"Orders of 1 to 3 items, over all stores."`
	Customers   int      `default:"10000" help:"Customers, over all stores."`
	Keys        int      `default:"1000" help:"API keys of each store. The limit of 120 requests a minute stays on: it takes one key for every two requests a second."`
	Connections int      `default:"8" help:"Connections that ask at the same time, each waiting for its answer."`
	Rounds      int      `default:"6" help:"Rounds of each operation; in each one, both sides are measured."`
	Seconds     float64  `default:"3" help:"Length of a round on each side."`
	Operation   []string `placeholder:"NAME" help:"Measure only these: get-order, list-orders, search-customers, create-customer."`
	Profile     string   `type:"path" placeholder:"DIR" help:"Afterwards, run each operation for one more round under the CPU profiler and write a profile for each side into DIR."`
	Output      string   `short:"o" enum:"markdown,json" default:"markdown" help:"markdown or json."`
}

// Help is shown below the usage line.
func (apiCommand) Help() string {
	return `Example: bench api --database-url postgres://postgres@127.0.0.1:5432/postgres --rounds 10

A run takes about operations × rounds × 2 × seconds, two and a half minutes by default. Progress goes
to standard error, the table to standard output. Run it on a machine that does nothing else.`
}

// Validate refuses numbers that make no benchmark.
func (c *apiCommand) Validate() error {
	for _, n := range []struct {
		flag  string
		value int
	}{
		{"stores", c.Stores}, {"products", c.Products}, {"orders", c.Orders}, {"customers", c.Customers},
		{"keys", c.Keys}, {"connections", c.Connections}, {"rounds", c.Rounds},
	} {
		if n.value < 1 || n.value > 10_000_000 {
			return fmt.Errorf("--%s must be a whole number from 1", n.flag)
		}
	}
	switch {
	case c.Seconds < 0.05 || c.Seconds > 600:
		return errors.New("--seconds must be from 0.05 to 600")
	case c.Orders < c.Stores || c.Customers < c.Stores || c.Products < c.Stores:
		return errors.New("every store needs a product, a customer and an order")
	case c.DatabaseURL != "" && !strings.HasPrefix(c.DatabaseURL, "postgres://") && !strings.HasPrefix(c.DatabaseURL, "postgresql://"):
		return errors.New("--database-url must be postgres://…")
	}
	for _, name := range c.Operation {
		if !slices.ContainsFunc(operations, func(o operation) bool { return o.name == name }) {
			return fmt.Errorf("--operation: there is no %q", name)
		}
	}
	return nil
}

// Run makes the data set, starts both sides, measures and reports.
func (c *apiCommand) Run(ctx context.Context, io streams) (err error) {
	progress := func(format string, args ...any) { _, _ = fmt.Fprintf(io.err, format+"\n", args...) }

	db, err := newDatabase(ctx, c.DatabaseURL)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.drop(context.WithoutCancel(ctx))) }()
	progress("making the data set: %d stores, %d keys, %d products, %d orders, %d customers",
		c.Stores, c.Stores*c.Keys, c.Products, c.Orders, c.Customers)
	data := newDataset(shape{stores: c.Stores, keys: c.Keys, products: c.Products, orders: c.Orders, customers: c.Customers}, time.Now())
	if err := db.fill(ctx, data); err != nil {
		return fmt.Errorf("make the data set: %w", err)
	}

	var sides []*side
	defer func() {
		for _, s := range sides {
			err = errors.Join(err, s.stop())
		}
	}()
	for _, kind := range []string{kindService, kindYardstick} {
		s, err := startSide(ctx, kind, db, c.poolSize())
		if err != nil {
			return fmt.Errorf("start the %s: %w", kind, err)
		}
		sides = append(sides, s)
	}
	progress("comparing the answers of both sides")
	load := &workload{stores: data.stores}
	more, err := compare(ctx, sides, load, db)
	if err != nil {
		return err
	}

	b := &bench{command: c, db: db, sides: sides, workload: load, progress: progress}
	report := newReport(c, db)
	report.ServiceOnly = more
	for _, o := range operations {
		if len(c.Operation) > 0 && !slices.Contains(c.Operation, o.name) {
			continue
		}
		measured, err := b.measure(ctx, o)
		if err != nil {
			return fmt.Errorf("%s: %w", o.name, err)
		}
		report.add(o, measured)
		if c.Profile != "" {
			if err := b.profile(ctx, o); err != nil {
				return fmt.Errorf("profile %s: %w", o.name, err)
			}
		}
	}
	return report.write(io.out, c.Output)
}

// poolSize is how many database connections each side keeps: enough for none to wait.
func (c *apiCommand) poolSize() int {
	return max(c.Connections, 2*runtime.GOMAXPROCS(0))
}
