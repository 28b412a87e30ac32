package rpc_test

import (
	"database/sql"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/timestamppb"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/admin/rpc"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/shop/shoptest"
)

// rowOf has the kind of row of a request field: "Service.field" or, for one method, "Method.field".
var rowOf = map[string]string{
	"ProductService.id": "product", "SetProductContent.product.id": "product",
	"CustomerService.id": "customer", "ContinueForgetting.id": "forgotten",
	"OrderService.id": "order", "CreateOrder.customer_id": "customer",
	"CreateOrder.payment_link_id": "link", "CreateOrder.items.product_id": "product",
	"PaymentLinkService.id": "link",
	"NameService.name":      "product",
	"KeyService.id":         "key", "WebhookService.id": "webhook",
	"DeliveryService.id": "delivery", "ContinueResend.id": "resend",
	"DeliveryService.webhook_id": "webhook",
	"EventService.id":            "event", "DashboardService.id": "session",
}

// notNamed has, with the reason, fields with a row's id that only filter a list.
var notNamed = map[string]string{
	"ListActivity.resource_id": "chooses entries of the named store's journal, also about what is gone",
}

// rest is what a method requires besides the store and the field named, such as "StartResend.webhook_id", or nil. own has the
// store's ids, by kind.
func rest(b *bench, named string, own map[string]string) proto.Message {
	item := []*adminv1.CreateOrderRequest_Item{{ProductId: own["product"], Quantity: 1}}
	switch named {
	case "StartResend.webhook_id":
		return &adminv1.StartResendRequest{Since: timestamppb.New(b.db.Now())}
	case "CreateOrder.customer_id":
		return &adminv1.CreateOrderRequest{Items: item}
	case "CreateOrder.payment_link_id":
		return &adminv1.CreateOrderRequest{Email: new("b@example.com"), Amount: new(int64(5))}
	case "ResolveName.name":
		return &adminv1.ResolveNameRequest{Kind: adminv1.ResolveNameRequest_PRODUCT}
	case "UpdateCustomer.id":
		return &storefrontv1.UpdateCustomerRequest{Name: new("N")}
	case "CreateOrder.items.product_id":
		return &adminv1.CreateOrderRequest{Email: new("b@example.com"), Items: item}
	}
	return nil
}

func newRows(b *bench, store string) map[string]string {
	b.Helper()
	ctx, o := b.Context(), b.operator
	p, err := o.CreateProduct(ctx, &adminv1.CreateProductRequest{Store: store, Title: "P", PriceAmount: new(int64(5)),
		Type: storefrontv1.Product_FILE})
	require.NoError(b, err)
	order, err := o.CreateOrder(ctx, &adminv1.CreateOrderRequest{Store: store, Email: new("a@example.com"),
		Items: []*adminv1.CreateOrderRequest_Item{{ProductId: p.GetId(), Quantity: 1}}})
	require.NoError(b, err)
	link, err := o.CreatePaymentLink(shoptest.In(b, ctx, o, store), &storefrontv1.CreatePaymentLinkRequest{Title: "L",
		Pricing: storefrontv1.PaymentLink_OPEN, MinAmount: new(int64(5))})
	require.NoError(b, err)
	key, err := o.CreateKey(ctx, &adminv1.CreateKeyRequest{Store: store, Name: "k", Scopes: []string{"store:read"},
		Lifetime: adminv1.Key_DAYS_30})
	require.NoError(b, err)
	webhook, err := o.CreateWebhook(ctx, &adminv1.CreateWebhookRequest{Store: store, Url: "https://shop.example.com/"})
	require.NoError(b, err)
	delivery, err := o.PingWebhook(ctx, &adminv1.PingWebhookRequest{Id: webhook.GetWebhook().GetId()})
	require.NoError(b, err)
	resend, err := o.StartResend(ctx, &adminv1.StartResendRequest{WebhookId: webhook.GetWebhook().GetId(),
		Since: timestamppb.New(b.db.Now())})
	require.NoError(b, err)
	session, err := o.CreateSignInLink(ctx, &adminv1.CreateSignInLinkRequest{Store: store, Member: "M", Role: adminv1.Session_owner,
		BaseUrl: "https://o.example.com"})
	require.NoError(b, err)
	gone, err := o.CreateCustomer(shoptest.In(b, ctx, o, store), &storefrontv1.CreateCustomerRequest{Email: new("gone@example.com")})
	require.NoError(b, err)
	_, err = o.ForgetCustomer(ctx, &adminv1.ForgetCustomerRequest{Id: gone.GetId()})
	require.NoError(b, err)
	return map[string]string{
		"product": p.GetId(), "order": order.GetId(), "customer": order.GetCustomer().GetId(), "link": link.GetId(),
		"key": key.GetKey().GetId(), "webhook": webhook.GetWebhook().GetId(), "delivery": delivery.GetId(),
		"event": delivery.GetEventId(), "resend": resend.GetId(), "session": session.GetId(),
		"forgotten": gone.GetId(),
	}
}

type naming struct {
	method protoreflect.MethodDescriptor
	fields []protoreflect.FieldDescriptor // the nested messages that contain it, and the field at the end
	kind   string
}

func (n naming) name() string {
	name := string(n.method.Name())
	for _, f := range n.fields {
		name += "." + string(f.Name())
	}
	return name
}

// ofCallers is true for storefront.v1, where the context names the store.
func (n naming) ofCallers() bool { return n.method.ParentFile().Package() == "storefront.v1" }

// request names this store and the row with this id. own has the ids of other rows, by kind.
func (n naming) request(b *bench, store, id string, own map[string]string) proto.Message {
	b.Helper()
	typ, err := protoregistry.GlobalTypes.FindMessageByName(n.method.Input().FullName())
	require.NoError(b, err)
	in := typ.New().Interface()
	if more := rest(b, n.name(), own); more != nil {
		proto.Merge(in, more)
	}
	m := in.ProtoReflect()
	if !n.ofCallers() {
		m.Set(m.Descriptor().Fields().ByName("store"), protoreflect.ValueOfString(store))
	}
	for _, f := range n.fields[:len(n.fields)-1] {
		if f.IsList() {
			m = m.Mutable(f).List().Get(0).Message()
		} else {
			m = m.Mutable(f).Message()
		}
	}
	m.Set(n.fields[len(n.fields)-1], protoreflect.ValueOfString(id))
	return in
}

// namings returns each field that names a row. Each must be in rowOf or notNamed, and in a request with a field store.
func namings(t *testing.T) (all []naming) {
	t.Helper()
	used := map[string]bool{}
	var look func(m protoreflect.MethodDescriptor, before []protoreflect.FieldDescriptor, in protoreflect.MessageDescriptor)
	look = func(m protoreflect.MethodDescriptor, before []protoreflect.FieldDescriptor, in protoreflect.MessageDescriptor) {
		for i := range in.Fields().Len() {
			f := in.Fields().Get(i)
			n := naming{m, append(slices.Clone(before), f), ""}
			if f.Kind() == protoreflect.MessageKind && (f.IsList() && f.Message().ParentFile() == m.ParentFile() ||
				strings.HasSuffix(string(f.Message().Name()), "Request")) {
				look(m, n.fields, f.Message())
			}
			name := string(f.Name())
			if name != "id" && !strings.HasSuffix(name, "_id") && n.name() != "ResolveName.name" {
				continue
			}
			byMethod, byService := n.name(), string(m.Parent().Name())+"."+name
			used[byMethod], used[byService] = true, true
			if notNamed[byMethod] != "" {
				continue
			}
			if n.kind = rowOf[byMethod]; n.kind == "" {
				n.kind = rowOf[byService]
			}
			require.NotEmpty(t, n.kind, "%s: add to rowOf which row it names", byMethod)
			require.True(t, n.ofCallers() || m.Input().Fields().ByName("store") != nil,
				"%s names a row, and so its request needs the field store", byMethod)
			all = append(all, n)
		}
	}
	for _, m := range append(procedures(t, "storefront.admin.v1"), procedures(t, "storefront.v1")...) {
		look(m, nil, m.Input())
	}
	for name := range maps.Keys(rowOf) {
		require.True(t, used[name], "%s is in no request any more", name)
	}
	return all
}

func contents(t *testing.T, d *db.DB) map[string]string {
	t.Helper()
	names := "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
	if d.Dialect() == "sqlite3" {
		names = "SELECT name FROM sqlite_master WHERE type = 'table'"
	}
	all := map[string]string{}
	for row := range db.Rows(t.Context(), d.Reader(), names) {
		var table string
		require.NoError(t, row.Scan(&table))
		rows, err := d.Reader().Query("SELECT * FROM " + table)
		require.NoError(t, err)
		columns, err := rows.Columns()
		require.NoError(t, err)
		values, into := make([]sql.RawBytes, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		var lines []string
		for rows.Next() {
			require.NoError(t, rows.Scan(into...))
			lines = append(lines, fmt.Sprintf("%q", values))
		}
		require.NoError(t, rows.Err())
		require.NoError(t, rows.Close())
		slices.Sort(lines)
		all[table] = strings.Join(lines, "\n")
	}
	return all
}

// In this process and over the network.
func TestANamedStoreHolds(t *testing.T) {
	t.Parallel()
	all := namings(t)
	// The other methods need the row that the last ones delete.
	deletes := func(n naming) bool { return strings.HasPrefix(string(n.method.Name()), "Delete") }
	all = append(slices.DeleteFunc(slices.Clone(all), deletes), slices.DeleteFunc(all, func(n naming) bool { return !deletes(n) })...)
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		b := newBenchOn(t, d)
		_, err := b.operator.CreateStore(t.Context(), &adminv1.CreateStoreRequest{Name: "T", Slug: "t", Currency: "XAF", Country: "CM"})
		require.NoError(t, err)
		own, others := newRows(b, "s"), newRows(b, "t")
		client, err := rpc.NewClient(b.url, token)
		require.NoError(t, err)
		faces := map[string]admin.API{"in process": b.operator, "over the network": client}
		call := func(face string, n naming, store, id string) apierr.Code {
			ctx := t.Context()
			if n.ofCallers() {
				if ctx, err = faces[face].WithStore(ctx, store); err != nil {
					return codeOf(err)
				}
			}
			out := reflect.ValueOf(faces[face]).MethodByName(string(n.method.Name())).Call([]reflect.Value{
				reflect.ValueOf(ctx), reflect.ValueOf(n.request(b, store, id, own)),
			})
			err, _ := out[1].Interface().(error)
			return codeOf(err)
		}
		before := contents(t, d)
		for _, n := range all {
			for face := range faces {
				ids := []string{others[n.kind], strings.ToUpper(others[n.kind]), uuid.NewString()}
				if n.name() == "ListDeliveries.webhook_id" {
					ids = ids[:2] // a random id is not refused, because it may be the id of a deleted webhook
				}
				for _, id := range ids {
					code := call(face, n, "s", id)
					require.Regexp(t, "_not_found$", string(code), "%s %s: another store's %s", n.name(), face, n.kind)
					require.NotEqual(t, apierr.StoreNotFound, code, "%s %s", n.name(), face)
				}
				require.Equal(t, apierr.StoreNotFound, call(face, n, "nowhere", own[n.kind]), "%s %s: no such store", n.name(), face)
			}
		}
		require.Equal(t, before, contents(t, d), "nothing was changed")
		for _, n := range all {
			for face := range faces {
				require.NotRegexp(t, "not_found$|no refusal", string(call(face, n, "s", own[n.kind])), "%s %s: the store's own", n.name(), face)
				if deletes(n) {
					break
				}
			}
		}
	})
}
