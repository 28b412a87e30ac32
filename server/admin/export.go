package admin

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"connectrpc.com/connect"
	"entgo.io/ent/dialect/sql"
	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	"go.storefront.example/ent/apijson"
	"go.storefront.example/ent/db"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/notice"
	"go.storefront.example/ent/queue"
	"go.storefront.example/ent/resource"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/product"
	"go.storefront.example/gen/ent/store"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/transfer"
)

const (
	// maxExports is how many exports may run at a time, because each holds a connection and a snapshot.
	maxExports = 2
	// MaxExport bounds an export, and so the time for which it keeps vacuum from removing dead rows.
	MaxExport = time.Hour
	// exportPage is how many rows a statement reads: few enough for the timeouts of statements.
	exportPage = 500
	// exportBytes is the approximate size of an answer.
	exportBytes = 256 << 10
)

// ExportStore streams the answers of Export.
func (o *Operator) ExportStore(ctx context.Context, in *adminv1.ExportStoreRequest,
	stream *connect.ServerStream[adminv1.ExportStoreResponse]) error {
	return o.Export(ctx, in, stream.Send)
}

// Export calls pass with everything that a store has as of one instant, a page at a time; an answer is valid until pass
// returns. It refuses with store_not_found, or with unavailable while too many exports run; with secrets also as mayHaveSecrets
// does, and with secret_key_missing if a secret cannot be decrypted. An error of pass ends it.
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
	var at time.Time
	err = o.db.Snapshot(ctx, db.ReaderExport, func(ctx context.Context, tx *ent.Tx) error {
		row, err := tx.Store.Get(ctx, t.ID)
		if err != nil {
			return fmt.Errorf("export the store: %w", err)
		}
		// If the store's rows are on another node, that takes its snapshot at its first statement. So run one before the
		// answers.
		if _, err := tx.Product.Query().Where(product.StoreID(t.ID)).Exist(ctx); err != nil {
			return fmt.Errorf("export the store: %w", err)
		}
		// The snapshot is older than this read. So if the deletion has not begun now, the snapshot has all rows.
		whole, err := o.db.Client().Store.Query().Where(store.ID(t.ID), store.DeletionBeganAtIsNil()).Exist(ctx)
		switch {
		case err != nil:
			return fmt.Errorf("export the store: %w", err)
		case !whole:
			return beingDeleted(t.Slug)
		}
		at = o.db.Now()
		e := &export{o: o, tx: tx, t: t, pass: pass, out: &adminv1.ExportStoreResponse{ExportedAt: apijson.Timestamp(at)}}
		for _, kind := range []struct {
			name transfer.Kind
			rows func(context.Context) error
		}{
			{"store", func(context.Context) error { return e.add(exportedStore(row)) }},
			{transfer.Products, stored(e, tx.Product.Query, func(r *ent.Product) error {
				return e.add(resource.Product(r, t.Currency), transfer.ContentReady, strconv.FormatBool(r.ContentReady))
			})},
			{transfer.Customers, stored(e, tx.Customer.Query, func(r *ent.Customer) error {
				return e.add(resource.Customer(r, t.Currency))
			})},
			{transfer.Links, stored(e, tx.PaymentLink.Query, func(r *ent.PaymentLink) error {
				return e.add(resource.PaymentLink(r, t.Currency, at))
			})},
			{transfer.Orders, func(ctx context.Context) error {
				return resource.EachOrder(ctx, tx, t, exportPage, func(m *storefrontv1.Order) error { return e.add(m) })
			}},
			{transfer.Webhooks, stored(e, tx.Webhook.Query, func(r *ent.Webhook) error {
				if !in.GetWithSecrets() {
					return e.add(o.webhook(r))
				}
				secret, err := o.webhooks.Secret(r)
				if err != nil {
					return err
				}
				return e.add(&adminv1.ExportedWebhook{Webhook: o.webhook(r), Secret: secret})
			})},
			{transfer.Keys, stored(e, tx.ApiKey.Query, func(r *ent.ApiKey) error {
				if !in.GetWithSecrets() {
					return e.add(o.key(r))
				}
				return e.add(&adminv1.ExportedKey{Key: o.key(r), Fingerprint: hex.EncodeToString(r.Fingerprint),
					RevokedAt: apijson.OptionalTimestamp(r.RevokedAt)})
			})},
			{transfer.Events, stored(e, tx.Event.Query, func(r *ent.Event) error { return e.add(eventMessage(r)) })},
			{transfer.Deliveries, e.deliveries},
			{transfer.Activity, stored(e, tx.ActivityEntry.Query, func(r *ent.ActivityEntry) error { return e.add(activityEntry(r)) })},
		} {
			e.out.Kind = string(kind.name)
			if err := e.flush(); err != nil { // sends the first answer of the kind
				return err
			}
			err := kind.rows(ctx)
			if err == nil && e.out.GetRows() > 0 {
				err = e.flush()
			}
			if err != nil {
				return fmt.Errorf("export the %s: %w", kind.name, err)
			}
		}
		return nil
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

func exportedStore(row *ent.Store) *adminv1.ExportedStore {
	return &adminv1.ExportedStore{Store: resource.Store(row), Settings: &adminv1.StoreSettings{
		PaymentLinksOpen: row.PaymentLinksOpen, PlatformFeePercent: row.PlatformFeePercent,
		UnavailableTypes: each(row.UnavailableTypes, enum[storefrontv1.Product_Type]),
	}}
}

// export is a running export.
type export struct {
	o    *Operator
	tx   *ent.Tx
	t    tenant.Store
	pass func(*adminv1.ExportStoreResponse) error
	// The next answer, and its rows.
	out   *adminv1.ExportStoreResponse
	lines []byte
}

// add adds a row. members are appended to those of its message.
func (e *export) add(m proto.Message, members ...string) error {
	e.lines = bytes.TrimSuffix(apijson.Append(e.lines, m), []byte("}"))
	e.lines = append(append(e.lines, strings.Join(members, "")...), "}\n"...)
	e.out.Rows++
	if len(e.lines) < exportBytes {
		return nil
	}
	return e.flush()
}

// flush passes the rows that add has collected.
func (e *export) flush() error {
	e.out.Lines = string(e.lines)
	if err := e.pass(e.out); err != nil {
		return err
	}
	e.out.Rows, e.lines = 0, e.lines[:0]
	return nil
}

// stored returns a function that exports a table's rows, oldest first, a page at a time.
func stored[P ~func(*sql.Selector), Row any, Q interface {
	Where(conditions ...P) Q
	All(ctx context.Context) ([]*Row, error)
}](e *export, query func() Q, line func(*Row) error) func(context.Context) error {
	return func(ctx context.Context) error {
		for lastAt, lastID := any(time.Time{}), any(uuid.Nil); ; { // the last row of the page before
			rows, err := query().Where(func(s *sql.Selector) {
				s.Where(sql.EQ(s.C("store_id"), e.t.ID)).Where(sql.CompositeGT([]string{s.C("created_at"), s.C("id")}, lastAt, lastID)).
					OrderBy(s.C("created_at"), s.C("id")).Limit(exportPage)
			}).All(ctx)
			if err != nil {
				return err
			}
			for _, row := range rows {
				if err := line(row); err != nil {
					return err
				}
			}
			if len(rows) < exportPage {
				return nil
			}
			last := reflect.ValueOf(rows[len(rows)-1]).Elem()
			lastAt, lastID = last.FieldByName("CreatedAt").Interface(), last.FieldByName("ID").Interface()
		}
	}
}

// deliveries exports deliveries by status, newest first, because their index sorts them so.
func (e *export) deliveries(ctx context.Context) error {
	for _, status := range queue.Statuses() {
		for which := (queue.Search{StoreID: e.t.ID, Status: status, Limit: exportPage}); ; {
			entries, err := queue.EntriesIn(ctx, e.o.db, e.tx, which)
			if err != nil {
				return err
			}
			for _, entry := range entries {
				if err := e.add(deliveryWithAnswers(entry)); err != nil {
					return err
				}
			}
			if len(entries) < exportPage {
				break
			}
			which.Before = entries[len(entries)-1].ID
		}
	}
	return nil
}
