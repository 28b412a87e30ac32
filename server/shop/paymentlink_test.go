package shop_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/tenant"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/shop"
	"go.storefront.example/server/shop/shoptest"
)

func TestStores(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		b := newBench(t, d, shop.Options{PublicURL: "https://shops.example/"})
		operator := tenant.Actor{Type: tenant.ActorOperator, Name: "operator"}
		_, err := b.CreateStore(b.Ctx, operator, &adminv1.CreateStoreRequest{Name: "Again", Slug: "atelier", Currency: "XAF",
			Country: "CM"})
		shoptest.Refused(t, err, apierr.SlugTaken)
		_, err = b.CreateStore(b.Ctx, operator, &adminv1.CreateStoreRequest{
			Url: ptr("x"), SupportEmail: ptr("x"), Status: ptr(storefrontv1.Store_Status(9)), PlatformFeePercent: ptr(101.0),
			SocialLinks: map[string]string{"x": "y"},
			Slug:        "Not A Slug", Currency: "XXAF", Country: "ZZZ",
		})
		require.Len(t, shoptest.Refused(t, err, apierr.ValidationFailed).Details.GetFields(), 9)

		got, err := b.UpdateStore(b.Ctx, &adminv1.UpdateStoreRequest{Phone: ptr("670 00 00 01"),
			Status: ptr(storefrontv1.Store_suspended)})
		require.NoError(t, err)
		require.Equal(t, "+237670000001", got.GetPhone())
		require.Equal(t, storefrontv1.Store_suspended, got.GetStatus())
		require.Equal(t, "https://shops.example/atelier", got.GetUrl(), "the public address setting plus slug")
		links := map[string]string{"x": "https://x.example/a"}
		_, err = b.UpdateStore(b.Ctx, &adminv1.UpdateStoreRequest{SocialLinks: links})
		require.NoError(t, err)
		entries, updated := len(b.Journal()), d.Client().Store.Query().OnlyX(b.Ctx).UpdatedAt
		_, err = b.UpdateStore(b.Ctx, &adminv1.UpdateStoreRequest{
			SocialLinks: links, Name: ptr("Atelier"), UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"social_links",
				"unavailable_types", "name"}},
		})
		require.NoError(t, err)
		require.Len(t, b.Journal(), entries, "what changes nothing leaves no entry")
		require.Equal(t, updated, d.Client().Store.Query().OnlyX(b.Ctx).UpdatedAt)

		_, err = b.FindStore(b.Ctx, "nowhere")
		shoptest.Refused(t, err, apierr.StoreNotFound)
	})
}
