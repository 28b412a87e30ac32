package wire

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/paymentlink"
	"go.storefront.example/gen/ent/product"
	entstore "go.storefront.example/gen/ent/store"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
)

var update = flag.Bool("update", false, "rewrite the golden files; a change in them is a change of the API")

// TestGoldenBytes compares every resource, in full and with everything absent that can be, with
// the bytes that clients and webhook receivers have seen.
func TestGoldenBytes(t *testing.T) {
	t.Parallel()
	for name, text := range map[string][]byte{
		"product":      Marshal(Product(productRow(), "XAF")),
		"product_bare": Marshal(Product(&ent.Product{ID: id(1), Title: "C", Slug: "c", Type: product.TypeFILE, Status: product.StatusDRAFT, URL: "https://s.example.com/c", CreatedAt: noon, UpdatedAt: noon}, "XAF")),

		"customer":      Marshal(Customer(customerRow(), "XAF")),
		"customer_bare": Marshal(Customer(&ent.Customer{ID: id(2), CreatedAt: noon}, "EUR")),

		"payment_link":      Marshal(PaymentLink(paymentLinkRow(), "XAF", noon)),
		"payment_link_bare": Marshal(PaymentLink(&ent.PaymentLink{ID: id(3), Code: "c", URL: "https://p.example.com/c", Title: "T", Pricing: paymentlink.PricingOPEN, MinAmount: new(int64(1)), CreatedAt: noon, UpdatedAt: noon}, "XAF", noon)),

		"store":      Marshal(Store(storeRow())),
		"store_bare": Marshal(Store(&ent.Store{ID: id(9), Name: "B", Slug: "b", URL: "https://b.example.com", Currency: "EUR", Country: "FR", Status: entstore.StatusOpen, CreatedAt: noon})),

		"order": Marshal(orderOf(7)),
		"order_bare": Marshal(&storefrontv1.Order{
			Id: id(7).String(), Reference: "R", Status: storefrontv1.Order_PENDING, Currency: "XAF", PlatformFeePercent: 10,
			Customer: &storefrontv1.Order_Customer{Id: id(8).String(), Phone: new("+237670000001")}, CreatedAt: timestamppb.New(noon),
		}),
		"orders":       Marshal(pageOf(2)),
		"orders_empty": Marshal(&storefrontv1.ListOrdersResponse{Page: 3, PageSize: 25}),

		"envelope": Envelope(id(50), "order.paid", noon, id(9), "boutique", orderOf(7)),
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

// TestEnvelopeDataIsTheResource holds the promise that a webhook carries the bytes of the GET.
func TestEnvelopeDataIsTheResource(t *testing.T) {
	t.Parallel()
	for _, m := range []proto.Message{Product(productRow(), "XAF"), Customer(customerRow(), "XAF"), orderOf(1)} {
		var envelope struct {
			Data json.RawMessage `json:"data"`
		}
		require.NoError(t, json.Unmarshal(Envelope(id(50), "ping", noon, id(9), "s", m), &envelope))
		require.Equal(t, string(Marshal(m)), string(envelope.Data))
	}
}
