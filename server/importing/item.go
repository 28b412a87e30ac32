package importing

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"go.storefront.example/ent/field"
	"go.storefront.example/ent/hook"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/orderitem"
)

// itemRows bounds the items of one statement: nine parameters each.
const itemRows = 1000

// storeOrders stores the orders and their items.
func (b *orders) storeOrders(ctx context.Context, tx *ent.Tx) error {
	now := hook.Time(ctx)
	orders := make([]*ent.OrderCreate, len(b.fresh))
	var items []*ent.OrderItemCreate
	for i, l := range b.fresh {
		o := &l.row.order
		dated(&o.CreatedAt, now)
		if o.PaidAt == nil && l.row.taken() {
			o.PaidAt = &o.CreatedAt
		}
		orders[i] = tx.Order.Create().SetID(o.ID).SetStoreID(b.t.ID).SetReference(o.Reference).SetStatus(o.Status).
			SetAmount(o.Amount).SetPlatformFeePercent(o.PlatformFeePercent).SetCustomerID(l.row.buyer.ID).
			SetNillablePaymentLinkID(o.PaymentLinkID).SetNillablePaidAt(o.PaidAt).
			SetCreatedAt(o.CreatedAt).SetUpdatedAt(now) // the events of the load lie before those to come
		if err := field.Order.Fill(orders[i].Mutation(), o); err != nil {
			return fmt.Errorf("store the orders: %w", err)
		}
		for _, item := range l.row.items {
			items = append(items, tx.OrderItem.Create().SetID(item.ID).SetStoreID(b.t.ID).SetOrderID(o.ID).
				SetPosition(item.Position).SetProductID(item.ProductID).SetType(item.Type).SetTitle(item.Title).
				SetUnitAmount(item.UnitAmount).SetQuantity(item.Quantity))
		}
	}
	if err := tx.Order.CreateBulk(orders...).Exec(ctx); err != nil {
		return fmt.Errorf("store the orders: %w", err)
	}
	for part := range slices.Chunk(items, itemRows) {
		if err := tx.OrderItem.CreateBulk(part...).Exec(ctx); err != nil {
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
	taken := map[uuid.UUID]bool{}
	for part := range slices.Chunk(ids, itemRows) {
		rows, err := tx.OrderItem.Query().Where(orderitem.IDIn(part...)).Select(orderitem.FieldID).All(ctx)
		if err != nil {
			return fmt.Errorf("look for the items: %w", err)
		}
		for _, row := range rows {
			taken[row.ID] = true
		}
	}
	for _, l := range b.fresh {
		for i, item := range l.row.items {
			if taken[item.ID] {
				b.refuse(l.index, fmt.Sprintf("items[%d].id", i), "is another item's")
			}
			taken[item.ID] = true
		}
	}
	return nil
}
