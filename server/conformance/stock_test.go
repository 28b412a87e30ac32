package conformance_test

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/gen/ent/activityentry"
	"go.storefront.example/gen/ent/event"
	"go.storefront.example/gen/ent/product"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/shop"
)

const uuidForm = `^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`

// product creates a DRAFT product of type FILE that can be published. edit changes the request.
func (b *bench) product(title string, price int64, edit ...func(*adminv1.CreateProductRequest)) string {
	b.Helper()
	d := &adminv1.CreateProductRequest{
		Title: title, PriceAmount: &price, Description: new("<p>Tout savoir.</p>"), ContentReady: new(true),
		Type: storefrontv1.Product_FILE,
	}
	for _, e := range edit {
		e(d)
	}
	p, err := b.CreateProduct(b.ctx, d)
	require.NoError(b, err)
	return p.GetId()
}

func withStatus(status product.Status) func(*adminv1.CreateProductRequest) {
	return func(d *adminv1.CreateProductRequest) {
		d.Status = storefrontv1.Product_Status(storefrontv1.Product_Status_value[status.String()]).Enum()
	}
}

func withType(kind product.Type) func(*adminv1.CreateProductRequest) {
	return func(d *adminv1.CreateProductRequest) {
		d.Type = storefrontv1.Product_Type(storefrontv1.Product_Type_value[kind.String()])
	}
}

func unready(d *adminv1.CreateProductRequest) { d.Description, d.ContentReady = nil, nil }

func (b *bench) order(productID string, quantity int32, email string) string {
	b.Helper()
	o, err := b.RecordOrder(b.ctx, shop.OrderDraft{
		Buyer: shop.Buyer{Name: "Ada Ndé", Email: &email},
		Lines: []shop.OrderLine{{ProductID: productID, Quantity: quantity}},
	})
	require.NoError(b, err)
	return o.GetId()
}

func (b *bench) linkOrder(linkID, email string) string {
	b.Helper()
	o, err := b.RecordOrder(b.ctx, shop.OrderDraft{Buyer: shop.Buyer{Name: "Ada Ndé", Email: &email}, PaymentLinkID: linkID})
	require.NoError(b, err)
	return o.GetId()
}

func (b *bench) pay(orderID string) {
	b.Helper()
	_, err := b.MoveOrder(b.ctx, orderID, "PAID")
	require.NoError(b, err)
}

// customer creates a customer without orders, and returns the id.
func (b *bench) customer(name, email string) string {
	b.Helper()
	c, created, err := b.EnsureCustomer(b.ctx, &storefrontv1.CreateCustomerRequest{Name: name, Email: &email})
	require.NoError(b, err)
	require.True(b, created)
	return c.GetId()
}

// link creates a FIXED payment link with amount 500. edit changes the request.
func (b *bench) link(title string, edit ...func(*storefrontv1.CreatePaymentLinkRequest)) string {
	b.Helper()
	in := &storefrontv1.CreatePaymentLinkRequest{Title: title, Pricing: storefrontv1.PaymentLink_FIXED, Amount: new(int64(500))}
	for _, e := range edit {
		e(in)
	}
	l, err := b.CreatePaymentLink(b.ctx, in)
	require.NoError(b, err)
	return l.GetId()
}

func capped(payments int32) func(*storefrontv1.CreatePaymentLinkRequest) {
	return func(in *storefrontv1.CreatePaymentLinkRequest) { in.MaxPayments = &payments }
}

type sent struct {
	kind    string
	payload []byte
	data    json.RawMessage
}

// events returns the store's events, oldest first.
func (b *bench) events() []sent {
	b.Helper()
	rows, err := b.installation.db.Client().Event.Query().Where(event.StoreID(b.store.ID)).Order(event.ByID()).All(b.ctx)
	require.NoError(b, err)
	out := make([]sent, len(rows))
	for i, row := range rows {
		var envelope struct{ Data json.RawMessage }
		require.NoError(b, json.Unmarshal(row.Payload, &envelope))
		out[i] = sent{row.Type, row.Payload, envelope.Data}
	}
	return out
}

func (b *bench) sentSince(n int) []string {
	b.Helper()
	kinds := []string{}
	for _, e := range b.events()[n:] {
		kinds = append(kinds, e.kind)
	}
	return kinds
}

type entry struct {
	actor, actorID, actorType string
	action, resource, id      string
	changes                   object
}

func (b *bench) entries() []entry {
	b.Helper()
	rows, err := b.installation.db.Client().ActivityEntry.Query().Where(activityentry.StoreID(b.store.ID)).Order(
		activityentry.ByID()).All(b.ctx)
	require.NoError(b, err)
	out := make([]entry, len(rows))
	for i, row := range rows {
		out[i] = entry{row.ActorName, row.ActorID, row.ActorType, row.Action, row.ResourceType, row.ResourceID.String(),
			decodedObject(b, row.Changes)}
	}
	return out
}

// journaled requires that the last of n+1 entries has this action, resource and changes, by the bench's key.
func (b *bench) journaled(n int, action, id string, changes object) {
	b.Helper()
	entries := b.entries()
	require.Len(b, entries, n+1)
	resource, _, _ := strings.Cut(action, ".")
	require.Equal(b, entry{
		keyName, b.keyID, "api_key", action, resource, id, normal(b, changes).(map[string]any),
	}, entries[n])
}

func change(from, to any) object { return object{"from": from, "to": to} }

// leavesNothing asserts that do causes no journal entry and no event.
func (b *bench) leavesNothing(do func()) {
	b.Helper()
	entries, events := len(b.entries()), len(b.events())
	do()
	require.Len(b, b.entries(), entries)
	require.Len(b, b.events(), events)
}

func (b *bench) same(want object, got object) {
	b.Helper()
	require.Equal(b, normal(b, want), normal(b, got))
}

func (b *bench) requireFields(got object, fields object) {
	b.Helper()
	for name, want := range fields {
		value, ok := got[name]
		require.True(b, ok, "%s is missing", name)
		require.Equal(b, normal(b, want), normal(b, value), name)
	}
}

func (b *bench) data(list object) []object {
	b.Helper()
	rows, ok := list["data"].([]any)
	require.True(b, ok, "data is always an array: %v", list)
	out := make([]object, len(rows))
	for i, row := range rows {
		out[i] = row.(map[string]any)
	}
	return out
}

func (b *bench) names(list object, field string) []string {
	b.Helper()
	out := []string{}
	for _, row := range b.data(list) {
		out = append(out, row[field].(string))
	}
	return out
}

// newest reverses the ids, because lists show the newest rows first.
func newest(ids ...string) []string {
	out := slices.Clone(ids)
	slices.Reverse(out)
	return out
}

func unknownID() string { return uuid.Must(uuid.NewV7()).String() }

func (b *bench) moment(v any) time.Time {
	b.Helper()
	require.Regexp(b, dateTime, v)
	t, err := time.Parse(time.RFC3339Nano, v.(string))
	require.NoError(b, err)
	return t
}
