package admin

import (
	"context"
	"fmt"
	"time"

	"connectrpc.com/connect"

	"go.storefront.example/ent/db"
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
	// maxExports is how many exports may run at a time, because each holds a connection and a snapshot.
	maxExports = 2
	// MaxExport bounds an export, and so the time for which it keeps vacuum from removing dead rows.
	MaxExport = time.Hour
)

// ExportStore streams the answers of Export.
func (o *Operator) ExportStore(ctx context.Context, in *adminv1.ExportStoreRequest,
	stream *connect.ServerStream[adminv1.ExportStoreResponse]) error {
	return o.Export(ctx, in, stream.Send)
}

// Export passes all rows of a store as of one instant to pass, a page at a time; a page is valid until pass returns. It refuses
// with store_not_found, or with unavailable while too many exports run. With secrets it also refuses as mayHaveSecrets does,
// and with secret_key_missing if a secret cannot be decrypted. An error of pass ends the export.
func (o *Operator) Export(ctx context.Context, in *adminv1.ExportStoreRequest,
	pass func(*adminv1.ExportStoreResponse) error) error {
	if in.GetWithSecrets() {
		if err := mayHaveSecrets(ctx); err != nil {
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
	var at time.Time
	err = o.db.Snapshot(ctx, db.ReaderExport, func(ctx context.Context, tx *ent.Tx) error {
		row, err := tx.Store.Get(ctx, t.ID)
		if err != nil {
			return fmt.Errorf("export the store: %w", err)
		}
		// Take the snapshot before the first page: if the store's rows are on another machine, that machine takes its snapshot
		// only at its first statement.
		if _, err := tx.Product.Query().Where(product.StoreID(t.ID)).Exist(ctx); err != nil {
			return fmt.Errorf("export the store: %w", err)
		}
		// If the store's deletion has not begun by now, it had not begun at the earlier snapshot, so the snapshot has all rows.
		whole, err := o.db.Client().Store.Query().Where(store.ID(t.ID), store.DeletionBeganAtIsNil()).Exist(ctx)
		switch {
		case err != nil:
			return fmt.Errorf("export the store: %w", err)
		case !whole:
			return beingDeleted(t.Slug)
		}
		at = o.db.Now()
		return transfer.Export(ctx, o.db, tx, row, at, transfer.Messages{
			Webhook: o.webhook, Key: o.key, Event: eventMessage, Delivery: deliveryWithAnswers, Activity: activityEntry, Secret: secret,
		}, pass)
	})
	if err != nil {
		return err
	}
	return hook.WithTx(ctx, o.db, func(ctx context.Context, tx *ent.Tx) error {
		n := notice.Notice{Type: notice.StoreExported, StoreID: t.ID, About: map[string]any{"exportedAt": at},
			Text: "All that the store has was exported: its products, customers, orders, payment links and journals. " +
				"If you did not ask for it, ask the platform."}
		if in.GetWithSecrets() {
			n.About["withSecrets"] = true
			n.Text = "All that the store has was exported, to be taken over by another installation: its products, customers, orders, " +
				"payment links and journals, its API keys, and its webhooks with their signing secrets. If you did not ask for it, ask the " +
				"platform."
		}
		_, err := notice.Write(ctx, tx, hook.Time(ctx), n)
		return err
	})
}
