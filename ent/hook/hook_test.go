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
	storefrontv1 "go.storefront.example/gen/storefront/v1"
)

// inStore creates a store with one product. It returns a context in which an API key acts on the store, and the product's
// id.
func inStore(t *testing.T, d *db.DB) (context.Context, uuid.UUID) {
	t.Helper()
	owner := tenant.Store{ID: uuid.New(), Slug: "atelier", Currency: "XAF"}
	ctx := tenant.With(context.Background(), owner, tenant.Actor{Type: tenant.ActorAPIKey, ID: "key", Name: "till"})
	id := uuid.New()
	require.NoError(t, hook.Run(ctx, d, func(c *hook.Change) error {
		now := c.Time()
		if err := c.Tx.Store.Create().SetID(owner.ID).SetName("Atelier").SetSlug(owner.Slug).SetURL("https://a.example").
			SetCurrency("XAF").SetCountry("CM").SetCreatedAt(now).SetUpdatedAt(now).Exec(c); err != nil {
			return err
		}
		return newProduct(c, owner.ID).SetID(id).Exec(c)
	}))
	return ctx, id
}

func newProduct(c *hook.Change, owner uuid.UUID) *ent.ProductCreate {
	now := c.Time()
	return c.Tx.Product.Create().SetStoreID(owner).SetTitle("Guide").SetTitleFolded("guide").SetSlug(uuid.NewString()).
		SetType(product.TypeFILE).SetPriceAmount(5).SetURL("https://a.example/p").SetCreatedAt(now).SetUpdatedAt(now)
}

func TestEntryTellsOfWhatChangedAndOfNothingElse(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		ctx, id := inStore(t, d)
		before := d.Client().ActivityEntry.Query().CountX(ctx)
		require.Equal(t, 2, before, "the store and the product")
		change := func(change func(*ent.ProductUpdateOne)) {
			require.NoError(t, hook.Run(ctx, d, func(c *hook.Change) error {
				row, err := c.Tx.Product.Get(c, id)
				if err != nil {
					return err
				}
				if err := c.MarkLocked(row); err != nil {
					return err
				}
				u := row.Update()
				change(u)
				return u.Exec(c)
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
			change func(*hook.Change) error
			want   string
		}{
			{"a bulk change runs a hook once for many rows", ctx, func(c *hook.Change) error {
				return c.Tx.Product.Update().SetTitle("All").Exec(c)
			}, "one row at a time"},
			{"so does a bulk deletion", ctx, func(c *hook.Change) error {
				_, err := c.Tx.Product.Delete().Exec(c)
				return err
			}, "one row at a time"},
			{"a sum has no value to journal", ctx, func(c *hook.Change) error {
				row := c.Tx.Product.GetX(c, id)
				if err := c.MarkLocked(row); err != nil {
					return err
				}
				return row.Update().AddPriceAmount(1).Exec(c)
			}, "is set, not added to"},
			{"somebody else may change the row that is deleted", ctx, func(c *hook.Change) error {
				return c.Tx.Product.DeleteOneID(id).Exec(c)
			}, "not locked"},
			{"a new row of another store", ctx, func(c *hook.Change) error {
				return newProduct(c, uuid.New()).Exec(c)
			}, "another store"},
			{"one of many", ctx, func(c *hook.Change) error {
				store, _ := tenant.StoreOf(c)
				return c.Tx.Product.CreateBulk(newProduct(c, store.ID), newProduct(c, uuid.New())).Exec(c)
			}, "another store"},
			{"a row of another store", tenant.With(ctx, tenant.Store{ID: uuid.New()}, tenant.Actor{}),
				func(c *hook.Change) error {
					row := c.Tx.Product.GetX(c, id)
					if err := c.MarkLocked(row); err != nil {
						return err
					}
					return row.Update().SetTitle("x").Exec(c)
				}, "another store"},
			{"somebody else may change the row meanwhile", ctx, func(c *hook.Change) error {
				return c.Tx.Product.UpdateOneID(id).SetTitle("x").Exec(c)
			}, "not locked"},
			{"nobody acts", context.Background(), func(c *hook.Change) error {
				return c.Tx.Product.UpdateOneID(id).SetTitle("x").Exec(c)
			}, "no store"},
		}
		for _, row := range rows {
			err := hook.Run(row.ctx, d, row.change)
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
		create := func(c *hook.Change) (err error) {
			rows, err = c.Tx.Customer.MapCreateBulk(make([]struct{}, 25), func(create *ent.CustomerCreate, i int) {
				create.SetStoreID(owner.ID).SetEmail(fmt.Sprintf("c%d@%s.example.com", i, uuid.NewString())).SetSearch("").
					SetCreatedAt(c.Time()).SetUpdatedAt(c.Time())
			}).Save(c)
			return err
		}
		require.NoError(t, hook.Run(ctx, d, create))
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
		require.NoError(t, hook.Run(ctx, d, create))
		require.Equal(t, waiting+25, dbtest.Queued(t, d, owner.ID))
		require.NoError(t, hook.Run(ctx, d, create, hook.WithoutCreations, hook.WithoutEvents))
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
			require.NoError(t, hook.Run(ctx, d, func(c *hook.Change) error {
				row := c.Tx.Product.GetX(c, id)
				require.NoError(t, c.MarkLocked(row))
				require.Equal(t, now, c.Time())
				row, err := row.Update().SetTitle(fmt.Sprint(i)).Save(c)
				require.Equal(t, ahead.Add(time.Duration(i+1)*time.Millisecond), row.UpdatedAt.UTC())
				require.Equal(t, row.UpdatedAt.UTC(), c.Time(id))
				require.Equal(t, now, c.Time(uuid.New()))
				return err
			}))
		}
	}
}

// A change that has asked for its time cannot lock another row: while it waited for the lock, the row may
// have got a later moment.
func TestALockAfterTheTimeFails(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		ctx, id := inStore(t, d)
		lock := func(c *hook.Change) error {
			_, err := hook.LockRow(c, c.Tx.Product.Query().Where(product.StoreID(storeOf(c)), product.ID(id)))
			return err
		}
		require.NoError(t, hook.Run(ctx, d, func(c *hook.Change) error {
			require.NoError(t, lock(c))
			_ = c.Time()
			return lock(c) // allowed, because this transaction locked the row before it asked for the time
		}))
		err := hook.Run(ctx, d, func(c *hook.Change) error {
			_ = c.Time()
			return lock(c)
		})
		require.ErrorContains(t, err, "before this lock")
		err = hook.Run(ctx, d, func(c *hook.Change) error {
			_ = c.Time()
			_, err := hook.LockIDs(c, c.Tx.Product.Query())
			return err
		})
		require.ErrorContains(t, err, "before this lock")
	})
}

// A change that loses the race for a unique value runs again. Its answer is that of the run that commits, and zero if none does.
func TestAnAnswerIsThatOfTheLastRun(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		ctx, id := inStore(t, d)
		taken := d.Client().Product.GetX(ctx, id).Slug
		create := func(slugs ...string) (int, error) {
			runs := 0
			return hook.Answer(ctx, d, func(c *hook.Change) (int, error) {
				runs++
				return runs, newProduct(c, c.Store.ID).SetSlug(slugs[min(runs, len(slugs))-1]).Exec(c)
			})
		}
		runs, err := create(taken, taken, "free")
		require.NoError(t, err)
		require.Equal(t, 3, runs)
		runs, err = create(taken)
		require.ErrorContains(t, err, "lost the race")
		require.Zero(t, runs)
	})
}

// An event carries the answer of its change, if that is the object of the event, so that nothing is read for it.
func TestAnEventCarriesTheAnswer(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		ctx, id := inStore(t, d)
		for _, row := range []struct {
			status product.Status
			answer string
			want   string
		}{
			{product.StatusPUBLISHED, id.String(), "The answer"},
			{product.StatusARCHIVED, uuid.NewString(), "Guide"},
		} {
			_, err := hook.Answer(ctx, d, func(c *hook.Change) (*storefrontv1.Product, error) {
				stored, err := hook.LockRow(c, c.Tx.Product.Query().Where(product.StoreID(c.Store.ID), product.ID(id)))
				if err != nil {
					return nil, err
				}
				return &storefrontv1.Product{Id: row.answer, Title: "The answer"}, stored.Update().SetStatus(row.status).Exec(c)
			})
			require.NoError(t, err)
			e := d.Client().Event.Query().Order(ent.Desc("id")).FirstX(ctx)
			require.Contains(t, string(e.Payload), `"title":"`+row.want+`"`)
		}
	})
}

// The commit writes the records. If it fails to write them, neither the change nor any record is stored.
func TestACommitWhoseRecordsFailChangesNothing(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		ctx, id := inStore(t, d)
		before := d.Client().ActivityEntry.Query().CountX(ctx)
		err := hook.Run(ctx, d, func(c *hook.Change) error {
			row, err := hook.LockRow(c, c.Tx.Product.Query().Where(product.StoreID(storeOf(c)), product.ID(id)))
			require.NoError(t, err)
			require.NoError(t, row.Update().SetStatus(product.StatusPUBLISHED).Exec(c))
			_, err = c.Tx.ExecContext(c, "ALTER TABLE events RENAME TO absent")
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
		err := hook.Run(ctx, d, func(c *hook.Change) error {
			row, err := hook.LockRow(c, c.Tx.Product.Query().Where(product.ID(id)))
			if err != nil {
				return err
			}
			return row.Update().SetTitle("Half").Exec(c)
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
		require.NoError(t, hook.Run(ctx, d, func(c *hook.Change) error {
			return c.Tx.Customer.Update().AddOrdersCount(1).AddTotalPaid(5).Exec(c)
		}))
		require.Equal(t, before, d.Client().ActivityEntry.Query().CountX(ctx))
		require.NoError(t, hook.Run(ctx, d, func(c *hook.Change) error {
			row := c.Tx.Product.GetX(c, id)
			require.NoError(t, c.MarkLocked(row))
			return c.Tx.Product.DeleteOne(row).Exec(c)
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
