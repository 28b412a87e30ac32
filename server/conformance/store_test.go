package conformance_test

import (
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/tenant"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/auth"
)

type getStore = storefrontv1.GetStoreRequest

var _ = cases(
	scenario{
		name: "the store is the one that the key belongs to, with every field",
		run: func(b *bench) {
			got := b.call(&getStore{})
			b.same(object{
				"id": b.store.ID.String(), "name": "Atelier Ndé", "slug": b.store.Slug, "url": "https://" + b.store.Slug + ".example",
				"description": "Cours et guides", "currency": "XAF", "country": "CM", "supportEmail": "aide@atelier.example",
				"phone": "+237670000001", "whatsappPhone": "+237670000002",
				"socialLinks": object{"instagram": "https://instagram.example/atelier", "facebook": "https://facebook.example/atelier"},
				"status":      "open", "createdAt": got["createdAt"],
			}, got)
			require.WithinRange(b, b.moment(got["createdAt"]), opening, b.clock.now())
			other := b.newBench(b.T, b.protocol)
			b.requireFields(other.call(&getStore{}), object{"id": other.store.ID.String(), "slug": other.store.Slug})
		},
	},
	scenario{
		name: "a store without an address of its own has one under the platform's",
		run: func(b *bench) {
			slug := "bare-" + b.store.Slug
			operator := tenant.Actor{Type: tenant.ActorOperator, Name: "operator"}
			_, err := b.CreateStore(b.Context(), operator, &adminv1.CreateStoreRequest{
				Name: "Bare", Slug: slug, Currency: "EUR", Country: "FR",
			})
			require.NoError(b, err)
			b.reload(slug)
			key, _ := b.newKey("other", "never", auth.Scopes()...)
			got := b.withKey(key).call(&getStore{})
			b.same(object{
				"id": b.store.ID.String(), "name": "Bare", "slug": slug, "url": "http://localhost:3000/" + slug, "description": "",
				"currency": "EUR", "country": "FR", "supportEmail": "", "phone": "", "whatsappPhone": "", "socialLinks": object{},
				"status": "open", "createdAt": got["createdAt"],
			}, got)
		},
	},
)
