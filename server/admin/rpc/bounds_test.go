package rpc_test

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	rules "buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/emptypb"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/validate"
)

// probe is a value of a field, and whether the bounds of the field allow it.
type probe struct {
	value   any
	allowed bool
}

func isBound(fd protoreflect.FieldDescriptor) bool {
	return proto.HasExtension(fd.Options(), rules.E_Field)
}

// sized returns a text of a form that is n characters long.
func sized(form storefrontv1.TextForm, n int64) string {
	before, after := "", ""
	switch form {
	case storefrontv1.TextForm_EMAIL, storefrontv1.TextForm_CONTACT:
		before, after = "a@", strings.Repeat("."+strings.Repeat("b", 60), 3)+".example"
		return before + strings.Repeat("c", int(n)-len(before)-len(after)) + after
	case storefrontv1.TextForm_PHONE:
		before, after = "+237", "670000001"
		return before + strings.Repeat(" ", int(n)-len(before)-len(after)) + after
	case storefrontv1.TextForm_WEB_ADDRESS:
		before = "https://b.example/"
	case storefrontv1.TextForm_SEARCH:
		after = "  "
	}
	return before + strings.Repeat("a", int(n)-len(before)-len(after)) + after
}

// probesOf returns values at the bounds of a field and one past them.
func probesOf(fd protoreflect.FieldDescriptor) (all []probe) {
	b := validate.BoundOf(fd)
	switch fd.Kind() {
	case protoreflect.EnumKind:
		return []probe{{protoreflect.EnumNumber(1), true}, {protoreflect.EnumNumber(9999), false}}
	case protoreflect.StringKind:
		if b.Form == storefrontv1.TextForm_UNCHECKED {
			return nil
		}
		if b.Min > 0 {
			all = append(all, probe{"", false})
		}
		if b.Max != math.MaxInt64 {
			all = append(all, probe{sized(b.Form, b.Max), true}, probe{sized(b.Form, b.Max+1), false})
		}
		if b.Form != storefrontv1.TextForm_PHONE {
			all = append(all, probe{"a\x01b", false})
		}
		switch b.Form {
		case storefrontv1.TextForm_LINE:
			all = append(all, probe{"a\u2028b", false})
		case storefrontv1.TextForm_SLUG:
			all = append(all, probe{"a--b", false})
		case storefrontv1.TextForm_PHONE:
			all = append(all, probe{"no phone", false})
		case storefrontv1.TextForm_EMAIL, storefrontv1.TextForm_CONTACT, storefrontv1.TextForm_WEB_ADDRESS:
			all = append(all, probe{"a", false})
		}
	case protoreflect.DoubleKind:
		for n, allowed := range map[float64]bool{float64(b.Min): true, float64(b.Max): true, float64(b.Min) - 0.5: false,
			float64(b.Max) + 0.5: false, math.NaN(): false} {
			all = append(all, probe{n, allowed})
		}
	case protoreflect.Int32Kind, protoreflect.Int64Kind:
		add := func(n int64, allowed bool) {
			if fd.Kind() == protoreflect.Int64Kind {
				all = append(all, probe{n, allowed})
			} else if n == int64(int32(n)) {
				all = append(all, probe{int32(n), allowed})
			}
		}
		add(b.Min, true)
		add(b.Min-1, false)
		if b.Max != math.MaxInt64 {
			add(b.Max, true)
			add(b.Max+1, false)
		}
	}
	return all
}

// The border itself is allowed, and the value past it is refused by the field's name. Package conformance probes the public
// listener.
func TestEveryDeclaredBoundIsInForce(t *testing.T) {
	t.Parallel()
	b := newBench(t, dbtest.SQLite, db.Config{})
	ctx, err := b.operator.WithStore(t.Context(), "s")
	require.NoError(t, err)
	product, err := b.operator.CreateProduct(ctx, &adminv1.CreateProductRequest{Title: "Guide", Type: storefrontv1.Product_FILE, PriceAmount: new(int64(5))})
	require.NoError(t, err)
	order, err := b.operator.CreateOrder(ctx, &adminv1.CreateOrderRequest{Email: new("ada@example.com"),
		Items: []*adminv1.CreateOrderRequest_Item{{ProductId: product.GetId(), Quantity: 1}}})
	require.NoError(t, err)
	link, err := b.operator.CreatePaymentLink(ctx, &storefrontv1.CreatePaymentLinkRequest{Title: "Don", Pricing: storefrontv1.PaymentLink_OPEN,
		MinAmount: new(int64(1))})
	require.NoError(t, err)
	hook, err := b.operator.CreateWebhook(ctx, &adminv1.CreateWebhookRequest{Url: "https://example.com/a"})
	require.NoError(t, err)
	_, err = b.operator.CreateStore(t.Context(), &adminv1.CreateStoreRequest{Name: "G", Slug: "gone", Currency: "XAF", Country: "CM"})
	require.NoError(t, err)
	ids := map[protoreflect.Name]string{"ProductService": product.GetId(), "OrderService": order.GetId(), "PaymentLinkService": link.GetId(),
		"CustomerService": order.GetCustomer().GetId(), "WebhookService": hook.GetWebhook().GetId()}
	// What a request needs besides a store and an id, so that its rules are reached.
	complete := map[protoreflect.Name]string{
		"CreateOrder":        `{"email":"ada@example.com","items":[{"productId":"` + product.GetId() + `","quantity":1}]}`,
		"CreateOrder.amount": `{"email":"ada@example.com","paymentLinkId":"` + link.GetId() + `"}`,
		"CreateSignInLink":   `{"member":"Awa","role":"owner","baseUrl":"https://a.example"}`,
		"CreateKey":          `{"name":"Tool","scopes":["store:read"],"lifetime":"NEVER"}`,
		"CreateWebhook":      `{"url":"https://example.com/b"}`,
		"CreateStore":        `{"name":"P","slug":"p","currency":"XAF","country":"CM"}`,
		"DeleteStore":        `{"store":"gone","confirmSlug":"gone"}`,
		"SetProductContent":  `{"product":{"id":"` + product.GetId() + `"}}`,
	}
	probed := 0
	for _, m := range append(procedures(t, "storefront.admin.v1"), procedures(t, "storefront.v1")...) {
		at := fmt.Sprintf("/%s/%s", m.Parent().FullName(), m.Name())
		calls := connect.NewClient[emptypb.Empty, emptypb.Empty](b.http(false), b.url+at, b.withToken(token))
		// call sends the complete request after a change, and returns the names of the fields that the answer refuses.
		call := func(name string, change func(protoreflect.Message)) (code apierr.Code, fields []string) {
			input, err := protoregistry.GlobalTypes.FindMessageByName(m.Input().FullName())
			require.NoError(t, err)
			in := input.New()
			for name, value := range map[protoreflect.Name]string{"store": "s", "id": ids[m.Parent().Name()]} {
				if fd := m.Input().Fields().ByName(name); fd != nil {
					in.Set(fd, protoreflect.ValueOfString(value))
				}
			}
			if more := cmp.Or(complete[m.Name()+"."+protoreflect.Name(name)], complete[m.Name()]); more != "" {
				other := input.New()
				require.NoError(t, protojson.Unmarshal([]byte(more), other.Interface()))
				proto.Merge(in.Interface(), other.Interface())
			}
			change(in)
			body, err := proto.MarshalOptions{AllowPartial: true}.Marshal(in.Interface())
			require.NoError(t, err)
			request := connect.NewRequest(&emptypb.Empty{})
			request.Msg.ProtoReflect().SetUnknown(body)
			if m.ParentFile().Package() == "storefront.v1" {
				request.Header().Set("Storefront-Store", "s")
			}
			_, err = calls.CallUnary(t.Context(), request)
			refused, _ := apierr.FromConnect(err)
			if err == nil {
				return "", nil
			}
			require.NotNil(t, refused, "%s: %v", at, err)
			for _, f := range refused.Details.GetFields() {
				fields = append(fields, f.GetField())
			}
			return refused.Code, fields
		}
		try := func(name string, fd protoreflect.FieldDescriptor, of func(protoreflect.Message) protoreflect.Message) {
			for _, p := range probesOf(fd) {
				code, fields := call(name, func(in protoreflect.Message) { of(in).Set(fd, protoreflect.ValueOf(p.value)) })
				named := slices.Contains(fields, name) || code == apierr.PhoneInvalid
				require.NotEqual(t, apierr.InternalError, code, "%s %s %v", at, name, p.value)
				if p.allowed == named {
					t.Errorf("%s: %s = %.60q: %s %v", at, name, fmt.Sprint(p.value), code, fields)
				}
				probed++
			}
			if validate.BoundOf(fd).Required {
				_, fields := call(name, func(in protoreflect.Message) { of(in).Clear(fd) })
				require.Contains(t, fields, name, "%s without %s", at, name)
			}
		}
		for i := range m.Input().Fields().Len() {
			switch fd := m.Input().Fields().Get(i); {
			case isBound(fd):
				try(fd.JSONName(), fd, func(in protoreflect.Message) protoreflect.Message { return in })
			case fd.IsList() && fd.Message() != nil:
				for j := range fd.Message().Fields().Len() {
					if inner := fd.Message().Fields().Get(j); isBound(inner) {
						try(fd.JSONName()+".0."+inner.JSONName(), inner, func(in protoreflect.Message) protoreflect.Message {
							return in.Mutable(fd).List().Get(0).Message()
						})
					}
				}
			}
		}
	}
	require.Greater(t, probed, 150)
}
