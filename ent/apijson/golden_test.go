package apijson

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	storefrontv1 "go.storefront.example/gen/storefront/v1"
)

var update = flag.Bool("update", false, "rewrite the golden files; a change in them is a change of the API")

// TestGoldenBytes has the bytes of orders that clients and webhook receivers have seen, with and without optional fields. The
// tests of ent/resource have the other resources.
func TestGoldenBytes(t *testing.T) {
	t.Parallel()
	for name, text := range map[string][]byte{
		"order": Marshal(orderOf(7)),
		"order_bare": Marshal(&storefrontv1.Order{
			Id: id(7).String(), Reference: "R", Status: storefrontv1.Order_PENDING, Currency: "XAF", PlatformFeePercent: 10,
			Customer: &storefrontv1.Order_Customer{Id: id(8).String(), Phone: new("+237670000001")}, CreatedAt: timestamppb.New(noon),
		}),
		"orders":       Marshal(pageOf(2)),
		"orders_empty": Marshal(&storefrontv1.ListOrdersResponse{Page: 3, PageSize: 25}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.True(t, json.Valid(text), "%s", text)
			file := filepath.Join("testdata", name+".json")
			if *update {
				require.NoError(t, os.WriteFile(file, append(text, '\n'), 0o600))
			}
			want, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Equal(t, string(want), string(text)+"\n")
		})
	}
}
