package resource_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/resource"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent"
)

// TestASearchIsTheSameWhateverItMatches compares pages and totals of searches with a plain comparison of the texts, for
// searches with few matches and with many. It changes a bound of the package, so it runs alone.
func TestASearchIsTheSameWhateverItMatches(t *testing.T) {
	for _, database := range dbtest.Databases() {
		t.Run(database, func(t *testing.T) {
			d := dbtest.New(t, database, db.Config{})
			shop, all := crowd(t, d, 80)
			lists := resource.Lists{Querier: d.Reader(), Dialect: db.ByDialect(d, resource.Postgres, resource.SQLite)}
			for _, few := range []int{0, 20, 20_000} {
				restore := resource.SetFewMatches(few)
				for _, text := range []string{"a", "an", "...", "a..", "+00", "ann", "anna 6", "nobody", "0017", "é"} {
					want := []string{}
					for _, c := range all {
						if strings.Contains(c.Search, text) {
							want = append(want, c.ID.String())
						}
					}
					for _, offset := range []int{0, 10, 75} {
						found, total, err := resource.Customers(t.Context(), lists, shop, text, resource.Page{Size: 10, Offset: int64(offset)})
						require.NoError(t, err)
						require.EqualValues(t, len(want), total, "%q", text)
						var ids []string
						for _, c := range found {
							ids = append(ids, c.GetId())
						}
						require.Equal(t, want[min(offset, len(want)):min(offset+10, len(want))], append([]string{}, ids...),
							"%q from %d, few are %d", text, offset, few)
					}
				}
				restore()
			}
		})
	}
}

// crowd creates a store with n customers, and returns the store and its customers, newest first. It also creates another store
// with n customers of the same names. A search in the returned store must not find these.
func crowd(t *testing.T, d *db.DB, n int) (shop tenant.Store, all []*ent.Customer) {
	t.Helper()
	for _, slug := range []string{"other", "ours"} {
		shop, all = tenant.Store{ID: uuid.New(), Currency: "XAF"}, nil
		ctx := tenant.With(t.Context(), shop, tenant.Actor{Type: tenant.ActorOperator})
		require.NoError(t, hook.Run(ctx, d, func(c *hook.Change) error {
			at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			if err := c.Tx.Store.Create().SetID(shop.ID).SetName("S").SetSlug(slug).SetURL("https://s.example").SetCurrency(
				"XAF").SetCountry("CM").
				SetSocialLinks(map[string]string{}).SetUnavailableTypes([]string{}).SetCreatedAt(at).SetUpdatedAt(at).Exec(c); err != nil {
				return err
			}
			for i := range n {
				name, email := []string{"Anna", "Ben", "Anné"}[i%3]+fmt.Sprintf(" %d", i%9), fmt.Sprintf("%04d@example.com", i)
				buyer, err := c.Tx.Customer.Create().SetStoreID(shop.ID).SetName(name).SetEmail(email).SetSearch(resource.CustomerSearch(name,
					&email, nil)).
					SetCreatedAt(at.Add(time.Duration(i%17) * time.Hour)).SetUpdatedAt(at).Save(c)
				if err != nil {
					return err
				}
				all = append(all, buyer)
			}
			return nil
		}))
	}
	slices.SortFunc(all, func(a, b *ent.Customer) int {
		if order := b.CreatedAt.Compare(a.CreatedAt); order != 0 {
			return order
		}
		return strings.Compare(b.ID.String(), a.ID.String())
	})
	return shop, all
}
