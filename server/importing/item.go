package importing

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"go.storefront.example/ent/field"
	"go.storefront.example/ent/hook"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/orderitem"
)

// storeOrders stores the orders and their items.
func (b *orders) storeOrders(ctx context.Context, tx *ent.Tx) error {
	now := hook.Time(ctx)
	b.stored = make([]*ent.Order, len(b.fresh))
	var items []*ent.OrderItem
	for i := range b.fresh {
		l := &b.fresh[i].row
		o := l.order
		dated(&o.CreatedAt, now)
		if o.PaidAt == nil && taken(&o) {
			o.PaidAt = &o.CreatedAt
		}
		// Events of the import have earlier times than later events of the same orders.
		o.StoreID, o.CustomerID, o.UpdatedAt = b.t.ID, l.buyer.ID, now
		b.stored[i] = &o
		for n := range l.items {
			item := &l.items[n]
			item.StoreID, item.OrderID = b.t.ID, o.ID
			items = append(items, item)
		}
	}
	if err := storeRows(ctx, tx, &b.batch, field.OrderRows, b.stored); err != nil {
		return err
	}
	return insertRows(ctx, tx, &b.batch, field.ItemRows, items)
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
