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

// LockedOrder is an order for a transaction that moves it.
type LockedOrder struct {
	// Row has the order's key, references, amount, status and moments; Buyer its customer's key, total
	// and moments. Other fields are zero.
	Row   *ent.Order
	Buyer *ent.Customer
	// Order is the order as GET answers.
	Order *storefrontv1.Order
}

const (
	lockedColumns = `, o.customer_id, o.payment_link_id, o.updated_at, c.total_paid, c.created_at, c.updated_at`

	// orderToMove is orderByID with what a move needs.
	orderToMove = "SELECT 0, " + orderColumns + lockedColumns + orderFrom

	// LockedRows are what a row lock of LockOrder locks: the order first and then its customer. Items never change; the
	// payment link is not locked, because an outer join cannot.
	LockedRows = " OF o, c"
)

// LockOrder reads an order of the store with all that it shows, with db.DB.RowLock's lock of LockedRows, or "". It
// returns ErrNotFound when the store has no such order.
func LockOrder(ctx context.Context, q Querier, store tenant.Store, id uuid.UUID, rowLock string) (*LockedOrder, error) {
	t := &LockedOrder{Row: &ent.Order{ID: id, StoreID: store.ID}, Buyer: &ent.Customer{StoreID: store.ID}}
	into := &orderScan{currency: store.Currency, more: []any{
		&t.Row.CustomerID, &t.Row.PaymentLinkID, &t.Row.UpdatedAt, &t.Buyer.TotalPaid, &t.Buyer.CreatedAt, &t.Buyer.UpdatedAt,
	}}
	if err := each(ctx, q, orderToMove+rowLock, []any{store.ID, id}, into.scan); err != nil {
		return nil, fmt.Errorf("lock order: %w", err)
	}
	if len(into.orders) == 0 {
		return nil, ErrNotFound
	}
	t.Order = into.orders[0]
	t.Row.Status, t.Row.Amount, t.Row.CreatedAt = order.Status(into.status), into.amount, into.createdAt
	if into.paidAt.Valid {
		t.Row.PaidAt = &into.paidAt.Time
	}
	t.Buyer.ID = t.Row.CustomerID
	return t, nil
}
