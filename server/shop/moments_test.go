package shop_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/db/dbtest/need"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/tenant"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/shop"
	"go.storefront.example/server/transfer/transfertest"
	"go.storefront.example/server/webhooks"
)

// operations is the number of concurrent changes that TestMomentsFollowTheCommits makes on each database.
var operations = flag.Int("operations", map[bool]int{true: 3000, false: 600}[need.Required()], "how many concurrent changes to audit on each database")

const (
	momentWriters = 12
	momentObjects = 4 // number of objects of each kind, few enough that several writers change the same object
)

// Several servers whose clocks differ change the same few objects. Even when transactions wait for each other, the times of
// each object's changes have the order of the commits.
func TestMomentsFollowTheCommits(t *testing.T) {
	t.Parallel()
	for _, database := range dbtest.Databases() {
		t.Run(database, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, database)
			var group errgroup.Group
			for i := range momentWriters {
				group.Go(func() error { return w.write(i, *operations/momentWriters) })
			}
			require.NoError(t, group.Wait())
			t.Logf("refused: %v", w.refused)
			require.Empty(t, head(w.audit.violations()))
			require.Empty(t, head(w.audit.breaks()))
			require.Empty(t, w.audit.disagreements())
		})
	}
}

// head returns the number of findings and the first few of them, as texts; nil if there are none.
func head(found []string) []string {
	if len(found) == 0 {
		return nil
	}
	return append([]string{strconv.Itoa(len(found)) + " in all"}, found[:min(len(found), 8)]...)
}

// world is one store in one database, which several servers change.
type world struct {
	t                                  *testing.T
	shops                              []*rules
	databases                          map[*rules]*db.DB
	ctx                                context.Context
	audit                              audit
	products, links, customers, emails []string
	webhook                            string

	mu      sync.Mutex
	orders  []string // ids of recent orders, which several writers change
	refused map[apierr.Code]int
}

func newWorld(t *testing.T, database string) *world {
	t.Helper()
	url := dbtest.URL(t, database)
	w := &world{t: t, refused: map[apierr.Code]int{}, databases: map[*rules]*db.DB{}}
	var first *db.DB
	for _, ahead := range []time.Duration{0, 3 * time.Millisecond, -250 * time.Millisecond} {
		clock := func() time.Time { return time.Now().Add(ahead) }
		if ahead == 0 {
			clock = nil // the default, the machine's clock
		}
		d, err := hook.Open(context.Background(), db.Config{URL: url, Clock: clock, MaxConns: 6})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, d.Close()) })
		shop := newRules(t, d, shop.Options{})
		w.shops, w.databases[shop] = append(w.shops, shop), d
		if first == nil {
			first = d
		}
	}
	w.audit = newAudit(t, first)
	b := newBench(t, first, shop.Options{})
	w.ctx = b.Ctx
	for i := range momentObjects {
		w.products = append(w.products, b.Product("Guide", 1000).GetId())
		w.links = append(w.links, b.Link(nil).GetId())
		w.emails = append(w.emails, fmt.Sprintf("buyer%d@example.com", i))
		o := b.Buy(w.emails[i], w.products[i], "")
		w.customers, w.orders = append(w.customers, o.GetCustomer().GetId()), append(w.orders, o.GetId())
	}
	made, err := b.CreateWebhook(b.Ctx, webhooks.Registration{URL: "https://receiver.example.com/hooks"})
	require.NoError(t, err)
	w.webhook = made.ID.String()
	return w
}

// write makes n random changes one after the other. Each change runs on another server than the change before it.
func (w *world) write(writer, n int) error {
	random := rand.New(rand.NewPCG(uint64(writer), 1))
	for i := range n {
		s := w.shops[(writer+i)%len(w.shops)]
		ctx := w.ctx
		if random.IntN(8) == 0 {
			ctx = tenant.WithIdempotencyKey(ctx, strconv.Itoa(random.IntN(n)))
		}
		err := w.change(ctx, s, random)
		var r *apierr.Refusal
		switch {
		case errors.As(err, &r):
			w.mu.Lock()
			w.refused[r.Code]++
			w.mu.Unlock()
		case err != nil:
			return err
		}
	}
	return nil
}

func pick(from []string, r *rand.Rand) string { return from[r.IntN(len(from))] }

func (w *world) change(ctx context.Context, s *rules, r *rand.Rand) error {
	text := strconv.FormatUint(r.Uint64(), 36)
	var err error
	switch r.IntN(20) {
	case 0, 1:
		_, err = s.UpdateProduct(ctx, &storefrontv1.UpdateProductRequest{Id: pick(w.products, r), Title: &text})
	case 2:
		status := []storefrontv1.Product_Status{storefrontv1.Product_PUBLISHED, storefrontv1.Product_ARCHIVED,
			storefrontv1.Product_DRAFT}[r.IntN(3)]
		_, err = s.UpdateProduct(ctx, &storefrontv1.UpdateProductRequest{Id: pick(w.products, r), Status: &status})
	case 3:
		_, err = s.UpdateCustomer(ctx, &storefrontv1.UpdateCustomerRequest{Id: pick(w.customers, r), Name: &text})
	case 4:
		_, err = s.UpdatePaymentLink(ctx, &storefrontv1.UpdatePaymentLinkRequest{Id: pick(w.links, r), Title: &text})
	case 5:
		_, err = s.DisablePaymentLink(ctx, pick(w.links, r))
	case 6:
		_, err = s.EnablePaymentLink(ctx, &storefrontv1.EnablePaymentLinkRequest{Id: pick(w.links, r)})
	case 7:
		_, err = s.UpdateStore(ctx, &adminv1.UpdateStoreRequest{Description: &text})
	case 8:
		err = w.changeWebhook(ctx, s, r, text)
	case 9:
		err = w.key(ctx, s, text)
	case 10:
		err = w.load(ctx, s, r)
	case 11, 12, 13, 14:
		err = w.record(ctx, s, r, text)
	default:
		err = w.move(ctx, s, r)
	}
	return err
}

func (w *world) changeWebhook(ctx context.Context, s *rules, r *rand.Rand, text string) error {
	var err error
	switch r.IntN(3) {
	case 0:
		_, err = s.UpdateWebhook(ctx, &adminv1.UpdateWebhookRequest{Id: w.webhook, Description: &text})
	case 1:
		_, err = s.DisableWebhook(ctx, w.webhook)
	default:
		_, err = s.EnableWebhook(ctx, w.webhook)
	}
	return err
}

// key creates an API key, which two servers then revoke at once.
func (w *world) key(ctx context.Context, s *rules, name string) error {
	k, err := s.CreateKey(ctx, shop.KeyDraft{Name: name, Scopes: []string{"products:read"}, Lifetime: adminv1.Key_NEVER})
	if err != nil {
		return err
	}
	var group errgroup.Group
	for _, other := range w.shops[:2] {
		group.Go(func() error {
			_, err := other.RevokeKey(ctx, k.ID.String())
			return err
		})
	}
	return group.Wait()
}

// load imports two orders: one of a known customer, through a payment link, and one with a new customer.
func (w *world) load(ctx context.Context, s *rules, r *rand.Rand) error {
	i := r.IntN(momentObjects)
	buyer := transfertest.Fields{"id": w.customers[i], "name": "", "email": w.emails[i], "phone": nil}
	one := transfertest.OneOrder(buyer).With("status", "PENDING").With("paidAt", nil).With("paymentLink",
		transfertest.Fields{"id": pick(w.links, r), "code": "", "title": ""})
	other := transfertest.OneOrder(transfertest.OneCustomer()).With("status", "PENDING").With("paidAt", nil)
	err := transfertest.Orders(ctx, w.databases[s], &adminv1.ImportOptions{Events: true}, one, other)
	if err == nil {
		w.seen(one["id"].(string))
	}
	return err
}

// record records an order of a known or a new buyer, from the catalogue or through a payment link.
func (w *world) record(ctx context.Context, s *rules, r *rand.Rand, text string) error {
	d := shop.OrderDraft{}
	switch r.IntN(4) {
	case 0:
		email := text[:2] + "@example.com" // short, so that several writers record the same new buyer at once
		d.Buyer = shop.Buyer{Email: &email}
	case 1:
		d.CustomerID = pick(w.customers, r)
	default:
		email := pick(w.emails, r)
		d.Buyer = shop.Buyer{Email: &email}
	}
	if r.IntN(3) == 0 {
		d.Lines = []shop.OrderLine{{ProductID: pick(w.products, r), Quantity: 1}}
	} else {
		d.PaymentLinkID = pick(w.links, r)
	}
	o, err := s.RecordOrder(ctx, d)
	if err == nil {
		w.seen(o.GetId())
	}
	return err
}

func (w *world) seen(orderID string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.orders = append(w.orders[max(0, len(w.orders)-2*momentWriters):], orderID)
}

// move changes the status of one of the recent orders.
func (w *world) move(ctx context.Context, s *rules, r *rand.Rand) error {
	w.mu.Lock()
	id := pick(slices.Clone(w.orders), r)
	w.mu.Unlock()
	var err error
	switch r.IntN(6) {
	case 0, 1:
		_, err = s.MoveOrder(ctx, id, "FAILED")
	case 2:
		_, err = s.MoveOrder(ctx, id, "REFUNDED")
	case 3:
		if strings.HasSuffix(id, "0") {
			_, err = s.MoveOrder(ctx, id, "CANCELLED")
		}
	default:
		_, err = s.MoveOrder(ctx, id, "PAID")
	}
	return err
}
