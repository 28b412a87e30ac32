package rpc_test

import (
	"context"
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
	"go.storefront.example/ent/usage"
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

// newOrder creates an order of one product under an idempotency key.
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

// goOn continues an erasure to its end, as a worker does.
func (b *bench) goOn(customer string) {
	b.Helper()
	for finished := false; !finished; {
		job, err := b.operator.ContinueForgetting(b.Context(), &adminv1.ContinueForgettingRequest{Id: customer})
		require.NoError(b, err)
		finished = job.GetFinishedAt() != nil
	}
}

// wait adds a waiting delivery for each event of the store.
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

// A customer is erased, gets a new name from another request, and is erased again. Each erasure is complete, even if the new
// name contains the e-mail that marks an erased customer.
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

// A caller gives a customer a name that looks like an erased customer's. The erasure of this customer is still complete.
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

// The first step of an erasure removes the customer's name and the notes of the customer's orders. An order that is paid after
// this step shows neither.
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

// A customer has very many orders with notes. The first step erases the notes of orders that may still send an event; later
// steps erase the others.
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

// Other requests add data of the customer during the erasure. These data are erased too before the receipt is made.
func TestWhatComesBeforeTheReceiptIsForgotten(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		b := newBenchOn(t, d)
		customer := b.newCustomer("Awa Quagliotti", "awa.quagliotti@mail.example", "")
		order := b.newOrder(customer, "Quagliotti", "1")
		for n := range 4 { // n is the number of calls of ContinueForgetting; the fourth such call would make the receipt
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

// The journals of an old export are imported during the erasure. The customer's data in them are erased before the receipt
// is made.
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
		for n := range 4 { // n is the number of calls of ContinueForgetting; the fourth such call would make the receipt
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

// An export during an erasure would have values that are not erased yet, and an import would store them where nobody erases
// them. So exports are refused until the erasure is finished.
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
		job, err := b.operator.ForgetCustomer(t.Context(), &adminv1.ForgetCustomerRequest{Id: customer})
		for job.GetFinishedAt() == nil {
			require.NoError(t, err)
			refused := export()
			require.Equal(t, apierr.Unavailable, codeOf(refused))
			require.ErrorContains(t, refused, customer)
			job, err = b.operator.ContinueForgetting(t.Context(), &adminv1.ContinueForgettingRequest{Id: customer})
		}
		require.NoError(t, err)
		require.Empty(t, lines)
		require.NoError(t, export())
		require.Contains(t, lines, customer)
		require.NotContains(t, strings.ToLower(lines), "quagliotti")
	})
}

// After a store is deleted, neither a row nor a file of the database has what the store had: on SQLite not even the log.
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

// Idempotency keys and refused requests contain texts of callers. The erasure finds the customer in a text even if the text
// differs in case or punctuation, or has decomposed letters, a former e-mail, or the phone as dialled in its country.
func TestACustomerIsFoundInTextsHoweverTheyAreWritten(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		b := newBenchOn(t, d)
		customer := b.newCustomer("Élodie Brontë", "elodie.old@mail.example", "+237 670 33 33 01")
		_, err := b.operator.UpdateCustomer(shoptest.In(t, t.Context(), b.operator, "s"), &storefrontv1.UpdateCustomerRequest{Id: customer,
			Email: new("elodie.new@mail.example"), Phone: new("+237 699 11 22 33")})
		require.NoError(t, err)
		short := b.newCustomer("Bo", "bo@mail.example", "")
		namesake := b.newCustomer("Élodie Brontë", "other@mail.example", "")
		named := []string{"Élodie Brontë", "ÉLODIE BRONTË", "order-élodie-brontë-7", "E\u0301lodie Bronte\u0308", "%C3%89lodie%20Bront%C3%AB",
			"Elodie.Old@Mail.Example", "pay:elodie.old%40mail.example", "xelodie.new@mail.examplex", "+237670333301", "0670333301",
			"00237 670 33 33 01", "670-33-33-01", "+237 (0)699.11.22.33", "６７０３３３３０１", "٦٧٠٣٣٣٣٠١", "Bo", "pay-bo-1", "BO7"}
		kept := []string{"Elbow", "bobsleigh", "Élodie", "Brontë", "670333302", "amount", "priceAmount"}
		for _, text := range append(named, kept...) {
			_, err := d.Writer().Exec(`INSERT INTO refused_requests
 (id, store_id, key_id, request_id, method, route, status, code, fields, created_at)
 VALUES ($1, $2, $1, $1, 'POST', '/v1/customers', 400, 'validation_failed', $3, $4)`, uuid.New(), b.storeID(), "name\n"+text, d.Now())
			require.NoError(t, err)
			b.newOrder(namesake, "", text)
		}
		refused := b.forget(customer).GetRefusedRequests() + b.forget(short).GetRefusedRequests()
		require.EqualValues(t, len(named), refused)
		left := map[string]bool{}
		for row := range db.Rows(t.Context(), d.Reader(), "SELECT key FROM idempotency_keys") {
			var key string
			require.NoError(t, row.Scan(&key))
			left[key] = true
		}
		for i, text := range named {
			require.Equal(t, i < 5, left[text], "the namesake's keys stay, of %q", text)
		}
		for _, text := range kept {
			require.True(t, left[text], text)
		}
		found, err := b.operator.GetCustomer(shoptest.In(t, t.Context(), b.operator, "s"), &storefrontv1.GetCustomerRequest{Id: namesake})
		require.NoError(t, err)
		require.Equal(t, "Élodie Brontë", found.GetName())
		for _, event := range d.Client().Event.Query().AllX(t.Context()) {
			read, err := hook.ReadEnvelope(event.Payload)
			if err == nil {
				require.Equal(t, namesake, read.Data.(*storefrontv1.Customer).GetId())
			}
		}
		require.Empty(t, traces(t, d, "elodie.old", "elodie.new", "670333301", "699112233"))
	})
}

// A server counts a refused request in memory before the sender is erased, and writes the row afterwards. The row does not
// name the customer.
func TestARefusalThatIsWrittenLateNamesNobody(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		b := newBenchOn(t, d)
		customer := b.newCustomer("Awa", "awa.quagliotti@mail.example", "")
		noted := usage.New(d, nil)
		refuse := func(field string, at time.Time) {
			noted.Refuse(usage.Refused{StoreID: b.storeID(), KeyID: uuid.New(), RequestID: uuid.New(), Method: "POST",
				Route: "/v1/customers", Code: "validation_failed", Status: 400, Fields: []string{field}, At: at})
		}
		refuse("awa.quagliotti@mail.example", d.Now())
		b.forget(customer)
		refuse("title", d.Now().Add(time.Second))
		require.NoError(t, noted.Flush(context.WithoutCancel(t.Context())))
		require.Empty(t, traces(t, d, "quagliotti"))
		require.Equal(t, 1, dbtest.Count(t, d, "refused_requests WHERE fields = 'title'"))
	})
}

// If an older import has stored rows that cannot be read, the erasure replaces these rows as a whole.
func TestRowsThatCannotBeReadAreForgottenWhole(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		b := newBenchOn(t, d)
		customer := b.newCustomer("Awa", "awa.quagliotti@mail.example", "+237670991234")
		other := b.newCustomer("Awa", "other@mail.example", "")
		now, id := d.Now(), uuid.MustParse(customer)
		changes := []string{`[]`, `null`, `5`, `{"name":"Quagliotti"}`, `{"name":["Quagliotti"]}`, `{"name":{"to":{"a":"Quagliotti"}}}`,
			`{"name":{"to":"Quagliotti"},"name":{"to":""}}`, `{"email":{"was":"Quagliotti"}}`, `{"Quagliotti":{"to":1}}`,
			`{"status":{"to":"awa.quagliotti@mail.example"}}`, `{"status":{"to":["Quagliotti"]}}`, `{"name":{"to":"Quagliotti"}`, `Quagliotti`}
		for _, text := range changes {
			_, err := d.Writer().Exec(`INSERT INTO activity_entries
 (id, store_id, actor_type, actor_id, actor_name, action, resource_type, resource_id, changes, created_at)
 VALUES ($1, $2, 'operator', '', 'operator', 'customer.updated', 'customer', $3, $4, $5)`, uuid.Must(uuid.NewV7()), b.storeID(), id,
				[]byte(text), now)
			require.NoError(t, err)
		}
		payloads := []string{`{"a":"awa.quagliotti\u0040mail.example"}`, `{"data":{"id":"` + customer + `","name":"Quagliotti"}}`,
			`{"phone":237670991234}`, `awa.quagliotti@mail.example`}
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
