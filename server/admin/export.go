package admin

import (
	"context"
	"fmt"
	"time"

	"connectrpc.com/connect"
	"github.com/google/uuid"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/erase"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/notice"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/product"
	"go.storefront.example/gen/ent/store"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/transfer"
)

const (
	// maxExports run at a time, because each needs a connection and a snapshot until it ends.
	maxExports = 2
	// MaxExport bounds an export, because vacuum cannot remove dead rows while its snapshot is open.
	MaxExport = time.Hour
)

// ExportStore streams the pages of Export.
func (o *Operator) ExportStore(ctx context.Context, in *adminv1.ExportStoreRequest,
	stream *connect.ServerStream[adminv1.ExportStoreResponse]) error {
	return o.Export(ctx, in, stream.Send)
}

// Export reads all rows of a store as of one instant, and calls handle with one page after the other. A page may be used only
// until handle returns; its error ends the export.
//
// Export first finishes the erasures of the store's customers, and refuses with unavailable if one waits for a running
// delivery.
func (o *Operator) Export(ctx context.Context, in *adminv1.ExportStoreRequest,
	handle func(*adminv1.ExportStoreResponse) error) error {
	if in.GetWithSecrets() {
		if err := checkSecretsAllowed(ctx); err != nil {
			return err
		}
	}
	ctx, t, err := o.check(ctx, nil, in.GetStore())
	if err != nil {
		return err
	}
	select {
	case o.exports <- struct{}{}:
		defer func() { <-o.exports }()
	default:
		return apierr.New(apierr.Unavailable, fmt.Sprintf("%d exports are under way, which is the limit; try again when one has ended.",
			maxExports))
	}
	ctx, cancel := context.WithTimeout(ctx, MaxExport)
	defer cancel()
	var secret func(*ent.Webhook) (string, error)
	if in.GetWithSecrets() {
		secret = o.webhooks.Secret
	}
	unfinished, err := erase.UnfinishedOf(ctx, o.db, t.ID)
	if err != nil {
		return err
	}
	for _, f := range unfinished {
		if err := erase.Continue(ctx, o.db, f); err != nil {
			return err
		}
	}
	var at time.Time
	err = o.db.Snapshot(ctx, db.ReaderExport, func(ctx context.Context, tx *ent.Tx) error {
		row, err := tx.Store.Get(ctx, t.ID)
		if err != nil {
			return fmt.Errorf("export the store: %w", err)
		}
		// The rows may be on another machine than the store's, and it takes its snapshot only at its first statement.
		if _, err := tx.Product.Query().Where(product.StoreID(t.ID)).Exist(ctx); err != nil {
			return fmt.Errorf("export the store: %w", err)
		}
		// The snapshot is older than this statement. So it has all rows if their deletion has not begun by now.
		complete, err := o.db.Client().Store.Query().Where(store.ID(t.ID), store.DeletionBeganAtIsNil()).Exist(ctx)
		switch {
		case err != nil:
			return fmt.Errorf("export the store: %w", err)
		case !complete:
			return storeBeingDeleted(t.Slug)
		}
		if err := checkForgettings(ctx, tx, t.ID); err != nil {
			return err
		}
		at = o.db.Now()
		return transfer.Export(ctx, o.db, tx, row, at, transfer.Messages{
			Webhook: o.webhook, Key: o.key, Event: eventMessage, Delivery: deliveryWithAnswers, Activity: activityEntry, Secret: secret,
		}, handle)
	})
	if err != nil {
		return err
	}
	return hook.Run(ctx, o.db, func(c *hook.Change) error {
		return notice.Write(c, o.db, c.Tx, c.Time(), notice.Notice{Type: notice.StoreExported, StoreID: t.ID,
			Data: map[string]any{"exportedAt": at, "withSecrets": in.GetWithSecrets()}})
	})
}

// checkForgettings refuses if an erasure is unfinished in the snapshot tx, because nothing would erase the values where they
// are imported.
func checkForgettings(ctx context.Context, tx *ent.Tx, storeID uuid.UUID) error {
	const unfinished = "SELECT CAST(id AS text) FROM forgettings WHERE store_id = $1 AND finished_at IS NULL LIMIT 1"
	ids, err := selectIDs(ctx, tx, unfinished, storeID)
	if err != nil || len(ids) == 0 {
		return err
	}
	return apierr.New(apierr.Unavailable, fmt.Sprintf("The customer %s is being forgotten, and an export would still have some of the "+
		"customer's data; try again when a worker or `storefront customer forget %[1]s` has finished.", ids[0]))
}
