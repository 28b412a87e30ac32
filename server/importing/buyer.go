package importing

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"go.storefront.example/ent/db"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/customer"
	"go.storefront.example/gen/ent/paymentlink"
)

// holdBuyers locks the rows of the orders' customers and plans those that are to be created.
func (b *orders) holdBuyers(ctx context.Context, tx *ent.Tx) error {
	inline := make([]row[ent.Customer], len(b.fresh))
	for i, l := range b.fresh {
		inline[i] = row[ent.Customer]{l.index, l.row.buyer}
	}
	held, err := b.holders(ctx, tx, inline)
	if err != nil {
		return err
	}
	ids := idsOf(inline, customerID)
	if b.options.GetMatchCustomers() {
		for _, id := range held {
			ids = append(ids, id)
		}
	}
	for _, o := range b.moved {
		ids = append(ids, o.row.CustomerID)
	}
	slices.SortFunc(ids, func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) })
	there, err := db.LockRows(ctx, b.db, tx.Customer.Query().Where(among(customer.FieldID,
		slices.Compact(ids))).Order(customer.ByID()))
	if err != nil {
		return fmt.Errorf("read the customers: %w", err)
	}
	b.buyers, b.created = map[uuid.UUID]*ent.Customer{}, nil
	known := owners{}
	for _, r := range there {
		known[r.ID] = r.StoreID
		if r.StoreID == b.t.ID {
			b.buyers[r.ID] = r
		}
	}
	for i := range inline {
		l := &inline[i]
		owner, there := known[l.row.ID]
		id, field, found := holder(&l.row, held)
		switch {
		case there && owner != b.t.ID:
			b.refuse(l.index, "customer.id", "belongs to another store")
		case there:
		case found && b.options.GetMatchCustomers():
			b.fresh[i].row.buyer.ID = id
		case found:
			b.refuse(l.index, "customer."+field, "is another customer's")
		case l.row.Email == nil && l.row.Phone == nil:
			b.refuse(l.index, "customer.id", "is no customer of the store, and without an e-mail or a phone none can be made")
		default:
			known[l.row.ID] = b.t.ID
			for _, text := range []*string{l.row.Email, l.row.Phone} {
				if text != nil {
					held[*text] = l.row.ID
				}
			}
			b.created = append(b.created, *l)
		}
	}
	return nil
}

// holdLinks locks the rows of the orders' payment links.
func (b *orders) holdLinks(ctx context.Context, tx *ent.Tx) error {
	var ids []uuid.UUID
	for _, o := range b.paid {
		if o.row.PaymentLinkID != nil {
			ids = append(ids, *o.row.PaymentLinkID)
		}
	}
	for _, l := range b.fresh {
		if l.row.order.PaymentLinkID != nil {
			ids = append(ids, *l.row.order.PaymentLinkID)
		}
	}
	b.links = map[uuid.UUID]*ent.PaymentLink{}
	if len(ids) == 0 {
		return nil
	}
	rows, err := db.LockRows(ctx, b.db, tx.PaymentLink.Query().
		Where(paymentlink.StoreID(b.t.ID), among(paymentlink.FieldID, ids)).Order(paymentlink.ByID()))
	if err != nil {
		return fmt.Errorf("read the payment links: %w", err)
	}
	for _, r := range rows {
		b.links[r.ID] = r
	}
	for _, l := range b.fresh {
		if id := l.row.order.PaymentLinkID; id != nil && b.links[*id] == nil {
			b.refuse(l.index, "paymentLink.id", "is no payment link of the store")
		}
	}
	return nil
}
