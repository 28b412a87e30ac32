package transfer_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/shop"
	"go.storefront.example/server/shop/shoptest"
	"go.storefront.example/server/transfer"
)

// A rule across fields is applied to the product as it will be: with the store's price if the row has none, and with the row's
// price otherwise.
func TestTheCompareAtPriceOfAnUpdateIsAboveThePriceThatRemains(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		b := shoptest.New(t, d, shop.Options{})
		id := uuid.Must(uuid.NewV7()).String()
		for _, row := range []struct {
			options          *adminv1.ImportOptions
			price, compareAt int64
			refused          bool
			remains          int64
		}{
			{price: 10, compareAt: 10, refused: true},
			{price: 10, compareAt: 15, remains: 10},
			{options: &adminv1.ImportOptions{Update: true, KeepPrice: true}, compareAt: 10, refused: true, remains: 10},
			{options: &adminv1.ImportOptions{Update: true, KeepPrice: true}, compareAt: 11, remains: 10},
			{options: &adminv1.ImportOptions{Update: true}, price: 20, compareAt: 20, refused: true, remains: 10},
			{options: &adminv1.ImportOptions{Update: true}, price: 20, compareAt: 21, remains: 20},
		} {
			out, err := transfer.New(d, nil).Products(b.Ctx, &adminv1.ImportProductsRequest{Options: row.options,
				Products: []*storefrontv1.Product{{Id: id, Title: "Guide", PriceAmount: row.price, CompareAtAmount: &row.compareAt}}})
			require.NoError(t, err)
			if row.refused {
				require.Len(t, out.GetRefused(), 1)
				require.Equal(t, "compareAtAmount must be above priceAmount, or null",
					out.GetRefused()[0].GetField()+" "+out.GetRefused()[0].GetMessage())
			} else {
				require.Empty(t, out.GetRefused())
			}
			if row.remains > 0 {
				p, err := b.GetProduct(b.Ctx, &storefrontv1.GetProductRequest{Id: id})
				require.NoError(t, err)
				require.Equal(t, row.remains, p.GetPriceAmount())
			}
		}
	})
}
