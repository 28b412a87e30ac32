package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"go.storefront.example/ent/apijson"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/resource"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/transfer/transfertest"
)

// filled returns two objects with a distinct value in every field. updates has other values for them; none for orders, which
// cannot be updated.
func filled(kind string) (objects, updates []proto.Message) {
	var f transfertest.Filler
	for range 2 {
		var object, update proto.Message
		switch kind {
		case "product":
			made := &storefrontv1.Product{CompareAtAmount: new(int64(9_000_000)), Status: storefrontv1.Product_DRAFT}
			object, update = made, &storefrontv1.Product{CompareAtAmount: new(int64(9_100_000)), Status: storefrontv1.Product_ARCHIVED}
			f.Fill(object)
			update.(*storefrontv1.Product).Id = made.GetId()
		case "customer":
			made := &storefrontv1.Customer{}
			object, update = made, &storefrontv1.Customer{}
			f.Fill(object)
			update.(*storefrontv1.Customer).Id = made.GetId()
		case "order":
			made := &storefrontv1.Order{Status: storefrontv1.Order_REFUNDED}
			object = made
			f.Fill(object)
			made.PaymentLink = nil // an import makes no payment links; tests of server/admin export and import them
		}
		if objects = append(objects, object); update != nil {
			f.Fill(update)
			updates = append(updates, update)
		}
	}
	return objects, updates
}

func newShop(t *testing.T, database string) func(args ...string) string {
	t.Helper()
	url := dbtest.URL(t, database)
	do := func(args ...string) string {
		t.Helper()
		out, _ := command(t, 0, append(args, "--store", "s", "--database-url", url)...)
		return out
	}
	command(t, 0, "store", "create", "--name", "S", "--slug", "s", "--currency", "XAF", "--country", "CM", "--database-url", url)
	return do
}

func listed(t *testing.T, out string) []string {
	t.Helper()
	var objects []json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(out), &objects))
	texts := make([]string, len(objects))
	for i, object := range objects {
		texts[i] = string(object)
	}
	slices.Sort(texts)
	return texts
}

func write(t *testing.T, name, text string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// Also fields that will be added, from JSON, a list's CSV, and an export's.
func TestAnImportKeepsEveryField(t *testing.T) {
	t.Parallel()
	for _, database := range dbtest.Databases() {
		for _, kind := range []string{"product", "customer", "order"} {
			t.Run(database+"/"+kind, func(t *testing.T) {
				t.Parallel()
				objects, updates := filled(kind)
				var want []string
				for _, object := range objects {
					want = append(want, string(apijson.Marshal(object)))
				}
				slices.Sort(want)
				do := newShop(t, database)
				do("import", kind+"s", write(t, "lines.ndjson", strings.Join(want, "\n")+"\n"))
				require.Equal(t, want, listed(t, do(kind, "list", "-o", "json")), "lines of JSON")

				list, folder := do(kind, "list", "-o", "csv"), t.TempDir()
				do("export", "-o", "csv", filepath.Join(folder, "export"))
				exported, err := os.ReadFile(filepath.Join(folder, "export", kind+"s.csv"))
				require.NoError(t, err)
				for from, text := range map[string]string{"the CSV of a list": list, "the CSV of an export": string(exported)} {
					other := newShop(t, database)
					other("import", kind+"s", write(t, "rows.csv", text))
					require.Equal(t, want, listed(t, other(kind, "list", "-o", "json")), from)
				}
				if len(updates) > 0 {
					updateKeeps(t, do, kind, updates)
				}
			})
		}
	}
}

func updateKeeps(t *testing.T, do func(...string) string, kind string, updates []proto.Message) {
	t.Helper()
	var lines string
	for _, update := range updates {
		lines += string(apijson.Marshal(update)) + "\n"
	}
	do("import", "--update", kind+"s", write(t, "updates.ndjson", lines))
	columns := map[string][]resource.Column{"product": resource.ProductFields.Columns(),
		"customer": resource.CustomerFields.Columns()}[kind]
	changeable := map[string]bool{}
	for _, c := range columns {
		_, product := resource.ProductFields.Lookup(c.Name)
		_, customer := resource.CustomerFields.Lookup(c.Name)
		changeable[c.Journal] = kind == "product" && product || kind == "customer" && customer
	}
	shown := map[string]map[string]any{}
	for _, text := range listed(t, do(kind, "list", "-o", "json")) {
		var object map[string]any
		require.NoError(t, json.Unmarshal([]byte(text), &object))
		shown[object["id"].(string)] = object
	}
	for _, update := range updates {
		var object map[string]any
		require.NoError(t, json.Unmarshal(apijson.Marshal(update), &object))
		for field, value := range object {
			if changeable[field] {
				require.Equal(t, value, shown[object["id"].(string)][field], field)
			}
		}
	}
}
