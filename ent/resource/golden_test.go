package resource

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/apijson"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/paymentlink"
	"go.storefront.example/gen/ent/product"
	entstore "go.storefront.example/gen/ent/store"
)

var update = flag.Bool("update", false, "rewrite the golden files; a change in them is a change of the API")

var noon = time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)

func id(n byte) uuid.UUID {
	return uuid.UUID{0: 0x01, 1: 0x99, 6: 0x70, 8: 0x80, 15: n}
}

func productRow() *ent.Product {
	return &ent.Product{
		ID: id(1), StoreID: id(9), Title: "Cours", TitleFolded: "cours", Slug: "cours", Type: product.TypeCOURSE,
		Status:  product.StatusPUBLISHED,
		Summary: "Court", Description: "<p>Long</p>", PriceAmount: 1500, CompareAtAmount: new(int64(2000)),
		URL: "https://shop.example.com/cours", CoverURL: new("https://cdn.example.com/c.png"),
		PublishedAt: new(noon), CreatedAt: noon.Add(-time.Hour), UpdatedAt: noon.Add(time.Nanosecond),
	}
}

func customerRow() *ent.Customer {
	return &ent.Customer{
		ID: id(2), StoreID: id(9), Name: "Awa", Email: new("awa@example.com"), Phone: new("+237670000001"),
		Search: "awa", OrdersCount: 3, TotalPaid: 9007199254740991, CreatedAt: noon, UpdatedAt: noon,
	}
}

func paymentLinkRow() *ent.PaymentLink {
	return &ent.PaymentLink{
		ID: id(3), StoreID: id(9), Code: "aB3dE", URL: "https://pay.example.com/aB3dE", Title: "Atelier",
		Description: new("Deux heures"), CoverURL: new("https://cdn.example.com/a.png"), Pricing: paymentlink.PricingFIXED,
		Amount: new(int64(5000)), ThankYouMessage: new("Merci"), ExpiresAt: new(noon.Add(time.Hour)), MaxPayments: new(int32(10)),
		DisabledAt: new(noon), PaidCount: 4, PaidAmount: 20000, LastPaidAt: new(noon.Add(-time.Minute)),
		CreatedAt: noon.Add(-time.Hour), UpdatedAt: noon,
	}
}

func storeRow() *ent.Store {
	return &ent.Store{
		ID: id(9), Name: "Boutique", Slug: "boutique", URL: "https://boutique.example.com", Description: "Tout", Currency: "XAF",
		Country: "CM", SupportEmail: "aide@example.com", Phone: "+237670000001", WhatsappPhone: "+237670000002",
		SocialLinks: map[string]string{"x": "https://x.com/b", "facebook": "https://facebook.com/b"},
		Status:      entstore.StatusSuspended, CreatedAt: noon, UpdatedAt: noon,
	}
}

// TestGoldenBytes compares the JSON of each kind of row with the bytes that clients and webhook receivers have seen. Each kind
// has a row with all fields and a row without the optional fields. The tests of ent/apijson compare orders.
func TestGoldenBytes(t *testing.T) {
	t.Parallel()
	for name, text := range map[string][]byte{
		"product": apijson.Marshal(Product(productRow(), "XAF")),
		"product_bare": apijson.Marshal(Product(&ent.Product{ID: id(1), Title: "C", Slug: "c", Type: product.TypeFILE,
			Status: product.StatusDRAFT, URL: "https://s.example.com/c", CreatedAt: noon, UpdatedAt: noon}, "XAF")),

		"customer":      apijson.Marshal(Customer(customerRow(), "XAF")),
		"customer_bare": apijson.Marshal(Customer(&ent.Customer{ID: id(2), CreatedAt: noon}, "EUR")),

		"payment_link": apijson.Marshal(PaymentLink(paymentLinkRow(), "XAF", noon)),
		"payment_link_bare": apijson.Marshal(PaymentLink(&ent.PaymentLink{ID: id(3), Code: "c", URL: "https://p.example.com/c",
			Title: "T", Pricing: paymentlink.PricingOPEN, MinAmount: new(int64(1)), CreatedAt: noon, UpdatedAt: noon}, "XAF", noon)),

		"store": apijson.Marshal(Store(storeRow())),
		"store_bare": apijson.Marshal(Store(&ent.Store{ID: id(9), Name: "B", Slug: "b", URL: "https://b.example.com", Currency: "EUR",
			Country: "FR", Status: entstore.StatusOpen, CreatedAt: noon})),
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
