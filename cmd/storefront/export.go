package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"go.storefront.example/ent/apijson"
	"go.storefront.example/ent/atomicfile"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/transfer"
)

type exportCmd struct {
	target
	secretKey
	Store       string `required:"" placeholder:"SLUG" help:"The store, by slug or id."`
	WithSecrets bool   `name:"with-secrets" help:"Also write the signing secrets of webhooks in clear and the fingerprints of keys, so that another installation can take over the store. Whoever has this export can sign deliveries as the store."`
	To          string `arg:"" help:"A folder to make, or a file that ends with .tar.zst."`
}

const (
	linesSuffix   = ".ndjson"
	csvSuffix     = ".csv"
	archiveSuffix = ".tar.zst"
	manifestName  = "manifest.json"
)

// exportFormat marks exports that import can read; csvFormat marks exports for people.
const (
	exportFormat = "storefront-export/1"
	csvFormat    = "storefront-export/1 csv"
)

// manifest describes an export. It is written last: an export without it is incomplete.
type manifest struct {
	Format string `json:"format"`
	Store  struct {
		ID       string `json:"id"`
		Slug     string `json:"slug"`
		Currency string `json:"currency"`
	} `json:"store"`
	ExportedAt date   `json:"exportedAt"`
	Release    string `json:"release"`
	// WithSecrets is true if the export has the secrets of webhooks and the fingerprints of keys.
	WithSecrets bool           `json:"withSecrets,omitempty"`
	Files       []exportedFile `json:"files"`
	Notes       []string       `json:"notes"`
}

type exportedFile struct {
	Name   string `json:"name"`
	Rows   int64  `json:"rows"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// exportNotes say what an export lacks and an import leaves out; secretNotes are those with secrets.
var (
	exportNotes = []string{
		"webhooks are without their secrets and keys without their texts: an import takes neither; register and create them again",
		"an import leaves out deliveries that had not ended",
		lacking,
	}
	secretNotes = []string{
		"webhooks have their signing secrets in clear: keep this export from others, and delete it once it is imported",
		"keys have their fingerprints, by which an installation accepts them, and not their texts",
		"an import leaves out deliveries that had not ended",
		lacking,
	}
)

const lacking = "idempotency keys, refused requests, usage tallies, sessions, resends and receipts of forgettings are not in an export"

// rowMessages has each kind's message, whose fields are the columns of its CSV file.
var rowMessages = map[string]proto.Message{
	"store": &adminv1.ExportedStore{}, "products": &storefrontv1.Product{}, "customers": &storefrontv1.Customer{},
	"links": &storefrontv1.PaymentLink{}, "orders": &storefrontv1.Order{}, "webhooks": &adminv1.Webhook{}, "keys": &adminv1.Key{},
	"events": &adminv1.Event{}, "deliveries": &adminv1.Delivery{}, "activity": &adminv1.ActivityEntry{},
}

// otherFile matches names of files, which a user gives who wants no folder.
var otherFile = regexp.MustCompile(`(?i)\.(tar|t?gz|zip|zst|csv|(nd)?json)/*$`)

func (c *exportCmd) Run(s *invocation) error {
	switch {
	case c.To == "-":
		return usage("-: an export is a folder or a .tar.zst file, and is not written to standard output")
	case otherFile.MatchString(c.To) && !strings.HasSuffix(c.To, archiveSuffix):
		return usage("%s: an export is a folder or a .tar.zst file, and this is the name of another kind of file", c.To)
	case c.WithSecrets && s.csv:
		return usage("--with-secrets: is for an export that is imported, and -o csv is for people")
	case c.WithSecrets:
		if err := s.seal(c.target, c.secretKey); err != nil {
			return err
		}
	}
	defer useOneProcessor(c.DatabaseURL)()
	w := &exportWriter{csv: s.csv, manifest: manifest{WithSecrets: c.WithSecrets}}
	var err error
	if strings.HasSuffix(c.To, archiveSuffix) {
		err = atomicfile.Create(c.To, func(temporary string) error {
			w.folder = temporary + ".files"
			if err := errors.Join(os.Mkdir(w.folder, 0o700), c.write(s, w)); err != nil {
				return err
			}
			if err := pack(s.ctx, temporary, w.folder, w.manifest.Files); err != nil {
				return err
			}
			return w.readBack(s.ctx, temporary, openArchive)
		})
	} else {
		err = atomicfile.CreateFolder(c.To, func(temporary string) error {
			w.folder = temporary
			if err := c.write(s, w); err != nil {
				return err
			}
			return w.readBack(s.ctx, temporary, openFolder)
		})
	}
	_, refused := errors.AsType[*apierr.Refusal](err)
	switch {
	case errors.Is(err, fs.ErrExist):
		return fmt.Errorf("export: %s is there already: name another, or remove it", c.To)
	case refused:
		return err
	case err != nil:
		return fmt.Errorf("export: %w; nothing is written, and a new run begins anew", err)
	}
	if c.WithSecrets {
		s.printMessage("warning: " + c.To + " has the signing secrets of the store's webhooks in clear: whoever reads it can sign as " +
			"the store; keep it from others, and delete it once it is imported")
	}
	if s.json {
		return s.printValue(w.manifest)
	}
	for _, f := range w.manifest.Files {
		fmt.Fprintf(s.out, "%s: %s\n", f.Name, plural(int(f.Rows), "row"))
	}
	_, err = fmt.Fprintf(s.out, "%s: the store %s as of %s\n", c.To, w.manifest.Store.Slug,
		formatTime(timestamppb.New(w.manifest.ExportedAt.Time)))
	return err
}

// write writes the files into the folder of w, the manifest last.
func (c *exportCmd) write(s *invocation, w *exportWriter) error {
	w.bar = newProgress(s.errs, "exporting", -1)
	defer w.bar.end()
	err := s.operate(c.target, func(ctx context.Context, o admin.API) error {
		return errors.Join(o.Export(ctx, &adminv1.ExportStoreRequest{Store: c.Store, WithSecrets: c.WithSecrets}, w.writeRows), w.end())
	})
	if err != nil {
		return err
	}
	return w.writeManifest()
}

// exportWriter writes the rows of each kind into a file of its own.
type exportWriter struct {
	folder   string
	csv      bool
	bar      progress
	manifest manifest
	rows     int64
	kind     string
	entry    exportedFile
	file     *os.File // nil before the first kind, and between two kinds
	sum      hash.Hash
	out      io.Writer
	table    *csvTable
}

// writeRows writes one answer of the server, and begins a new file for a new kind.
func (w *exportWriter) writeRows(in *adminv1.ExportStoreResponse) error {
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
		store := &w.manifest.Store
		store.ID, store.Slug, store.Currency = row.GetStore().GetId(), row.GetStore().GetSlug(), row.GetStore().GetCurrency()
		w.manifest.ExportedAt = date{in.GetExportedAt().AsTime()}
	}
	w.entry.Rows += int64(in.GetRows())
	w.rows += int64(in.GetRows())
	w.bar.draw(fmt.Sprintf("exporting %s: %s rows, %s in all", w.kind, grouped(w.entry.Rows), grouped(w.rows)))
	if !w.csv || in.GetRows() == 0 {
		_, err := io.WriteString(w.out, in.GetLines())
		return err
	}
	return w.table.add(bytes.Split([]byte(strings.TrimSuffix(in.GetLines(), "\n")), []byte("\n")))
}

func (w *exportWriter) begin(in *adminv1.ExportStoreResponse) (err error) {
	message, known := rowMessages[in.GetKind()]
	if !known {
		return fmt.Errorf("the server exports %s, which this release does not know", in.GetKind())
	}
	w.kind, w.sum, w.entry = in.GetKind(), sha256.New(), exportedFile{Name: in.GetKind() + linesSuffix}
	if w.csv {
		w.entry.Name = w.kind + csvSuffix
	}
	w.file, err = os.OpenFile(filepath.Join(w.folder, w.entry.Name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	w.out = io.MultiWriter(w.file, w.sum)
	if err != nil || !w.csv {
		return err
	}
	if _, err := io.WriteString(w.out, "\ufeff"); err != nil { // a byte order mark; without it spreadsheets do not read UTF-8
		return err
	}
	sample := apijson.Marshal(withMessages(message.ProtoReflect().New()).Interface())
	if w.kind == string(transfer.Products) {
		sample = append(append(sample[:len(sample)-1], transfer.ContentReady...), "false}"...)
	}
	w.table, err = newCSV(w.out, sample)
	return err
}

// end lists the file of the current kind in the manifest. It does nothing if no file is open.
func (w *exportWriter) end() (err error) {
	if w.file == nil {
		return nil
	}
	w.entry.SHA256 = hex.EncodeToString(w.sum.Sum(nil))
	w.entry.Bytes, err = w.file.Seek(0, io.SeekCurrent)
	err = errors.Join(err, w.file.Sync(), w.file.Close())
	w.file, w.manifest.Files = nil, append(w.manifest.Files, w.entry)
	return err
}

func (w *exportWriter) writeManifest() error {
	w.manifest.Format, w.manifest.Release, w.manifest.Notes = exportFormat, buildOf().Version, exportNotes
	if w.manifest.WithSecrets {
		w.manifest.Notes = secretNotes
	}
	if w.csv {
		w.manifest.Format, w.manifest.Notes = csvFormat, append(exportNotes[:0:0],
			"for people: `storefront import` takes the folder of an "+
				"export without -o csv, or products, customers and orders from here singly", lacking)
	}
	text, err := plainJSON(w.manifest)
	if err != nil {
		return err
	}
	return atomicfile.Create(filepath.Join(w.folder, manifestName), func(temporary string) error {
		return os.WriteFile(temporary, []byte(indented(text)+"\n"), 0o600)
	})
}

// readBack fails unless the files at path are on the disk as the manifest says.
func (w *exportWriter) readBack(ctx context.Context, path string, open func(path string) (exportFiles, error)) error {
	files, err := open(path)
	if err != nil {
		return err
	}
	_, err = readManifest(ctx, files, w.manifest.Format)
	return errors.Join(err, files.Close())
}
