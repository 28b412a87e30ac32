package hook_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/field"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/id"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent"
)

// TestBeside leaves statements to Flush beside no record, an entry, and an entry with an event.
func TestBeside(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, s *db.DB) {
		ctx, id := inStore(t, s)
		const retitle, reprice = "UPDATE products SET title = $1 WHERE id = $2", "UPDATE products SET price_amount = price_amount + $1 WHERE id = $2"
		first := s.Client().Product.GetX(ctx, id).PriceAmount
		for i, records := range []func(ctx context.Context, tx *ent.Tx) error{
			func(context.Context, *ent.Tx) error { return nil },
			func(ctx context.Context, _ *ent.Tx) error {
				hook.Record(ctx, "products.imported", "store", uuid.New())
				return nil
			},
			func(ctx context.Context, tx *ent.Tx) error {
				return tx.Customer.Create().SetStoreID(s.Client().Store.Query().OnlyIDX(ctx)).SetName("Awa").SetEmail("awa@example.com").
					SetSearch("awa").SetCreatedAt(hook.Time(ctx)).SetUpdatedAt(hook.Time(ctx)).Exec(ctx)
			},
		} {
			title := "title " + string(rune('a'+i))
			require.NoError(t, s.WithTx(ctx, func(ctx context.Context, tx *ent.Tx) error {
				hook.AtFlush(ctx, retitle, title, id)
				return records(ctx, tx)
			}))
			require.NoError(t, s.WithTx(ctx, func(ctx context.Context, tx *ent.Tx) error {
				hook.AtFlush(ctx, reprice, 5, id)
				return nil
			}))
			row := s.Client().Product.GetX(ctx, id)
			require.Equal(t, title, row.Title)
			require.Equal(t, first+5*int64(i+1), row.PriceAmount)
		}
		entries := s.Client().ActivityEntry.Query().CountX(ctx)
		require.Error(t, s.WithTx(ctx, func(ctx context.Context, _ *ent.Tx) error {
			hook.AtFlush(ctx, "UPDATE products SET no_such_column = $1 WHERE id = $2", "x", id)
			hook.Record(ctx, "products.imported", "store", uuid.New())
			return nil
		}), "the whole transaction fails")
		require.Equal(t, entries, s.Client().ActivityEntry.Query().CountX(ctx))
	})
}

// TestManyRecordsKeepTheirOrder writes more of them than share a statement.
func TestManyRecordsKeepTheirOrder(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, s *db.DB) {
		ctx, _ := inStore(t, s)
		owner, err := tenant.StoreOf(ctx)
		require.NoError(t, err)
		_, err = s.Writer().Exec(`INSERT INTO webhooks (id, store_id, url, events, enabled, secret, secret_key, created_at, updated_at)
 VALUES ($1, $2, 'https://a.example', '["customer.created"]', true, $3, '', $4, $4)`, uuid.New(), owner.ID, []byte{1}, s.Now())
		require.NoError(t, err)
		before := s.Client().ActivityEntry.Query().CountX(ctx)
		var rows []*ent.Customer
		require.NoError(t, s.WithTx(ctx, func(ctx context.Context, _ *ent.Tx) error {
			now := hook.Time(ctx)
			for i := range 25 {
				email := fmt.Sprintf("c%d@example.com", i)
				row := &ent.Customer{ID: id.At(now), StoreID: owner.ID, Email: &email, CreatedAt: now, UpdatedAt: now}
				rows = append(rows, row)
				hook.Insert(ctx, s.Dialect(), field.CustomerRows, row)
				if err := hook.Created(ctx, row); err != nil {
					return err
				}
			}
			return nil
		}))
		require.Equal(t, 25, s.Client().Customer.Query().CountX(ctx))
		for i, e := range s.Client().ActivityEntry.Query().Order(ent.Asc("id")).AllX(ctx)[before:] {
			require.Equal(t, rows[i].ID, e.ResourceID)
		}
		queued := 0
		require.NoError(t, s.Reader().QueryRow("SELECT count(*) FROM outbox o JOIN events e ON e.id = o.event_id").Scan(&queued))
		require.Equal(t, 25, queued)
		for i, e := range s.Client().Event.Query().Order(ent.Asc("id")).AllX(ctx) {
			require.Contains(t, string(e.Payload), rows[i].ID.String())
		}
	})
}
