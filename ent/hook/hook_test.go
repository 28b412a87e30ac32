package hook_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/apijson"
	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/product"
)

// inStore creates a store with one product. It returns a context in which an API key acts on the store, and the product's
// id.
func inStore(t *testing.T, d *db.DB) (context.Context, uuid.UUID) {
	t.Helper()
	owner := tenant.Store{ID: uuid.New(), Slug: "atelier", Currency: "XAF"}
	ctx := tenant.With(context.Background(), owner, tenant.Actor{Type: tenant.ActorAPIKey, ID: "key", Name: "till"})
	id := uuid.New()
	require.NoError(t, hook.WithTx(ctx, d, func(ctx context.Context, tx *ent.Tx) error {
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
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		ctx, id := inStore(t, d)
		before := d.Client().ActivityEntry.Query().CountX(ctx)
		require.Equal(t, 2, before, "the store and the product")
		change := func(change func(*ent.ProductUpdateOne)) {
			require.NoError(t, hook.WithTx(ctx, d, func(ctx context.Context, tx *ent.Tx) error {
				row, err := tx.Product.Get(ctx, id)
				if err != nil {
					return err
				}
				if err := hook.MarkLocked(ctx, row); err != nil {
					return err
				}
				u := row.Update()
				change(u)
				return u.Exec(ctx)
			}))
		}
		change(func(u *ent.ProductUpdateOne) { u.SetTitle("Guide").SetStatus(product.StatusDRAFT).ClearCoverURL() })
		require.Equal(t, before, d.Client().ActivityEntry.Query().CountX(ctx), "values that are set to what they were")
		require.Zero(t, d.Client().Event.Query().CountX(ctx))

		change(func(u *ent.ProductUpdateOne) { u.SetTitle("Guide").SetStatus(product.StatusARCHIVED) })
		entries := d.Client().ActivityEntry.Query().Order(ent.Desc("id")).AllX(ctx)
		require.Len(t, entries, before+1)
		require.JSONEq(t, `{"status":{"from":"DRAFT","to":"ARCHIVED"}}`, string(entries[0].Changes))
		require.Equal(t, "till", entries[0].ActorName)
		require.Equal(t, hook.ProductArchived, d.Client().Event.Query().OnlyX(ctx).Type)
	})
}

func TestWhatCannotBeJournaledIsRefused(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		ctx, id := inStore(t, d)
		rows := []struct {
			reason string
			ctx    context.Context
			change func(context.Context, *ent.Tx) error
			want   string
		}{
			{"a bulk change runs a hook once for many rows", ctx, func(ctx context.Context, tx *ent.Tx) error {
				return tx.Product.Update().SetTitle("All").Exec(ctx)
			}, "one row at a time"},
			{"so does a bulk deletion", ctx, func(ctx context.Context, tx *ent.Tx) error {
				_, err := tx.Product.Delete().Exec(ctx)
				return err
			}, "one row at a time"},
			{"a sum has no value to journal", ctx, func(ctx context.Context, tx *ent.Tx) error {
				row := tx.Product.GetX(ctx, id)
				if err := hook.MarkLocked(ctx, row); err != nil {
					return err
				}
				return row.Update().AddPriceAmount(1).Exec(ctx)
			}, "is set, not added to"},
			{"somebody else may change the row that is deleted", ctx, func(ctx context.Context, tx *ent.Tx) error {
				return tx.Product.DeleteOneID(id).Exec(ctx)
			}, "not locked"},
			{"a new row of another store", ctx, func(ctx context.Context, tx *ent.Tx) error {
				return newProduct(ctx, tx, uuid.New()).Exec(ctx)
			}, "another store"},
			{"one of many", ctx, func(ctx context.Context, tx *ent.Tx) error {
				store, _ := tenant.StoreOf(ctx)
				return tx.Product.CreateBulk(newProduct(ctx, tx, store.ID), newProduct(ctx, tx, uuid.New())).Exec(ctx)
			}, "another store"},
			{"a row of another store", tenant.With(ctx, tenant.Store{ID: uuid.New()}, tenant.Actor{}),
				func(ctx context.Context, tx *ent.Tx) error {
					row := tx.Product.GetX(ctx, id)
					if err := hook.MarkLocked(ctx, row); err != nil {
						return err
					}
					return row.Update().SetTitle("x").Exec(ctx)
				}, "another store"},
			{"somebody else may change the row meanwhile", ctx, func(ctx context.Context, tx *ent.Tx) error {
				return tx.Product.UpdateOneID(id).SetTitle("x").Exec(ctx)
			}, "not locked"},
			{"nobody acts", context.Background(), func(ctx context.Context, tx *ent.Tx) error {
				return tx.Product.UpdateOneID(id).SetTitle("x").Exec(ctx)
			}, "no store"},
		}
		for _, row := range rows {
			err := hook.WithTx(row.ctx, d, row.change)
			require.ErrorContains(t, err, row.want, row.reason)
		}
		require.Equal(t, "Guide", d.Client().Product.GetX(ctx, id).Title)
		require.Equal(t, 2, d.Client().ActivityEntry.Query().CountX(ctx))
	})
}

// Rows that are created in one statement have their entries and events in the order of the rows. Only events to which a
// webhook subscribes get a delivery.
func TestManyNewRowsKeepTheirOrder(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		ctx, _ := inStore(t, d)
		owner, err := tenant.StoreOf(ctx)
		require.NoError(t, err)
		before := d.Client().ActivityEntry.Query().CountX(ctx)
		var rows []*ent.Customer
		create := func(ctx context.Context, tx *ent.Tx) (err error) {
			rows, err = tx.Customer.MapCreateBulk(make([]struct{}, 25), func(c *ent.CustomerCreate, i int) {
				c.SetStoreID(owner.ID).SetEmail(fmt.Sprintf("c%d@%s.example.com", i, uuid.NewString())).SetSearch("").
					SetCreatedAt(hook.Time(ctx)).SetUpdatedAt(hook.Time(ctx))
			}).Save(ctx)
			return err
		}
		require.NoError(t, hook.WithTx(ctx, d, create))
		for i, e := range d.Client().ActivityEntry.Query().Order(ent.Asc("id")).AllX(ctx)[before:] {
			require.Equal(t, rows[i].ID, e.ResourceID)
		}
		for i, e := range d.Client().Event.Query().Order(ent.Asc("id")).AllX(ctx) {
			require.Contains(t, string(e.Payload), rows[i].ID.String())
		}
		require.Zero(t, dbtest.Queued(t, d, owner.ID), "no webhook subscribes")
		_, err = d.Writer().Exec(`INSERT INTO webhooks (id, store_id, url, events, enabled, secret, secret_key, created_at, updated_at)
 VALUES ($1, $2, 'https://a.example', '["customer.created"]', true, $3, '', $4, $4)`, uuid.New(), owner.ID, []byte{1}, d.Now())
		require.NoError(t, err)
		waiting := dbtest.Queued(t, d, owner.ID)
		require.NoError(t, hook.WithTx(ctx, d, create))
		require.Equal(t, waiting+25, dbtest.Queued(t, d, owner.ID))
		require.NoError(t, hook.WithTx(ctx, d, create, hook.WithoutCreations, hook.WithoutEvents))
		require.Equal(t, waiting+25, dbtest.Queued(t, d, owner.ID))
		require.Equal(t, before+50, d.Client().ActivityEntry.Query().CountX(ctx))
	})
}

// An object's moments increase with each change, even if the clock stands still or another server's clock is ahead. Moments
// of other objects follow the clock.
func TestTheMomentsOfAnObjectIncrease(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)
	for _, database := range dbtest.Databases() {
		d := dbtest.New(t, database, db.Config{Clock: func() time.Time { return now }})
		ctx, id := inStore(t, d)
		ahead := now.Add(72 * time.Hour)
		_, err := d.Writer().Exec("UPDATE products SET published_at = $1 WHERE id = $2", ahead, id)
		require.NoError(t, err)
		for i := range 3 {
			require.NoError(t, hook.WithTx(ctx, d, func(ctx context.Context, tx *ent.Tx) error {
				row := tx.Product.GetX(ctx, id)
				require.NoError(t, hook.MarkLocked(ctx, row))
				require.Equal(t, now, hook.Time(ctx))
				row, err := row.Update().SetTitle(fmt.Sprint(i)).Save(ctx)
				require.Equal(t, ahead.Add(time.Duration(i+1)*time.Millisecond), row.UpdatedAt.UTC())
				require.Equal(t, row.UpdatedAt.UTC(), hook.Time(ctx, id))
				require.Equal(t, now, hook.Time(ctx, uuid.New()))
				return err
			}))
		}
	}
}

// A transaction that has called hook.Time cannot lock another row: while the transaction waited for the lock, the row may
// have got a later moment.
func TestALockAfterTheTimeFails(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		ctx, id := inStore(t, d)
		lock := func(ctx context.Context, tx *ent.Tx) error {
			_, err := hook.LockRow(ctx, tx.Product.Query().Where(product.StoreID(storeOf(ctx)), product.ID(id)))
			return err
		}
		require.NoError(t, hook.WithTx(ctx, d, func(ctx context.Context, tx *ent.Tx) error {
			require.NoError(t, lock(ctx, tx))
			_ = hook.Time(ctx)
			return lock(ctx, tx) // allowed, because this transaction locked the row before it called hook.Time
		}))
		err := hook.WithTx(ctx, d, func(ctx context.Context, tx *ent.Tx) error {
			_ = hook.Time(ctx)
			return lock(ctx, tx)
		})
		require.ErrorContains(t, err, "before this lock")
	})
}

// The commit writes the records. If it fails to write them, neither the change nor any record is stored.
func TestACommitWhoseRecordsFailChangesNothing(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		ctx, id := inStore(t, d)
		before := d.Client().ActivityEntry.Query().CountX(ctx)
		err := hook.WithTx(ctx, d, func(ctx context.Context, tx *ent.Tx) error {
			row, err := hook.LockRow(ctx, tx.Product.Query().Where(product.StoreID(storeOf(ctx)), product.ID(id)))
			require.NoError(t, err)
			require.NoError(t, row.Update().SetStatus(product.StatusPUBLISHED).Exec(ctx))
			_, err = tx.ExecContext(ctx, "ALTER TABLE events RENAME TO absent")
			return err
		})
		require.ErrorContains(t, err, "write the events")
		require.Equal(t, before, d.Client().ActivityEntry.Query().CountX(ctx))
		require.Equal(t, product.StatusDRAFT, d.Client().Product.GetX(ctx, id).Status)
	})
}

// A change of a counter gets no journal entry. A deletion gets an entry with the values that the row had.
// A handler also runs for a request with fields that could not be decoded, to list what its rules refuse.
func TestARequestThatWasNotDecodedWholeChangesNothing(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		ctx, id := inStore(t, d)
		ctx = apijson.WithDecoded(ctx, apijson.Decoded{Invalid: &apijson.Invalid{Message: "The request has invalid fields."}})
		err := hook.Change(ctx, d, func(ctx context.Context, tx *ent.Tx) error {
			row, err := hook.LockRow(ctx, tx.Product.Query().Where(product.ID(id)))
			if err != nil {
				return err
			}
			return row.Update().SetTitle("Half").Exec(ctx)
		})
		require.ErrorContains(t, err, "was not decoded whole")
		require.NotEqual(t, "Half", d.Client().Product.GetX(ctx, id).Title)
	})
}

func TestCountersAndDeletions(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		ctx, id := inStore(t, d)
		before := d.Client().ActivityEntry.Query().CountX(ctx)
		require.NoError(t, hook.WithTx(ctx, d, func(ctx context.Context, tx *ent.Tx) error {
			return tx.Customer.Update().AddOrdersCount(1).AddTotalPaid(5).Exec(ctx)
		}))
		require.Equal(t, before, d.Client().ActivityEntry.Query().CountX(ctx))
		require.NoError(t, hook.WithTx(ctx, d, func(ctx context.Context, tx *ent.Tx) error {
			row := tx.Product.GetX(ctx, id)
			require.NoError(t, hook.MarkLocked(ctx, row))
			return tx.Product.DeleteOne(row).Exec(ctx)
		}))
		last := d.Client().ActivityEntry.Query().Order(ent.Desc("id")).FirstX(ctx)
		require.Equal(t, "product.deleted", last.Action)
		require.Contains(t, string(last.Changes), `"title":{"from":"Guide","to":null}`)
	})
}

func storeOf(ctx context.Context) uuid.UUID {
	store, _, _ := tenant.From(ctx)
	return store.ID
}
