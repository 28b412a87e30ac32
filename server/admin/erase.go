package admin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"go.storefront.example/ent/apijson"
	"go.storefront.example/ent/db"
	"go.storefront.example/ent/erase"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/resource"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/order"
	"go.storefront.example/gen/ent/store"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/shop"
	"go.storefront.example/server/validate"
)

// DefaultGrace is how long a deleted store can be restored by default.
const DefaultGrace = 30 * 24 * time.Hour

// DeleteStore closes a store; workers delete it after a grace period.
func (o *Operator) DeleteStore(ctx context.Context, in *adminv1.DeleteStoreRequest) (*adminv1.StoreSettings, error) {
	ctx, t, err := o.withExistingStore(ctx, in.GetStore())
	if err != nil {
		return nil, err
	}
	grace := DefaultGrace
	if in.GraceSeconds != nil {
		grace = time.Duration(in.GetGraceSeconds()) * time.Second
	}
	var refused problems
	refused.Declared(in, nil)
	if (grace == 0 || in.GetConfirmSlug() != "") && in.GetConfirmSlug() != t.Slug {
		refused.Invalid("confirmSlug", "must be the store's slug once more, because the store cannot be restored")
	}
	if err := refused.Err(); err != nil {
		return nil, err
	}
	return hook.Answer(ctx, o.db, func(c *hook.Change) (*adminv1.StoreSettings, error) {
		row, err := shop.LockStore(c)
		if err != nil {
			return nil, err
		}
		if err := o.checkGrace(row); err != nil {
			return nil, err
		}
		at := c.Time(row.ID).Add(grace)
		c.Record("store.deletion_ordered", "store", row.ID, hook.FieldChange{Field: "deleteAt", To: at})
		if row, err = row.Update().SetStatus(store.StatusClosed).SetDeleteAt(at).Save(c); err != nil {
			return nil, err
		}
		return settingsOf(row), nil
	})
}

// RestoreStore cancels a scheduled deletion and opens the store. Other stores stay as they are.
func (o *Operator) RestoreStore(ctx context.Context, in *adminv1.RestoreStoreRequest) (*storefrontv1.Store, error) {
	ctx, _, err := o.withExistingStore(ctx, in.GetStore())
	if err != nil {
		return nil, err
	}
	return hook.Answer(ctx, o.db, func(c *hook.Change) (*storefrontv1.Store, error) {
		row, err := shop.LockStore(c)
		if err != nil {
			return nil, err
		}
		if row.DeleteAt == nil {
			return resource.Store(row), nil
		}
		if err := o.checkGrace(row); err != nil {
			return nil, err
		}
		c.Record("store.restored", "store", row.ID, hook.FieldChange{Field: "deleteAt", From: *row.DeleteAt})
		if row, err = row.Update().SetStatus(store.StatusOpen).ClearDeleteAt().Save(c); err != nil {
			return nil, err
		}
		return resource.Store(row), nil
	})
}

// checkGrace refuses after the grace period. The caller has locked the row, so a worker begins before or after this
// transaction.
func (o *Operator) checkGrace(row *ent.Store) error {
	if row.DeletionBeganAt == nil && (row.DeleteAt == nil || row.DeleteAt.After(o.db.Now())) {
		return nil
	}
	return storeBeingDeleted(row.Slug)
}

// storeBeingDeleted refuses a request for a store whose deletion can no longer be stopped.
func storeBeingDeleted(slug string) error {
	return apierr.New(apierr.StoreBeingDeleted, "The store "+slug+" is being deleted, and nothing was changed: its grace is over, "+
		"and what is gone cannot be brought back. Once it is no longer listed, an export of it can be imported into a new store.")
}

func forgetting(f erase.Forgetting) *adminv1.Forgetting {
	receipt := &adminv1.Forgetting{
		CustomerId: f.CustomerID.String(), StoreId: f.StoreID.String(), Events: f.Events, Deliveries: f.Deliveries,
		ActivityEntries: f.ActivityEntries, Notes: f.Notes, IdempotencyKeys: f.IdempotencyKeys,
		CreatedAt: apijson.Timestamp(f.CreatedAt), FinishedAt: apijson.OptionalTimestamp(f.FinishedAt),
	}
	if f.LogWaitsFor != "" {
		receipt.LogWaitsFor = &f.LogWaitsFor
	}
	return receipt
}

func (o *Operator) forget(ctx context.Context, in rowRequest,
	step func(ctx context.Context, d *db.DB, storeID, customerID uuid.UUID) (erase.Forgetting, error)) (*adminv1.Forgetting, error) {
	return byID(ctx, o, customerKind, in, func(ctx context.Context, id string) (f erase.Forgetting, err error) {
		notFound := func() error { return customerKind.notFound(id) }
		t, customerID, err := validate.StoreAndID(ctx, id, notFound)
		if err != nil {
			return f, err
		}
		f, err = step(ctx, o.db, t.ID, customerID)
		switch {
		case ent.IsNotFound(err), errors.Is(err, erase.ErrNoForgetting):
			err = notFound()
		}
		return f, err
	}, forgetting)
}

// ForgetCustomer erases the personal data in a customer's row, and begins with the other rows. ContinueForgetting, or a worker,
// continues.
func (o *Operator) ForgetCustomer(ctx context.Context, in *adminv1.ForgetCustomerRequest) (*adminv1.Forgetting, error) {
	return o.forget(ctx, in, erase.BeginForgetting)
}

// ContinueForgetting does the next step. At the end it returns the receipt. If only SQLite's log still has data, it tries to
// empty the log.
func (o *Operator) ContinueForgetting(ctx context.Context, in *adminv1.ContinueForgettingRequest) (*adminv1.Forgetting, error) {
	return o.forget(ctx, in, erase.Step)
}

// Forget erases a customer's personal data, and calls report after each step. If the caller stops, a worker continues.
func Forget(ctx context.Context, o API, id string, report func(*adminv1.Forgetting)) (*adminv1.Forgetting, error) {
	job, err := o.ForgetCustomer(ctx, &adminv1.ForgetCustomerRequest{Id: id})
	for again := job.GetLogWaitsFor() != ""; err == nil && (again || job.GetFinishedAt() == nil); again = false {
		if job, err = o.ContinueForgetting(ctx, &adminv1.ContinueForgettingRequest{Id: id}); err == nil {
			report(job)
		}
	}
	return job, err
}

// ListCustomerOrders returns a page of a customer's orders, newest first.
func (o *Operator) ListCustomerOrders(ctx context.Context, in *adminv1.ListCustomerOrdersRequest) (
	*adminv1.ListCustomerOrdersResponse, error) {
	var refused problems
	p := refused.page(in, in.GetPageToken())
	if err := refused.Err(); err != nil {
		return nil, err
	}
	ctx, err := o.withRowStore(ctx, customerKind, in.GetStore(), in.GetId())
	if err != nil {
		return nil, err
	}
	c, err := o.shop.GetCustomer(ctx, &storefrontv1.GetCustomerRequest{Id: in.GetId()})
	if err != nil {
		return nil, err
	}
	t, _, _ := tenant.From(ctx)
	ids, err := o.db.Client().Order.Query().Where(order.StoreID(t.ID), order.CustomerID(uuid.MustParse(c.GetId())), p.rows).IDs(ctx)
	if err != nil {
		return nil, fmt.Errorf("list a customer's orders: %w", err)
	}
	orders := make([]*storefrontv1.Order, len(ids))
	for i, id := range ids {
		if orders[i], err = resource.ReadOrder(ctx, o.db.Reader(), t, id); err != nil {
			return nil, err
		}
	}
	out := &adminv1.ListCustomerOrdersResponse{}
	out.Orders, out.NextPageToken = pageOf(p, orders, func(o *storefrontv1.Order) *storefrontv1.Order { return o })
	return out, nil
}
