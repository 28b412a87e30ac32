package importing

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"go.storefront.example/ent/hook"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/orderitem"
)

// itemsAtOnce bounds the items of a statement: an order may have any number, and a statement 32,766 parameters.
const itemsAtOnce = 2000

// storeOrders stores the orders and their items.
func (b *orders) storeOrders(ctx context.Context, tx *ent.Tx) error {
	now := hook.Time(ctx)
	b.stored = make([]*ent.Order, len(b.fresh))
	creates := make([]*ent.OrderCreate, len(b.fresh))
	var items []*ent.OrderItemCreate
	for i := range b.fresh {
		l := &b.fresh[i].row
		o := l.order
		dated(&o.CreatedAt, now)
		if o.PaidAt == nil && taken(&o) {
			o.PaidAt = &o.CreatedAt
		}
		b.stored[i] = &o
		// Events of the import have earlier times than later events of the same orders.
		creates[i] = tx.Order.Create().SetID(o.ID).SetStoreID(b.t.ID).SetReference(o.Reference).SetStatus(o.Status).SetAmount(o.Amount).
			SetPlatformFeePercent(o.PlatformFeePercent).SetCustomerID(l.buyer.ID).SetNillablePaymentLinkID(o.PaymentLinkID).
			SetNillableNote(o.Note).SetNillablePaidAt(o.PaidAt).SetCreatedAt(o.CreatedAt).SetUpdatedAt(now)
		for _, item := range l.items {
			items = append(items, tx.OrderItem.Create().SetID(item.ID).SetStoreID(b.t.ID).SetOrderID(o.ID).SetPosition(item.Position).
				SetProductID(item.ProductID).SetType(item.Type).SetTitle(item.Title).SetUnitAmount(item.UnitAmount).SetQuantity(
				item.Quantity))
		}
	}
	if err := tx.Order.CreateBulk(creates...).Exec(ctx); err != nil {
		return fmt.Errorf("store orders: %w", err)
	}
	for some := range slices.Chunk(items, itemsAtOnce) {
		if err := tx.OrderItem.CreateBulk(some...).Exec(ctx); err != nil {
			return fmt.Errorf("store the orders' items: %w", err)
		}
	}
	return nil
}

// freeItems refuses a row one of whose items has the id of another item.
func (b *orders) freeItems(ctx context.Context, tx *ent.Tx) error {
	var ids []uuid.UUID
	for _, l := range b.fresh {
		for _, item := range l.row.items {
			ids = append(ids, item.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	used := map[uuid.UUID]bool{}
	rows, err := tx.OrderItem.Query().Where(among(orderitem.FieldID, ids)).Select(orderitem.FieldID).All(ctx)
	if err != nil {
		return fmt.Errorf("look for the items: %w", err)
	}
	for _, row := range rows {
		used[row.ID] = true
	}
	for _, l := range b.fresh {
		for i, item := range l.row.items {
			if used[item.ID] {
				b.refuse(l.index, fmt.Sprintf("items[%d].id", i), "is another item's")
			}
			used[item.ID] = true
		}
	}
	return nil
}
