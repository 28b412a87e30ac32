package main

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/timestamppb"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/db/dbtest/need"
	"go.storefront.example/ent/hook"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/auth"
	"go.storefront.example/server/shop/shoptest"
)

func command(t *testing.T, status int, args ...string) (out, errs string) {
	t.Helper()
	var printed, said strings.Builder
	got := run(t.Context(), args, func(string) (string, bool) { return "", false }, strings.NewReader(""), &printed, &said)
	require.Equal(t, status, got, "%v: %s%s", args, &printed, &said)
	return printed.String(), said.String()
}

// gets returns the paths under /v1 that answer GET, as the protos define them.
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

// filters has queries for the API's lists by path. reader.all also gets each list without one.
var filters = map[string][]string{
	"/v1/products": {"q=guide", "q=%C3%A9", "status=DRAFT", "status=PUBLISHED", "status=ARCHIVED", "type=FILE",
		"page=2&pageSize=3"},
	"/v1/customers": {"q=a", "q=%2B237", "page=2&pageSize=5"},
	"/v1/orders": {"status=PAID", "status=PENDING", "status=REFUNDED", "status=FAILED", "status=CANCELLED", "page=3&pageSize=7",
		"from=2026-10-20T00:00:00Z", "to=2026-11-10T00:00:00Z"},
	"/v1/payment-links": {"status=active", "status=inactive", "page=2&pageSize=2"},
}

type reader struct {
	t         *testing.T
	url, slug string
	operator  *admin.Operator
	key       string
	left      int
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

// r.all returns every GET answer by path and query.
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

// dinars creates souk, whose currency has three decimals, and kuna, whose currency and country a new store may not have.
func dinars(t *testing.T, url string) {
	t.Helper()
	handle, err := hook.Open(t.Context(), db.Config{URL: url})
	require.NoError(t, err)
	defer func() { require.NoError(t, handle.Close()) }()
	o := admin.New(handle, admin.Options{})
	_, err = o.CreateStore(t.Context(), &adminv1.CreateStoreRequest{Name: "Souk", Slug: "souk", Currency: "KWD", Country: "KW",
		PlatformFeePercent: new(1.25), UnavailableTypes: []storefrontv1.Product_Type{storefrontv1.Product_EVENT}})
	require.NoError(t, err)
	_, err = o.ImportStore(t.Context(), &adminv1.ImportStoreRequest{Store: "kuna", Create: true, ExportedAt: timestamppb.Now(),
		Exported: &adminv1.ExportedStore{Settings: &adminv1.StoreSettings{PaymentLinksOpen: true}, Store: &storefrontv1.Store{Id: uuid.NewString(), Name: "Kuna",
			Slug: "kuna", Url: "https://kuna.example", Currency: "HRK", Country: "AN", Status: storefrontv1.Store_open,
			CreatedAt: timestamppb.Now()}}})
	require.NoError(t, err)
	for _, store := range []string{"souk", "kuna"} {
		p, err := o.CreateProduct(t.Context(), &adminv1.CreateProductRequest{Store: store, Title: "=1+1 دليل",
			PriceAmount: new(int64(12_345)),
			Type:        storefrontv1.Product_FILE, Description: new("<p>,\"\n</p>"), ContentReady: new(true)})
		require.NoError(t, err)
		_, err = o.CreatePaymentLink(shoptest.In(t, t.Context(), o, store), &storefrontv1.CreatePaymentLinkRequest{Title: "@L",
			Pricing: storefrontv1.PaymentLink_OPEN, MinAmount: new(int64(500))})
		require.NoError(t, err)
		order, err := o.CreateOrder(t.Context(), &adminv1.CreateOrderRequest{Store: store, Email: new("a@example.com"), Name: "-2+3",
			Items: []*adminv1.CreateOrderRequest_Item{{ProductId: p.GetId(), Quantity: 3}}})
		require.NoError(t, err)
		_, err = o.PayOrder(t.Context(), &adminv1.PayOrderRequest{Id: order.GetId()})
		require.NoError(t, err)
	}
}

// From each database to the other and back, as folder and as archive, and through a server.
func TestAnExportAnswersEveryGETAfterItsImport(t *testing.T) {
	t.Parallel()
	for _, way := range [][2]string{{dbtest.SQLite, dbtest.SQLite}, {dbtest.SQLite, dbtest.Postgres},
		{dbtest.Postgres, dbtest.SQLite}} {
		t.Run(way[0]+" to "+way[1], func(t *testing.T) {
			t.Parallel()
			if way[0] == dbtest.Postgres {
				need.Heavy(t, "it moves the stores the other way, which the way from SQLite does on its way back")
			}
			source, target, back := dbtest.URL(t, way[0]), dbtest.URL(t, way[1]), dbtest.URL(t, way[0])
			require.NoError(t, makeDemo(t.Context(), source))
			dinars(t, source)
			remote := startServer(t, "--database-url", target, "--admin-token", remoteToken)
			for _, slug := range []string{demoSlug, demoEuroSlug, "souk", "kuna"} {
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

// Only the owner can read the files, and a spreadsheet evaluates none of their texts.
func TestAnExportForPeople(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t, dbtest.SQLite)
	dinars(t, url)
	folder := filepath.Join(t.TempDir(), "export")
	command(t, 0, "export", "--store", "souk", "--database-url", url, "-o", "csv", folder)
	files, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Len(t, files, len(rowMessages)+1)
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

func TestAnExportIsWholeOrNotThere(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t, dbtest.SQLite)
	dinars(t, url)
	for _, name := range []string{"export", "export" + archiveSuffix} {
		parent := t.TempDir()
		path := filepath.Join(parent, name)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.Equal(t, 1, run(ctx, []string{"export", "--store", "souk", "--database-url", url, path},
			func(string) (string, bool) { return "", false }, strings.NewReader(""), io.Discard, io.Discard))
		require.Empty(t, namesIn(t, parent))
		command(t, 1, "export", "--store", "nobody", "--database-url", url, path)
		require.Empty(t, namesIn(t, parent))

		half := filepath.Join(parent, ".storefront-new-1")
		require.NoError(t, os.Mkdir(half, 0o700)) // the folder that a killed export leaves
		require.NoError(t, os.WriteFile(filepath.Join(half, "lock"), nil, 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(half, "orders.ndjson"), []byte("half"), 0o600))
		command(t, 0, "export", "--store", "souk", "--database-url", url, path)
		require.Equal(t, []string{name}, namesIn(t, parent))
		taken := []string{path}
		for i, to := range []string{name, "nothing"} {
			if link := filepath.Join(parent, strconv.Itoa(i)+name); os.Symlink(to, link) == nil {
				taken = append(taken, link)
			}
		}
		for _, path := range taken {
			_, said := command(t, 1, "export", "--store", "souk", "--database-url", url, path)
			require.Contains(t, said, "is there already: name another, or remove it")
		}
		command(t, 0, "import", "--store", "souk", "--create", "--database-url", dbtest.URL(t, dbtest.SQLite), path)
		_, said := command(t, 1, "export", "--store", "souk", "--database-url", url, filepath.Join(parent, "nowhere", name))
		require.Contains(t, said, "no such file")
		require.Len(t, namesIn(t, parent), len(taken))
	}
}

func namesIn(t *testing.T, folder string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// If one of the processes succeeds, there is an export that can be imported.
func TestExportsToOneNameAtOnce(t *testing.T) {
	t.Parallel()
	need.Heavy(t, "it runs pairs of exports")
	source := dbtest.URL(t, dbtest.SQLite)
	require.NoError(t, makeDemo(t.Context(), source))
	from := installation{t, map[string]string{"STOREFRONT_DATABASE_URL": source}}
	for _, name := range []string{"export", "export" + archiveSuffix} {
		for range 5 {
			parent := t.TempDir()
			path := filepath.Join(parent, name)
			pair := []*exec.Cmd{from.command("storefront", "export", "--store", demoSlug, path),
				from.command("storefront", "export", "--store", demoSlug, path)}
			said := make([]bytes.Buffer, len(pair))
			for i, c := range pair {
				c.Stderr = &said[i]
				require.NoError(t, c.Start())
			}
			done := 0
			for i, c := range pair {
				if c.Wait() == nil {
					done++
				} else {
					require.Contains(t, said[i].String(), "is there already")
				}
			}
			require.Equal(t, 1, done)
			require.Equal(t, []string{name}, namesIn(t, parent))
			_, err := readExport(t, path)
			require.NoError(t, err)
		}
	}
}

func readExport(t *testing.T, path string) (manifest, error) {
	t.Helper()
	files, err := openExport(path)
	require.NoError(t, err)
	defer files.Close()
	return readManifest(t.Context(), files, exportFormat)
}

type exportOf map[string]string

func (e exportOf) names() []string { return slices.Sorted(maps.Keys(e)) }

func (e exportOf) manifest(t *testing.T, change func(m *manifest)) {
	t.Helper()
	var m manifest
	require.NoError(t, json.Unmarshal([]byte(e[manifestName]), &m))
	change(&m)
	text, err := json.Marshal(m)
	require.NoError(t, err)
	e[manifestName] = string(text)
}

func (e exportOf) line(t *testing.T, name string, change func(f *exportedFile)) {
	t.Helper()
	e.manifest(t, func(m *manifest) {
		for i := range m.Files {
			if m.Files[i].Name == name {
				change(&m.Files[i])
			}
		}
	})
}

func (e exportOf) unlist(t *testing.T, name string) {
	t.Helper()
	e.manifest(t, func(m *manifest) {
		m.Files = slices.DeleteFunc(m.Files, func(f exportedFile) bool { return f.Name == name })
	})
}

func (e exportOf) folder(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range e {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	return folder
}

// archive writes the files in names in this order, and then further with zeros as content.
func (e exportOf) archive(t *testing.T, names []string, further ...*tar.Header) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a"+archiveSuffix)
	out, err := os.Create(path)
	require.NoError(t, err)
	compressed, err := zstd.NewWriter(out)
	require.NoError(t, err)
	archive := tar.NewWriter(compressed)
	for _, name := range names {
		text := e[filepath.Base(name)]
		require.NoError(t, archive.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(text))}))
		_, err := io.WriteString(archive, text)
		require.NoError(t, err)
	}
	for _, header := range further {
		require.NoError(t, archive.WriteHeader(header))
		_, err := io.CopyN(archive, zeros{}, header.Size)
		require.NoError(t, err)
	}
	require.NoError(t, errors.Join(archive.Close(), compressed.Close(), out.Close()))
	return path
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func exported(t *testing.T) exportOf {
	t.Helper()
	source, made := dbtest.URL(t, dbtest.SQLite), filepath.Join(t.TempDir(), "export")
	require.NoError(t, makeDemo(t.Context(), source))
	command(t, 0, "export", "--store", demoSlug, "--database-url", source, made)
	e := exportOf{}
	for _, name := range namesIn(t, made) {
		text, err := os.ReadFile(filepath.Join(made, name))
		require.NoError(t, err)
		e[name] = string(text)
	}
	return e
}

// An import accepts exactly the files that the manifest lists, undamaged, and otherwise stores nothing.
func TestAnExportIsWhatItsManifestLists(t *testing.T) {
	t.Parallel()
	whole, target := exported(t), ""
	const orders = "orders.ndjson"
	cut := strings.Join(strings.SplitAfter(whole[orders], "\n")[:7], "")
	refused := func(want, path string) {
		t.Helper()
		_, said := command(t, 1, "import", "--store", "new", "--create", "--database-url", target, path)
		require.Contains(t, said, want, path)
	}
	for reason, row := range map[string]struct {
		change func(e exportOf)
		want   string
	}{
		"a file is cut": {func(e exportOf) { e[orders] = cut }, "orders.ndjson is not as it was exported: it has a length of"},
		"a file is cut, and has no line": {func(e exportOf) { e[orders] = cut; e.unlist(t, orders) },
			"the export has orders.ndjson, which manifest.json does not list"},
		"a byte differs": {func(e exportOf) { e[orders] = strings.Replace(cut, "1", "2", 1) + e[orders][len(cut):] },
			"orders.ndjson is not as it was exported: it has the SHA-256"},
		"a file is missing": {func(e exportOf) { delete(e, orders) }, "the export has no orders.ndjson"},
		"a file is missing, and has no line": {func(e exportOf) { delete(e, orders); e.unlist(t, orders) },
			"manifest.json lists no orders.ndjson"},
		"the store is missing, and has no line": {func(e exportOf) { delete(e, "store.ndjson"); e.unlist(t, "store.ndjson") },
			"manifest.json lists no store.ndjson"},
		"a file too many":       {func(e exportOf) { e["coupons.ndjson"] = "{}\n" }, "coupons.ndjson, which manifest.json does not list"},
		"two lines of one file": {func(e exportOf) { e.manifest(t, func(m *manifest) { m.Files = append(m.Files, m.Files[0]) }) }, "lists it twice"},
		"a file elsewhere": {func(e exportOf) { e.line(t, orders, func(f *exportedFile) { f.Name = "../" + orders }) },
			"the export has no ../"},
		"other rows":      {func(e exportOf) { e.line(t, orders, func(f *exportedFile) { f.Rows-- }) }, "it has rows: "},
		"no rows":         {func(e exportOf) { e.line(t, orders, func(f *exportedFile) { f.Rows = 0 }) }, "it has rows: "},
		"another length":  {func(e exportOf) { e.line(t, orders, func(f *exportedFile) { f.Bytes++ }) }, "it has a length of"},
		"no checksum":     {func(e exportOf) { e.line(t, orders, func(f *exportedFile) { f.SHA256 = "" }) }, "it has the SHA-256"},
		"no lines at all": {func(e exportOf) { e.manifest(t, func(m *manifest) { m.Files = nil }) }, "which manifest.json does not list"},
		"no manifest":     {func(e exportOf) { delete(e, manifestName) }, "this is no export: it has no manifest.json"},
		"half a manifest": {func(e exportOf) { e[manifestName] = e[manifestName][:99] }, "read manifest.json of the export"},
		"a long manifest": {func(e exportOf) { e[manifestName] += strings.Repeat(" ", maxManifestBytes) }, "manifest.json is longer than"},
		"another format":  {func(e exportOf) { e.manifest(t, func(m *manifest) { m.Format = "storefront-export/9" }) }, "the format \"storefront-export/9\""},
		"a line that is too long": {func(e exportOf) {
			e[orders] = strings.Repeat("0", 17<<20)
			e.line(t, orders, func(f *exportedFile) {
				*f = exportedFile{Name: orders}
				require.NoError(t, f.measure(strings.NewReader(e[orders])))
			})
		}, "line 1:  is longer than 16 MiB"},
	} {
		e := maps.Clone(whole)
		row.change(e)
		target = dbtest.URL(t, dbtest.SQLite)
		refused(row.want, e.folder(t))
		refused(row.want, e.archive(t, e.names()))
		if reason != "a line that is too long" {
			out, _ := command(t, 0, "store", "list", "--database-url", target, "-o", "json")
			require.Equal(t, "[]\n", out, "%s: nothing was stored", reason)
		}
	}

	target = dbtest.URL(t, dbtest.SQLite)
	all := whole.names()
	refused("the export has orders.ndjson twice", whole.archive(t, append(all, orders)))
	refused("orders is no file", whole.archive(t, all, &tar.Header{Name: "orders", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}))
	refused("orders is no file", whole.archive(t, all, &tar.Header{Name: "orders", Typeflag: tar.TypeLink, Linkname: orders}))
	refused("../x", whole.archive(t, all, &tar.Header{Name: "../x", Typeflag: tar.TypeReg}))
	var many []*tar.Header
	for i := range maxExportFiles {
		many = append(many, &tar.Header{Name: strconv.Itoa(i), Typeflag: tar.TypeReg})
	}
	refused("more than 100 files", whole.archive(t, all, many...))
	archive := whole.archive(t, all)
	text, err := os.ReadFile(archive)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(archive, text[:len(text)/2], 0o600))
	refused("unexpected EOF", archive)
	require.NoError(t, os.WriteFile(archive, []byte("no archive"), 0o600))
	refused("no whole .tar.zst file", archive)
	refused("no such file", filepath.Join(t.TempDir(), "nothing"))
	folder := whole.folder(t)
	require.NoError(t, os.Remove(filepath.Join(folder, orders)))
	if os.Symlink(filepath.Join(whole.folder(t), orders), filepath.Join(folder, orders)) == nil {
		refused("orders.ndjson is no file", folder)
	}
	out, _ := command(t, 0, "store", "list", "--database-url", target, "-o", "json")
	require.Equal(t, "[]\n", out, "nothing was stored")

	// Operating systems leave files in folders, and a person's archive may be in any order.
	slices.Reverse(all)
	for i := range all {
		all[i] = "./" + all[i]
	}
	folder = whole.folder(t)
	require.NoError(t, os.WriteFile(filepath.Join(folder, ".DS_Store"), nil, 0o600))
	for _, path := range []string{folder, whole.archive(t, all, &tar.Header{Name: "./", Typeflag: tar.TypeDir},
		&tar.Header{Name: "./._orders.ndjson", Typeflag: tar.TypeReg})} {
		command(t, 0, "import", "--store", "new", "--create", "--database-url", dbtest.URL(t, dbtest.SQLite), path)
	}
	for _, wrong := range [][]string{{"--events", folder}, {"--dry-run", folder}, {"products"}, {"coupons", "file"},
		{"--create", "orders", "-"}} {
		command(t, 2, append([]string{"import", "--store", "new", "--database-url", target}, wrong...)...)
	}
}

// A small archive may unpack to 128 MiB. Not parallel, because it measures memory.
func TestALargeFileNeedsLittleMemory(t *testing.T) {
	const size, mostAllocated = 128 << 20, 64 << 20
	target := dbtest.URL(t, dbtest.SQLite)
	e := exported(t)
	var large exportedFile
	require.NoError(t, large.measure(io.LimitReader(zeros{}, size)))
	listed := maps.Clone(e)
	delete(listed, "orders.ndjson")
	listed.line(t, "orders.ndjson", func(f *exportedFile) { f.Rows, f.Bytes, f.SHA256 = large.Rows, large.Bytes, large.SHA256 })
	unnamed := maps.Clone(e)
	delete(unnamed, manifestName)
	header := func(name string) *tar.Header { return &tar.Header{Name: name, Typeflag: tar.TypeReg, Size: size} }
	rows := map[string]string{
		"orders.ndjson: line 1:  is longer than 16 MiB": listed.archive(t, listed.names(), header("orders.ndjson")),
		"manifest.json is longer than":                  unnamed.archive(t, unnamed.names(), header(manifestName)),
		"coupons.ndjson, which manifest.json does not":  e.archive(t, e.names(), header("coupons.ndjson")),
	}
	if runtime.GOOS != "windows" { // on Windows, a sparse file takes its full size on the disk
		folder := listed.folder(t)
		f, err := os.Create(filepath.Join(folder, "orders.ndjson"))
		require.NoError(t, err)
		require.NoError(t, errors.Join(f.Truncate(size), f.Close()))
		rows["orders.ndjson: line 1:  is longer"] = folder
	}
	for want, path := range rows {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, said := command(t, 1, "import", "--store", "new", "--create", "--database-url", target, path)
		runtime.ReadMemStats(&after)
		require.Contains(t, said, want)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(mostAllocated), want)
		t.Logf("%s: %d MiB allocated", want, (after.TotalAlloc-before.TotalAlloc)>>20)
	}
}

// Texts that a spreadsheet would evaluate survive an export to CSV and its import.
func TestTextsAreTheSameAfterAFileOfCSV(t *testing.T) {
	t.Parallel()
	source, target := dbtest.URL(t, dbtest.SQLite), dbtest.URL(t, dbtest.SQLite)
	titles := []string{"=1+1", "＝1+1", "＋1", "－1", "＠SUM(1)", "+a", "-a", "@a", "'=1", "''＝1", "'", "''", "'90", "'90s Hits", "-5", "+237 670 000 001",
		"12\" vinyl", "a;b,c\td"}
	for _, url := range []string{source, target} {
		command(t, 0, "store", "create", "--name", "S", "--slug", "s", "--currency", "XAF", "--country", "CM", "--database-url", url)
	}
	for _, title := range titles {
		command(t, 0, "product", "create", "--store", "s", "--title="+title, "--type", "FILE", "--price", "1", "--database-url", source)
	}
	listed := func(url, format string) string {
		out, _ := command(t, 0, "product", "list", "--store", "s", "--page-size", "100", "--database-url", url, "-o", format)
		return out
	}
	exported := filepath.Join(t.TempDir(), "export")
	command(t, 0, "export", "--store", "s", "--database-url", source, "-o", "csv", exported)
	list := filepath.Join(t.TempDir(), "list.csv")
	require.NoError(t, os.WriteFile(list, []byte(listed(source, "csv")), 0o600))
	for _, file := range []string{filepath.Join(exported, "products.csv"), list} {
		target := dbtest.URL(t, dbtest.SQLite)
		command(t, 0, "store", "create", "--name", "S", "--slug", "s", "--currency", "XAF", "--country", "CM", "--database-url", target)
		command(t, 0, "import", "--store", "s", "--map", "contentReady=", "--database-url", target, "products", file)
		var products []struct{ Title string }
		require.NoError(t, json.Unmarshal([]byte(listed(target, "json")), &products))
		var got []string
		for _, p := range products {
			got = append(got, p.Title)
		}
		require.ElementsMatch(t, titles, got)
	}
}

func TestPackingIsInterrupted(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("a hole takes room on its disk there")
	}
	folder, archive := t.TempDir(), filepath.Join(t.TempDir(), "a.tar.zst")
	// The manifest is a sparse file of 1 TiB.
	for path, size := range map[string]int64{filepath.Join(folder, manifestName): 1 << 40, archive: 0} {
		f, err := os.Create(path)
		require.NoError(t, err)
		require.NoError(t, errors.Join(f.Truncate(size), f.Close()))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, pack(ctx, archive, folder, nil), context.DeadlineExceeded)
}
