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

// paidPrefix begins the line that acknowledges a payment: right after its commit, and followed by the
// order's id.
const paidPrefix = "paid "

// checkoutPause is how long it waits after the database was away.
const checkoutPause = 50 * time.Millisecond

// checkoutCommand records orders of new buyers and pays them by the rules of the shop, until its
// standard input ends. Each gives an event of the customer and one of the order.
type checkoutCommand struct {
	Rate        float64 `default:"20" help:"Orders in a second."`
	Connections int     `default:"2" help:"How many check out at the same time."`
}

// offer is a store and what is bought there.
type offer struct {
	store   tenant.Store
	product uuid.UUID
}

// Run checks out.
func (c *checkoutCommand) Run(ctx context.Context, io streams) (err error) {
	signal.Ignore(os.Interrupt)
	s, err := db.Open(ctx, db.Config{URL: os.Getenv(subjectDatabase), MaxConns: c.Connections})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	offers, err := openOffers(ctx, s)
	if err != nil {
		return err
	}
	ctx, end := untilInputEnds(ctx, io.in)
	defer end()
	fmt.Fprintln(io.out, sayReady+"to check out")
	rules := service.New(s, service.Options{})
	group, ctx := errgroup.WithContext(ctx)
	for n := range c.Connections {
		group.Go(func() error { return c.run(ctx, rules, offers[n%len(offers):], io.out) })
	}
	return group.Wait()
}

func openOffers(ctx context.Context, s *db.DB) ([]offer, error) {
	stores, err := s.Client().Store.Query().All(ctx)
	if err != nil {
		return nil, err
	}
	var offers []offer
	for _, row := range stores {
		bought, err := s.Client().Product.Query().Where(product.StoreID(row.ID)).FirstID(ctx)
		if err != nil {
			return nil, err
		}
		offers = append(offers, offer{service.TenantOf(row), bought})
	}
	if len(offers) == 0 {
		return nil, errors.New("there is no store")
	}
	return offers, nil
}

// run sells the offers in turns. A database that is away is nothing unusual.
func (c *checkoutCommand) run(ctx context.Context, rules *service.Shop, offers []offer, out stdio.Writer) error {
	gap := time.Duration(float64(c.Connections) / c.Rate * float64(time.Second))
	for n := 0; ctx.Err() == nil; n++ {
		id, err := sell(ctx, rules, offers[n%len(offers)])
		var refused *apierr.Refusal
		switch {
		case errors.As(err, &refused):
			return err
		case err != nil:
			time.Sleep(checkoutPause)
		default:
			if _, err := fmt.Fprintln(out, paidPrefix+id); err != nil {
				return err
			}
			time.Sleep(gap)
		}
	}
	return nil
}

// sell records an order of a new buyer and pays it.
func sell(ctx context.Context, rules *service.Shop, s offer) (order string, err error) {
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
