package transfer_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/apijson"
	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/shop"
	"go.storefront.example/server/shop/shoptest"
	"go.storefront.example/server/transfer"
	"go.storefront.example/server/transfer/transfertest"
)

// An imported payment link has the amount of its pricing and no other, because a checkout reads it.
func TestALinkOfAnExportHasTheAmountOfItsPricing(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		shoptest.New(t, d, shop.Options{})
		for _, row := range []struct {
			pricing           storefrontv1.PaymentLink_Pricing
			amount, minAmount *int64
			refused           bool
		}{
			{storefrontv1.PaymentLink_FIXED, new(int64(5)), nil, false},
			{storefrontv1.PaymentLink_OPEN, nil, new(int64(5)), false},
			{storefrontv1.PaymentLink_FIXED, nil, nil, true},
			{storefrontv1.PaymentLink_OPEN, nil, nil, true},
			{storefrontv1.PaymentLink_FIXED, new(int64(5)), new(int64(5)), true},
		} {
			var f transfertest.Filler
			l := &storefrontv1.PaymentLink{Pricing: row.pricing}
			f.Fill(l)
			l.Amount, l.MinAmount = row.amount, row.minAmount
			out, err := admin.New(d, admin.Options{}).ImportRows(t.Context(), &adminv1.ImportRowsRequest{Store: "atelier",
				Kind: string(transfer.Links), Lines: string(apijson.Marshal(l)) + "\n"})
			require.NoError(t, err)
			if !row.refused {
				require.Empty(t, out.GetRefused())
				continue
			}
			require.Len(t, out.GetRefused(), 1)
			require.Equal(t, "pricing", out.GetRefused()[0].GetField())
		}
	})
}
