package shop_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/gen/ent/event"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/shop"
	"go.storefront.example/server/shop/shoptest"
)

// ticker is a clock that the test moves.
type ticker struct{ now time.Time }

func (c *ticker) Now() time.Time { return c.now }

func TestProductStatus(t *testing.T) {
	t.Parallel()
	const draft, published, archived = storefrontv1.Product_DRAFT, storefrontv1.Product_PUBLISHED, storefrontv1.Product_ARCHIVED
	rows := []struct {
		from, to storefrontv1.Product_Status
		sent     []string
	}{
		{draft, draft, nil},
		{draft, published, []string{"product.published"}},
		{draft, archived, []string{"product.archived"}},
		{published, draft, nil},
		{published, published, nil},
		{published, archived, []string{"product.archived"}},
		{archived, draft, nil},
		{archived, published, []string{"product.published"}},
		{archived, archived, nil},
	}
	clock := &ticker{time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)}
	for _, database := range dbtest.Databases() {
		t.Run(database, func(t *testing.T) {
			b := newBench(t, dbtest.New(t, database, db.Config{Clock: clock.Now}), shop.Options{})
			for _, row := range rows {
				p := b.Product("Guide", 1000)
				move := func(to storefrontv1.Product_Status) *storefrontv1.Product {
					clock.now = clock.now.Add(time.Minute)
					moved, err := b.UpdateProduct(b.Ctx, &storefrontv1.UpdateProductRequest{Id: p.GetId(), Status: &to})
					require.NoError(t, err)
					require.Equal(t, to, moved.GetStatus())
					return moved
				}
				before := move(row.from)
				sent, entries := len(b.Events()), len(b.Journal())
				after := move(row.to)
				name := row.from.String() + " to " + row.to.String()
				require.Equal(t, row.sent, append([]string(nil), b.Events()[sent:]...), name)
				if row.from == row.to {
					require.Len(t, b.Journal(), entries, name)
					require.Equal(t, before.GetUpdatedAt().AsTime(), after.GetUpdatedAt().AsTime(), name)
				} else {
					require.Equal(t, []string{"product.updated"}, shoptest.Actions(b.Journal()[entries:]), name)
					require.Equal(t, clock.now, after.GetUpdatedAt().AsTime(), name)
				}
				if row.to == published && row.from != published {
					require.Equal(t, clock.now, after.GetPublishedAt().AsTime(), name)
				} else {
					require.Equal(t, before.GetPublishedAt().AsTime(), after.GetPublishedAt().AsTime(), "publishedAt is kept: "+name)
				}
			}
		})
	}
}

func TestUpdateProductRefusals(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, s *db.DB) {
		b := newBench(t, s, shop.Options{})
		_, err := b.UpdateStore(b.Ctx,
			&adminv1.UpdateStoreRequest{UnavailableTypes: []storefrontv1.Product_Type{storefrontv1.Product_MEETING}})
		require.NoError(t, err)
		found, err := b.FindStore(b.Ctx, "atelier")
		require.NoError(t, err)
		b.Ctx = shoptest.As(found)

		ready := b.Product("Guide", 1000)
		bare := func(kind storefrontv1.Product_Type) *storefrontv1.Product {
			p, err := b.CreateProduct(b.Ctx, &adminv1.CreateProductRequest{Title: "Bare", PriceAmount: ptr(int64(0)), Type: kind})
			require.NoError(t, err)
			return p
		}
		status := storefrontv1.Product_PUBLISHED
		rows := []struct {
			reason string
			in     *storefrontv1.UpdateProductRequest
			want   apierr.Code
			named  []string
		}{
			{"an id that is no UUID", &storefrontv1.UpdateProductRequest{Id: "x"}, apierr.ProductNotFound, nil},
			{"an id in another form", &storefrontv1.UpdateProductRequest{Id: "{" + ready.GetId() + "}"}, apierr.ProductNotFound, nil},
			{"an unknown id", &storefrontv1.UpdateProductRequest{Id: uuid.NewString()}, apierr.ProductNotFound, nil},
			{"a blank title", &storefrontv1.UpdateProductRequest{Id: ready.GetId(), Title: ptr(" \n ")}, apierr.ValidationFailed,
				[]string{"title"}},
			{"a title too long", &storefrontv1.UpdateProductRequest{Id: ready.GetId(), Title: ptr(strings.Repeat("é", 201))},
				apierr.ValidationFailed, []string{"title"}},
			{"texts too long, both named", &storefrontv1.UpdateProductRequest{Id: ready.GetId(), Summary: ptr(strings.Repeat("a", 501)),
				Description: ptr(strings.Repeat("a", 50001))}, apierr.ValidationFailed, []string{"summary", "description"}},
			{"prices out of bounds", &storefrontv1.UpdateProductRequest{Id: ready.GetId(), PriceAmount: ptr(int64(-1)),
				CompareAtAmount: ptr(int64(1 << 53))}, apierr.ValidationFailed, []string{"priceAmount", "compareAtAmount"}},
			{"a mask that names what cannot be changed", &storefrontv1.UpdateProductRequest{Id: ready.GetId(),
				UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"slug"}}}, apierr.ValidationFailed, []string{"updateMask"}},
			{"a status of no meaning", &storefrontv1.UpdateProductRequest{Id: ready.GetId(), Status: ptr(storefrontv1.Product_Status(9))},
				apierr.ValidationFailed, []string{"status"}},
			{"a reference price equal to the price", &storefrontv1.UpdateProductRequest{Id: ready.GetId(),
				CompareAtAmount: ptr(int64(1000))}, apierr.CompareAtInvalid, nil},
			{"nothing to deliver and no description", &storefrontv1.UpdateProductRequest{Id: bare(storefrontv1.Product_FILE).GetId(),
				Status: &status}, apierr.ProductIncomplete, []string{"description", "content"}},
			{"a type that is switched off, before what is missing",
				&storefrontv1.UpdateProductRequest{Id: bare(storefrontv1.Product_MEETING).GetId(), Status: &status},
				apierr.ProductTypeUnavailable, nil},
			{"a bad reference price comes before publishing",
				&storefrontv1.UpdateProductRequest{Id: bare(storefrontv1.Product_FILE).GetId(), Status: &status,
					CompareAtAmount: ptr(int64(0))}, apierr.CompareAtInvalid, nil},
		}
		entries := len(b.Journal())
		for _, row := range rows {
			t.Log(row.reason)
			_, err := b.UpdateProduct(b.Ctx, row.in)
			r := shoptest.Refused(t, err, row.want)
			var named []string
			for _, f := range r.Details.GetFields() {
				named = append(named, f.GetField())
			}
			named = append(named, r.Details.GetMissing()...)
			require.Equal(t, row.named, named)
		}
		require.Len(t, b.Journal(), entries, "a refused change leaves nothing")
		require.Empty(t, b.Events())
	})
}

func TestUpdateProductKeepsWhatItDoesNotName(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, s *db.DB) {
		b := newBench(t, s, shop.Options{})
		p := b.Product("Guide", 1000)
		got, err := b.UpdateProduct(b.Ctx, &storefrontv1.UpdateProductRequest{
			Id: strings.ToUpper(p.GetId()), Title: ptr("  Grüße \t "), CompareAtAmount: ptr(int64(1500)),
		})
		require.NoError(t, err)
		require.Equal(t, "Grüße", got.GetTitle())
		require.EqualValues(t, 1500, got.GetCompareAtAmount())
		require.Equal(t, p.GetSlug(), got.GetSlug(), "the slug does not follow the title")
		require.Equal(t, p.GetDescription(), got.GetDescription())
		entry := b.Journal()[len(b.Journal())-1]
		require.Equal(t, "tests", entry.ActorName)
		require.JSONEq(t, `{"title":{"from":"Guide","to":"Grüße"},"compareAtAmount":{"from":null,"to":1500}}`, string(entry.Changes))

		_, err = b.UpdateProduct(b.Ctx, &storefrontv1.UpdateProductRequest{Id: p.GetId(), PriceAmount: ptr(int64(1500))})
		shoptest.Refused(t, err, apierr.CompareAtInvalid)
		cleared, err := b.UpdateProduct(b.Ctx, &storefrontv1.UpdateProductRequest{
			Id: p.GetId(), PriceAmount: ptr(int64(1500)), UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"price_amount",
				"compare_at_amount"}},
		})
		require.NoError(t, err)
		require.Nil(t, cleared.CompareAtAmount)

		found, err := b.ListProducts(b.Ctx, &storefrontv1.ListProductsRequest{Q: ptr(" GRÜSSE ")})
		require.NoError(t, err)
		require.EqualValues(t, 1, found.GetTotal(), "a search finds the new title")
	})
}

func TestPublishedProductMayBeEditedUntilItLacksSomething(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, s *db.DB) {
		b := newBench(t, s, shop.Options{})
		p := b.Product("Guide", 1000)
		status := storefrontv1.Product_PUBLISHED
		_, err := b.UpdateProduct(b.Ctx, &storefrontv1.UpdateProductRequest{Id: p.GetId(), Status: &status})
		require.NoError(t, err)
		_, err = b.UpdateProduct(b.Ctx, &storefrontv1.UpdateProductRequest{Id: p.GetId(), Description: ptr(""), Status: &status})
		require.NoError(t, err, "what is required is asked for at the move to PUBLISHED alone")
		payloads, err := s.Client().Event.Query().Order(event.ByID()).All(b.Ctx)
		require.NoError(t, err)
		require.Len(t, payloads, 1)
	})
}

func TestChangeOutsideItsStoreIsRefusedByTheHooks(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, s *db.DB) {
		b := newBench(t, s, shop.Options{})
		p := b.Product("Guide", 1000)
		other := b.NewStore("other")
		_, err := b.GetProduct(other, &storefrontv1.GetProductRequest{Id: p.GetId()})
		shoptest.Refused(t, err, apierr.ProductNotFound)
		_, err = b.UpdateProductAsOperator(other, &adminv1.UpdateProductRequest{Id: p.GetId(), Title: ptr("Mine")})
		shoptest.Refused(t, err, apierr.ProductNotFound)

		err = s.Client().Product.UpdateOneID(uuid.MustParse(p.GetId())).SetTitle("Past the rules").Exec(b.Ctx)
		require.ErrorContains(t, err, "outside a transaction")
		_, err = b.ListProducts(context.Background(), &storefrontv1.ListProductsRequest{})
		require.ErrorContains(t, err, "names no store")
	})
}
