package admin

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"connectrpc.com/connect"
	"entgo.io/ent/dialect/sql"
	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	"go.storefront.example/ent/apijson"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/notice"
	"go.storefront.example/ent/queue"
	"go.storefront.example/ent/resource"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/activityentry"
	"go.storefront.example/gen/ent/apikey"
	"go.storefront.example/gen/ent/customer"
	"go.storefront.example/gen/ent/event"
	"go.storefront.example/gen/ent/order"
	"go.storefront.example/gen/ent/orderitem"
	"go.storefront.example/gen/ent/paymentlink"
	"go.storefront.example/gen/ent/predicate"
	"go.storefront.example/gen/ent/product"
	"go.storefront.example/gen/ent/webhook"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/importing"
)

const (
	// maxExports is how many exports are under way at a time: each holds a connection and a snapshot.
	maxExports = 2
	// MaxExport bounds an export, and so for how long vacuum leaves dead rows.
	MaxExport = time.Hour
	// exportPage is how many rows a statement reads: few enough for the timeouts of statements.
	exportPage = 500
	// exportBytes is about how much an answer has.
	exportBytes = 256 << 10
)

// ExportStore streams what Export passes.
func (o *Operator) ExportStore(ctx context.Context, in *adminv1.ExportStoreRequest,
	stream *connect.ServerStream[adminv1.ExportStoreResponse]) error {
	return o.Export(ctx, in, stream.Send)
}

// Export passes all that a store has as of one instant, a page at a time; an answer is valid until pass
// returns. It refuses with store_not_found,
// or with unavailable while too many exports are under way; an error of pass ends it.
func (o *Operator) Export(ctx context.Context, in *adminv1.ExportStoreRequest,
	pass func(*adminv1.ExportStoreResponse) error) error {
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
	err = o.db.Snapshot(ctx, func(ctx context.Context, tx *ent.Tx) error {
		row, err := tx.Store.Get(ctx, t.ID)
		if err != nil {
			return fmt.Errorf("export the store: %w", err)
		}
		at = o.db.Now()
		e := &export{Operator: o, tx: tx, t: t, now: at, pass: pass,
			out: &adminv1.ExportStoreResponse{ExportedAt: apijson.Timestamp(at)}}
		for _, kind := range []struct {
			name importing.Kind
			rows func(context.Context) error
		}{
			{"store", func(context.Context) error { return e.add(exportedStore(row), "") }},
			{importing.Products, e.products},
			{importing.Customers, e.customers},
			{importing.Links, e.links},
			{importing.Orders, e.orders},
			{"webhooks", e.webhooks},
			{"keys", e.keys},
			{importing.Events, e.events},
			{importing.Deliveries, e.deliveries},
			{importing.Activity, e.activity},
		} {
			e.out.Kind = string(kind.name)
			if err := e.flush(); err != nil { // the first answer of the kind
				return err
			}
			if err := kind.rows(ctx); err != nil {
				return fmt.Errorf("export the %s: %w", kind.name, err)
			}
			if e.out.GetRows() > 0 {
				if err := e.flush(); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return o.db.WithTx(ctx, func(ctx context.Context, tx *ent.Tx) error {
		_, err := notice.Write(ctx, tx, hook.Time(ctx), notice.Notice{Type: notice.StoreExported, StoreID: t.ID,
			Text: "All that the store has was exported: its products, customers, orders, payment links and journals. " +
				"If you did not ask for it, ask the platform.",
			About: map[string]any{"exportedAt": at}})
		return err
	})
}

func exportedStore(row *ent.Store) *adminv1.ExportedStore {
	return &adminv1.ExportedStore{Store: resource.Store(row), Settings: &adminv1.StoreSettings{
		PaymentLinksOpen: row.PaymentLinksOpen, PlatformFeePercent: row.PlatformFeePercent,
		UnavailableTypes: each(row.UnavailableTypes, enum[storefrontv1.Product_Type]),
	}}
}

// export is an export under way.
type export struct {
	*Operator
	tx   *ent.Tx
	t    tenant.Store
	now  time.Time
	pass func(*adminv1.ExportStoreResponse) error
	// What is to be passed, and its rows.
	out   *adminv1.ExportStoreResponse
	lines []byte
}

// add adds a row, with further members behind those of its message.
func (e *export) add(m proto.Message, members string) error {
	e.lines = apijson.Append(e.lines, m)
	if members != "" {
		e.lines = append(append(e.lines[:len(e.lines)-1], members...), '}')
	}
	e.lines = append(e.lines, '\n')
	e.out.Rows++
	if len(e.lines) < exportBytes {
		return nil
	}
	return e.flush()
}

// flush passes what has been gathered.
func (e *export) flush() error {
	e.out.Lines = string(e.lines)
	if err := e.pass(e.out); err != nil {
		return err
	}
	e.out.Rows, e.lines = 0, e.lines[:0]
	return nil
}

// place is that of a row in the order of creation.
type place struct {
	at time.Time
	id uuid.UUID
}

// inPages reads rows page by page, oldest first, and passes each page. find runs a query with the conditions that it
// is given.
func inPages[P ~func(*sql.Selector), Row any](find func(P) ([]Row, error), placeOf func(Row) place, pass func(
	[]Row) error) error {
	for last := (place{}); ; {
		rows, err := find(func(s *sql.Selector) {
			if last.id != uuid.Nil {
				s.Where(sql.CompositeGT([]string{s.C("created_at"), s.C("id")}, last.at, last.id))
			}
			s.OrderBy(s.C("created_at"), s.C("id")).Limit(exportPage)
		})
		if err != nil {
			return err
		}
		if err := pass(rows); err != nil {
			return err
		}
		if len(rows) < exportPage {
			return nil
		}
		last = placeOf(rows[len(rows)-1])
	}
}

// adding adds the message of each row.
func adding[Row any, M proto.Message](e *export, message func(Row) M) func([]Row) error {
	return func(rows []Row) error {
		for _, row := range rows {
			if err := e.add(message(row), ""); err != nil {
				return err
			}
		}
		return nil
	}
}

func (e *export) products(ctx context.Context) error {
	return inPages(func(p predicate.Product) ([]*ent.Product, error) {
		return e.tx.Product.Query().Where(product.StoreID(e.t.ID), p).All(ctx)
	}, func(r *ent.Product) place { return place{r.CreatedAt, r.ID} }, func(rows []*ent.Product) error {
		for _, r := range rows {
			if err := e.add(resource.Product(r, e.t.Currency), importing.ContentReady+strconv.FormatBool(r.ContentReady)); err != nil {
				return err
			}
		}
		return nil
	})
}

func (e *export) customers(ctx context.Context) error {
	return inPages(func(p predicate.Customer) ([]*ent.Customer, error) {
		return e.tx.Customer.Query().Where(customer.StoreID(e.t.ID), p).All(ctx)
	}, func(r *ent.Customer) place { return place{r.CreatedAt, r.ID} },
		adding(e, func(r *ent.Customer) *storefrontv1.Customer { return resource.Customer(r, e.t.Currency) }))
}

func (e *export) links(ctx context.Context) error {
	return inPages(func(p predicate.PaymentLink) ([]*ent.PaymentLink, error) {
		return e.tx.PaymentLink.Query().Where(paymentlink.StoreID(e.t.ID), p).All(ctx)
	}, func(r *ent.PaymentLink) place { return place{r.CreatedAt, r.ID} },
		adding(e, func(r *ent.PaymentLink) *storefrontv1.PaymentLink {
			return resource.PaymentLink(r, e.t.Currency, e.now)
		}))
}

func (e *export) orders(ctx context.Context) error {
	return inPages(func(p predicate.Order) ([]*ent.Order, error) {
		return e.tx.Order.Query().Where(order.StoreID(e.t.ID), p).All(ctx)
	}, func(r *ent.Order) place { return place{r.CreatedAt, r.ID} }, func(rows []*ent.Order) error {
		var ids, buyerIDs, linkIDs []uuid.UUID
		for _, r := range rows {
			ids, buyerIDs = append(ids, r.ID), append(buyerIDs, r.CustomerID)
			if r.PaymentLinkID != nil {
				linkIDs = append(linkIDs, *r.PaymentLinkID)
			}
		}
		buyers, err := byKey(e.tx.Customer.Query().Where(customer.StoreID(e.t.ID), customer.IDIn(buyerIDs...)).All(ctx))(
			func(c *ent.Customer) uuid.UUID { return c.ID })
		if err != nil {
			return err
		}
		links, err := byKey(e.tx.PaymentLink.Query().Where(paymentlink.StoreID(e.t.ID), paymentlink.IDIn(linkIDs...)).All(ctx))(
			func(l *ent.PaymentLink) uuid.UUID { return l.ID })
		if err != nil {
			return err
		}
		items, err := byKey(e.tx.OrderItem.Query().Where(orderitem.StoreID(e.t.ID), orderitem.OrderIDIn(ids...)).
			Order(orderitem.ByPosition()).All(ctx))(func(i *ent.OrderItem) uuid.UUID { return i.OrderID })
		if err != nil {
			return err
		}
		for _, r := range rows {
			var link *ent.PaymentLink
			if r.PaymentLinkID != nil {
				link = links[*r.PaymentLinkID][0]
			}
			if err := e.add(resource.Order(r, buyers[r.CustomerID][0], link, items[r.ID], e.t.Currency), ""); err != nil {
				return err
			}
		}
		return nil
	})
}

// byKey groups the rows of a query.
func byKey[Row any](rows []Row, err error) func(key func(Row) uuid.UUID) (map[uuid.UUID][]Row, error) {
	return func(key func(Row) uuid.UUID) (map[uuid.UUID][]Row, error) {
		of := make(map[uuid.UUID][]Row, len(rows))
		for _, r := range rows {
			of[key(r)] = append(of[key(r)], r)
		}
		return of, err
	}
}

func (e *export) webhooks(ctx context.Context) error {
	return inPages(func(p predicate.Webhook) ([]*ent.Webhook, error) {
		return e.tx.Webhook.Query().Where(webhook.StoreID(e.t.ID), p).All(ctx)
	}, func(r *ent.Webhook) place { return place{r.CreatedAt, r.ID} }, adding(e, e.Operator.webhook))
}

func (e *export) keys(ctx context.Context) error {
	return inPages(func(p predicate.ApiKey) ([]*ent.ApiKey, error) {
		return e.tx.ApiKey.Query().Where(apikey.StoreID(e.t.ID), p).All(ctx)
	}, func(r *ent.ApiKey) place { return place{r.CreatedAt, r.ID} }, adding(e, e.key))
}

func (e *export) events(ctx context.Context) error {
	return inPages(func(p predicate.Event) ([]*ent.Event, error) {
		return e.tx.Event.Query().Where(event.StoreID(e.t.ID), p).All(ctx)
	}, func(r *ent.Event) place { return place{r.CreatedAt, r.ID} }, adding(e, eventMessage))
}

func (e *export) activity(ctx context.Context) error {
	return inPages(func(p predicate.ActivityEntry) ([]*ent.ActivityEntry, error) {
		return e.tx.ActivityEntry.Query().Where(activityentry.StoreID(e.t.ID), p).All(ctx)
	}, func(r *ent.ActivityEntry) place { return place{r.CreatedAt, r.ID} }, adding(e, activityEntry))
}

// deliveries come status by status, newest first, as their index has them.
func (e *export) deliveries(ctx context.Context) error {
	for _, status := range queue.Statuses() {
		for which := (queue.Search{StoreID: e.t.ID, Status: status, Limit: exportPage}); ; {
			entries, err := queue.EntriesIn(ctx, e.db, e.tx, which)
			if err != nil {
				return err
			}
			if err := adding(e, deliveryWithAnswers)(entries); err != nil {
				return err
			}
			if len(entries) < exportPage {
				break
			}
			which.Before = entries[len(entries)-1].ID
		}
	}
	return nil
}
