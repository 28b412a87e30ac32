package rpc_test

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/db/dbtest/need"
	"go.storefront.example/ent/erase"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/resource"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/shop/shoptest"
	"go.storefront.example/server/transfer"
)

func (b *bench) storeID() (id uuid.UUID) {
	b.Helper()
	require.NoError(b, b.db.Reader().QueryRow("SELECT id FROM stores").Scan(&id))
	return id
}

func (b *bench) newCustomer(name, email, phone string) string {
	b.Helper()
	in := &storefrontv1.CreateCustomerRequest{Name: name, Email: &email}
	if phone != "" {
		in.Phone = &phone
	}
	made, err := b.operator.CreateCustomer(shoptest.In(b, b.Context(), b.operator, "s"), in)
	require.NoError(b, err)
	return made.GetId()
}

func (b *bench) newOrder(customer, note, key string) string {
	b.Helper()
	if b.product == "" {
		p, err := b.operator.CreateProduct(b.Context(), &adminv1.CreateProductRequest{Store: "s", Title: "P",
			PriceAmount: new(int64(5)), Type: storefrontv1.Product_FILE})
		require.NoError(b, err)
		b.product = p.GetId()
	}
	made, err := b.operator.CreateOrder(b.Context(), &adminv1.CreateOrderRequest{Store: "s", CustomerId: customer, Note: &note,
		IdempotencyKey: key, Items: []*adminv1.CreateOrderRequest_Item{{ProductId: b.product, Quantity: 1}}})
	require.NoError(b, err)
	return made.GetId()
}

func (b *bench) pay(order, key string) *storefrontv1.Order {
	b.Helper()
	paid, err := b.operator.PayOrder(b.Context(), &adminv1.PayOrderRequest{Id: order, IdempotencyKey: key})
	require.NoError(b, err)
	return paid
}

func (b *bench) forget(customer string) *adminv1.Forgetting {
	b.Helper()
	receipt, err := admin.Forget(b.Context(), b.operator, customer, func(*adminv1.Forgetting) {})
	require.NoError(b, err)
	return receipt
}

func (b *bench) goOn(customer string) {
	b.Helper()
	for finished := false; !finished; {
		job, err := b.operator.ContinueForgetting(b.Context(), &adminv1.ContinueForgettingRequest{Id: customer})
		require.NoError(b, err)
		finished = job.GetFinishedAt() != nil
	}
}

func (b *bench) wait() {
	b.Helper()
	now := b.db.Now()
	for _, event := range b.db.Client().Event.Query().AllX(b.Context()) {
		_, err := b.db.Writer().Exec(`INSERT INTO deliveries
 (id, store_id, webhook_id, event_id, event_type, retry, due_at, attempts, epoch, created_at)
 VALUES ($1, $2, $3, $4, $5, true, $6, $7, 1, $8)`, uuid.New(), b.storeID(), uuid.New(), event.ID, event.Type, now.Add(time.Hour),
			[]byte("[]"), now)
		require.NoError(b, err)
	}
}

// Each erasure is complete, even if the new name contains the e-mail that marks an erased customer.
func TestACustomerIsForgottenAsOftenAsAsked(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		b := newBenchOn(t, d)
		customer := b.newCustomer("Awa Quagliotti", "awa.quagliotti@mail.example", "+237670991234")
		b.pay(b.newOrder(customer, "Leave it with Quagliotti", "till-1"), "pay-1")
		first := b.forget(customer)
		require.EqualValues(t, 2, first.GetEvents())
		require.Empty(t, traces(t, d, "quagliotti", "670991234"))

		for n, name := range []string{"Awa Qvist", "Awa Qvist " + resource.ForgottenEmail(uuid.MustParse(customer))} {
			_, err := b.operator.UpdateCustomer(shoptest.In(t, t.Context(), b.operator, "s"), &storefrontv1.UpdateCustomerRequest{Id: customer, Name: &name,
				Phone: new("+237670994321")})
			require.NoError(t, err)
			order := b.newOrder(customer, "For Qvist", fmt.Sprint("till-again-", n))
			b.pay(order, fmt.Sprint("pay-again-", n))
			b.wait()
			require.NotEmpty(t, traces(t, d, "qvist", "670994321"))
			again := b.forget(customer)
			require.EqualValues(t, 1, again.GetEvents(), name)
			require.NotEqual(t, first.GetFinishedAt().AsTime(), again.GetFinishedAt().AsTime())
			require.Empty(t, traces(t, d, "qvist", "quagliotti", "670991234", "670994321"), name)
			repeated := b.pay(order, fmt.Sprint("pay-again-", n))
			require.Equal(t, "", repeated.GetCustomer().GetName())
			require.Nil(t, repeated.Note)
			require.Equal(t, again.String(), b.forget(customer).String(), "there is nothing more to forget")
		}
	})
}

// A caller gives a customer a name that looks like an erased customer's.
func TestAMarkerOfACallerKeepsNothing(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		b := newBenchOn(t, d)
		customer := b.newCustomer("Awa", "awa.quagliotti@mail.example", "+237670991234")
		marker := resource.ForgottenEmail(uuid.MustParse(customer))
		_, err := b.operator.UpdateCustomer(shoptest.In(t, t.Context(), b.operator, "s"), &storefrontv1.UpdateCustomerRequest{Id: customer, Name: &marker})
		require.NoError(t, err)
		order := b.newOrder(customer, `{"forgotten":true} `+marker+" quagliotti", marker)
		b.pay(order, marker)
		b.wait()
		require.EqualValues(t, 2, b.forget(customer).GetEvents())
		require.Empty(t, traces(t, d, "quagliotti", "670991234"))
		require.Empty(t, b.pay(order, marker).GetCustomer().GetName())
	})
}

// The first step removes the name and the notes. An order that is paid afterwards shows neither.
func TestANoteIsForgottenWithTheName(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		b := newBenchOn(t, d)
		customer := b.newCustomer("Awa Quagliotti", "awa.quagliotti@mail.example", "")
		pending, failed, paid := b.newOrder(customer, "Quagliotti 1", "1"), b.newOrder(customer, "Quagliotti 2", "2"),
			b.newOrder(customer, "Quagliotti 3", "3")
		b.pay(paid, "")
		_, err := b.operator.FailOrder(t.Context(), &adminv1.FailOrderRequest{Id: failed})
		require.NoError(t, err)
		_, err = b.operator.ForgetCustomer(t.Context(), &adminv1.ForgetCustomerRequest{Id: customer})
		require.NoError(t, err)
		for _, id := range []string{pending, failed, paid} {
			order, err := b.operator.GetOrder(shoptest.In(t, t.Context(), b.operator, "s"), &storefrontv1.GetOrderRequest{Id: id})
			require.NoError(t, err)
			require.Nil(t, order.Note)
		}
		before := d.Client().Event.Query().CountX(t.Context())
		require.Nil(t, b.pay(pending, "pay").Note)
		require.Nil(t, b.pay(failed, "pay again").Note)
		_, err = b.operator.RefundOrder(t.Context(), &adminv1.RefundOrderRequest{Id: paid})
		require.NoError(t, err)
		receipt := b.forget(customer)
		require.EqualValues(t, 3, receipt.GetNotes())
		require.Empty(t, traces(t, d, "quagliotti"))
		require.Nil(t, b.pay(pending, "pay").Note)
		kept := 0
		for _, event := range d.Client().Event.Query().AllX(t.Context()) {
			if string(event.Payload) != hook.Forgotten {
				kept++
			}
		}
		require.Equal(t, d.Client().Event.Query().CountX(t.Context())-before, kept, "what shows nothing of the customer is sent")
	})
}

// The first step erases the notes of orders that may still send an event, later steps the others.
func TestManyNotesAreForgottenInSteps(t *testing.T) {
	t.Parallel()
	need.Heavy(t, "it forgets a customer in thousands of notes")
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		b := newBenchOn(t, d)
		customer := b.newCustomer("Awa", "awa@mail.example", "")
		order := uuid.MustParse(b.newOrder(customer, "Quagliotti", ""))
		tx, err := d.Writer().Begin()
		require.NoError(t, err)
		for i := range 5000 {
			_, err := tx.Exec(fmt.Sprintf(`INSERT INTO orders
 (id, store_id, reference, status, amount, platform_fee_percent, customer_id, note, created_at, updated_at)
 SELECT '%s', store_id, 'R%d', 'PAID', amount, platform_fee_percent, customer_id, note, created_at, updated_at
 FROM orders WHERE id = $1`, uuid.New(), i), order)
			require.NoError(t, err)
		}
		require.NoError(t, tx.Commit())
		_, err = b.operator.ForgetCustomer(t.Context(), &adminv1.ForgetCustomerRequest{Id: customer})
		require.NoError(t, err)
		require.Zero(t, dbtest.Count(t, d, "orders WHERE note IS NOT NULL AND status = 'PENDING'"))
		require.NotZero(t, dbtest.Count(t, d, "orders WHERE note IS NOT NULL"))
		b.goOn(customer)
		require.Empty(t, traces(t, d, "quagliotti"))
		require.Equal(t, 1, dbtest.Count(t, d, "activity_entries WHERE action = 'customer.forgotten'"))
	})
}

func TestWhatComesBeforeTheReceiptIsForgotten(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		b := newBenchOn(t, d)
		customer := b.newCustomer("Awa Quagliotti", "awa.quagliotti@mail.example", "")
		order := b.newOrder(customer, "Quagliotti", "1")
		for n := range 4 { // n is the number of calls of ContinueForgetting; the fourth would make the receipt
			_, err := b.operator.ForgetCustomer(t.Context(), &adminv1.ForgetCustomerRequest{Id: customer})
			require.NoError(t, err)
			for range n {
				_, err = b.operator.ContinueForgetting(t.Context(), &adminv1.ContinueForgettingRequest{Id: customer})
				require.NoError(t, err)
			}
			_, err = b.operator.UpdateCustomer(shoptest.In(t, t.Context(), b.operator, "s"), &storefrontv1.UpdateCustomerRequest{Id: customer, Name: new("Awa Qvist")})
			require.NoError(t, err)
			if n == 0 {
				b.pay(order, "pay")
			}
			b.pay(b.newOrder(customer, "Qvist", fmt.Sprint("till-", n)), fmt.Sprint("pay-", n))
			_, err = b.operator.UpdateCustomer(shoptest.In(t, t.Context(), b.operator, "s"), &storefrontv1.UpdateCustomerRequest{Id: customer, Name: new("")})
			require.NoError(t, err)
			b.goOn(customer)
			require.Empty(t, traces(t, d, "quagliotti", "qvist"), n)
		}
	})
}

// The journals of an old export are imported during the erasure.
func TestAnImportBeforeTheReceiptIsForgotten(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		b := newBenchOn(t, d)
		customer := b.newCustomer("Awa Quagliotti", "awa.quagliotti@mail.example", "")
		b.pay(b.newOrder(customer, "Quagliotti", "1"), "")
		lines := map[transfer.Kind]string{}
		require.NoError(t, b.operator.Export(t.Context(), &adminv1.ExportStoreRequest{Store: "s"}, func(in *adminv1.ExportStoreResponse) error {
			lines[transfer.Kind(in.GetKind())] += in.GetLines()
			return nil
		}))
		for n := range 4 { // n is the number of calls of ContinueForgetting; the fourth would make the receipt
			_, err := b.operator.ForgetCustomer(t.Context(), &adminv1.ForgetCustomerRequest{Id: customer})
			require.NoError(t, err)
			for range n {
				_, err = b.operator.ContinueForgetting(t.Context(), &adminv1.ContinueForgettingRequest{Id: customer})
				require.NoError(t, err)
			}
			for kind, table := range map[transfer.Kind]string{transfer.Events: "events", transfer.Activity: "activity_entries"} {
				_, err := d.Writer().Exec("DELETE FROM " + table) // deleted, so that the import stores the rows again
				require.NoError(t, err)
				out, err := b.operator.ImportRows(t.Context(), &adminv1.ImportRowsRequest{Store: "s", Kind: string(kind), Lines: lines[kind]})
				require.NoError(t, err)
				require.Positive(t, out.GetStored())
			}
			require.NotEmpty(t, traces(t, d, "quagliotti"))
			b.goOn(customer)
			require.Empty(t, traces(t, d, "quagliotti"), n)
		}
	})
}

// The export finishes the erasure first. It is refused only while a delivery about the customer is being attempted.
func TestNoExportHasWhatIsBeingForgotten(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		b := newBenchOn(t, d)
		customer := b.newCustomer("Awa Quagliotti", "awa.quagliotti@mail.example", "")
		b.pay(b.newOrder(customer, "Quagliotti", "1"), "")
		lines := ""
		export := func() error {
			return b.operator.Export(t.Context(), &adminv1.ExportStoreRequest{Store: "s"}, func(in *adminv1.ExportStoreResponse) error {
				lines += in.GetLines()
				return nil
			})
		}
		_, err := b.operator.ForgetCustomer(t.Context(), &adminv1.ForgetCustomerRequest{Id: customer})
		require.NoError(t, err)
		b.wait()
		_, err = d.Writer().Exec("UPDATE deliveries SET lease = $1, leased_until = $2", uuid.New(), d.Now().Add(time.Hour))
		require.NoError(t, err)
		refused := export()
		require.Equal(t, apierr.Unavailable, codeOf(refused))
		require.ErrorContains(t, refused, customer)
		require.Empty(t, lines)
		_, err = d.Writer().Exec("UPDATE deliveries SET lease = NULL, leased_until = NULL")
		require.NoError(t, err)
		require.NoError(t, export())
		require.Contains(t, lines, customer)
		require.NotContains(t, strings.ToLower(lines), "quagliotti")
		require.Zero(t, dbtest.Count(t, d, "forgettings WHERE finished_at IS NULL"))
	})
}

// Neither thousands of former names nor the store's other rows make steps longer.
func TestTheStepsGrowWithTheCustomersRows(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		b := newBenchOn(t, d)
		b.others(700)
		customer := b.newCustomer("Awa", "awa.quagliotti@mail.example", "")
		tx, err := d.Writer().Begin()
		require.NoError(t, err)
		for i := range 1000 {
			_, err := tx.Exec(`INSERT INTO activity_entries
 (id, store_id, actor_type, actor_id, actor_name, action, resource_type, resource_id, changes, created_at)
 VALUES ($1, $2, 'operator', '', 'operator', 'customer.updated', 'customer', $3, $4, $5)`, uuid.Must(uuid.NewV7()), b.storeID(),
				uuid.MustParse(customer), fmt.Appendf(nil, `{"name":{"from":"Quagliotti %d","to":"Quagliotti %d"}}`, i, i+1), d.Now())
			require.NoError(t, err)
		}
		require.NoError(t, tx.Commit())
		steps := 0
		receipt, err := admin.Forget(t.Context(), b.operator, customer, func(*adminv1.Forgetting) { steps++ })
		require.NoError(t, err)
		require.EqualValues(t, 1001, receipt.GetActivityEntries())
		require.LessOrEqual(t, steps, 1+6+1+1+1+1, "the row, six for the entries, one for each other table, and the end")
		require.Empty(t, traces(t, d, "quagliotti"))
	})
}

// An earlier release let another customer take it. The erasure takes it back.
func TestTheAddressOfAForgottenCustomerIsTaken(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		b := newBenchOn(t, d)
		customer, other := b.newCustomer("Awa", "awa.quagliotti@mail.example", ""), b.newCustomer("Bo", "bo@mail.example", "")
		email := resource.ForgottenEmail(uuid.MustParse(customer))
		_, err := d.Writer().Exec("UPDATE customers SET email = $1 WHERE id = $2", email, uuid.MustParse(other))
		require.NoError(t, err)
		require.NotNil(t, b.forget(customer).GetFinishedAt())
		forgotten, err := b.operator.GetCustomer(shoptest.In(t, t.Context(), b.operator, "s"), &storefrontv1.GetCustomerRequest{Id: customer})
		require.NoError(t, err)
		require.Equal(t, email, forgotten.GetEmail())
		kept, err := b.operator.GetCustomer(shoptest.In(t, t.Context(), b.operator, "s"), &storefrontv1.GetCustomerRequest{Id: other})
		require.NoError(t, err)
		require.Equal(t, "Bo", kept.GetName())
		require.Regexp(t, `^[0-9a-f-]{36}@taken\.forgotten\.invalid$`, kept.GetEmail())
		require.NotNil(t, b.forget(other).GetFinishedAt())
	})
}

// The hashes are keyed, so that trying finds neither key nor request, and an erased customer's are gone.
func TestIdempotencyKeysKeepNoText(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		b := newBenchOn(t, d)
		customer := b.newCustomer("Awa", "awa@mail.example", "+237670991234")
		order := b.newOrder(customer, "Quagliotti", "+237670991234")
		b.pay(order, "+237670991234")
		plain := sha256.Sum256([]byte("+237670991234"))
		everywhere(t, d, func(place string, text []byte) {
			if strings.HasPrefix(place, "idempotency_keys") && !strings.HasSuffix(place, ".answer") {
				require.NotContains(t, string(text), "670991234", place)
				require.NotContains(t, string(text), string(plain[:]), place)
			}
		})
		b.forget(customer)
		require.Equal(t, 2, dbtest.Count(t, d, "idempotency_keys WHERE length(request) = 0"))
		require.Equal(t, order, b.pay(order, "+237670991234").GetId(), "a repeated request is still answered")
		other := b.newCustomer("Bo", "bo@mail.example", "")
		b.newOrder(other, "", "k")
		_, err := b.operator.CreateOrder(t.Context(), &adminv1.CreateOrderRequest{Store: "s", CustomerId: other, IdempotencyKey: "k",
			Items: []*adminv1.CreateOrderRequest_Item{{ProductId: b.product, Quantity: 2}}})
		require.Equal(t, apierr.IdempotencyKeyReused, codeOf(err))
	})
}

// Events of release 2026-09 do not say whose they are. The erasure reads it from them once.
func TestEventsOfAnEarlierReleaseAreForgotten(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		b := newBenchOn(t, d)
		customer, other := b.newCustomer("Awa", "awa.quagliotti@mail.example", ""), b.newCustomer("Bo", "bo@mail.example", "")
		b.pay(b.newOrder(customer, "Quagliotti", ""), "")
		_, err := d.Writer().Exec("UPDATE events SET customer_id = NULL")
		require.NoError(t, err)
		require.EqualValues(t, 2, b.forget(customer).GetEvents())
		require.Empty(t, traces(t, d, "quagliotti"))
		require.Zero(t, dbtest.Count(t, d, "events WHERE customer_id IS NULL"))
		require.EqualValues(t, 1, b.forget(other).GetEvents())
	})
}

// Neither a row nor a file of the database, SQLite's log included.
func TestNothingOfADeletedStoreIsInTheFiles(t *testing.T) {
	t.Parallel()
	clock := shoptest.NewClock()
	dbtest.RunWith(t, db.Config{Clock: clock.Now}, func(t *testing.T, d *db.DB) {
		b := newBenchOn(t, d)
		customer := b.newCustomer("Awa Quagliotti", "awa.quagliotti@mail.example", "")
		b.pay(b.newOrder(customer, "Quagliotti", "quagliotti"), "")
		id := b.storeID()
		_, err := b.operator.DeleteStore(t.Context(), &adminv1.DeleteStoreRequest{Store: "s", GraceSeconds: new(int64(0)), ConfirmSlug: "s"})
		require.NoError(t, err)
		clock.Advance(time.Second)
		require.NotEmpty(t, traces(t, d, "quagliotti"))
		require.NoError(t, erase.Store(t.Context(), d, id))
		require.Empty(t, traces(t, d, "quagliotti"))
	})
}

// An older import has stored rows that cannot be read.
func TestRowsThatCannotBeReadAreForgottenWhole(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		b := newBenchOn(t, d)
		customer := b.newCustomer("Awa", "awa.quagliotti@mail.example", "+237670991234")
		other := b.newCustomer("Awa", "other@mail.example", "")
		now, id := d.Now(), uuid.MustParse(customer)
		changes := []string{`[]`, `null`, `5`, `{"name":"Quagliotti"}`, `{"name":["Quagliotti"]}`, `{"name":{"to":{"a":"Quagliotti"}}}`,
			`{"name":{"to":"Quagliotti"},"name":{"to":""}}`, `{"email":{"was":"Quagliotti"}}`, `{"Quagliotti":{"to":1}}`,
			`{"status":{"to":["Quagliotti"]}}`, `{"name":{"to":"Quagliotti"}`, `Quagliotti`}
		for _, text := range changes {
			_, err := d.Writer().Exec(`INSERT INTO activity_entries
 (id, store_id, actor_type, actor_id, actor_name, action, resource_type, resource_id, changes, created_at)
 VALUES ($1, $2, 'operator', '', 'operator', 'customer.updated', 'customer', $3, $4, $5)`, uuid.Must(uuid.NewV7()), b.storeID(), id,
				[]byte(text), now)
			require.NoError(t, err)
		}
		payloads := []string{`{"data":{"id":"` + customer + `","name":"Quagliotti"}}`,
			`{"data":{"customer":{"id":"` + customer + `","email":"awa.quagliotti\u0040mail.example"},"id":7}}`}
		for _, text := range payloads {
			_, err := d.Writer().Exec("INSERT INTO events (id, store_id, type, payload, created_at) VALUES ($1, $2, $3, $4, $5)",
				uuid.Must(uuid.NewV7()), b.storeID(), "customer.created", []byte(text), now)
			require.NoError(t, err)
		}
		receipt := b.forget(customer)
		require.EqualValues(t, len(payloads)+1, receipt.GetEvents())
		require.Empty(t, traces(t, d, "quagliotti", "u0040mail", "670991234"))
		require.NotNil(t, receipt.GetFinishedAt())
		require.Equal(t, 1, dbtest.Count(t, d, "events WHERE payload <> $1", []byte(hook.Forgotten)), "the other customer's")
		entries, err := b.operator.ListActivity(t.Context(), &adminv1.ListActivityRequest{Store: "s", ResourceId: other})
		require.NoError(t, err)
		require.Contains(t, entries.GetEntries()[0].GetChanges(), "other@mail.example")
		left, err := erase.Unfinished(t.Context(), d)
		require.NoError(t, err)
		require.Empty(t, left)
	})
}
