package transfer

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"entgo.io/ent/dialect/sql"
	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	"go.storefront.example/ent/apijson"
	"go.storefront.example/ent/db"
	"go.storefront.example/ent/queue"
	"go.storefront.example/ent/resource"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/shop"
)

const (
	// exportPage is how many rows one statement reads. It is small, so that a statement ends before the statement timeout.
	exportPage = 500
	// exportBytes is roughly how many bytes of rows a page has.
	exportBytes = 256 << 10
)

// Messages has functions that convert rows to messages, for the kinds of rows that the public API does not show.
type Messages struct {
	Webhook  func(*ent.Webhook) *adminv1.Webhook
	Key      func(*ent.ApiKey) *adminv1.Key
	Event    func(*ent.Event) *adminv1.Event
	Delivery func(queue.Entry) *adminv1.Delivery
	Activity func(*ent.ActivityEntry) *adminv1.ActivityEntry
	// Secret returns the signing secret of a webhook. If it is nil, the export has neither the secrets of webhooks nor the
	// fingerprints of keys.
	Secret func(*ent.Webhook) (string, error)
}

// Export reads all rows of a store in the transaction tx, and calls handle with one page of rows after the other. handle
// must not keep the page, because Export reuses it. at is the time of the export, which decides whether a payment link is
// shown as expired. If handle returns an error, Export returns this error.
func Export(ctx context.Context, d *db.DB, tx *ent.Tx, row *ent.Store, at time.Time, messages Messages,
	handle func(*adminv1.ExportStoreResponse) error) error {
	t := shop.TenantOf(row)
	e := &export{db: d, tx: tx, t: t, messages: messages, handle: handle,
		out: &adminv1.ExportStoreResponse{ExportedAt: apijson.Timestamp(at)}}
	for _, kind := range []struct {
		name Kind
		rows func(context.Context) error
	}{
		{"store", func(context.Context) error { return e.add(exportedStore(row)) }},
		{Products, stored(e, tx.Product.Query, func(r *ent.Product) error {
			return e.add(resource.Product(r, t.Currency), ContentReady, strconv.FormatBool(r.ContentReady))
		})},
		{Customers, stored(e, tx.Customer.Query, func(r *ent.Customer) error { return e.add(resource.Customer(r, t.Currency)) })},
		{Links, stored(e, tx.PaymentLink.Query, func(r *ent.PaymentLink) error {
			return e.add(resource.PaymentLink(r, t.Currency, at))
		})},
		{Orders, func(ctx context.Context) error {
			return resource.EachOrder(ctx, tx, t, exportPage, func(m *storefrontv1.Order) error { return e.add(m) })
		}},
		{Webhooks, stored(e, tx.Webhook.Query, e.webhook)},
		{Keys, stored(e, tx.ApiKey.Query, e.key)},
		{Events, stored(e, tx.Event.Query, func(r *ent.Event) error { return e.add(messages.Event(r)) })},
		{Deliveries, e.deliveries},
		{Activity, stored(e, tx.ActivityEntry.Query, func(r *ent.ActivityEntry) error { return e.add(messages.Activity(r)) })},
	} {
		e.out.Kind = string(kind.name)
		if err := e.flush(); err != nil { // calls handle with a page of this kind that has no rows yet
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
}

func exportedStore(row *ent.Store) *adminv1.ExportedStore {
	var types []storefrontv1.Product_Type
	for _, name := range row.UnavailableTypes {
		types = append(types, storefrontv1.Product_Type(storefrontv1.Product_Type_value[name]))
	}
	return &adminv1.ExportedStore{Store: resource.Store(row), Settings: &adminv1.StoreSettings{
		PaymentLinksOpen: row.PaymentLinksOpen, PlatformFeePercent: row.PlatformFeePercent,
		UnavailableTypes: types,
	}}
}

type export struct {
	db       *db.DB
	tx       *ent.Tx
	t        tenant.Store
	messages Messages
	handle   func(*adminv1.ExportStoreResponse) error
	// out is the next page, and lines are its rows.
	out   *adminv1.ExportStoreResponse
	lines []byte
}

// add adds a row to the page, and passes the page to handle if it is full. The row is the JSON of m with members added at its
// end.
func (e *export) add(m proto.Message, members ...string) error {
	e.lines = bytes.TrimSuffix(apijson.Append(e.lines, m), []byte("}"))
	e.lines = append(append(e.lines, strings.Join(members, "")...), "}\n"...)
	e.out.Rows++
	if len(e.lines) < exportBytes {
		return nil
	}
	return e.flush()
}

// flush passes the page to handle, and begins the next one.
func (e *export) flush() error {
	e.out.Lines = string(e.lines)
	if err := e.handle(e.out); err != nil {
		return err
	}
	e.out.Rows, e.lines = 0, e.lines[:0]
	return nil
}

func (e *export) webhook(r *ent.Webhook) error {
	if e.messages.Secret == nil {
		return e.add(e.messages.Webhook(r))
	}
	secret, err := e.messages.Secret(r)
	if err != nil {
		return err
	}
	return e.add(&adminv1.ExportedWebhook{Webhook: e.messages.Webhook(r), Secret: secret})
}

func (e *export) key(r *ent.ApiKey) error {
	if e.messages.Secret == nil {
		return e.add(e.messages.Key(r))
	}
	return e.add(&adminv1.ExportedKey{Key: e.messages.Key(r), Fingerprint: hex.EncodeToString(r.Fingerprint),
		RevokedAt: apijson.OptionalTimestamp(r.RevokedAt)})
}

// stored returns a function that exports all rows of the store in one table, oldest first. Each statement reads the next
// exportPage rows.
func stored[P ~func(*sql.Selector), Row any, Q interface {
	Where(conditions ...P) Q
	All(ctx context.Context) ([]*Row, error)
}](e *export, query func() Q, line func(*Row) error) func(context.Context) error {
	return func(ctx context.Context) error {
		for lastAt, lastID := any(time.Time{}), any(uuid.Nil); ; { // time and id of the last row that was read
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

// deliveries exports the deliveries of each status, newest first, which is the order of an index.
func (e *export) deliveries(ctx context.Context) error {
	for _, status := range queue.Statuses() {
		for search := (queue.Search{StoreID: e.t.ID, Status: status, Limit: exportPage}); ; {
			entries, err := queue.EntriesIn(ctx, e.db, e.tx, search)
			if err != nil {
				return err
			}
			for _, entry := range entries {
				if err := e.add(e.messages.Delivery(entry)); err != nil {
					return err
				}
			}
			if len(entries) < exportPage {
				break
			}
			search.Before = entries[len(entries)-1].ID
		}
	}
	return nil
}
