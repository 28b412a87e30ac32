package resource

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/order"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
)

// LockedOrder is an order that a transaction has locked to change its status.
type LockedOrder struct {
	Row   *ent.Order
	Buyer *ent.Customer
	// Order is the order as a GET returns it.
	Order *storefrontv1.Order
}

const (
	lockedColumns = `, o.customer_id, o.payment_link_id, o.updated_at, c.search, c.orders_count, c.total_paid, c.created_at, c.updated_at`

	// orderToLock is the statement orderByID with further columns, which LockedOrder has.
	orderToLock = "SELECT 0, " + orderColumns + lockedColumns + orderFrom

	// LockedRows is the argument of db.DB.RowLock with which LockOrder locks the order and its customer. Items need no lock,
	// because they never change. The payment link stays unlocked, because PostgreSQL cannot lock a row of an outer join.
	LockedRows = " OF o, c"
)

// LockOrder reads an order of the store with everything that a GET shows, and locks the order's row and its customer's row
// if rowLock is db.DB.RowLock(LockedRows). If rowLock is "", LockOrder locks no row. It fails with ErrNotFound if the store
// has no such order.
func LockOrder(ctx context.Context, q Querier, store tenant.Store, id uuid.UUID, rowLock string) (*LockedOrder, error) {
	t := &LockedOrder{Row: &ent.Order{ID: id, StoreID: store.ID}, Buyer: &ent.Customer{StoreID: store.ID}}
	s := &orderScan{currency: store.Currency, extra: []any{
		&t.Row.CustomerID, &t.Row.PaymentLinkID, &t.Row.UpdatedAt, &t.Buyer.Search, &t.Buyer.OrdersCount, &t.Buyer.TotalPaid,
		&t.Buyer.CreatedAt, &t.Buyer.UpdatedAt,
	}}
	if err := forEachRow(ctx, q, orderToLock+rowLock, []any{store.ID, id}, s.scan); err != nil {
		return nil, fmt.Errorf("lock order: %w", err)
	}
	if len(s.orders) == 0 {
		return nil, ErrNotFound
	}
	t.Order = s.orders[0]
	t.Row.Reference, t.Row.Status, t.Row.Amount, t.Row.CreatedAt = s.reference, order.Status(s.status), s.amount, s.createdAt
	t.Row.PlatformFeePercent, t.Row.Note = s.fee, s.note
	if s.paidAt.Valid {
		t.Row.PaidAt = &s.paidAt.Time
	}
	t.Buyer.ID, t.Buyer.Name, t.Buyer.Email, t.Buyer.Phone = t.Row.CustomerID, s.customerName, s.email, s.phone
	return t, nil
}
