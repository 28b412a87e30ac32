package main

import (
	"context"
	"errors"
	"fmt"
	stdio "io"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent/product"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/service"
)

// sayPaid begins the line that acknowledges a payment: right after its commit, and followed by the
// order's id.
const sayPaid = "paid "

// tradePause is how long a trader waits after the database was away.
const tradePause = 50 * time.Millisecond

// tradeCommand records orders of new buyers and pays them by the rules of the shop, until its
// standard input ends. Each gives an event of the customer and one of the order.
type tradeCommand struct {
	Rate        float64 `default:"20" help:"Orders in a second."`
	Connections int     `default:"2" help:"How many trade at the same time."`
}

// stall is a store and what is bought there.
type stall struct {
	store   tenant.Store
	product uuid.UUID
}

// Run trades.
func (c *tradeCommand) Run(ctx context.Context, io streams) (err error) {
	signal.Ignore(os.Interrupt)
	s, err := db.Open(ctx, db.Config{URL: os.Getenv(subjectDatabase), MaxConns: c.Connections})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	stalls, err := openStalls(ctx, s)
	if err != nil {
		return err
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	fmt.Fprintln(io.out, sayReady+"to trade")
	go func() {
		_, _ = stdio.Copy(stdio.Discard, io.in) // until whoever started it ends it
		end()
	}()
	rules := service.New(s, service.Options{})
	group, ctx := errgroup.WithContext(ctx)
	for n := range c.Connections {
		group.Go(func() error { return c.trade(ctx, rules, stalls[n%len(stalls):], io.out) })
	}
	return group.Wait()
}

func openStalls(ctx context.Context, s *db.DB) ([]stall, error) {
	stores, err := s.Client().Store.Query().All(ctx)
	if err != nil {
		return nil, err
	}
	var stalls []stall
	for _, row := range stores {
		bought, err := s.Client().Product.Query().Where(product.StoreID(row.ID)).FirstID(ctx)
		if err != nil {
			return nil, err
		}
		stalls = append(stalls, stall{service.TenantOf(row), bought})
	}
	if len(stalls) == 0 {
		return nil, errors.New("there is no store")
	}
	return stalls, nil
}

// trade sells at the stalls in turns. A database that is away is nothing unusual.
func (c *tradeCommand) trade(ctx context.Context, rules *service.Shop, stalls []stall, out stdio.Writer) error {
	gap := time.Duration(float64(c.Connections) / c.Rate * float64(time.Second))
	for n := 0; ctx.Err() == nil; n++ {
		id, err := sell(ctx, rules, stalls[n%len(stalls)])
		var refused *apierr.Refusal
		switch {
		case errors.As(err, &refused):
			return err
		case err != nil:
			time.Sleep(tradePause)
		default:
			if _, err := fmt.Fprintln(out, sayPaid+id); err != nil {
				return err
			}
			time.Sleep(gap)
		}
	}
	return nil
}

// sell records an order of a new buyer and pays it.
func sell(ctx context.Context, rules *service.Shop, s stall) (order string, err error) {
	ctx = tenant.With(ctx, s.store, operator)
	email := "buyer." + strings.ReplaceAll(uuid.NewString(), "-", "") + "@mail.example.com"
	recorded, err := rules.RecordOrder(ctx, service.OrderDraft{
		Buyer: service.Buyer{Name: "Awa Buyer", Email: &email},
		Lines: []service.OrderLine{{ProductID: s.product.String(), Quantity: 1}},
	})
	if err != nil {
		return "", err
	}
	paid, err := rules.PayOrder(ctx, recorded.GetId())
	return paid.GetId(), err
}
