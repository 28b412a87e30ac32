package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"go.storefront.example/ent/id"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/activityentry"
	"go.storefront.example/gen/ent/apikey"
	"go.storefront.example/gen/ent/customer"
	"go.storefront.example/gen/ent/order"
	"go.storefront.example/gen/ent/paymentlink"
	"go.storefront.example/gen/ent/product"
	"go.storefront.example/gen/ent/webhook"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
)

// NamesOf maps ids of the store's resources to their names: an order's reference, a title, a name, a webhook's
// URL, the e-mail or phone of a customer without a name. wanted lists ids by kind, as the activity journal names kinds.
// A resource that is gone is absent. Each kind costs one look-up by primary keys. The context must be in the store (In).
func (o *Operator) NamesOf(ctx context.Context, wanted map[string][]string) (map[string]string, error) {
	t, _, ok := tenant.From(ctx)
	if !ok {
		return nil, fmt.Errorf("name the resources of the journal: the context is in no store")
	}
	ids := map[string][]uuid.UUID{}
	for kind, texts := range wanted {
		ids[kind] = parsed(texts)
	}
	names, client := map[string]string{}, o.db.Client()
	for kind, look := range map[string]func([]uuid.UUID) error{
		"product": func(of []uuid.UUID) error {
			return name(ctx, names, client.Product.Query().Where(product.StoreID(t.ID), product.IDIn(of...)).Select(product.FieldID,
				product.FieldTitle).All, func(r *ent.Product) (uuid.UUID, string) { return r.ID, r.Title })
		},
		"order": func(of []uuid.UUID) error {
			return name(ctx, names, client.Order.Query().Where(order.StoreID(t.ID), order.IDIn(of...)).All,
				func(r *ent.Order) (uuid.UUID, string) { return r.ID, r.Reference })
		},
		"customer": func(of []uuid.UUID) error {
			return name(ctx, names, client.Customer.Query().Where(customer.StoreID(t.ID), customer.IDIn(of...)).All,
				func(r *ent.Customer) (uuid.UUID, string) {
					return r.ID, cmp.Or(r.Name, *cmp.Or(r.Email, r.Phone)) // a customer has one of the two
				})
		},
		"payment_link": func(of []uuid.UUID) error {
			return name(ctx, names, client.PaymentLink.Query().Where(paymentlink.StoreID(t.ID),
				paymentlink.IDIn(of...)).Select(paymentlink.FieldID, paymentlink.FieldTitle).All,
				func(r *ent.PaymentLink) (uuid.UUID, string) { return r.ID, r.Title })
		},
		"api_key": func(of []uuid.UUID) error {
			return name(ctx, names, client.ApiKey.Query().Where(apikey.StoreID(t.ID), apikey.IDIn(of...)).All,
				func(r *ent.ApiKey) (uuid.UUID, string) { return r.ID, r.Name })
		},
		"webhook": func(of []uuid.UUID) error {
			return name(ctx, names, client.Webhook.Query().Where(webhook.StoreID(t.ID), webhook.IDIn(of...)).All,
				func(r *ent.Webhook) (uuid.UUID, string) { return r.ID, r.URL })
		},
	} {
		if len(ids[kind]) == 0 {
			continue
		}
		if err := look(ids[kind]); err != nil {
			return nil, fmt.Errorf("name what the journal calls %s: %w", kind, err)
		}
	}
	return names, nil
}

// registrationDelay is how much later than its id's time a webhook's registration is in the journal at most.
const registrationDelay = time.Minute

// RegistrationsOf returns the journal's entries about the registration of these webhooks, which tell the URLs of those
// that are gone. The index of the journal's times finds them. The context must be in the store (In).
func (o *Operator) RegistrationsOf(ctx context.Context, webhooks []uuid.UUID) ([]*adminv1.ActivityEntry, error) {
	t, _, ok := tenant.From(ctx)
	if !ok {
		return nil, errors.New("find registrations of webhooks: the context is in no store")
	}
	var found []*adminv1.ActivityEntry
	for _, w := range webhooks {
		made := id.Time(w)
		rows, err := o.db.Client().ActivityEntry.Query().Where(
			activityentry.StoreID(t.ID), activityentry.CreatedAtGTE(made), activityentry.CreatedAtLT(made.Add(registrationDelay)),
			activityentry.ResourceID(w), activityentry.Action("webhook.created"),
		).All(ctx)
		if err != nil {
			return nil, fmt.Errorf("find the registration of a webhook: %w", err)
		}
		found = append(found, each(rows, activityEntry)...)
	}
	return found, nil
}

// name adds the names of the rows that a query finds.
func name[Row any](ctx context.Context, into map[string]string,
	find func(context.Context) ([]Row, error), of func(Row) (uuid.UUID, string)) error {
	rows, err := find(ctx)
	for _, row := range rows {
		if id, text := of(row); text != "" {
			into[id.String()] = text
		}
	}
	return err
}
