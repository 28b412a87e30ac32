package conformance_test

import (
	"strings"

	"github.com/stretchr/testify/require"

	"go.storefront.example/gen/ent/product"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
)

var (
	draft     = storefrontv1.Product_DRAFT.Enum()
	published = storefrontv1.Product_PUBLISHED.Enum()
	archived  = storefrontv1.Product_ARCHIVED.Enum()
)

var _ = cases(
	scenario{
		name: "an update changes the named fields of a product and is journaled under the key's name",
		run: func(b *bench) {
			id := b.product("Guide", 1500)
			before := b.call(&getProduct{Id: id})
			n := len(b.entries())
			got := b.call(&updateProduct{
				Id: id, Title: new("Le grand guide"), Summary: new("Court"), Description: new("<p>Neuf</p>"),
				PriceAmount: new(int64(2000)), CompareAtAmount: new(int64(2500)), Status: published,
			})
			want := object{
				"title": "Le grand guide", "summary": "Court", "description": "<p>Neuf</p>", "priceAmount": 2000, "compareAtAmount": 2500,
				"status": "PUBLISHED", "publishedAt": got["updatedAt"], "updatedAt": got["updatedAt"],
			}
			for name := range before {
				if _, changed := want[name]; !changed {
					want[name] = before[name]
				}
			}
			b.same(want, got)
			require.True(b, b.moment(got["updatedAt"]).After(b.moment(before["updatedAt"])))
			b.same(got, b.call(&getProduct{Id: id}))
			b.journaled(n, "product.updated", id, object{
				"title": change("Guide", "Le grand guide"), "status": change("DRAFT", "PUBLISHED"), "summary": change("", "Court"),
				"description": change("<p>Tout savoir.</p>", "<p>Neuf</p>"), "priceAmount": change(1500, 2000), "compareAtAmount": change(nil,
					2500),
			})
		},
	},
	scenario{
		name: "null removes a product's reference price and nothing else",
		run: func(b *bench) {
			id := b.product("Guide", 1500, func(d *adminv1.CreateProductRequest) { d.CompareAtAmount = new(int64(2000)) })
			n := len(b.entries())
			b.requireFields(b.call(&updateProduct{Id: id, UpdateMask: mask("compare_at_amount")}), object{"compareAtAmount": nil,
				"priceAmount": 1500})
			b.journaled(n, "product.updated", id, object{"compareAtAmount": change(2000, nil)})
			b.leavesNothing(func() {
				b.refusedFields(&updateProduct{Id: id, UpdateMask: mask("title", "summary", "description", "price_amount", "status")},
					"title", "summary", "description", "priceAmount", "status")
			})
		},
	},
	scenario{
		name: "an update that changes nothing leaves no trace",
		run: func(b *bench) {
			id := b.product("Guide", 1500)
			before := b.call(&getProduct{Id: id})
			b.leavesNothing(func() {
				b.same(before, b.call(&updateProduct{Id: id, UpdateMask: mask()}))
				b.same(before, b.call(&updateProduct{Id: id, Title: new("  Guide "), PriceAmount: new(int64(1500)), Status: draft}))
				b.same(before, b.call(&updateProduct{Id: id, UpdateMask: mask("compare_at_amount")}))
				b.same(before, b.call(&getProduct{Id: id}))
			})
		},
	},
	scenario{
		name: "a product moves to PUBLISHED from any status, with an event when the status changed",
		run: func(b *bench) {
			for _, from := range []product.Status{product.StatusDRAFT, product.StatusARCHIVED} {
				id := b.product("Guide", 1500, withStatus(from))
				n, sent := len(b.entries()), len(b.events())
				got := b.call(&updateProduct{Id: id, Status: published})
				b.requireFields(got, object{"status": "PUBLISHED", "publishedAt": got["updatedAt"]})
				b.journaled(n, "product.updated", id, object{"status": change(from.String(), "PUBLISHED")})
				require.Equal(b, []string{"product.published"}, b.sentSince(sent))
				b.leavesNothing(func() { b.same(got, b.call(&updateProduct{Id: id, Status: published})) })
			}
			id := b.product("Guide", 1500, withStatus(product.StatusPUBLISHED))
			first := b.call(&getProduct{Id: id})["publishedAt"]
			sent := len(b.events())
			b.requireFields(b.call(&updateProduct{Id: id, Description: new("")}), object{"status": "PUBLISHED", "description": "",
				"publishedAt": first})
			b.requireFields(b.call(&updateProduct{Id: id, Status: published, Title: new("Autre")}),
				object{"title": "Autre", "publishedAt": first})
			require.Empty(b, b.sentSince(sent), "a change that leaves the status as it was sends no event")
			b.requireFields(b.call(&updateProduct{Id: id, Status: draft, Description: new("x")}), object{"publishedAt": first})
			again := b.call(&updateProduct{Id: id, Status: published})
			require.True(b, b.moment(again["publishedAt"]).After(b.moment(first)), "set at each move to PUBLISHED")
		},
	},
	scenario{
		name: "a product moves to DRAFT from any status, without an event",
		run: func(b *bench) {
			for _, from := range []product.Status{product.StatusPUBLISHED, product.StatusARCHIVED} {
				id := b.product("Guide", 1500, withStatus(from))
				before := b.call(&getProduct{Id: id})
				n, sent := len(b.entries()), len(b.events())
				b.requireFields(b.call(&updateProduct{Id: id, Status: draft}), object{"status": "DRAFT",
					"publishedAt": before["publishedAt"]})
				b.journaled(n, "product.updated", id, object{"status": change(from.String(), "DRAFT")})
				require.Empty(b, b.sentSince(sent))
			}
		},
	},
	scenario{
		name: "a product moves to ARCHIVED from any status, with an event when the status changed",
		run: func(b *bench) {
			for _, from := range []product.Status{product.StatusDRAFT, product.StatusPUBLISHED} {
				id := b.product("Guide", 1500, withStatus(from))
				n, sent := len(b.entries()), len(b.events())
				got := b.call(&updateProduct{Id: id, Status: archived})
				b.requireFields(got, object{"status": "ARCHIVED"})
				b.journaled(n, "product.updated", id, object{"status": change(from.String(), "ARCHIVED")})
				require.Equal(b, []string{"product.archived"}, b.sentSince(sent))
				b.leavesNothing(func() { b.same(got, b.call(&updateProduct{Id: id, Status: archived})) })
			}
		},
	},
	scenario{
		name: "an incomplete product cannot be published, and details.missing lists what it lacks",
		run: func(b *bench) {
			bare := b.product("Vide", 0, unready)
			written := b.product("Rédigé", 0, func(d *adminv1.CreateProductRequest) { d.ContentReady = nil })
			b.leavesNothing(func() {
				for id, missing := range map[string][]string{bare: {"description", "content"}, written: {"content"}} {
					details := b.refused(&updateProduct{Id: id, Status: published, Title: new("x")}, 422, "product_incomplete")
					require.Equal(b, normal(b, object{"missing": missing}), normal(b, details))
					b.requireFields(b.call(&getProduct{Id: id}), object{"status": "DRAFT", "publishedAt": nil})
				}
				details := b.refused(&updateProduct{Id: written, Status: published, Description: new("  ")}, 422, "product_incomplete")
				require.Equal(b, normal(b, object{"missing": []string{"description", "content"}}), normal(b, details))
			})
			_, err := b.SetProductContent(b.ctx, &adminv1.SetProductContentRequest{Product: &updateProduct{Id: bare}, ContentReady: new(true)})
			require.NoError(b, err)
			b.requireFields(b.call(&updateProduct{Id: bare, Status: published, Description: new("<p>x</p>")}),
				object{"status": "PUBLISHED"})
		},
	},
	scenario{
		name: "a product of a type that is switched off cannot be published",
		run: func(b *bench) {
			meeting := b.product("Rendez-vous", 0, withType(product.TypeMEETING), unready)
			file := b.product("Guide", 0)
			b.change(&adminv1.UpdateStoreRequest{UnavailableTypes: []storefrontv1.Product_Type{storefrontv1.Product_MEETING}})
			b.leavesNothing(func() {
				require.Nil(b, b.refused(&updateProduct{Id: meeting, Status: published}, 422, "product_type_unavailable"),
					"it comes before what the product lacks")
			})
			b.requireFields(b.call(&updateProduct{Id: meeting, Status: archived}), object{"status": "ARCHIVED"})
			b.requireFields(b.call(&updateProduct{Id: file, Status: published}), object{"status": "PUBLISHED"})
		},
	},
	scenario{
		name: "a reference price must be above the price, after the change",
		run: func(b *bench) {
			id := b.product("Guide", 1500, func(d *adminv1.CreateProductRequest) { d.CompareAtAmount = new(int64(2000)) })
			b.leavesNothing(func() {
				for _, m := range []*updateProduct{
					{Id: id, CompareAtAmount: new(int64(1500))}, {Id: id, CompareAtAmount: new(int64(0))},
					{Id: id, PriceAmount: new(int64(2000))},
					{Id: id, PriceAmount: new(int64(3000)), CompareAtAmount: new(int64(3000))},
				} {
					require.Nil(b, b.refused(m, 400, "compare_at_invalid"))
				}
				b.refusedFields(&updateProduct{Id: id, CompareAtAmount: new(int64(-1))}, "compareAtAmount")
				b.refusedFields(&updateProduct{Id: id, CompareAtAmount: new(int64(1 << 53))}, "compareAtAmount")
			})
			b.requireFields(b.call(&updateProduct{Id: id, PriceAmount: new(int64(3000)), CompareAtAmount: new(int64(3001))}),
				object{"priceAmount": 3000, "compareAtAmount": 3001})
			b.requireFields(b.call(&updateProduct{Id: id, PriceAmount: new(int64(9000)),
				UpdateMask: mask("price_amount", "compare_at_amount")}),
				object{"priceAmount": 9000, "compareAtAmount": nil})
		},
	},
	scenario{
		name: "the fields of a product have bounds, counted in code points after trimming",
		run: func(b *bench) {
			id := b.product("Guide", 1500)
			b.requireFields(b.call(&updateProduct{
				Id: id, Title: new(" " + strings.Repeat("é", 200) + " "), Summary: new(strings.Repeat("é", 500)),
				Description: new(strings.Repeat("é", 50000)), PriceAmount: new(int64(1<<53 - 1)),
			}), object{
				"title": strings.Repeat("é", 200), "summary": strings.Repeat("é", 500),
				"description": strings.Repeat("é", 50000), "priceAmount": int64(1<<53 - 1),
			})
			b.leavesNothing(func() {
				b.refusedFields(&updateProduct{
					Id: id, Title: new(strings.Repeat("é", 201)), Summary: new(strings.Repeat("é", 501)),
					Description: new(strings.Repeat("é", 50001)), PriceAmount: new(int64(1 << 53)),
				}, "title", "summary", "description", "priceAmount")
				b.refusedFields(&updateProduct{Id: id, Title: new("  "), PriceAmount: new(int64(-1))}, "title", "priceAmount")
				for _, text := range []string{"a\u0000b", "a\u0007b", "a\rb", "a\u0085b", "a\u007fb"} {
					b.refusedFields(&updateProduct{Id: id, Title: &text, Summary: &text, Description: &text}, "title", "summary", "description")
				}
			})
			b.requireFields(b.call(&updateProduct{Id: id, Description: new("a\n\tb\u2028c😀")}), object{"description": "a\n\tb\u2028c😀"})
			b.requireFields(b.call(&updateProduct{Id: id, Summary: new(""), Description: new(""), PriceAmount: new(int64(0))}),
				object{"summary": "", "description": "", "priceAmount": 0})
		},
	},
)
