package conformance_test

import (
	"math"
	"strings"

	"github.com/stretchr/testify/require"

	"go.storefront.example/gen/ent/product"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
)

type (
	listProducts  = storefrontv1.ListProductsRequest
	getProduct    = storefrontv1.GetProductRequest
	updateProduct = storefrontv1.UpdateProductRequest
)

var _ = cases(
	scenario{
		name: "a product has every field, null where it has no value",
		run: func(b *bench) {
			bare := b.product("Guide", 1500, unready)
			got := b.call(&getProduct{Id: bare})
			b.same(object{
				"id": bare, "title": "Guide", "slug": "guide", "type": "FILE", "status": "DRAFT", "summary": "", "description": "",
				"priceAmount": 1500, "compareAtAmount": nil, "currency": "XAF", "url": b.productURL("guide"), "coverUrl": nil,
				"publishedAt": nil, "createdAt": got["createdAt"], "updatedAt": got["createdAt"],
			}, got)
			require.Regexp(b, uuidForm, bare)
			require.WithinRange(b, b.moment(got["createdAt"]), opening, b.clock.now())

			full := b.product("Élégance", 9007199254740990, withStatus(product.StatusPUBLISHED), withType(product.TypeCOURSE),
				func(d *adminv1.CreateProductRequest) {
					d.Summary, d.CompareAtAmount = new("Court"), new(int64(9007199254740991))
					d.CoverUrl = new("https://cdn.example/é.png")
				})
			got = b.call(&getProduct{Id: full})
			b.same(object{
				"id": full, "title": "Élégance", "slug": "elegance", "type": "COURSE", "status": "PUBLISHED", "summary": "Court",
				"description": "<p>Tout savoir.</p>", "priceAmount": 9007199254740990, "compareAtAmount": 9007199254740991, "currency": "XAF",
				"url": b.productURL("elegance"), "coverUrl": "https://cdn.example/é.png",
				"publishedAt": got["createdAt"], "createdAt": got["createdAt"], "updatedAt": got["createdAt"],
			}, got)
		},
	},
	scenario{
		name: "a product is found by its id alone",
		run: func(b *bench) {
			id := b.product("Guide", 1500)
			b.requireFields(b.call(&getProduct{Id: strings.ToUpper(id)}), object{"id": id})
			for _, other := range []string{unknownID(), "guide", "{" + id + "}", strings.ReplaceAll(id, "-", ""), "urn:uuid:" + id,
				id + "x"} {
				b.refused(&getProduct{Id: other}, 404, "product_not_found")
				b.refused(&updateProduct{Id: other, Title: new("x")}, 404, "product_not_found")
			}
		},
	},
	scenario{
		name: "products are listed newest first, whatever their status",
		run: func(b *bench) {
			b.same(object{"page": 1, "pageSize": 25, "total": 0, "data": []any{}}, b.call(&listProducts{}))
			draft := b.product("Un", 100)
			published := b.product("Deux", 200, withStatus(product.StatusPUBLISHED))
			archived := b.product("Trois", 300, withStatus(product.StatusARCHIVED))
			list := b.call(&listProducts{})
			require.Equal(b, newest(draft, published, archived), b.names(list, "id"))
			b.same(object{"page": 1, "pageSize": 25, "total": 3, "data": []any{
				b.call(&getProduct{Id: archived}), b.call(&getProduct{Id: published}), b.call(&getProduct{Id: draft}),
			}}, list)
		},
	},
	scenario{
		name: "products are filtered by status and type",
		run: func(b *bench) {
			made := map[string]string{}
			for _, s := range []product.Status{product.StatusDRAFT, product.StatusPUBLISHED, product.StatusARCHIVED} {
				for _, k := range []product.Type{product.TypeFILE, product.TypeCOURSE, product.TypeLICENSE, product.TypeMEETING,
					product.TypeEVENT} {
					made[s.String()+k.String()] = b.product(s.String()+" "+k.String(), 100, withStatus(s), withType(k))
				}
			}
			for status, word := range storefrontv1.Product_Status_name {
				if status == 0 {
					continue
				}
				s := storefrontv1.Product_Status(status)
				list := b.call(&listProducts{Status: &s})
				b.requireFields(list, object{"total": 5})
				for _, row := range b.data(list) {
					require.Equal(b, word, row["status"])
				}
				for kind, kindWord := range storefrontv1.Product_Type_name {
					if kind == 0 {
						continue
					}
					k := storefrontv1.Product_Type(kind)
					b.requireFields(b.call(&listProducts{Type: &k}), object{"total": 3})
					require.Equal(b, []string{made[word+kindWord]}, b.names(b.call(&listProducts{Status: &s, Type: &k}), "id"))
				}
			}
		},
	},
	scenario{
		name: "products are searched by title, folded and taken literally",
		run: func(b *bench) {
			for _, title := range []string{
				"Straße 100%", "STRASSE", "a_b\\c", "axbyc", "I\u0307stanbul", "\u0130zmir", "Caf\u00e9", "Cafe\u0301 noir", "ＦＵＬＬ", "full",
				"Ω ohm",
			} {
				b.product(title, 100)
			}
			for q, want := range map[string][]string{
				"strasse":     {"STRASSE", "Straße 100%"},
				"STRAẞE":      {"STRASSE", "Straße 100%"},
				"100%":        {"Straße 100%"},
				"%":           {"Straße 100%"},
				"_":           {"a_b\\c"},
				"\\":          {"a_b\\c"},
				"a_b":         {"a_b\\c"},
				"  A_B  ":     {"a_b\\c"},
				"i\u0307z":    {"\u0130zmir"},
				"istanbul":    {"I\u0307stanbul"},
				"IZM":         {"\u0130zmir"},
				"ızm":         {"\u0130zmir"},
				"CAF\u00c9":   {"Cafe\u0301 noir", "Caf\u00e9"},
				"cafe\u0301":  {"Cafe\u0301 noir", "Caf\u00e9"},
				"ｆｕｌｌ":        {"ＦＵＬＬ"},
				"FULL":        {"full"},
				"ω":           {"Ω ohm"},
				"nothing":     {},
				"strasse100%": {},
			} {
				require.Equal(b, want, b.names(b.call(&listProducts{Q: &q}), "title"), "q=%q", q)
			}
			for _, q := range []string{"", "   "} {
				b.requireFields(b.call(&listProducts{Q: &q}), object{"total": 11})
			}
			both := b.call(&listProducts{Q: new("caf"), PageSize: new(int32(1)), Page: new(int64(2))})
			b.requireFields(both, object{"total": 2, "page": 2, "pageSize": 1})
			require.Equal(b, []string{"Caf\u00e9"}, b.names(both, "title"))
		},
	},
	scenario{
		name: "q is at most 100 characters long, as sent",
		run: func(b *bench) {
			b.call(&listProducts{Q: new(strings.Repeat("é", 100))})
			b.refusedFields(&listProducts{Q: new(strings.Repeat("é", 101))}, "q")
			b.refusedFields(&listProducts{Q: new(strings.Repeat(" ", 101))}, "q")
			b.refusedFields(&storefrontv1.ListCustomersRequest{Q: new(strings.Repeat("x", 101))}, "q")
			b.refusedFields(&listProducts{Q: new("a\u0007")}, "q")
		},
	},
	scenario{
		name: "pages have 1 to 100 rows, 25 by default, and go beyond the end",
		run: func(b *bench) {
			var ids []string
			for range 27 {
				ids = append(ids, b.product("Guide", 100))
			}
			want := newest(ids...)
			first := b.call(&listProducts{})
			b.requireFields(first, object{"page": 1, "pageSize": 25, "total": 27})
			require.Equal(b, want[:25], b.names(first, "id"))
			second := b.call(&listProducts{Page: new(int64(2))})
			b.requireFields(second, object{"page": 2, "pageSize": 25, "total": 27})
			require.Equal(b, want[25:], b.names(second, "id"))
			require.Equal(b, want[20:25], b.names(b.call(&listProducts{Page: new(int64(5)), PageSize: new(int32(5))}), "id"))
			require.Equal(b, want, b.names(b.call(&listProducts{PageSize: new(int32(100))}), "id"))
			for _, page := range []int64{3, 1_000_000, math.MaxInt32, math.MaxInt64 - 1, math.MaxInt64} {
				b.same(object{"page": page, "pageSize": 25, "total": 27, "data": []any{}}, b.call(&listProducts{Page: &page}))
				b.same(object{"page": page, "pageSize": 100, "total": 27, "data": []any{}},
					b.call(&listProducts{Page: &page, PageSize: new(int32(100))}))
			}
			for _, page := range []int64{0, -1, math.MinInt64} {
				b.refusedFields(&listProducts{Page: &page}, "page")
			}
			for _, size := range []int32{0, -1, 101, math.MaxInt32} {
				b.refusedFields(&listProducts{PageSize: &size}, "pageSize")
			}
			b.refusedFields(&listProducts{Page: new(int64(0)), PageSize: new(int32(0)), Q: new(strings.Repeat("x", 101))}, "page",
				"pageSize", "q")
		},
	},
)

func (b *bench) productURL(slug string) string {
	return "https://" + b.store.Slug + ".example/products/" + slug
}
