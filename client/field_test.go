package client_test

import (
	"context"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"go.storefront.example/client"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
)

func TestEveryFieldIsSent(t *testing.T) {
	t.Parallel()
	day := time.Date(2027, 1, 2, 3, 4, 5, 0, time.UTC)
	at := timestamppb.New(day)
	mask := func(paths ...string) *fieldmaskpb.FieldMask { return &fieldmaskpb.FieldMask{Paths: paths} }
	for _, row := range []struct {
		call func(context.Context, *client.Client) error
		want proto.Message
	}{
		{func(ctx context.Context, c *client.Client) error {
			_, err := c.Products.Page(ctx, client.ProductFilter{Page: 2, PageSize: 3, Q: "a", Status: client.ProductDraft,
				Type: client.ProductFile})
			return err
		}, &storefrontv1.ListProductsRequest{Page: new(int64(2)), PageSize: new(int32(3)), Q: new("a"),
			Status: storefrontv1.Product_DRAFT.Enum(), Type: storefrontv1.Product_FILE.Enum()}},
		{func(ctx context.Context, c *client.Client) error {
			_, err := c.Orders.Page(ctx, client.OrderFilter{Page: 2, PageSize: 3, Status: client.OrderPaid, From: day, To: day})
			return err
		}, &storefrontv1.ListOrdersRequest{Page: new(int64(2)), PageSize: new(int32(3)), Status: storefrontv1.Order_PAID.Enum(),
			From: at, To: at}},
		{func(ctx context.Context, c *client.Client) error {
			_, err := c.Customers.Page(ctx, client.CustomerFilter{Page: 2, PageSize: 3, Q: "a"})
			return err
		}, &storefrontv1.ListCustomersRequest{Page: new(int64(2)), PageSize: new(int32(3)), Q: new("a")}},
		{func(ctx context.Context, c *client.Client) error {
			_, err := c.PaymentLinks.Page(ctx, client.PaymentLinkFilter{Page: 2, PageSize: 3, Status: client.ActivePaymentLinks})
			return err
		}, &storefrontv1.ListPaymentLinksRequest{Page: new(int64(2)), PageSize: new(int32(3)),
			Status: storefrontv1.ListPaymentLinksRequest_active.Enum()}},
		{func(ctx context.Context, c *client.Client) error {
			_, err := c.Customers.Create(ctx, client.NewCustomer{Name: "a", Email: "b", Phone: "c"})
			return err
		}, &storefrontv1.CreateCustomerRequest{Name: "a", Email: new("b"), Phone: new("c")}},
		{func(ctx context.Context, c *client.Client) error {
			_, err := c.PaymentLinks.Create(ctx, client.NewPaymentLink{
				Title: "a", Pricing: client.OpenPricing, Amount: 1, MinAmount: 2, Description: "b", CoverURL: "c", ThankYouMessage: "d",
				ExpiresAt: day, MaxPayments: 3,
			})
			return err
		}, &storefrontv1.CreatePaymentLinkRequest{
			Title: "a", Pricing: storefrontv1.PaymentLink_OPEN, Amount: new(int64(1)), MinAmount: new(int64(2)), Description: new("b"),
			CoverUrl: new("c"), ThankYouMessage: new("d"), ExpiresAt: at, MaxPayments: new(int32(3)),
		}},
		{func(ctx context.Context, c *client.Client) error {
			_, err := c.Products.Update(ctx, "x", client.ProductChange{
				Title: client.Set(""), Summary: client.Set("a"), Description: client.Set("b"), PriceAmount: client.Set[int64](0),
				CompareAtAmount: client.Set[int64](1), Status: client.Set(client.ProductArchived),
			})
			return err
		}, &storefrontv1.UpdateProductRequest{
			Id: "x", Title: new(""), Summary: new("a"), Description: new("b"), PriceAmount: new(int64(0)), CompareAtAmount: new(int64(1)),
			Status:     storefrontv1.Product_ARCHIVED.Enum(),
			UpdateMask: mask("title", "summary", "description", "price_amount", "compare_at_amount", "status"),
		}},
		{func(ctx context.Context, c *client.Client) error {
			_, err := c.Customers.Update(ctx, "x", client.CustomerChange{Name: client.Set("a"), Email: client.Set("b"),
				Phone: client.Set("c")})
			return err
		}, &storefrontv1.UpdateCustomerRequest{Id: "x", Name: new("a"), Email: new("b"), Phone: new("c"), UpdateMask: mask("name",
			"email", "phone")}},
		{func(ctx context.Context, c *client.Client) error {
			_, err := c.PaymentLinks.Update(ctx, "x", client.PaymentLinkChange{
				Title: client.Set("a"), Pricing: client.Set(client.FixedPricing), Amount: client.Set[int64](1),
				MinAmount: client.Set[int64](2), Description: client.Set("b"),
				CoverURL: client.Set("c"), ThankYouMessage: client.Set("d"), ExpiresAt: client.Set(day), MaxPayments: client.Set[int32](3),
			})
			return err
		}, &storefrontv1.UpdatePaymentLinkRequest{
			Id: "x", Title: new("a"), Pricing: storefrontv1.PaymentLink_FIXED.Enum(), Amount: new(int64(1)), MinAmount: new(int64(2)),
			Description: new("b"), CoverUrl: new("c"), ThankYouMessage: new("d"), ExpiresAt: at, MaxPayments: new(int32(3)),
			UpdateMask: mask("title", "pricing", "amount", "min_amount", "description", "cover_url", "thank_you_message", "expires_at",
				"max_payments"),
		}},
	} {
		want := row.want.ProtoReflect()
		t.Run(string(want.Descriptor().Name()), func(t *testing.T) {
			t.Parallel()
			for i := range want.Descriptor().Fields().Len() {
				field := want.Descriptor().Fields().Get(i)
				require.True(t, want.Has(field), "the row leaves out %s", field.Name())
			}
			got := want.New().Interface()
			service := playing(func(w http.ResponseWriter, r *http.Request) error {
				body, err := io.ReadAll(r.Body)
				if err != nil {
					return err
				}
				if err := proto.Unmarshal(body, got); err != nil {
					return err
				}
				return done(w, r)
			})
			require.NoError(t, row.call(t.Context(), service.open(t)))
			require.True(t, proto.Equal(row.want, got), "%v", got)
		})
	}
}

// A cleared field has no value.
func TestAChangeNamesOnlyWhatItChanges(t *testing.T) {
	t.Parallel()
	service := titled("a")
	var asked *storefrontv1.UpdateProductRequest
	service.changing = func(r *storefrontv1.UpdateProductRequest) { asked = r }
	_, err := service.open(t).Products.Update(t.Context(), service.products[0].GetId(),
		client.ProductChange{CompareAtAmount: client.Clear[int64]()})
	require.NoError(t, err)
	require.Nil(t, asked.CompareAtAmount)
	require.Equal(t, []string{"compare_at_amount"}, asked.GetUpdateMask().GetPaths())
}
