package rpc_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/db/dbtest/need"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/resource"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/shop/shoptest"
	"go.storefront.example/server/transfer"
)

// These flags set how much TestAnyHistoryIsForgotten does on each database.
var (
	histories = flag.Int("histories", 2, "how many histories of forgotten customers to make")
	steps     = flag.Int("steps", 150, "how many steps such a history has")
)

// sign finds the numbers in this test's names, notes, e-mails and phones. Each number belongs to one customer.
var sign = regexp.MustCompile(`(?i)zq(\d+)x|6700(\d{5})`)

type history struct {
	*bench
	rand      *rand.Rand
	customers []string
	// bystander is never erased, although others have had the same name. events counts the events about the bystander.
	bystander string
	events    int
	// owners has the customer of each number in a name, note, e-mail or phone.
	owners map[string]string
	orders []string
	export map[transfer.Kind]string
	done   int
}

// After an erasure, whatever changes, orders, deliveries and imports came before, no byte has a value that the customer ever
// had, and other customers' events stay.
func TestAnyHistoryIsForgotten(t *testing.T) {
	t.Parallel()
	need.Heavy(t, "it forgets customers of random histories")
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		for seed := range *histories {
			newHistory(newBenchOn(t, dbtest.New(t, d.Dialect(), db.Config{})), uint64(seed)).run()
		}
	})
}

func newHistory(b *bench, seed uint64) *history {
	b.Logf("seed %d", seed)
	h := &history{bench: b, rand: rand.New(rand.NewPCG(seed, 1)), owners: map[string]string{}, export: map[transfer.Kind]string{}}
	h.bystander = b.newCustomer("Awa", "bystander@mail.example", "")
	for range 3 {
		id := b.newCustomer("Awa", fmt.Sprint(uuid.NewString(), "@mail.example"), "")
		h.customers = append(h.customers, id)
		h.change(id)
	}
	h.events = 1
	h.order(h.bystander)
	return h
}

func (h *history) run() {
	actions := []func(customer string){h.change, h.change, h.change, h.order, h.order, h.order, h.pay, h.pay, h.fail, h.refund, h.importUpdate,
		h.deliver, h.takeExport, h.sweepAndImport, h.begin, h.step, h.step, h.forgetOne}
	for range *steps {
		actions[h.rand.IntN(len(actions))](h.customers[h.rand.IntN(len(h.customers))])
	}
	for _, customer := range h.customers {
		h.forgetOne(customer)
	}
	h.Logf("%d receipts, %d values", h.done, len(h.owners))
}

// new returns a number of owner's that no value contains yet.
func (h *history) new(owner string) string {
	number := fmt.Sprintf("%05d", len(h.owners))
	h.owners[number] = owner
	return number
}

// text returns a new name or note. Some look like an erased customer's, or need escapes in JSON.
func (h *history) text(owner string) string {
	value := "Zq" + h.new(owner) + "x"
	return []string{"Awa " + value, "É. " + value, "\"<" + value + ">\\ & \u2028", "E\u0301lodie " + value,
		resource.ForgottenEmail(uuid.MustParse(owner)) + " " + value, `{"forgotten":true} ` + value, "forgotten " + value}[h.rand.IntN(7)]
}

func (h *history) phone(owner string) string { return "+2376700" + h.new(owner) }

func (h *history) refusedOrDone(err error) {
	h.Helper()
	if err != nil {
		var refusal *apierr.Refusal
		require.ErrorAs(h, err, &refusal)
	}
}

func (h *history) change(customer string) {
	in := &storefrontv1.UpdateCustomerRequest{Id: customer}
	if h.rand.IntN(2) == 0 {
		in.Name = new(h.text(customer))
	}
	if h.rand.IntN(3) == 0 {
		in.Email = new("zq" + h.new(customer) + "x@mail.example")
	}
	if h.rand.IntN(3) == 0 {
		in.Phone = new(h.phone(customer))
	}
	_, err := h.operator.UpdateCustomer(shoptest.In(h, h.Context(), h.operator, "s"), in)
	h.refusedOrDone(err)
}

// key often contains the customer's values. It is "" if the name has a character that keys must not have.
func (h *history) key(customer string) string {
	c, err := h.operator.GetCustomer(shoptest.In(h, h.Context(), h.operator, "s"), &storefrontv1.GetCustomerRequest{Id: customer})
	require.NoError(h, err)
	n := h.rand.IntN(1_000_000)
	key := []string{"till", c.GetEmail(), strings.ToUpper(c.GetEmail()), strings.Join(strings.Fields(c.GetName()), "-"),
		strings.TrimPrefix(c.GetPhone(), "+237")}[h.rand.IntN(5)] + fmt.Sprint("/", n)
	if strings.ContainsRune(key, '\u2028') {
		return ""
	}
	return key
}

func (h *history) order(customer string) {
	note := "thanks"
	if customer != h.bystander && h.rand.IntN(2) == 0 {
		note = h.text(customer)
	}
	h.orders = append(h.orders, h.newOrder(customer, note, h.key(customer)))
}

func (h *history) randomOrder() string { return h.orders[h.rand.IntN(len(h.orders))] }

// move changes the status of a random order. sends is how many events a success sends.
func (h *history) move(move func(id, key string) (*storefrontv1.Order, error), sends int) {
	before, err := h.operator.GetOrder(shoptest.In(h, h.Context(), h.operator, "s"), &storefrontv1.GetOrderRequest{Id: h.randomOrder()})
	require.NoError(h, err)
	order, err := move(before.GetId(), h.key(before.GetCustomer().GetId()))
	h.refusedOrDone(err)
	if err == nil && order.GetCustomer().GetId() == h.bystander && before.GetStatus() != order.GetStatus() {
		h.events += sends
	}
}

func (h *history) pay(string) {
	h.move(func(id, key string) (*storefrontv1.Order, error) {
		return h.operator.PayOrder(h.Context(), &adminv1.PayOrderRequest{Id: id, IdempotencyKey: key})
	}, 1)
}

func (h *history) fail(string) {
	h.move(func(id, key string) (*storefrontv1.Order, error) {
		return h.operator.FailOrder(h.Context(), &adminv1.FailOrderRequest{Id: id, IdempotencyKey: key})
	}, 1)
}

func (h *history) refund(string) {
	h.move(func(id, key string) (*storefrontv1.Order, error) {
		return h.operator.RefundOrder(h.Context(), &adminv1.RefundOrderRequest{Id: id, IdempotencyKey: key})
	}, 0)
}

func (h *history) importUpdate(customer string) {
	in := &storefrontv1.Customer{Id: customer, Name: h.text(customer)}
	if h.rand.IntN(2) == 0 {
		in.Email = new("zq" + h.new(customer) + "x@mail.example")
	}
	_, err := h.operator.ImportCustomers(h.Context(), &adminv1.ImportCustomersRequest{Store: "s",
		Options: &adminv1.ImportOptions{Update: true}, Customers: []*storefrontv1.Customer{in}})
	h.refusedOrDone(err)
}

// deliver adds a waiting or finished delivery of some events, whose receiver's answer repeats the personal data.
func (h *history) deliver(string) {
	now := h.db.Now()
	for _, event := range h.db.Client().Event.Query().AllX(h.Context()) {
		if h.rand.IntN(4) != 0 || string(event.Payload) == hook.Forgotten {
			continue
		}
		signs := strings.Join(sign.FindAllString(string(event.Payload), -1), " ")
		attempts := fmt.Appendf(nil, `[{"number":1,"startedAt":"2026-10-01T12:00:00.000Z","durationMs":5,"statusCode":500,`+
			`"error":"answered 500","answer":"no room for %s"}]`, signs)
		statement := `INSERT INTO finished_deliveries
 (id, store_id, webhook_id, event_id, event_type, status, attempts, created_at, finished_at)
 VALUES ($1, $2, $3, $4, $5, 'failed', $6, $7, $7)`
		if h.rand.IntN(2) == 0 {
			statement = `INSERT INTO deliveries
 (id, store_id, webhook_id, event_id, event_type, retry, due_at, attempts, epoch, created_at)
 VALUES ($1, $2, $3, $4, $5, true, $7, $6, 1, $7)`
		}
		_, err := h.db.Writer().Exec(statement, uuid.New(), h.storeID(), uuid.New(), event.ID, event.Type, attempts, now)
		require.NoError(h, err)
	}
}

// takeExport keeps an export for later imports, or the last one if it is refused.
func (h *history) takeExport(string) {
	lines := map[transfer.Kind]string{}
	err := h.operator.Export(h.Context(), &adminv1.ExportStoreRequest{Store: "s"}, func(in *adminv1.ExportStoreResponse) error {
		lines[transfer.Kind(in.GetKind())] += in.GetLines()
		return nil
	})
	if h.refusedOrDone(err); err == nil {
		h.export = lines
	}
}

// sweepAndImport deletes random events and journals, as workers do, and imports the last export, which restores some.
func (h *history) sweepAndImport(string) {
	for _, event := range h.db.Client().Event.Query().AllX(h.Context()) {
		if h.rand.IntN(3) == 0 && !strings.Contains(string(event.Payload), h.bystander) {
			for _, statement := range []string{"DELETE FROM events WHERE id = $1", "DELETE FROM finished_deliveries WHERE event_id = $1",
				"DELETE FROM deliveries WHERE event_id = $1"} {
				_, err := h.db.Writer().Exec(statement, event.ID)
				require.NoError(h, err)
			}
		}
	}
	tables := []string{"finished_deliveries"}
	if h.rand.IntN(2) == 0 {
		tables = []string{"idempotency_keys", "activity_entries"}
	}
	for _, table := range tables {
		_, err := h.db.Writer().Exec("DELETE FROM " + table)
		require.NoError(h, err)
	}
	for _, kind := range []transfer.Kind{transfer.Customers, transfer.Events, transfer.Deliveries, transfer.Activity} {
		for lines := range slices.Chunk(strings.Split(strings.TrimSpace(h.export[kind]), "\n"), transfer.BatchRows) {
			if lines[0] == "" {
				continue
			}
			out, err := h.operator.ImportRows(h.Context(), &adminv1.ImportRowsRequest{Store: "s", Kind: string(kind),
				Lines: strings.Join(lines, "\n")})
			require.NoError(h, err)
			require.Empty(h, out.GetRefused())
		}
	}
}

func (h *history) begin(customer string) {
	_, err := h.operator.ForgetCustomer(h.Context(), &adminv1.ForgetCustomerRequest{Id: customer})
	require.NoError(h, err)
}

func (h *history) step(customer string) {
	_, err := h.operator.ContinueForgetting(h.Context(), &adminv1.ContinueForgettingRequest{Id: customer})
	if codeOf(err) == apierr.CustomerNotFound {
		return // no erasure of this customer was begun
	}
	require.NoError(h, err)
}

func (h *history) forgetOne(customer string) {
	h.done++
	if h.rand.IntN(2) == 0 && dbtest.Count(h, h.db, "forgettings WHERE finished_at IS NULL AND id = $1", uuid.MustParse(customer)) > 0 {
		h.goOn(customer) // as a worker does after the caller has stopped
	} else {
		require.NotNil(h, h.forget(customer).GetFinishedAt())
	}
	everywhere(h, h.db, func(place string, text []byte) {
		for _, at := range sign.FindAllSubmatchIndex(text, -1) {
			number := text[max(at[2], at[4]):max(at[3], at[5])]
			require.NotEqual(h, customer, h.owners[string(number)], "%s after receipt %d: %q", place, h.done,
				text[max(0, at[0]-200):min(len(text), at[1]+200)])
		}
	})
	events := 0
	for _, event := range h.db.Client().Event.Query().AllX(h.Context()) {
		if strings.Contains(string(event.Payload), `"id":"`+h.bystander+`"`) {
			events++
		}
	}
	require.Equal(h, h.events, events, "the bystander's")
}

// Afterwards repeated requests get answers without the customer's values.
func TestACustomerIsForgottenWhileOrdersMove(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		b := newBenchOn(t, d)
		customer := b.newCustomer("Awa Quagliotti", "awa.quagliotti@mail.example", "+237670991234")
		var orders []string
		for i := range 40 {
			orders = append(orders, b.newOrder(customer, "For Quagliotti", fmt.Sprint("till-", i)))
		}
		b.wait()
		var group errgroup.Group
		ctx := t.Context()
		for i, id := range orders {
			group.Go(func() error {
				var err error
				if i%2 == 0 {
					_, err = b.operator.FailOrder(ctx, &adminv1.FailOrderRequest{Id: id, IdempotencyKey: fmt.Sprint("fail-", i)})
				}
				if err == nil {
					_, err = b.operator.PayOrder(ctx, &adminv1.PayOrderRequest{Id: id, IdempotencyKey: fmt.Sprint("pay-", i)})
				}
				if err == nil && i%3 == 0 {
					_, err = b.operator.RefundOrder(ctx, &adminv1.RefundOrderRequest{Id: id, IdempotencyKey: fmt.Sprint("refund-", i)})
				}
				if err == nil && i%5 == 0 { // several erasures of one customer at once
					_, err = admin.Forget(ctx, b.operator, customer, func(*adminv1.Forgetting) {})
				}
				return err
			})
		}
		require.NoError(t, group.Wait())
		require.NotNil(t, b.forget(customer).GetFinishedAt())
		require.Empty(t, traces(t, d, "quagliotti", "670991234"))
		for i, id := range orders {
			paid := b.pay(id, fmt.Sprint("pay-", i))
			require.Empty(t, paid.GetCustomer().GetName())
			require.Nil(t, paid.Note)
		}
		require.Equal(t, 0, dbtest.Count(t, d, "forgettings WHERE finished_at IS NULL"))
	})
}
