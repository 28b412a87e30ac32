package hook_test

import (
	"context"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/product"
)

// inStore makes a store with one product, and returns a context in which a key acts on it.
func inStore(t *testing.T, s *db.DB) (context.Context, uuid.UUID) {
	t.Helper()
	owner := tenant.Store{ID: uuid.New(), Slug: "atelier", Currency: "XAF"}
	ctx := tenant.With(context.Background(), owner, tenant.Actor{Type: tenant.ActorAPIKey, ID: "key", Name: "till"})
	id := uuid.New()
	require.NoError(t, s.WithTx(ctx, func(ctx context.Context, tx *ent.Tx) error {
		now := hook.Time(ctx)
		if err := tx.Store.Create().SetID(owner.ID).SetName("Atelier").SetSlug(owner.Slug).SetURL("https://a.example").
			SetCurrency("XAF").SetCountry("CM").SetCreatedAt(now).SetUpdatedAt(now).Exec(ctx); err != nil {
			return err
		}
		return newProduct(ctx, tx, owner.ID).SetID(id).Exec(ctx)
	}))
	return ctx, id
}

func newProduct(ctx context.Context, tx *ent.Tx, owner uuid.UUID) *ent.ProductCreate {
	now := hook.Time(ctx)
	return tx.Product.Create().SetStoreID(owner).SetTitle("Guide").SetTitleFolded("guide").SetSlug(uuid.NewString()).
		SetType(product.TypeFILE).SetPriceAmount(5).SetURL("https://a.example/p").SetCreatedAt(now).SetUpdatedAt(now)
}

func TestEntryTellsOfWhatChangedAndOfNothingElse(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, s *db.DB) {
		ctx, id := inStore(t, s)
		before := s.Client().ActivityEntry.Query().CountX(ctx)
		require.Equal(t, 2, before, "the store and the product")
		change := func(change func(*ent.ProductUpdateOne)) {
			require.NoError(t, s.WithTx(ctx, func(ctx context.Context, tx *ent.Tx) error {
				row, err := tx.Product.Get(ctx, id)
				if err != nil {
					return err
				}
				if err := hook.Hold(ctx, row); err != nil {
					return err
				}
				u := row.Update()
				change(u)
				return u.Exec(ctx)
			}))
		}
		change(func(u *ent.ProductUpdateOne) { u.SetTitle("Guide").SetStatus(product.StatusDRAFT).ClearCoverURL() })
		require.Equal(t, before, s.Client().ActivityEntry.Query().CountX(ctx), "values that are set to what they were")
		require.Zero(t, s.Client().Event.Query().CountX(ctx))

		change(func(u *ent.ProductUpdateOne) { u.SetTitle("Guide").SetStatus(product.StatusARCHIVED) })
		entries := s.Client().ActivityEntry.Query().Order(ent.Desc("id")).AllX(ctx)
		require.Len(t, entries, before+1)
		require.JSONEq(t, `{"status":{"from":"DRAFT","to":"ARCHIVED"}}`, string(entries[0].Changes))
		require.Equal(t, "till", entries[0].ActorName)
		require.Equal(t, hook.ProductArchived, s.Client().Event.Query().OnlyX(ctx).Type)
	})
}

func TestWhatCannotBeJournaledIsRefused(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, s *db.DB) {
		ctx, id := inStore(t, s)
		rows := []struct {
			reason string
			ctx    context.Context
			change func(context.Context, *ent.Tx) error
			want   string
		}{
			{"a bulk change runs a hook once for many rows", ctx, func(ctx context.Context, tx *ent.Tx) error {
				return tx.Product.Update().SetTitle("All").Exec(ctx)
			}, "one row at a time"},
			{"a deletion has no entry", ctx, func(ctx context.Context, tx *ent.Tx) error {
				return tx.Product.DeleteOneID(id).Exec(ctx)
			}, "one row at a time"},
			{"a row of another store", ctx, func(ctx context.Context, tx *ent.Tx) error {
				return newProduct(ctx, tx, uuid.New()).Exec(ctx)
			}, "another store"},
			{"somebody else may change the row meanwhile", ctx, func(ctx context.Context, tx *ent.Tx) error {
				return tx.Product.UpdateOneID(id).SetTitle("x").Exec(ctx)
			}, "not held"},
			{"the time may lie before what the row was waited for", ctx, func(ctx context.Context, tx *ent.Tx) error {
				_ = hook.Time(ctx)
				return hook.Hold(ctx, &ent.Product{ID: id})
			}, "after the time"},
			{"a row of another store, stored by a statement", ctx, func(ctx context.Context, _ *ent.Tx) error {
				return hook.Created(ctx, &ent.Product{ID: uuid.New(), StoreID: uuid.New()})
			}, "another store"},
			{"a row that is stored by a mutation", ctx, func(ctx context.Context, _ *ent.Tx) error {
				return hook.Created(ctx, &ent.Store{ID: uuid.New()})
			}, "not known"},
			{"nobody acts", context.Background(), func(ctx context.Context, tx *ent.Tx) error {
				return tx.Product.UpdateOneID(id).SetTitle("x").Exec(ctx)
			}, "no store"},
		}
		for _, row := range rows {
			err := s.WithTx(row.ctx, row.change)
			require.ErrorContains(t, err, row.want, row.reason)
		}
		require.Equal(t, "Guide", s.Client().Product.GetX(ctx, id).Title)
		require.Equal(t, 2, s.Client().ActivityEntry.Query().CountX(ctx))
	})
}
