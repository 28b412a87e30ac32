package admin_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/apijson"
	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/hook"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/transfer"
)

// In others, such as a payload of an unknown form, an erasure could not find personal data.
func TestRowsOfJournalsAreReadAsBodies(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		o := admin.New(d, admin.Options{})
		_, err := o.CreateStore(t.Context(), &adminv1.CreateStoreRequest{Name: "S", Slug: "s", Currency: "XAF", Country: "CM"})
		require.NoError(t, err)
		at := time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)
		try := func(kind transfer.Kind, line string) (stored int, field string) {
			out, err := o.ImportRows(t.Context(), &adminv1.ImportRowsRequest{Store: "s", Kind: string(kind), Lines: line})
			require.NoError(t, err, line)
			for _, bad := range out.GetRefused() {
				return 0, bad.GetField()
			}
			return int(out.GetStored()), ""
		}
		entry := func(action, resource, changes string) string {
			return string(apijson.Marshal(&adminv1.ActivityEntry{Id: uuid.NewString(), Action: action,
				Actor: &adminv1.ActivityEntry_Actor{Type: adminv1.ActivityEntry_Actor_operator}, Changes: changes,
				Resource:  &adminv1.ActivityEntry_Resource{Type: resource, Id: uuid.NewString()},
				CreatedAt: apijson.Timestamp(at)}))
		}
		for _, row := range []struct{ action, resource, changes, refused string }{
			{"customer.created", "customer", `{"name":{"from":null,"to":"Awa"},"email":{"from":null,"to":"forgotten"}}`, ""},
			{"customer.forgotten", "customer", `{}`, ""},
			{"order.created", "order", `{"reference":{"from":null,"to":"R"},"amount":{"from":null,"to":5},"note":{"from":null,"to":""}}`, ""},
			{"store.updated", "store", `{"socialLinks":{"from":{},"to":{"x":"https://x.example"}},"unavailableTypes":{"from":[],"to":["EVENT"]}}`, ""},
			{"store.imported", "store", `{"customers":{"from":null,"to":7}}`, ""},
			{"customer.updated", "customer", `[]`, "changes"},
			{"customer.updated", "customer", `null`, "changes"},
			{"customer.updated", "customer", ``, "changes"},
			{"customer.updated", "customer", `{"name":"Awa"}`, "changes"},
			{"customer.updated", "customer", `{"name":["Awa"]}`, "changes"},
			{"customer.updated", "customer", `{"name":{"to":{"a":"Awa"}}}`, "changes.name.to"},
			{"customer.updated", "customer", `{"name":{"to":["Awa"]}}`, "changes.name.to"},
			{"customer.updated", "customer", `{"name":{"was":"Awa"}}`, "changes"},
			{"customer.updated", "customer", `{"name":{"to":"Awa"},"name":{"to":""}}`, "changes"},
			{"customer.updated", "customer", `{"name":{"to":"Awa","to":""}}`, "changes"},
			{"customer.updated", "customer", `{"Awa":{"to":1}}`, "changes"},
			{"customer.updated", "customer", `{"name":{"to":"A\u0000"}}`, "changes.name.to"},
			{"order.updated", "order", `{"status":{"to":["Awa"]}}`, "changes.status.to"},
			{"order.updated", "order", `{"title":{"to":"Awa"}}`, "changes"},
			{"store.updated", "store", `{"awa@example.com":{"to":1}}`, "changes"},
			{"Awa was here", "customer", `{}`, "action"},
			{"order.updated", "customer", `{}`, "action"},
			{"customer.", "customer", `{}`, "action"},
		} {
			stored, field := try(transfer.Activity, entry(row.action, row.resource, row.changes))
			require.Equal(t, row.refused, field, "%s %s", row.action, row.changes)
			require.Equal(t, row.refused == "", stored == 1)
		}

		id := uuid.New()
		event := func(kind, payload string) string {
			return string(apijson.Marshal(&adminv1.Event{Id: id.String(), Type: kind, Payload: payload, CreatedAt: apijson.Timestamp(at)}))
		}
		customer := &storefrontv1.Customer{Id: uuid.NewString(), Name: "Awa", Email: new("awa@example.com"), Currency: "XAF",
			CreatedAt: apijson.Timestamp(at)}
		good := string(hook.Envelope(id, hook.CustomerCreated, at, uuid.New(), "elsewhere", customer))
		for _, row := range []struct{ kind, payload, refused string }{
			{hook.CustomerCreated, `{"a":"awa@example.com"}`, "payload"},
			{hook.CustomerCreated, `{}`, "payload"},
			{hook.OrderPaid, good, "payload"},
			{hook.CustomerCreated, string(hook.Envelope(uuid.New(), hook.CustomerCreated, at, uuid.New(), "s", customer)), "payload"},
			{"customer.seen", good, "type"},
			{hook.CustomerCreated, good, ""},
		} {
			stored, field := try(transfer.Events, event(row.kind, row.payload))
			require.Equal(t, row.refused, field, "%s %s", row.kind, row.payload)
			require.Equal(t, row.refused == "", stored == 1)
		}
		id = uuid.New()
		stored, _ := try(transfer.Events, event(hook.OrderPaid, hook.Forgotten))
		require.Equal(t, 1, stored)
		_, field := try(transfer.Deliveries, `{"id":"`+uuid.NewString()+`","webhookId":"`+id.String()+`","eventId":"`+id.String()+
			`","eventType":"Awa","status":"failed","createdAt":"2026-09-01T12:00:00Z","finishedAt":"2026-09-01T12:00:00Z"}`)
		require.Equal(t, "eventType", field)

		entries, err := o.ListActivity(t.Context(), &adminv1.ListActivityRequest{Store: "s"})
		require.NoError(t, err)
		for _, e := range entries.GetEntries() {
			require.True(t, json.Valid([]byte(e.GetChanges())))
		}
	})
}
