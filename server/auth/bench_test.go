package auth_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/server/auth"
)

// BenchmarkGateAdmit exceeds the key's rate limit; a request then costs as much as before.
func BenchmarkGateAdmit(b *testing.B) {
	for _, name := range dbtest.Databases() {
		b.Run(name, func(b *testing.B) {
			d := dbtest.New(b, name, db.Config{})
			text := auth.NewKey(uuid.New())
			fingerprint := auth.Fingerprint(text)
			shop := tenant.Store{ID: uuid.Must(uuid.NewV7())}
			ctx := tenant.With(b.Context(), shop, tenant.Actor{Type: tenant.ActorOperator})
			require.NoError(b, hook.Run(ctx, d, func(c *hook.Change) error {
				err := c.Tx.Store.Create().SetID(shop.ID).SetName("Kiosk").SetSlug("kiosk").SetURL("https://example.com").
					SetCurrency("XAF").SetCountry("CM").SetCreatedAt(time.Now()).SetUpdatedAt(time.Now()).Exec(c)
				if err != nil {
					return err
				}
				return c.Tx.ApiKey.Create().SetStoreID(shop.ID).SetName("Till").SetFingerprint(fingerprint[:]).
					SetHint(auth.Hint(text)).SetScopes(auth.Scopes()).SetCreatedAt(time.Now()).Exec(c)
			}))
			gate, header := auth.NewGate(d, auth.Options{}), []string{"Bearer " + text}
			b.Run("lookup", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					var id uuid.UUID
					err := d.Reader().QueryRowContext(ctx, "SELECT id FROM api_keys WHERE fingerprint = $1", fingerprint[:]).Scan(&id)
					require.NoError(b, err)
				}
			})
			b.Run("admit", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					p, _, _ := gate.Admit(ctx, header, home)
					if p.Store.ID != shop.ID {
						b.Fatal("the key is not known")
					}
				}
			})
			b.Run("together", func(b *testing.B) {
				b.ReportAllocs()
				b.SetParallelism(8) // eight goroutines for each processor
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						p, _, _ := gate.Admit(ctx, header, home)
						if p.Store.ID != shop.ID {
							b.Fail()
						}
					}
				})
			})
		})
	}
}
