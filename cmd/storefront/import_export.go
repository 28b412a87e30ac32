package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/timestamppb"

	"go.storefront.example/cmd/storefront/importfile"
	"go.storefront.example/ent/apijson"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/transfer"
)

type kindResult struct {
	Kind    string `json:"kind"`
	Rows    int32  `json:"rows"`
	Stored  int32  `json:"stored"`
	Skipped int32  `json:"skipped"`
}

// maxStoreBytes is bounded because an import reads store.ndjson into memory.
const maxStoreBytes = 1 << 20

func (c *importCmd) runExport(s *invocation, path string) error {
	for _, name := range []string{"from", "map", "type", "date-format", "time-zone", "encoding", "country", "dry-run", "skip-bad", "update",
		"errors", "events"} {
		if s.given[name] {
			return usage("--%s: is for a single file; an export is imported as it is", name)
		}
	}
	files, err := openExport(path)
	if err != nil {
		return fmt.Errorf("import: %w", err)
	}
	defer func() { _ = files.Close() }()
	m, err := readManifest(s.ctx, files, exportFormat)
	if err != nil {
		return fmt.Errorf("import: %s: %w", path, err)
	}
	in := &adminv1.ImportStoreRequest{Store: c.Store, Create: c.Create, ExportedAt: timestamppb.New(m.ExportedAt.Time),
		WithSecrets: m.WithSecrets}
	if in.Exported, err = exportedStore(files); err != nil {
		return fmt.Errorf("import: %s: store%s: %w", path, linesSuffix, err)
	}
	kinds := transfer.ExportedKinds
	s.options.Shop.Buckets = c.Buckets
	if m.WithSecrets {
		kinds = slices.Concat(kinds, transfer.SecretKinds)
		s.options.Webhooks.Targets = c.policy()
		if err := s.seal(c.target, c.secretKey); err != nil {
			return err
		}
	}
	return s.operate(c.target, func(ctx context.Context, o admin.API) error {
		store, err := o.ImportStore(ctx, in)
		if apierr.Is(err, apierr.StoreNotFound) {
			return fmt.Errorf("there is no store %s; make it with --create", c.Store)
		}
		if err != nil && s.ctx.Err() != nil {
			return fmt.Errorf("%w; no rows are stored: run it again", err)
		}
		if err != nil {
			return err
		}
		bar := newProgress(s.errs, "", -1)
		defer bar.end()
		var done []kindResult
		finish := &adminv1.FinishImportRequest{Store: store.GetId(), Kind: string(transfer.WholeExport)}
		for _, kind := range kinds {
			result := kindResult{Kind: string(kind)}
			name := string(kind) + linesSuffix
			lines, err := files.open(name)
			if err != nil {
				return err
			}
			err = importfile.LoadRows(ctx, o, store.GetId(), kind, name, lines,
				func(out *adminv1.ImportResponse) {
					result.Stored, result.Skipped = result.Stored+out.GetStored(), result.Skipped+out.GetSkipped()
					result.Rows = result.Stored + result.Skipped
					bar.draw(fmt.Sprintf("importing %s: %s rows", kind, grouped(result.Rows)))
				})
			if err != nil {
				return fmt.Errorf("%w; %s rows of %s are stored and all of the kinds before: run it again", err, grouped(result.Stored), kind)
			}
			done = append(done, result)
			finish.Stored, finish.Skipped = finish.Stored+result.Stored, finish.Skipped+result.Skipped
		}
		bar.end()
		if _, err := o.FinishImport(ctx, finish); err != nil {
			return err
		}
		return c.reportExport(s, m, done)
	})
}

func exportedStore(files exportFiles) (*adminv1.ExportedStore, error) {
	in, err := files.open("store" + linesSuffix)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(in, maxStoreBytes+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxStoreBytes {
		return nil, fmt.Errorf("is longer than %d bytes", maxStoreBytes)
	}
	store := &adminv1.ExportedStore{}
	return store, apijson.Unmarshal(text, store)
}

// reportExport prints the numbers of stored and left out rows of each kind and, without -o json, the webhooks and keys that
// were not imported.
func (c *importCmd) reportExport(s *invocation, m manifest, done []kindResult) error {
	if s.json {
		return s.printValue(done)
	}
	for _, result := range done {
		rows := plural(int(result.Rows), "row")
		fmt.Fprintf(s.out, "%s: %s, %s stored, %s there before or left out\n", result.Kind, rows, grouped(result.Stored),
			grouped(result.Skipped))
	}
	for _, f := range m.Files {
		if kind := strings.TrimSuffix(f.Name, linesSuffix); f.Rows > 0 && !m.WithSecrets && (kind == "webhooks" || kind == "keys") {
			fmt.Fprintf(s.out, "note: %s of %s not imported: register and create them again\n", plural(int(f.Rows), "row"), f.Name)
		}
	}
	_, err := fmt.Fprintf(s.out, "%s has what %s had at %s\n", c.Store, m.Store.Slug, formatTime(timestamppb.New(m.ExportedAt.Time)))
	return err
}
