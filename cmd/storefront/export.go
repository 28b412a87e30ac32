package main

import (
	"archive/tar"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/zstd"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"go.storefront.example/ent/apijson"
	"go.storefront.example/ent/newfile"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/importing"
)

type exportCmd struct {
	target
	Store string `required:"" placeholder:"SLUG" help:"The store, by slug or id."`
	To    string `arg:"" help:"A folder to make, or a file that ends with .tar.zst."`
}

// What an export's names end with.
const (
	linesSuffix   = ".ndjson"
	csvSuffix     = ".csv"
	archiveSuffix = ".tar.zst"
	manifestName  = "manifest.json"
)

// exportFormat is the format of exports that import reads; csvFormat is for people.
const (
	exportFormat = "storefront-export/1"
	csvFormat    = "storefront-export/1 csv"
)

// manifest says what an export has. It is written last.
type manifest struct {
	Format string `json:"format"`
	Store  struct {
		ID       string `json:"id"`
		Slug     string `json:"slug"`
		Currency string `json:"currency"`
	} `json:"store"`
	ExportedAt date           `json:"exportedAt"`
	Release    string         `json:"release"`
	Files      []exportedFile `json:"files"`
	Notes      []string       `json:"notes"`
}

type exportedFile struct {
	Name   string `json:"name"`
	Rows   int64  `json:"rows"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// exportNotes say what an export lacks and what an import does not take.
var exportNotes = []string{
	"webhooks are without their secrets and keys without their texts: an import takes neither; register and create them again",
	"an import leaves out deliveries that had not ended",
}

// rowsOf are messages of the rows of each kind, whose fields are the columns of its CSV file.
var rowsOf = map[string]proto.Message{
	"store": &adminv1.ExportedStore{}, "products": &storefrontv1.Product{}, "customers": &storefrontv1.Customer{},
	"links": &storefrontv1.PaymentLink{}, "orders": &storefrontv1.Order{}, "webhooks": &adminv1.Webhook{}, "keys": &adminv1.Key{},
	"events": &adminv1.Event{}, "deliveries": &adminv1.Delivery{}, "activity": &adminv1.ActivityEntry{},
}

// Run exports the store.
func (c *exportCmd) Run(s *invocation) error {
	folder, remove, err := newfile.Folder(c.To)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("export: %s is there already: name another, or remove it", c.To)
	}
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	defer remove()
	w := &exportWriter{folder: folder, csv: s.csv, bar: newProgress(s.errs, "exporting", -1)}
	err = s.operate(c.target, func(ctx context.Context, o admin.API) error {
		return errors.Join(o.Export(ctx, &adminv1.ExportStoreRequest{Store: c.Store}, w.take), w.end())
	})
	w.bar.end()
	if err == nil {
		err = w.writeManifest()
	}
	if err == nil && strings.HasSuffix(c.To, archiveSuffix) {
		err = newfile.Create(c.To, func(temporary string) error { return pack(s.ctx, temporary, folder) })
	} else if err == nil {
		err = newfile.Place(folder, c.To)
	}
	_, refused := errors.AsType[*apierr.Refusal](err)
	switch {
	case refused:
		return err
	case err != nil:
		return fmt.Errorf("%w; nothing is written, and a new run begins anew", err)
	case s.json:
		return s.value(w.manifest)
	}
	for _, f := range w.manifest.Files {
		fmt.Fprintf(s.out, "%s: %s\n", f.Name, plural(int(f.Rows), "row"))
	}
	_, err = fmt.Fprintf(s.out, "%s: the store %s as of %s\n", c.To, w.manifest.Store.Slug,
		when(timestamppb.New(w.manifest.ExportedAt.Time)))
	return err
}

// exportWriter writes the rows of an export into the files of a folder.
type exportWriter struct {
	folder   string
	csv      bool
	bar      progress
	manifest manifest
	rows     int64
	// What follows is of the kind at hand.
	kind  string
	of    exportedFile
	file  *os.File // nil before the first
	sum   hash.Hash
	out   io.Writer // into both of them
	table *csvTable
}

// take writes an answer of the export.
func (w *exportWriter) take(in *adminv1.ExportStoreResponse) error {
	if in.GetKind() != w.kind {
		if err := errors.Join(w.end(), w.begin(in)); err != nil {
			return err
		}
	}
	if in.GetKind() == "store" && in.GetRows() > 0 {
		var row adminv1.ExportedStore
		if err := apijson.Unmarshal([]byte(in.GetLines()), &row); err != nil {
			return fmt.Errorf("read the store: %w", err)
		}
		of := &w.manifest.Store
		of.ID, of.Slug, of.Currency = row.GetStore().GetId(), row.GetStore().GetSlug(), row.GetStore().GetCurrency()
		w.manifest.ExportedAt = date{in.GetExportedAt().AsTime()}
	}
	w.of.Rows += int64(in.GetRows())
	w.rows += int64(in.GetRows())
	w.bar.draw(fmt.Sprintf("exporting %s: %d rows, %d in all", w.kind, w.of.Rows, w.rows))
	if !w.csv || in.GetRows() == 0 {
		_, err := io.WriteString(w.out, in.GetLines())
		return err
	}
	return w.table.add(bytes.Split([]byte(strings.TrimSuffix(in.GetLines(), "\n")), []byte("\n")))
}

// begin begins the file of a kind.
func (w *exportWriter) begin(in *adminv1.ExportStoreResponse) (err error) {
	message, known := rowsOf[in.GetKind()]
	if !known {
		return fmt.Errorf("the server exports %s, which this release does not know", in.GetKind())
	}
	w.kind, w.sum, w.of = in.GetKind(), sha256.New(), exportedFile{Name: in.GetKind() + linesSuffix}
	if w.csv {
		w.of.Name = w.kind + csvSuffix
	}
	w.file, err = os.OpenFile(filepath.Join(w.folder, w.of.Name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	w.out = io.MultiWriter(w.file, w.sum)
	if err != nil || !w.csv {
		return err
	}
	if _, err := io.WriteString(w.out, "\ufeff"); err != nil { // makes a spreadsheet read UTF-8
		return err
	}
	like := apijson.Marshal(withMessages(message.ProtoReflect().New()).Interface())
	if w.kind == string(importing.Products) {
		like = append(append(like[:len(like)-1], importing.ContentReady...), "false}"...)
	}
	w.table, err = newCSV(w.out, like)
	return err
}

// end ends the file of a kind.
func (w *exportWriter) end() (err error) {
	if w.file == nil {
		return nil
	}
	w.of.SHA256 = hex.EncodeToString(w.sum.Sum(nil))
	w.of.Bytes, err = w.file.Seek(0, io.SeekCurrent)
	err = errors.Join(err, w.file.Sync(), w.file.Close())
	w.file, w.manifest.Files = nil, append(w.manifest.Files, w.of)
	return err
}

// writeManifest ends the export.
func (w *exportWriter) writeManifest() error {
	w.manifest.Format, w.manifest.Release, w.manifest.Notes = exportFormat, buildOf().Version, exportNotes
	if w.csv {
		w.manifest.Format, w.manifest.Notes = csvFormat, append(exportNotes[:0:0],
			"for people: `storefront import` takes the folder of an "+
				"export without -o csv, or products, customers and orders from here singly")
	}
	text, err := plainJSON(w.manifest)
	if err != nil {
		return err
	}
	return newfile.Create(filepath.Join(w.folder, manifestName), func(temporary string) error {
		return os.WriteFile(temporary, []byte(indented(text)+"\n"), 0o600)
	})
}

// pack writes the files of a folder into an archive, unless the context ends first.
func pack(ctx context.Context, path, folder string) error {
	out, err := os.OpenFile(path, os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = out.Close() })()
	compressed, err := zstd.NewWriter(out)
	if err != nil {
		return errors.Join(err, out.Close())
	}
	archive := tar.NewWriter(compressed)
	err = errors.Join(archive.AddFS(os.DirFS(folder)), archive.Close(), compressed.Close(), out.Close())
	return cmp.Or(ctx.Err(), err)
}

// unpack writes the files of an archive into a folder.
func unpack(path, folder string) error {
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	compressed, err := zstd.NewReader(in)
	if err != nil {
		return err
	}
	defer compressed.Close()
	for archive := tar.NewReader(compressed); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s is no whole .tar.zst file: %w", path, err)
		}
		if header.Typeflag != tar.TypeReg || filepath.Base(header.Name) != header.Name {
			continue // nothing that an export has
		}
		out, err := os.OpenFile(filepath.Join(folder, header.Name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		_, err = io.Copy(out, archive) //nolint:gosec // As large as the export that the operator names.
		if err := errors.Join(err, out.Close()); err != nil {
			return fmt.Errorf("unpack %s: %w", path, err)
		}
	}
}

// readManifest reads the manifest of an export and checks that its files are whole.
func readManifest(folder string) (m manifest, err error) {
	files := os.DirFS(folder) // which opens nothing outside it
	text, err := fs.ReadFile(files, manifestName)
	if errors.Is(err, fs.ErrNotExist) {
		return m, fmt.Errorf("%s is no export: it has no %s", folder, manifestName)
	}
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	switch {
	case err != nil:
		return m, fmt.Errorf("read the export: %w", err)
	case m.Format == csvFormat:
		return m, fmt.Errorf("%s is for people: import one without -o csv, or its products, customers and orders singly", folder)
	case m.Format != exportFormat:
		return m, fmt.Errorf("%s has the format %q, which this release does not know", folder, m.Format)
	}
	for _, f := range m.Files {
		in, err := files.Open(f.Name)
		if err != nil {
			return m, fmt.Errorf("read the export: %w", err)
		}
		sum := sha256.New()
		_, err = io.Copy(sum, in)
		if err := errors.Join(err, in.Close()); err != nil {
			return m, err
		}
		if hex.EncodeToString(sum.Sum(nil)) != f.SHA256 {
			return m, fmt.Errorf("%s is not as it was exported: its SHA-256 differs from that in %s", f.Name, manifestName)
		}
	}
	return m, nil
}
