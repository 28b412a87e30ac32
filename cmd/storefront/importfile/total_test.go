package importfile_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/cmd/storefront/importfile"
	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/transfer/transfertest"
	"go.storefront.example/server/validate"
)

func TestALoadThatTakesATotalTooFarIsRefusedByItsLine(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		b := newBench(t, d)
		link := transfertest.Fields{"id": b.Link(nil).GetId(), "code": "", "title": ""}
		ada, bea := transfertest.OneCustomer(), transfertest.OneCustomer()
		order := func(buyer transfertest.Fields, amount int64) transfertest.Fields {
			return transfertest.OneOrder(buyer).With("amount", amount)
		}
		refusedLine := func(line int, want string, objects ...transfertest.Fields) {
			t.Helper()
			_, err := load(b.Ctx, b.DB, transfertest.Lines(objects...), options{Kind: orders})
			var bad *importfile.BadLinesError
			require.True(t, errors.As(err, &bad), "%v", err)
			require.Equal(t, line, bad.Report.Problems[0].Lines[0][0])
			require.True(t, strings.Contains(bad.Error(), "amount takes the "+want), bad.Error())
		}
		b.load(orders, order(ada, validate.MaxAmount-1))
		refusedLine(2, "customer's totalPaid", order(ada, 1), order(ada, 1), order(bea, 1))
		refusedLine(3, "customer's totalPaid", order(bea, validate.MaxAmount), order(bea, validate.MaxAmount).With("status",
			"REFUNDED"), order(bea, validate.MaxAmount))
		b.load(orders, order(bea, validate.MaxAmount).With("status", "REFUNDED").With("paymentLink", link))
		refusedLine(2, "payment link's paidAmount", order(bea, 1), order(bea, 1).With("status", "REFUNDED").With("paymentLink", link))
		o, err := b.ListOrders(b.Ctx, &storefrontv1.ListOrdersRequest{})
		require.NoError(t, err)
		require.EqualValues(t, 2, o.GetTotal(), "nothing of a refused batch is stored")
	})
}
