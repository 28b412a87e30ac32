package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/server/service"
)

// askGo starts what a process has prepared.
const askGo = "go"

// payCommand pays orders of the data set by the rules of the shop, as the payment provider's
// answer does, and returns when each payment was committed.
type payCommand struct {
	First       int     `help:"Number of the first store whose orders are paid."`
	Stores      int     `required:"" help:"How many stores, from the first."`
	Each        int     `help:"Orders to pay of each store; 0 for any number."`
	Events      int     `help:"Orders to pay in all; 0 for all that are pending."`
	Rate        float64 `help:"Payments in a second; 0 for as many as there can be."`
	Connections int     `default:"4" help:"How many pay at the same time."`
}

// payment is one that was committed.
type payment struct {
	Order uuid.UUID `json:"order"`
	// At is the wall clock's time right after the commit returned.
	At time.Time `json:"at"`
}

// dueOrder is one to pay.
type dueOrder struct {
	id    uuid.UUID
	store tenant.Store
}

// Run prepares, waits for askGo, and pays.
func (c *payCommand) Run(ctx context.Context, io streams) (err error) {
	signal.Ignore(os.Interrupt)
	s, err := db.Open(ctx, db.Config{URL: os.Getenv(subjectDatabase), MaxConns: c.Connections})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	rules := service.New(s, service.Options{})
	orders, err := c.orders(ctx, s, rules)
	if err != nil {
		return err
	}
	fmt.Fprintln(io.out, sayReady+strconv.Itoa(len(orders)))
	answerLines(io, func(line string) (any, error) {
		if line != askGo {
			return nil, errors.New("unknown request")
		}
		return c.pay(ctx, rules, orders)
	})
	return nil
}

// orders finds what to pay, the stores in turns.
func (c *payCommand) orders(ctx context.Context, s *db.DB, rules *service.Shop) ([]dueOrder, error) {
	tenants := map[uuid.UUID]tenant.Store{}
	for n := range c.Stores {
		t, err := rules.FindStore(ctx, slugOf(c.First+n))
		if err != nil {
			return nil, err
		}
		tenants[t.ID] = t
	}
	// Their ids sort by time, and the orders of all stores were made over the same time.
	rows, err := s.Reader().QueryContext(ctx, `SELECT id, store_id FROM orders WHERE status = 'PENDING' ORDER BY id`)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var orders []dueOrder
	each := map[uuid.UUID]int{}
	for rows.Next() && (c.Events == 0 || len(orders) < c.Events) {
		var order, owner uuid.UUID
		if err := rows.Scan(&order, &owner); err != nil {
			return nil, err
		}
		t, wanted := tenants[owner]
		if !wanted || (c.Each > 0 && each[owner] == c.Each) {
			continue
		}
		each[owner]++
		orders = append(orders, dueOrder{order, t})
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	if len(orders) < max(c.Events, c.Each*c.Stores) {
		return nil, fmt.Errorf("there are only %d orders left to pay", len(orders))
	}
	return orders, nil
}

// pay pays the orders and returns the payments in the order of the orders.
func (c *payCommand) pay(ctx context.Context, rules *service.Shop, orders []dueOrder) ([]payment, error) {
	payments := make([]payment, len(orders))
	var next atomic.Int64
	start := time.Now()
	group, ctx := errgroup.WithContext(ctx)
	for range c.Connections {
		group.Go(func() error {
			for {
				i := int(next.Add(1) - 1)
				if i >= len(orders) || ctx.Err() != nil {
					return ctx.Err()
				}
				if c.Rate > 0 {
					time.Sleep(time.Until(start.Add(time.Duration(float64(i) / c.Rate * float64(time.Second)))))
				}
				o := orders[i]
				if _, err := rules.PayOrder(tenant.With(ctx, o.store, operator), o.id.String()); err != nil {
					return fmt.Errorf("pay an order: %w", err)
				}
				payments[i] = payment{o.id, time.Now().Round(0)}
			}
		})
	}
	return payments, group.Wait()
}

// operator is who pays orders and registers webhooks.
var operator = tenant.Actor{Type: tenant.ActorOperator, Name: "bench"}

// slugOf is the slug of a store of the data set.
func slugOf(n int) string { return fmt.Sprintf("store-%04d", n) }
