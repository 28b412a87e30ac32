package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"google.golang.org/protobuf/types/known/timestamppb"

	"go.storefront.example/ent/apijson"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/importing"
)

// loadedKind is what an import of an export did with one kind of rows, as it is shown.
type loadedKind struct {
	Kind    string `json:"kind"`
	Rows    int32  `json:"rows"`
	Stored  int32  `json:"stored"`
	Skipped int32  `json:"skipped"`
}

// runExport imports an export: a folder, or a file that holds one.
func (c *importCmd) runExport(s *invocation, path string) error {
	for _, name := range []string{"from", "map", "type", "date-format", "time-zone", "encoding", "country", "dry-run", "skip-bad", "update",
		"errors", "events"} {
		if s.given[name] {
			return usage("--%s: is for a single file; an export is imported as it is", name)
		}
	}
	folder := path
	if strings.HasSuffix(path, archiveSuffix) {
		var err error
		if folder, err = os.MkdirTemp("", "storefront-import-*"); err != nil {
			return fmt.Errorf("import: %w", err)
		}
		defer func() { _ = os.RemoveAll(folder) }()
		if err := unpack(path, folder); err != nil {
			return fmt.Errorf("import: %w", err)
		}
	}
	m, err := readManifest(folder)
	if err != nil {
		return fmt.Errorf("import: %w", err)
	}
	text, err := os.ReadFile(filepath.Join(folder, "store"+linesSuffix))
	if err != nil {
		return fmt.Errorf("import: %w", err)
	}
	in := &adminv1.ImportStoreRequest{Store: c.Store, Create: c.Create, Exported: &adminv1.ExportedStore{},
		ExportedAt: timestamppb.New(m.ExportedAt.Time)}
	if err := apijson.Unmarshal(text, in.GetExported()); err != nil {
		return fmt.Errorf("import: store%s: %w", linesSuffix, err)
	}
	return s.operate(c.target, func(ctx context.Context, o admin.API) error {
		store, err := o.ImportStore(ctx, in)
		if apierr.Is(err, apierr.StoreNotFound) {
			return fmt.Errorf("there is no store %s; make it with --create", c.Store)
		}
		if err != nil {
			return err
		}
		bar := newProgress(s.errs, "", -1)
		defer bar.end()
		var done []loadedKind
		finish := &adminv1.FinishImportRequest{Store: store.GetId(), Kind: string(importing.WholeExport)}
		for _, kind := range importing.ExportedKinds {
			of := loadedKind{Kind: string(kind)}
			err := importing.LoadRows(ctx, o, store.GetId(), kind, filepath.Join(folder, string(kind)+linesSuffix),
				func(out *adminv1.ImportResponse) {
					of.Stored, of.Skipped = of.Stored+out.GetStored(), of.Skipped+out.GetSkipped()
					of.Rows = of.Stored + of.Skipped
					bar.draw(fmt.Sprintf("importing %s: %d rows", kind, of.Rows))
				})
			if err != nil {
				return fmt.Errorf("%w; %d rows of %s are stored and all of the kinds before: run it again", err, of.Stored, kind)
			}
			done = append(done, of)
			finish.Stored, finish.Skipped = finish.Stored+of.Stored, finish.Skipped+of.Skipped
		}
		bar.end()
		if _, err := o.FinishImport(ctx, finish); err != nil {
			return err
		}
		return c.reportExport(s, m, done)
	})
}

// reportExport shows what an import of an export did.
func (c *importCmd) reportExport(s *invocation, m manifest, done []loadedKind) error {
	if s.json {
		return s.value(done)
	}
	for _, of := range done {
		rows := plural(int(of.Rows), "row")
		fmt.Fprintf(s.out, "%s: %s, %d stored, %d there before or left out\n", of.Kind, rows, of.Stored, of.Skipped)
	}
	for _, f := range m.Files {
		if kind := strings.TrimSuffix(f.Name, linesSuffix); f.Rows > 0 && (kind == "webhooks" || kind == "keys") {
			fmt.Fprintf(s.out, "note: %s of %s not imported: register and create them again\n", plural(int(f.Rows), "row"), f.Name)
		}
	}
	_, err := fmt.Fprintf(s.out, "%s has what %s had at %s\n", c.Store, m.Store.Slug, when(timestamppb.New(m.ExportedAt.Time)))
	return err
}
