package admin_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"go.storefront.example/ent/apijson"
	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/hook"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/transfer"
	"go.storefront.example/server/transfer/transfertest"
)

// exportedRows has two rows of each kind. All fields differ, and ids refer to rows of the export.
func exportedRows(settings *adminv1.StoreSettings) (store *adminv1.ExportedStore, rows map[transfer.Kind][]proto.Message) {
	var f transfertest.Filler
	rows = map[transfer.Kind][]proto.Message{}
	store = &adminv1.ExportedStore{Store: &storefrontv1.Store{Slug: "s"}, Settings: settings}
	f.Fill(store)
	for range 2 {
		p := &storefrontv1.Product{CompareAtAmount: new(int64(9_000_000))}
		c := &storefrontv1.Customer{}
		l := &storefrontv1.PaymentLink{Availability: storefrontv1.PaymentLink_DISABLED}
		f.Fill(p)
		f.Fill(c)
		f.Fill(l)
		if l.GetPricing() == storefrontv1.PaymentLink_FIXED {
			l.MinAmount = nil
		} else {
			l.Amount = nil
		}
		o := &storefrontv1.Order{Status: storefrontv1.Order_REFUNDED,
			Customer:    &storefrontv1.Order_Customer{Id: c.GetId(), Name: c.GetName(), Email: c.Email, Phone: c.Phone},
			PaymentLink: &storefrontv1.Order_PaymentLink{Id: l.GetId(), Code: l.GetCode(), Title: l.GetTitle()}}
		eventID, storeID := uuid.New(), uuid.MustParse(store.GetStore().GetId())
		e := &adminv1.Event{Id: eventID.String(), StoreId: storeID.String(), Type: hook.Ping,
			Payload: string(hook.PingEnvelope(eventID, time.Unix(1_700_000_000, 0), storeID, "s", "hello"))}
		a := &adminv1.ActivityEntry{Action: "product.updated", Resource: &adminv1.ActivityEntry_Resource{Type: "product"},
			Changes: `{"title":{"from":"a","to":"b"}}`}
		f.Fill(o)
		f.Fill(e)
		f.Fill(a)
		attempt := &adminv1.Delivery_Attempt{}
		f.Fill(attempt)
		d := &adminv1.Delivery{StoreId: store.GetStore().GetId(), EventId: e.GetId(), EventType: hook.OrderPaid, Status: adminv1.Delivery_failed,
			Attempts: []*adminv1.Delivery_Attempt{attempt}, AttemptCount: 1, LastStatusCode: attempt.StatusCode, LastError: attempt.Error}
		f.Fill(d)
		d.NextAttemptAt = nil // a finished delivery has no next attempt
		for kind, m := range map[transfer.Kind]proto.Message{transfer.Products: p, transfer.Customers: c, transfer.Links: l,
			transfer.Orders: o, transfer.Events: e, transfer.Deliveries: d, transfer.Activity: a} {
			rows[kind] = append(rows[kind], m)
		}
	}
	return store, rows
}

// Fields are filled by reflection, so that the test covers later ones.
func TestAnExportKeepsEveryField(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		o := admin.New(d, admin.Options{})
		store, rows := exportedRows(&adminv1.StoreSettings{UnavailableTypes: []storefrontv1.Product_Type{storefrontv1.Product_EVENT}})
		store.Settings.DeleteAt = nil // an import does not take over the time of a deletion
		k := kept{lines: map[string][]byte{"store": append(apijson.Marshal(store), '\n')}, at: store.GetStore().GetCreatedAt()}
		for kind, messages := range rows {
			for i, m := range messages {
				line := apijson.Marshal(m)
				if kind == transfer.Products {
					line = append(line[:len(line)-1], transfer.ContentReady+map[int]string{0: "true}", 1: "false}"}[i]...)
				}
				k.lines[string(kind)] = append(k.lines[string(kind)], append(line, '\n')...)
			}
		}
		require.Equal(t, 2*len(transfer.ExportedKinds), k.importInto(t, o, "s", true))
		again := exportOf(t, o, "s")
		for kind, want := range k.lines {
			for line := range bytes.Lines(want) {
				require.Contains(t, string(again.lines[kind]), string(line), kind)
			}
		}
	})
}
