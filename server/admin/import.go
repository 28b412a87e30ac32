package admin

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"go.storefront.example/ent/apijson"
	"go.storefront.example/ent/db"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/activityentry"
	"go.storefront.example/gen/ent/customer"
	"go.storefront.example/gen/ent/order"
	"go.storefront.example/gen/ent/paymentlink"
	"go.storefront.example/gen/ent/product"
	"go.storefront.example/gen/ent/store"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/transfer"
)

// ImportProducts imports a batch of products into a store.
func (o *Operator) ImportProducts(ctx context.Context, in *adminv1.ImportProductsRequest) (*adminv1.ImportResponse, error) {
	return callInStore(ctx, o, in.GetStore(), in, transfer.New(o.db, o.webhooks).Products)
}

// ImportCustomers imports a batch of customers into a store.
func (o *Operator) ImportCustomers(ctx context.Context, in *adminv1.ImportCustomersRequest) (*adminv1.ImportResponse, error) {
	return callInStore(ctx, o, in.GetStore(), in, transfer.New(o.db, o.webhooks).Customers)
}

// ImportOrders imports a batch of orders into a store.
func (o *Operator) ImportOrders(ctx context.Context, in *adminv1.ImportOrdersRequest) (*adminv1.ImportResponse, error) {
	return callInStore(ctx, o, in.GetStore(), in, transfer.New(o.db, o.webhooks).Orders)
}

// FinishImport writes the notice that an import has ended.
func (o *Operator) FinishImport(ctx context.Context, in *adminv1.FinishImportRequest) (*adminv1.FinishImportResponse, error) {
	return callInStore(ctx, o, in.GetStore(), in, transfer.New(o.db, o.webhooks).Finish)
}

// ImportRows imports rows of an export into a store.
func (o *Operator) ImportRows(ctx context.Context, in *adminv1.ImportRowsRequest) (*adminv1.ImportResponse, error) {
	return callInStore(ctx, o, in.GetStore(), in, transfer.New(o.db, o.webhooks).Rows)
}

// ImportStore finds or creates the store for the rows of an export.
func (o *Operator) ImportStore(ctx context.Context, in *adminv1.ImportStoreRequest) (*storefrontv1.Store, error) {
	from, settings := in.GetExported().GetStore(), in.GetExported().GetSettings()
	p := &problems{}
	sourceID := p.RowID("exported.store.id", from.GetId())
	if err := p.Err(); err != nil {
		return nil, err
	}
	if settings == nil || in.GetExportedAt().CheckValid() != nil || from.GetCreatedAt().CheckValid() != nil {
		return nil, apierr.Invalid("The request names no export.",
			apijson.Field{Name: "exported", Message: "must be the store of an export, with the instant of it"})
	}
	if in.GetWithSecrets() { // check for the secret key now, because the rows with secrets come last
		if _, err := o.webhooks.Sealer(ctx); err != nil {
			return nil, err
		}
	}
	refuse := func(message string) error {
		return apierr.Invalid("The export cannot be imported into the store "+in.GetStore()+".", apijson.Field{Name: "store",
			Message: message})
	}
	if bucket := tenant.Bucket(sourceID); (in.GetCreate() || in.GetWithSecrets()) && !o.buckets.Has(bucket) {
		return nil, refuse(fmt.Sprintf("must be in one of this installation's buckets, %s, because a proxy sends its keys by their bucket, "+
			"%s, elsewhere: put that into --buckets first", o.buckets, bucket))
	}
	source, err := o.db.Client().Store.Query().Where(store.ID(sourceID)).Only(ctx)
	if err != nil && !ent.IsNotFound(err) {
		return nil, fmt.Errorf("look for the exported store: %w", err)
	}
	if source != nil && source.Slug != in.GetStore() && source.ID.String() != in.GetStore() {
		return nil, refuse("must be in another database than the exported store " + source.Slug + ", whose rows have the ids")
	}
	storeCtx, t, err := o.check(ctx, nil, in.GetStore())
	if in.GetCreate() && apierr.Is(err, apierr.StoreNotFound) {
		created, refused := o.shop.RestoreStore(ctx, actorOf(ctx), sourceID, from.GetCreatedAt().AsTime(), &adminv1.CreateStoreRequest{
			Name: from.GetName(), Slug: in.GetStore(), Currency: from.GetCurrency(), Country: from.GetCountry(),
		})
		switch {
		case db.IsUnique(refused):
			return nil, refuse("must be created by one import at a time: another has just taken the slug or the id " + from.GetId())
		case refused != nil:
			return nil, refused
		}
		storeCtx, t, err = o.check(ctx, nil, created.GetId())
	}
	if err != nil {
		return nil, err
	}
	leaving, err := o.db.Client().Store.Query().Where(store.ID(t.ID), store.DeleteAtNotNil()).Exist(ctx)
	switch {
	case err != nil:
		return nil, fmt.Errorf("look whether the store is to be deleted: %w", err)
	case leaving:
		return nil, refuse("must not be about to be deleted, with all that is imported; restore it first")
	}
	if t.Currency != from.GetCurrency() || t.Country != from.GetCountry() {
		return nil, refuse(fmt.Sprintf("must be of %s and %s, as the exported one, not of %s and %s", from.GetCurrency(),
			from.GetCountry(), t.Currency, t.Country))
	}
	export := from.GetId() + " of " + in.GetExportedAt().AsTime().Format(time.RFC3339Nano)
	begun, err := o.importBegun(storeCtx, t.ID, export)
	if err != nil {
		return nil, err
	}
	if begun {
		return o.shop.GetStore(storeCtx, &storefrontv1.GetStoreRequest{})
	}
	for _, table := range []string{product.Table, customer.Table, order.Table, paymentlink.Table} {
		found, err := selectIDs(ctx, o.db.Reader(), "SELECT CAST(id AS text) FROM "+table+" WHERE store_id = $1 LIMIT 1", t.ID)
		if err != nil {
			return nil, fmt.Errorf("look whether the store is empty: %w", err)
		}
		if len(found) > 0 {
			return nil, refuse("must be empty, and has " + strings.ReplaceAll(table, "_", " ") + "; import into a new store")
		}
	}
	updated, err := o.shop.UpdateStore(storeCtx, &adminv1.UpdateStoreRequest{
		Name: &from.Name, Url: &from.Url, Description: &from.Description, SupportEmail: &from.SupportEmail, Phone: &from.Phone,
		WhatsappPhone: &from.WhatsappPhone, SocialLinks: from.GetSocialLinks(), Status: from.GetStatus().Enum(),
		PaymentLinksOpen: &settings.PaymentLinksOpen, UnavailableTypes: settings.GetUnavailableTypes(),
		PlatformFeePercent: &settings.PlatformFeePercent,
		UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"name", "url", "description", "support_email", "phone", "whatsapp_phone",
			"social_links", "status", "payment_links_open", "unavailable_types", "platform_fee_percent"}},
	})
	if err != nil {
		return nil, err
	}
	return updated, hook.Run(storeCtx, o.db, func(c *hook.Change) error {
		c.Record(imported, "store", t.ID, hook.FieldChange{Field: "export", To: export})
		return nil
	})
}

const imported = "store.imported"

// importBegun looks in the store's journal for an earlier import of this export.
func (o *Operator) importBegun(ctx context.Context, store uuid.UUID, export string) (bool, error) {
	rows, err := o.db.Client().ActivityEntry.Query().Where(activityentry.StoreID(store), activityentry.Action(imported)).
		Select(activityentry.FieldChanges).All(ctx)
	if err != nil {
		return false, fmt.Errorf("look for the import in the journal: %w", err)
	}
	return slices.ContainsFunc(rows, func(r *ent.ActivityEntry) bool { return bytes.Contains(r.Changes, []byte(export)) }), nil
}
