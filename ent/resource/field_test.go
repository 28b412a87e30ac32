package resource_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"go.storefront.example/ent/resource"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/apikey"
	"go.storefront.example/gen/ent/customer"
	"go.storefront.example/gen/ent/order"
	"go.storefront.example/gen/ent/paymentlink"
	"go.storefront.example/gen/ent/product"
	"go.storefront.example/gen/ent/store"
	"go.storefront.example/gen/ent/webhook"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
)

func TestEveryLineIsAColumn(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		columns []resource.Column
		valid   func(string) bool
	}{
		{resource.StoreFields.Columns(), store.ValidColumn}, {resource.ProductFields.Columns(), product.ValidColumn},
		{resource.CustomerFields.Columns(), customer.ValidColumn}, {resource.OrderFields.Columns(), order.ValidColumn},
		{resource.PaymentLinkFields.Columns(), paymentlink.ValidColumn}, {resource.APIKeyFields.Columns(), apikey.ValidColumn},
		{resource.WebhookFields.Columns(), webhook.ValidColumn},
	} {
		for _, c := range row.columns {
			require.True(t, row.valid(c.Name), c.Name)
		}
	}
	require.Equal(t, "priceAmount", resource.ProductFields.Columns()[6].Journal)
	require.Equal(t, "paymentLinks", resource.StoreFields.Columns()[11].Journal, "a name of its own")
}

// Every field of a request that has a column is in the activity journal, and an update can set it.
func TestEveryFieldOfARequestIsJournaled(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		columns  []resource.Column
		settable func(string) bool
		valid    func(string) bool
		requests []proto.Message
	}{
		{resource.StoreFields.Columns(), settable(resource.StoreFields), store.ValidColumn,
			[]proto.Message{&adminv1.CreateStoreRequest{}, &adminv1.UpdateStoreRequest{}}},
		{resource.ProductFields.Columns(), settable(resource.ProductFields), product.ValidColumn,
			[]proto.Message{&adminv1.CreateProductRequest{}, &adminv1.SetProductContentRequest{}, &storefrontv1.UpdateProductRequest{}}},
		{resource.CustomerFields.Columns(), settable(resource.CustomerFields), customer.ValidColumn,
			[]proto.Message{&storefrontv1.CreateCustomerRequest{}, &storefrontv1.UpdateCustomerRequest{}}},
		{resource.OrderFields.Columns(), nil, order.ValidColumn, []proto.Message{&adminv1.CreateOrderRequest{}}},
		{resource.PaymentLinkFields.Columns(), settable(resource.PaymentLinkFields), paymentlink.ValidColumn,
			[]proto.Message{&storefrontv1.CreatePaymentLinkRequest{}, &storefrontv1.UpdatePaymentLinkRequest{}}},
		{resource.APIKeyFields.Columns(), nil, apikey.ValidColumn, []proto.Message{&adminv1.CreateKeyRequest{}}},
		{resource.WebhookFields.Columns(), settable(resource.WebhookFields), webhook.ValidColumn,
			[]proto.Message{&adminv1.CreateWebhookRequest{}, &adminv1.UpdateWebhookRequest{}}},
	} {
		for _, request := range row.requests {
			d := request.ProtoReflect().Descriptor()
			for i := range d.Fields().Len() {
				name := string(d.Fields().Get(i).Name())
				if name == "id" || !row.valid(name) {
					continue
				}
				require.True(t, slices.ContainsFunc(row.columns, func(c resource.Column) bool { return c.Name == name }), "%s.%s",
					d.Name(), name)
				if d.Fields().ByName("update_mask") != nil {
					require.True(t, row.settable(name), "%s.%s", d.Name(), name)
				}
			}
		}
	}
}

func settable[R any](table resource.Fields[R]) func(string) bool {
	return func(name string) bool {
		_, ok := table.Lookup(name)
		return ok
	}
}

// saved returns the changes that Update makes if a row changes from row to next: the values of the fields that Update sets,
// and the names of the fields that it clears.
func saved[R any](t *testing.T, table resource.Fields[R], m ent.Mutation, row, next *R) (set map[string]any, cleared []string) {
	t.Helper()
	changed, err := table.Update(m, row, next)
	require.NoError(t, err)
	require.Equal(t, changed, len(m.Fields())+len(m.ClearedFields()) > 0)
	set = map[string]any{}
	for _, name := range m.Fields() {
		set[name], _ = m.Field(name)
	}
	return set, m.ClearedFields()
}

func TestAnUpdateSavesWhatDiffers(t *testing.T) {
	t.Parallel()
	client := ent.NewClient()
	at := time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)
	row := ent.PaymentLink{
		Title: "Don", Pricing: paymentlink.PricingFIXED, Amount: new(int64(5)), Description: new("d"),
		ExpiresAt: &at, MaxPayments: new(int32(3)),
	}
	same := row
	elsewhere := at.In(time.FixedZone("", 3600))
	same.ExpiresAt, same.Amount = &elsewhere, new(int64(5))
	set, cleared := saved(t, resource.PaymentLinkFields, client.PaymentLink.UpdateOneID(row.ID).Mutation(), &row, &same)
	require.Empty(t, set, "equal values behind other pointers, and one moment in two zones, are the same")
	require.Empty(t, cleared)

	next := row
	for name, value := range map[string]any{
		"title": "Cadeau", "pricing": "OPEN", "amount": nil, "min_amount": int64(7), "expires_at": at.Add(time.Hour),
		"max_payments": int32(4),
	} {
		f, ok := resource.PaymentLinkFields.Lookup(name)
		require.True(t, ok, name)
		f.Set(&next, value)
	}
	set, cleared = saved(t, resource.PaymentLinkFields, client.PaymentLink.UpdateOneID(row.ID).Mutation(), &row, &next)
	require.Equal(t, map[string]any{
		"title": "Cadeau", "pricing": paymentlink.PricingOPEN, "min_amount": int64(7), "expires_at": at.Add(time.Hour),
		"max_payments": int32(4),
	}, set)
	require.Equal(t, []string{"amount"}, cleared, "null is cleared")
	require.Equal(t, int64(5), *row.Amount, "the row stays as it was")
}

func TestACreationSetsWhatIsNotNull(t *testing.T) {
	t.Parallel()
	m := ent.NewClient().Customer.Create().Mutation()
	require.NoError(t, resource.CustomerFields.Fill(m, &ent.Customer{Phone: new("+237670000001")}))
	require.ElementsMatch(t, []string{"name", "phone"}, m.Fields())
}

func TestOnlySettableFieldsAreFound(t *testing.T) {
	t.Parallel()
	_, ok := resource.ProductFields.Lookup("slug")
	require.False(t, ok, "a slug is in the journal only")
	f, ok := resource.CustomerFields.Lookup("email")
	require.True(t, ok)
	require.True(t, f.Nullable())
	f, _ = resource.CustomerFields.Lookup("name")
	require.False(t, f.Nullable())
}
