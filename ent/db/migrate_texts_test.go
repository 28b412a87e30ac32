package db_test

import (
	"fmt"
	"testing"
	"time"
	"unicode"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
)

// The migration to version 5 folds search texts by this release's rule, so that searches find them.
func TestTextsOfAnOlderRuleAreRenewed(t *testing.T) {
	t.Parallel()
	eachEmpty(t, func(t *testing.T, url string) {
		d := open(t, url)
		dbtest.MigrateTo(t, d, 4)
		exec := func(statement string, args ...any) {
			_, err := d.Writer().Exec(statement, args...)
			require.NoError(t, err)
		}
		store, other, now := uuid.New(), uuid.New(), time.Now().UTC().Truncate(time.Millisecond)
		for _, id := range []uuid.UUID{store, other} {
			exec(`INSERT INTO stores (id, name, slug, url, currency, country, social_links, unavailable_types, created_at, updated_at)
 VALUES ($1, 's', $2, 'u', 'TRY', 'TR', '{}', '[]', $3, $3)`, id, id.String(), now)
		}
		customer := func(store uuid.UUID, email, folded string) uuid.UUID {
			id := uuid.New()
			now = now.Add(time.Second)
			exec(`INSERT INTO customers (id, store_id, name, email, phone, search, created_at, updated_at) VALUES ($1, $2, 'IŞIK', $3, $4, $5, $6, $6)`,
				id, store, email, id.String(), folded+"\x1f"+email+"\x1f"+id.String(), now)
			return id
		}
		requireFolded := func(id uuid.UUID, email, folded string) {
			t.Helper()
			var gotEmail, search string
			require.NoError(t, d.Reader().QueryRow("SELECT email, search FROM customers WHERE id = $1", id).Scan(&gotEmail, &search))
			require.Equal(t, email, gotEmail)
			require.Equal(t, folded+"\x1f"+email+"\x1f"+id.String(), search)
		}
		turkish := customer(store, "ii@example.com", "ışık i\u0307stanbul")
		clean := customer(store, "ann@example.com", "ann")
		taken := customer(store, "ann@example.com\u200b", "ann")
		free := customer(other, "ann@example.com\u200b", "ann")
		first := customer(store, "\ufeffbob@example.com", "")
		second := customer(store, "bob@example.com\u202c", "")
		inside := customer(store, "b\u2003b@example.com\u00a0\u200b", "")
		product := uuid.New()
		exec(`INSERT INTO products (id, store_id, title, title_folded, slug, url, type, price_amount, created_at, updated_at)
 VALUES ($1, $2, 'İPLİK', $3, 's', 'u', 'FILE', 5, $4, $4)`, product, store, "i\u0307pli\u0307k ı", now)
		marked := map[uuid.UUID]string{}
		for r := rune(0); r < 0x10000; r++ {
			if r > 0x9f && (unicode.IsSpace(r) || unicode.Is(unicode.Cf, r)) {
				email := fmt.Sprintf("%x@example.com", r)
				marked[customer(store, string(r)+email+string(r)+" ", "")] = email
			}
		}

		require.NoError(t, d.Migrate(t.Context(), func(db.Migration) {}))
		requireFolded(turkish, "ii@example.com", "işik istanbul")
		requireFolded(clean, "ann@example.com", "ann")
		requireFolded(taken, "ann@example.com\u200b", "ann")
		requireFolded(free, "ann@example.com", "ann")
		requireFolded(first, "bob@example.com", "")
		requireFolded(second, "bob@example.com\u202c", "")
		requireFolded(inside, "b\u2003b@example.com", "")
		for id, email := range marked {
			requireFolded(id, email, "")
		}
		require.Equal(t, 1, dbtest.Count(t, d, "products WHERE title_folded = 'iplik i'"))
	})
}
