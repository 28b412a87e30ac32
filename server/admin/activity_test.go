package admin_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/hook"
	"go.storefront.example/gen/ent"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/admin"
)

func TestARareChangeIsLookedForInSteps(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		o := admin.New(d, admin.Options{})
		store, err := o.CreateStore(t.Context(), &adminv1.CreateStoreRequest{Name: "S", Slug: "s", Currency: "XAF", Country: "CM"})
		require.NoError(t, err)
		const many = 45_000
		first := time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
		require.NoError(t, hook.Run(t.Context(), d, func(c *hook.Change) error {
			for batch := range many / 1000 {
				rows := make([]*ent.ActivityEntryCreate, 1000)
				for i := range rows {
					at := first.Add(time.Duration(batch*1000+i) * time.Second)
					rows[i] = c.Tx.ActivityEntry.Create().SetID(uuid.New()).SetStoreID(uuid.MustParse(store.GetId())).
						SetActorType("operator").SetActorID("").SetActorName("operator").SetAction("product.updated").
						SetResourceType("product").SetResourceID(uuid.New()).SetChanges([]byte("{}")).SetCreatedAt(at)
				}
				if err := c.Tx.ActivityEntry.CreateBulk(rows...).Exec(c); err != nil {
					return err
				}
			}
			return nil
		}))
		in := &adminv1.ListActivityRequest{Store: "s", ResourceType: "store"}
		var back []time.Time
		for {
			out, err := o.ListActivity(t.Context(), in)
			require.NoError(t, err)
			if out.GetLookedBackTo() == nil {
				require.Len(t, out.GetEntries(), 1)
				require.Equal(t, "store.created", out.GetEntries()[0].GetAction())
				require.Empty(t, out.GetNextPageToken())
				break
			}
			require.Empty(t, out.GetEntries())
			back = append(back, out.GetLookedBackTo().AsTime())
			in.PageToken = out.GetNextPageToken()
		}
		last := first.Add((many - 1) * time.Second)
		require.Equal(t, []time.Time{last.Add(-19_999 * time.Second), last.Add(-39_999 * time.Second)}, back)

		in = &adminv1.ListActivityRequest{Store: "s", ResourceType: "product", ActorType: adminv1.ActivityEntry_Actor_operator.Enum(),
			ActorName: "OPER", PageSize: new(int32(3))}
		out, err := o.ListActivity(t.Context(), in)
		require.NoError(t, err)
		require.Len(t, out.GetEntries(), 3)
		require.Nil(t, out.GetLookedBackTo(), "the page is full")
	})
}
