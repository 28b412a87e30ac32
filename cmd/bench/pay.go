package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/server/shop"
)

// paymentPlan selects pending orders of the data set.
type paymentPlan struct {
	first, stores int     // index of the first store, and number of stores
	perStore      int     // orders of each store; 0 means any number
	events        int     // orders in total; 0 means all pending ones
	rate          float64 // payments a second; 0 means as many as possible
}

type payment struct {
	order uuid.UUID
	at    time.Time // wall clock, right after the commit returned
}

// commits returns when the first and the last of these payments were committed.
func commits(payments []payment) (first, last time.Time) {
	earlier := func(a, b payment) int { return a.at.Compare(b.at) }
	return slices.MinFunc(payments, earlier).at, slices.MaxFunc(payments, earlier).at
}

type dueOrder struct {
	id    uuid.UUID
	store tenant.Store
}

// pay pays by the shop's rules, as a payment provider's callback does. It returns the payments, the oldest order first.
func (r *webhooksRun) pay(ctx context.Context, plan paymentPlan) (_ []payment, err error) {
	s, err := hook.Open(ctx, db.Config{URL: r.url, MaxConns: r.Writers})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	rules := shop.New(s, shop.Options{})
	orders, err := plan.orders(ctx, s, rules)
	if err != nil {
		return nil, err
	}
	payments := make([]payment, len(orders))
	var next atomic.Int64
	start := time.Now()
	operator := tenant.Actor{Type: tenant.ActorOperator, Name: "bench"}
	group, ctx := errgroup.WithContext(ctx)
	for range r.Writers {
		group.Go(func() error {
			for {
				i := int(next.Add(1) - 1)
				if i >= len(orders) || ctx.Err() != nil {
					return ctx.Err()
				}
				if plan.rate > 0 {
					time.Sleep(time.Until(start.Add(seconds(float64(i) / plan.rate))))
				}
				o := orders[i]
				if _, err := rules.MoveOrder(tenant.With(ctx, o.store, operator), o.id.String(), "PAID"); err != nil {
					return fmt.Errorf("pay an order: %w", err)
				}
				payments[i] = payment{o.id, time.Now().Round(0)}
			}
		})
	}
	return payments, group.Wait()
}

// orders returns the orders to pay, the oldest first.
func (p paymentPlan) orders(ctx context.Context, d *db.DB, rules *shop.Shop) ([]dueOrder, error) {
	tenants := map[uuid.UUID]tenant.Store{}
	for n := range p.stores {
		found, err := rules.FindStore(ctx, slugOf(p.first+n))
		if err != nil {
			return nil, err
		}
		tenants[found.ID] = found
	}
	// Ids sort by time, and all stores' orders are of one period, so that the stores are mixed.
	var orders []dueOrder
	counts := map[uuid.UUID]int{}
	for row := range db.Rows(ctx, d.Reader(), "SELECT id, store_id FROM orders WHERE status = 'PENDING' ORDER BY id") {
		var order, owner uuid.UUID
		if err := row.Scan(&order, &owner); err != nil {
			return nil, err
		}
		store, wanted := tenants[owner]
		if !wanted || (p.perStore > 0 && counts[owner] == p.perStore) {
			continue
		}
		counts[owner]++
		if orders = append(orders, dueOrder{order, store}); len(orders) == p.events {
			break
		}
	}
	if len(orders) < max(p.events, p.perStore*p.stores, 1) {
		return nil, fmt.Errorf("there are only %d orders left to pay", len(orders))
	}
	return orders, nil
}
