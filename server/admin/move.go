package admin

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/url"
	"strings"

	"github.com/google/uuid"

	"go.storefront.example/ent/apijson"
	"go.storefront.example/ent/db"
	"go.storefront.example/ent/move"
	"go.storefront.example/ent/seal"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent/store"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/validate"
)

// GetMove returns where a store's move stands. It refuses with store_not_found.
func (o *Operator) GetMove(ctx context.Context, in *adminv1.GetMoveRequest) (*adminv1.Move, error) {
	ctx, err := o.In(ctx, in.GetStore())
	if err != nil {
		return nil, err
	}
	t, _, _ := tenant.From(ctx)
	row, err := o.db.Client().Store.Query().Where(store.ID(t.ID)).Only(ctx)
	if err := apierr.OfRow("store", err, func() error { return noStore(t.Slug) }); err != nil {
		return nil, err
	}
	attempts, err := move.Attempts(ctx, o.db, t.ID)
	if err != nil {
		return nil, fmt.Errorf("count the attempts under way: %w", err)
	}
	return &adminv1.Move{StoreId: row.ID.String(), Slug: row.Slug, Step: t.Moving, MovedTo: row.MovedTo,
		Attempts: int32(min(attempts, math.MaxInt32)), Now: apijson.Timestamp(o.db.Now())}, nil //nolint:gosec // Bounded.
}

// SetMove takes a store to a step of its move. It refuses with store_not_found, validation_failed or unavailable.
func (o *Operator) SetMove(ctx context.Context, in *adminv1.SetMoveRequest) (*adminv1.Move, error) {
	within, err := o.In(ctx, in.GetStore())
	if err != nil {
		return nil, err
	}
	t, _, _ := tenant.From(within)
	var f fields
	if to := in.GetRedirectTo(); to != "" {
		if u, err := url.Parse(to); err != nil || u.Host == "" || to != u.Scheme+"://"+u.Host || !strings.HasPrefix(u.Scheme, "http") {
			f.refuse("redirectTo", "must be an http or https address without a path, such as https://api.example.com")
			return nil, f.err()
		}
	}
	if in.GetBegin() && in.GetStep() == tenant.Copying { // the rows are read with it, the last of them late
		if _, err := o.webhooks.Secrets(); err != nil {
			return nil, err
		}
	}
	err = move.Set(ctx, o.db, t.ID, move.Step{Name: in.GetStep(), MovedTo: in.GetMovedTo(),
		RedirectTo: in.GetRedirectTo(), Run: in.GetRun(), Begin: in.GetBegin()})
	switch {
	case errors.Is(err, move.ErrStep):
		return nil, apierr.Invalid("The store cannot be taken to this step: "+err.Error()+".",
			apijson.Field{Name: "step", Message: "does not follow"})
	case errors.Is(err, move.ErrInTheWay):
		return nil, apierr.New(apierr.Unavailable, err.Error())
	case err != nil:
		return nil, err
	}
	return o.GetMove(ctx, &adminv1.GetMoveRequest{Store: t.ID.String()})
}

// tableOf returns a store's id and a table of it.
func (o *Operator) tableOf(ctx context.Context, name, table string) (uuid.UUID, move.Table, error) {
	t, known := move.Find(table)
	if !known {
		return uuid.Nil, t, apierr.Invalid("There is no such table.", apijson.Field{Name: "table", Message: "is unknown"})
	}
	if id, ok := validate.ParseID(name); ok && table == "stores" {
		return id, t, nil // perhaps it is yet to arrive
	}
	ctx, err := o.In(ctx, name)
	if err != nil {
		return uuid.Nil, t, err
	}
	own, _, _ := tenant.From(ctx)
	return own.ID, t, nil
}

// ListRows lists the ids of rows of a store's table. It refuses with store_not_found or validation_failed.
func (o *Operator) ListRows(ctx context.Context, in *adminv1.ListRowsRequest) (*adminv1.ListRowsResponse, error) {
	id, t, err := o.tableOf(ctx, in.GetStore(), in.GetTable())
	if err != nil {
		return nil, err
	}
	var f fields
	r := move.Range{After: f.id("after", in.GetAfter()), Until: f.id("until", in.GetUntil()),
		Since: f.timeOf("changedSince", in.GetChangedSince()), Before: f.timeOf("createdBefore", in.GetCreatedBefore())}
	if err := f.err(); err != nil {
		return nil, err
	}
	found, more, err := move.List(ctx, o.db, id, t, r)
	if err != nil {
		return nil, err
	}
	out := &adminv1.ListRowsResponse{More: more, Ids: make([]string, len(found)), Versions: make([]string, len(found))}
	for i, row := range found {
		out.Ids[i], out.Versions[i] = row.ID.String(), row.Version
	}
	return out, nil
}

// maxMoved is how many rows are read or written at a time.
const maxMoved = 500

// ids reads the ids of at most maxMoved rows.
func (f *fields) ids(name string, texts []string) []uuid.UUID {
	ids := parsed(texts)
	if len(ids) < len(texts) || len(ids) > maxMoved {
		f.refuse(name, fmt.Sprintf("must be at most %d UUIDs", maxMoved))
	}
	return ids
}

// ReadRows reads rows of a store's table. It refuses with store_not_found, validation_failed or secret_key_missing.
func (o *Operator) ReadRows(ctx context.Context, in *adminv1.ReadRowsRequest) (*adminv1.Rows, error) {
	id, t, err := o.tableOf(ctx, in.GetStore(), in.GetTable())
	if err != nil {
		return nil, err
	}
	var f fields
	ids := f.ids("ids", in.GetIds())
	if err := f.err(); err != nil {
		return nil, err
	}
	var secrets *seal.Ring
	if t.Name == "webhooks" {
		if secrets, err = o.webhooks.Secrets(); err != nil {
			return nil, err
		}
	}
	rows, looked, err := move.Read(ctx, o.db, secrets, id, t, ids)
	if err != nil {
		return nil, err
	}
	return &adminv1.Rows{Columns: rows.Columns, Rows: rows.Rows, LookedAt: int32(looked)}, nil //nolint:gosec // At most maxMoved.
}

// WriteRows writes rows of a store that arrives. It refuses with store_not_found, validation_failed, slug_taken or
// secret_key_missing.
func (o *Operator) WriteRows(ctx context.Context, in *adminv1.WriteRowsRequest) (*adminv1.WriteRowsResponse, error) {
	id, t, err := o.tableOf(ctx, in.GetStore(), in.GetTable())
	if err != nil {
		return nil, err
	}
	var f fields
	gone := f.ids("gone", in.GetGone())
	if len(in.GetRows().GetRows()) > maxMoved {
		f.refuse("rows", fmt.Sprintf("must be at most %d", maxMoved))
	}
	if err := f.err(); err != nil {
		return nil, err
	}
	secrets, err := o.webhooks.Secrets() // also for other tables, so that a copy does not end at the webhooks
	if err != nil {
		return nil, err
	}
	err = move.Write(ctx, o.db, secrets, id, in.GetRun(), t, move.Rows{Columns: in.GetRows().GetColumns(), Rows: in.GetRows().GetRows()},
		gone)
	switch {
	case errors.Is(err, move.ErrRows):
		return nil, apierr.Invalid(err.Error()+".", apijson.Field{Name: "rows", Message: "cannot be written"})
	case db.IsUnique(err) && t.Name == "stores":
		return nil, apierr.New(apierr.SlugTaken, "The slug of the store is another store's here. Slugs never change: the store cannot "+
			"move here.")
	case err != nil:
		return nil, err
	}
	return &adminv1.WriteRowsResponse{}, nil
}
