package admin

import (
	"context"
	stdsql "database/sql"
	"encoding/json"
	"fmt"
	"time"

	"entgo.io/ent/dialect/sql"
	"github.com/google/uuid"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/id"
	"go.storefront.example/ent/notice"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/activityentry"
	"go.storefront.example/gen/ent/apikey"
	"go.storefront.example/gen/ent/customer"
	"go.storefront.example/gen/ent/event"
	"go.storefront.example/gen/ent/order"
	"go.storefront.example/gen/ent/paymentlink"
	"go.storefront.example/gen/ent/predicate"
	"go.storefront.example/gen/ent/product"
	"go.storefront.example/gen/ent/session"
	"go.storefront.example/gen/ent/signinlink"
	"go.storefront.example/gen/ent/store"
	"go.storefront.example/gen/ent/webhook"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/validate"
)

// kind is a kind of row that a request may name by its id alone, such as orders.
type kind struct {
	code  apierr.Code
	noun  string
	table string
	// otherTable is a second table with rows of this kind, such as finished deliveries, or empty.
	otherTable string
	// nameColumn is the column or SQL expression of a row's name for people, or empty.
	nameColumn string
}

var (
	productKind     = kind{apierr.ProductNotFound, "product", product.Table, "", product.FieldTitle}
	orderKind       = kind{apierr.OrderNotFound, "order", order.Table, "", order.FieldReference}
	customerKind    = kind{apierr.CustomerNotFound, "customer", customer.Table, "", "COALESCE(NULLIF(name, ''), email, phone)"}
	paymentLinkKind = kind{apierr.PaymentLinkNotFound, "payment link", paymentlink.Table, "", paymentlink.FieldTitle}
	keyKind         = kind{apierr.APIKeyNotFound, "API key", apikey.Table, "", apikey.FieldName}
	webhookKind     = kind{apierr.WebhookNotFound, "webhook", webhook.Table, "", webhook.FieldURL}
	deliveryKind    = kind{apierr.DeliveryNotFound, "delivery", "deliveries", "finished_deliveries", ""}
	eventKind       = kind{apierr.EventNotFound, "event", event.Table, "", ""}
	resendKind      = kind{apierr.ResendNotFound, "resend", "resends", "", ""}
	sessionKind     = kind{apierr.SessionNotFound, "session or sign-in link", session.Table, signinlink.Table, ""}
)

// journaled has the kinds with names by the activity journal's resource types.
var journaled = map[string]kind{
	"product": productKind, "order": orderKind, "customer": customerKind, "payment_link": paymentLinkKind, "api_key": keyKind,
	"webhook": webhookKind,
}

func (k kind) notFound(id string) error {
	return apierr.New(k.code, fmt.Sprintf("There is no %s with the id %q.", k.noun, id))
}

// severalStores refuses an id that rows of several stores share, which imports of an older release could bring about.
func (k kind) severalStores(id string) error {
	return apierr.New(k.code, fmt.Sprintf("Several stores have a %s with the id %s: name the store too.", k.noun, id))
}

func (k kind) owner(id uuid.UUID) predicate.Store {
	in := func(table string) *sql.Selector {
		return sql.Select("store_id").From(sql.Table(table)).Where(sql.EQ("id", id))
	}
	owner := in(k.table)
	if k.otherTable != "" {
		owner.Union(in(k.otherTable))
	}
	return func(stores *sql.Selector) { stores.Where(sql.In(stores.C(store.FieldID), owner)) }
}

// withRowStore returns the context of the named store or, if store is empty, of the row's.
func (o *Operator) withRowStore(ctx context.Context, k kind, store, id string) (context.Context, error) {
	ctx, err := o.withOptionalStore(ctx, store)
	if err != nil {
		return nil, err
	}
	if _, _, ok := tenant.From(ctx); ok {
		return ctx, nil // shop and webhooks find only rows of this store
	}
	parsed, ok := validate.ParseID(id)
	if !ok {
		return nil, k.notFound(id)
	}
	row, err := o.db.Client().Store.Query().Where(k.owner(parsed)).Only(ctx)
	if ent.IsNotFound(err) {
		return o.withNoticeRow(ctx, k, id, parsed)
	}
	if ent.IsNotSingular(err) {
		return nil, k.severalStores(id)
	}
	if err != nil {
		return nil, fmt.Errorf("find the owner of %s: %w", id, err)
	}
	return o.WithStore(ctx, row.ID.String())
}

func (o *Operator) withNoticeRow(ctx context.Context, k kind, id string, parsed uuid.UUID) (context.Context, error) {
	query := "SELECT CAST(id AS text) FROM " + k.table + " WHERE id = $1 AND store_id = $2"
	if k.otherTable != "" {
		query += " UNION SELECT CAST(id AS text) FROM " + k.otherTable + " WHERE id = $1 AND store_id = $2"
	}
	switch found, err := selectIDs(ctx, o.db.Reader(), query, parsed, notice.NoStore); {
	case err != nil:
		return nil, fmt.Errorf("find %s among the notices: %w", id, err)
	case len(found) == 0:
		return nil, k.notFound(id)
	}
	return tenant.With(ctx, noStore, actorOf(ctx)), nil
}

func selectIDs(ctx context.Context, q db.Querier, query string, args ...any) (found []string, err error) {
	for row := range db.Rows(ctx, q, query, args...) {
		var id string
		if err := row.Scan(&id); err != nil {
			return nil, err
		}
		found = append(found, id)
	}
	return found, nil
}

// NamesOf returns what people call resources, by their ids: a reference, a title, a name, a webhook's URL, or the e-mail or
// phone of a customer without a name. names lacks deleted resources; deleted has the URLs with which deleted webhooks were
// registered. The context must have the store (see WithStore).
func (o *Operator) NamesOf(ctx context.Context, idsByType map[string][]string) (names, deleted map[string]string, err error) {
	t, err := tenant.StoreOf(ctx)
	if err != nil {
		return nil, nil, err
	}
	names, deleted = map[string]string{}, map[string]string{}
	for resourceType, k := range journaled {
		ids := parseIDs(idsByType[resourceType])
		if len(ids) == 0 {
			continue
		}
		query, args := sql.Dialect(o.db.Dialect()).Select("id", k.nameColumn).From(sql.Table(k.table)).
			Where(sql.And(sql.EQ("store_id", t.ID), sql.In("id", convertAll(ids, func(id uuid.UUID) any { return id })...))).Query()
		for row := range db.Rows(ctx, o.db.Reader(), query, args...) {
			var found uuid.UUID
			var name stdsql.NullString
			if err := row.Scan(&found, &name); err != nil {
				return nil, nil, fmt.Errorf("name what the journal calls %s: %w", resourceType, err)
			}
			names[found.String()] = name.String
		}
	}
	for _, webhook := range parseIDs(idsByType["webhook"]) {
		if name := webhook.String(); names[name] == "" && deleted[name] == "" {
			if deleted[name], err = o.registeredURL(ctx, t, webhook); err != nil {
				return nil, nil, err
			}
		}
	}
	return names, deleted, nil
}

// registrationDelay is the longest time between the time in a webhook's id and its first journal entry.
const registrationDelay = time.Minute

// registeredURL reads a webhook's URL from its first journal entry, or returns "".
func (o *Operator) registeredURL(ctx context.Context, t tenant.Store, webhook uuid.UUID) (string, error) {
	createdAt := id.Time(webhook)
	row, err := o.db.Client().ActivityEntry.Query().Where(
		activityentry.StoreID(t.ID), activityentry.CreatedAtGTE(createdAt), activityentry.CreatedAtLT(createdAt.Add(registrationDelay)),
		activityentry.ResourceID(webhook), activityentry.Action("webhook.created"),
	).First(ctx)
	if ent.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("find the registration of a webhook: %w", err)
	}
	var changes struct{ URL struct{ To string } }
	_ = json.Unmarshal(row.Changes, &changes)
	return changes.URL.To, nil
}

func parseIDs(texts []string) []uuid.UUID {
	ids := make([]uuid.UUID, 0, len(texts))
	for _, text := range texts {
		if id, ok := validate.ParseID(text); ok {
			ids = append(ids, id)
		}
	}
	return ids
}
