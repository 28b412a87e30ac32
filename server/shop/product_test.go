package shop_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/shop"
	"go.storefront.example/server/shop/shoptest"
)

func TestChangeOutsideItsStoreIsRefusedByTheHooks(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		b := newBench(t, d, shop.Options{})
		p := b.Product("Guide", 1000)
		other := b.NewStore("other")
		_, err := b.GetProduct(other, &storefrontv1.GetProductRequest{Id: p.GetId()})
		shoptest.Refused(t, err, apierr.ProductNotFound)
		_, err = b.UpdateProduct(other, &storefrontv1.UpdateProductRequest{Id: p.GetId(), Title: ptr("Mine")})
		shoptest.Refused(t, err, apierr.ProductNotFound)

		err = d.Client().Product.UpdateOneID(uuid.MustParse(p.GetId())).SetTitle("Past the rules").Exec(b.Ctx)
		require.ErrorContains(t, err, "outside a transaction")
		_, err = b.ListProducts(context.Background(), &storefrontv1.ListProductsRequest{})
		require.ErrorContains(t, err, "names no store")
	})
}

// Typed clients can send changes that JSON cannot express. This test has these changes, and the order of two refusals;
// server/conformance tests all other rules.
func TestChangesOfTypedCallers(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		b := newBench(t, d, shop.Options{})
		id, link := b.Product("Guide", 1000).GetId(), b.Link(nil).GetId()
		bare, err := b.CreateProduct(b.Ctx, &adminv1.CreateProductRequest{Title: "Bare", PriceAmount: ptr(int64(0)),
			Type: storefrontv1.Product_FILE})
		require.NoError(t, err)
		entries, past := len(b.Journal()), timestamppb.New(time.Unix(1, 0))
		fixed, published := storefrontv1.PaymentLink_FIXED, storefrontv1.Product_PUBLISHED
		for _, row := range []struct {
			reason string
			in     proto.Message
			want   apierr.Code
			field  string
		}{
			{"a mask that names what cannot be changed", &storefrontv1.UpdateProductRequest{Id: id,
				UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"slug"}}}, apierr.ValidationFailed, "updateMask"},
			{"a status of no meaning", &storefrontv1.UpdateProductRequest{Id: id, Status: ptr(storefrontv1.Product_Status(9))},
				apierr.ValidationFailed, "status"},
			{"a bad reference price comes before publishing", &storefrontv1.UpdateProductRequest{Id: bare.GetId(), Status: &published,
				CompareAtAmount: ptr(int64(0))}, apierr.CompareAtInvalid, ""},
			{"a date beyond what a date can be", &storefrontv1.UpdatePaymentLinkRequest{Id: link,
				ExpiresAt: &timestamppb.Timestamp{Seconds: 1 << 60}}, apierr.PaymentLinkExpiryInvalid, ""},
			{"pricing is judged before the end date", &storefrontv1.CreatePaymentLinkRequest{Title: "A", Pricing: fixed, ExpiresAt: past},
				apierr.PaymentLinkInvalidPricing, ""},
			{"a cover without a host", &storefrontv1.UpdatePaymentLinkRequest{Id: link, CoverUrl: ptr("https:///a")},
				apierr.ValidationFailed, "coverUrl"},
		} {
			switch in := row.in.(type) {
			case *storefrontv1.UpdateProductRequest:
				_, err = b.UpdateProduct(b.Ctx, in)
			case *storefrontv1.CreatePaymentLinkRequest:
				_, err = b.CreatePaymentLink(b.Ctx, in)
			case *storefrontv1.UpdatePaymentLinkRequest:
				_, err = b.UpdatePaymentLink(b.Ctx, in)
			}
			t.Log(row.reason)
			if fields := shoptest.Refused(t, err, row.want).Details.GetFields(); row.field != "" {
				require.Equal(t, row.field, fields[0].GetField())
			}
		}
		require.Len(t, b.Journal(), entries, "a refused change leaves nothing")
		end := d.Now().Add(time.Hour)
		l, err := b.UpdatePaymentLink(b.Ctx, &storefrontv1.UpdatePaymentLinkRequest{Id: link,
			ExpiresAt: timestamppb.New(end.Add(123456 * time.Nanosecond))})
		require.NoError(t, err)
		require.Equal(t, end, l.GetExpiresAt().AsTime(), "times are kept in milliseconds")
	})
}
