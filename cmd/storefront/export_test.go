package main

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/hook"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/auth"
)

// command runs a command in this process, which must end with the status, and returns what it prints.
func command(t *testing.T, status int, args ...string) (out, errs string) {
	t.Helper()
	var printed, said strings.Builder
	got := run(t.Context(), args, func(string) (string, bool) { return "", false }, strings.NewReader(""), &printed, &said)
	require.Equal(t, status, got, "%v: %s%s", args, &printed, &said)
	return printed.String(), said.String()
}

// gets are the paths of all GETs under /v1, from the API's definition.
func gets() (paths []string) {
	protoregistry.GlobalFiles.RangeFilesByPackage("storefront.v1", func(f protoreflect.FileDescriptor) bool {
		for i := range f.Services().Len() {
			for methods, j := f.Services().Get(i).Methods(), 0; j < methods.Len(); j++ {
				rule, _ := proto.GetExtension(methods.Get(j).Options(), annotations.E_Http).(*annotations.HttpRule)
				if rule.GetGet() != "" {
					paths = append(paths, rule.GetGet())
				}
			}
		}
		return true
	})
	return paths
}

// filters are queries of the lists beside none.
var filters = map[string][]string{
	"/v1/products": {"q=guide", "q=%C3%A9", "status=DRAFT", "status=PUBLISHED", "status=ARCHIVED", "type=FILE",
		"page=2&pageSize=3"},
	"/v1/customers": {"q=a", "q=%2B237", "page=2&pageSize=5"},
	"/v1/orders": {"status=PAID", "status=PENDING", "status=REFUNDED", "status=FAILED", "status=CANCELLED", "page=3&pageSize=7",
		"from=2026-10-20T00:00:00Z", "to=2026-11-10T00:00:00Z"},
	"/v1/payment-links": {"status=active", "status=inactive", "page=2&pageSize=2"},
}

// reader reads what a store answers on a server of its own.
type reader struct {
	t         *testing.T
	url, slug string
	operator  *admin.Operator
	key       string
	left      int // requests that the key may still make
}

func newReader(t *testing.T, databaseURL, slug string) *reader {
	t.Helper()
	handle, err := hook.Open(t.Context(), db.Config{URL: databaseURL, MaxConns: 4})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, handle.Close()) })
	running, err := server.New(server.Config{Addr: "127.0.0.1:0", AdminAddr: "127.0.0.1:0", DB: handle,
		Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- running.Run(ctx) }()
	t.Cleanup(func() { stop(); require.NoError(t, <-ended) })
	return &reader{t: t, url: "http://" + running.Addr().String(), slug: slug, operator: admin.New(handle, admin.Options{})}
}

// get returns the body of a GET.
func (r *reader) get(path string) string {
	r.t.Helper()
	if r.left == 0 {
		made, err := r.operator.CreateKey(r.t.Context(), &adminv1.CreateKeyRequest{Store: r.slug,
			Name:   fmt.Sprint("k", time.Now().UnixNano()),
			Scopes: auth.Scopes(), Lifetime: adminv1.Key_DAYS_30})
		require.NoError(r.t, err)
		r.key, r.left = made.GetSecret(), 100
	}
	r.left--
	in, err := http.NewRequestWithContext(r.t.Context(), http.MethodGet, r.url+path, nil)
	require.NoError(r.t, err)
	in.Header.Set("Authorization", "Bearer "+r.key)
	out, err := http.DefaultClient.Do(in)
	require.NoError(r.t, err)
	defer out.Body.Close()
	body, err := io.ReadAll(out.Body)
	require.NoError(r.t, err)
	require.Equal(r.t, http.StatusOK, out.StatusCode, "%s: %s", path, body)
	return string(body)
}

// all are the answers of every GET, by its address.
func (r *reader) all() map[string]string {
	r.t.Helper()
	answers := map[string]string{}
	for _, path := range gets() {
		list, one := strings.CutSuffix(path, "/{id}")
		if !one {
			answers[path] = r.get(path)
			for _, query := range filters[path] {
				answers[path+"?"+query] = r.get(path + "?" + query)
			}
			continue
		}
		var page struct{ Data []struct{ ID string } }
		require.NoError(r.t, json.Unmarshal([]byte(r.get(list+"?pageSize=100")), &page))
		require.NotEmpty(r.t, page.Data, "%s has something to show", list)
		for _, row := range page.Data {
			answers[list+"/"+row.ID] = r.get(list + "/" + row.ID)
		}
	}
	return answers
}

// dinars makes a store in a currency with three decimals.
func dinars(t *testing.T, url string) {
	t.Helper()
	handle, err := hook.Open(t.Context(), db.Config{URL: url})
	require.NoError(t, err)
	defer func() { require.NoError(t, handle.Close()) }()
	o := admin.New(handle, admin.Options{})
	_, err = o.CreateStore(t.Context(), &adminv1.CreateStoreRequest{Name: "Souk", Slug: "souk", Currency: "KWD", Country: "KW",
		PlatformFeePercent: new(1.25), UnavailableTypes: []storefrontv1.Product_Type{storefrontv1.Product_EVENT}})
	require.NoError(t, err)
	p, err := o.CreateProduct(t.Context(), &adminv1.CreateProductRequest{Store: "souk", Title: "=1+1 دليل",
		PriceAmount: new(int64(12_345)),
		Type:        storefrontv1.Product_FILE, Description: new("<p>,\"\n</p>"), ContentReady: new(true)})
	require.NoError(t, err)
	_, err = o.CreatePaymentLink(t.Context(), &adminv1.CreatePaymentLinkRequest{Store: "souk", Title: "@L",
		Pricing: storefrontv1.PaymentLink_OPEN, MinAmount: new(int64(500))})
	require.NoError(t, err)
	order, err := o.CreateOrder(t.Context(), &adminv1.CreateOrderRequest{Store: "souk", Email: new("a@example.com"), Name: "-2+3",
		Items: []*adminv1.CreateOrderRequest_Item{{ProductId: p.GetId(), Quantity: 3}}})
	require.NoError(t, err)
	_, err = o.PayOrder(t.Context(), &adminv1.PayOrderRequest{Id: order.GetId()})
	require.NoError(t, err)
}

// Every GET under /v1 answers after an import of an export as it did before: of stores in francs, euros and dinars, in the
// other kind of database and back again, as folder and as archive, on the database and through a server.
func TestAnExportAnswersEveryGETAfterItsImport(t *testing.T) {
	t.Parallel()
	for _, way := range [][2]string{{dbtest.SQLite, dbtest.SQLite}, {dbtest.SQLite, dbtest.Postgres},
		{dbtest.Postgres, dbtest.SQLite}} {
		t.Run(way[0]+" to "+way[1], func(t *testing.T) {
			t.Parallel()
			source, target, back := dbtest.URL(t, way[0]), dbtest.URL(t, way[1]), dbtest.URL(t, way[0])
			require.NoError(t, makeDemo(t.Context(), source))
			dinars(t, source)
			remote := startServer(t, "--database-url", target, "--admin-token", remoteToken)
			for _, slug := range []string{demoSlug, demoEuroSlug, "souk"} {
				folder := t.TempDir()
				there, archive := filepath.Join(folder, "export"), filepath.Join(folder, "export.tar.zst")
				command(t, 0, "export", "--store", slug, "--database-url", source, there)
				command(t, 0, "import", "--store", slug, "--create", "--admin-url", remote, "--admin-token", remoteToken, there)
				command(t, 0, "export", "--store", slug, "--admin-url", remote, "--admin-token", remoteToken, archive)
				command(t, 0, "import", "--store", slug, "--create", "--database-url", back, archive)
				want := newReader(t, source, slug).all()
				require.Equal(t, want, newReader(t, target, slug).all())
				require.Equal(t, want, newReader(t, back, slug).all())
			}
		})
	}
}

// An export's files are whole, their owner's alone, and none of them computes anything in a spreadsheet.
func TestAnExportForPeople(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t, dbtest.SQLite)
	dinars(t, url)
	folder := filepath.Join(t.TempDir(), "export")
	command(t, 0, "export", "--store", "souk", "--database-url", url, "-o", "csv", folder)
	files, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Len(t, files, len(rowsOf)+1)
	for _, file := range files {
		info, err := file.Info()
		require.NoError(t, err)
		if runtime.GOOS != "windows" {
			require.Equal(t, fs.FileMode(0o600), info.Mode())
		}
		if file.Name() == manifestName {
			continue
		}
		text, err := os.ReadFile(filepath.Join(folder, file.Name()))
		require.NoError(t, err)
		rows, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(string(text), "\ufeff"))).ReadAll()
		require.NoError(t, err, "every row has the header's columns")
		for _, row := range rows {
			for _, cell := range row {
				require.False(t, cell != "" && strings.Contains("=+-@\t\r", cell[:1]), "%s: %s", file.Name(), cell)
			}
		}
	}
	text, err := os.ReadFile(filepath.Join(folder, "products.csv"))
	require.NoError(t, err)
	require.Contains(t, string(text), "'=1+1 دليل")
	_, said := command(t, 1, "import", "--store", "new", "--create", "--database-url", dbtest.URL(t, dbtest.SQLite), folder)
	require.Contains(t, said, "is for people")
}

// An export that is not whole, or not as it was written, is refused before anything is stored; one that is broken off
// leaves nothing, and what an earlier one left is cleared away.
func TestAnExportIsWholeOrNotThere(t *testing.T) {
	t.Parallel()
	url, target := dbtest.URL(t, dbtest.SQLite), dbtest.URL(t, dbtest.SQLite)
	dinars(t, url)
	parent := t.TempDir()
	folder := filepath.Join(parent, "export")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.Equal(t, 1, run(ctx, []string{"export", "--store", "souk", "--database-url", url, folder},
		func(string) (string, bool) { return "", false }, strings.NewReader(""), io.Discard, io.Discard))
	left, err := os.ReadDir(parent)
	require.NoError(t, err)
	require.Empty(t, left)

	require.NoError(t, os.Mkdir(filepath.Join(parent, ".new-export"), 0o700)) // of one that was killed
	require.NoError(t, os.WriteFile(filepath.Join(parent, ".new-export", "orders.ndjson"), []byte("half"), 0o600))
	command(t, 0, "export", "--store", "souk", "--database-url", url, folder)
	_, said := command(t, 1, "export", "--store", "souk", "--database-url", url, folder)
	require.Contains(t, said, "is there already: name another, or remove it")
	archive := filepath.Join(parent, "export.tar.zst")
	command(t, 0, "export", "--store", "souk", "--database-url", url, archive)
	whole, err := os.ReadFile(archive)
	require.NoError(t, err)

	refused := func(want, path string) {
		t.Helper()
		_, said := command(t, 1, "import", "--store", "souk", "--create", "--database-url", target, path)
		require.Contains(t, said, want)
	}
	require.NoError(t, os.WriteFile(filepath.Join(parent, "cut.tar.zst"), whole[:len(whole)/2], 0o600))
	refused("no whole .tar.zst file", filepath.Join(parent, "cut.tar.zst"))
	orders := filepath.Join(folder, "orders.ndjson")
	text, err := os.ReadFile(orders)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(orders, text[:len(text)-2], 0o600))
	refused("orders.ndjson is not as it was exported", folder)
	require.NoError(t, os.Remove(orders))
	refused("orders.ndjson", folder)
	require.NoError(t, os.Remove(filepath.Join(folder, manifestName)))
	refused("is no export: it has no manifest.json", folder)
	out, _ := command(t, 0, "store", "list", "--database-url", target, "-o", "json")
	require.Equal(t, "[]\n", out, "nothing was stored")
	for _, wrong := range [][]string{{"--events", folder}, {"--dry-run", folder}, {"products"}, {"coupons", "file"},
		{"--create", "orders", "-"}} {
		command(t, 2, append([]string{"import", "--store", "souk", "--database-url", target}, wrong...)...)
	}
}

// Packing ends with its context in the middle of a file.
func TestPackingIsInterrupted(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("a hole takes room on its disk there")
	}
	folder, archive := t.TempDir(), filepath.Join(t.TempDir(), "a.tar.zst")
	for path, size := range map[string]int64{filepath.Join(folder, "large"): 1 << 40, archive: 0} { // with nothing but a hole
		f, err := os.Create(path)
		require.NoError(t, err)
		require.NoError(t, errors.Join(f.Truncate(size), f.Close()))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, pack(ctx, archive, folder), context.DeadlineExceeded)
}
