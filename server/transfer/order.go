package transfer

import (
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"go.storefront.example/ent/hook"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/order"
	"go.storefront.example/gen/ent/orderitem"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/validate"
)

// orders is a batch of orders with their items. A payment link must be in the store, a customer is created, and a product may
// be missing, because an item describes what was bought.
//
// It locks rows in the sequence of a payment, so that the two cannot deadlock: orders, customers, payment links.
type orders struct {
	batch[orderRow]
	// buyers are the orders' customers whom the store has, by id; completed has those whose empty fields the orders fill;
	// created are new.
	buyers    map[uuid.UUID]*ent.Customer
	completed map[uuid.UUID]*ent.Customer
	created   []row[ent.Customer]
	links     map[uuid.UUID]*ent.PaymentLink
	// moved are the store's orders whose status changes. paid are those that become paid, even if they are refunded at once.
	moved, paid []row[*ent.Order]
	// moves are saved once all rows are locked.
	moves []orderMove
}

// orderMove is the change of an order's status, in two steps from unpaid to REFUNDED.
type orderMove struct {
	order  *ent.Order // as it will be after the change
	steps  []order.Status
	paidAt *time.Time // the order's PaidAt, if the change makes it paid; nil means the time of the change
}

type orderRow struct {
	order ent.Order
	buyer row[ent.Customer]
	items []ent.OrderItem
}

// wasPaid reports whether the order was paid, even if it has been refunded since.
func wasPaid(o *ent.Order) bool {
	return o.Status == order.StatusPAID || o.Status == order.StatusREFUNDED
}

func (b *orders) read(p *problems, in *storefrontv1.Order) row[orderRow] {
	p.requiredEnum("status", in.GetStatus())
	p.storeCurrency(in.GetCurrency())
	o := ent.Order{
		ID:                 p.RowID("id", in.GetId()),
		Reference:          p.requiredText("reference", in.GetReference(), maxReferenceRunes),
		Status:             order.Status(in.GetStatus().String()),
		Amount:             p.nonNegative("amount", in.GetAmount()),
		PlatformFeePercent: in.GetPlatformFeePercent(),
		Note:               p.OptionalText("note", in.Note, validate.MaxNoteRunes),
		PaidAt:             p.Time("paidAt", in.GetPaidAt()),
		CreatedAt:          p.timeOrZero("createdAt", in.GetCreatedAt()),
	}
	p.name("reference", o.Reference, o.ID)
	p.Percentage("platformFeePercent", o.PlatformFeePercent, validate.FeeBound)
	if !wasPaid(&o) && o.PaidAt != nil {
		p.Invalid("paidAt", "must be null for an order that was not paid")
	}
	if in.PaymentLink != nil {
		o.PaymentLinkID = new(p.RowID("paymentLink.id", in.GetPaymentLink().GetId()))
	}
	p.copyPlainFields("", in, &o)
	r := orderRow{order: o}
	switch {
	case in.Customer == nil && !b.options.GetUpdate():
		p.Invalid("customer", "is required")
	case in.Customer != nil:
		r.buyer = p.customer("customer.", in.GetCustomer())
		r.buyer.data.CreatedAt = o.CreatedAt
	}
	for i, item := range in.GetItems() {
		r.items = append(r.items, p.item(fmt.Sprintf("items[%d].", i), int32(i), item)) //nolint:gosec // Below 2^31.
	}
	return row[orderRow]{id: o.ID, names: []identity{{"reference", o.Reference}}, data: r}
}

func (p *problems) item(field string, position int32, item *storefrontv1.Order_Item) ent.OrderItem {
	p.requiredEnum(field+"type", item.GetType())
	if item.GetQuantity() < 1 {
		p.Invalid(field+"quantity", "must be a whole number from 1")
	}
	i := ent.OrderItem{
		ID:         p.RowID(field+"id", item.GetId()),
		Position:   position,
		ProductID:  p.RowID(field+"productId", item.GetProductId()),
		Type:       orderitem.Type(item.GetType().String()),
		Title:      p.title(field+"title", item.GetTitle()),
		UnitAmount: p.nonNegative(field+"unitAmount", item.GetUnitAmount()),
		Quantity:   item.GetQuantity(),
	}
	p.copyPlainFields(field, item, &i)
	return i
}

func (b *orders) plan(c *hook.Change) error {
	b.moved, b.paid, b.moves = nil, nil, nil
	existing, err := b.sort(c, order.Table, order.FieldReference)
	if err != nil {
		return err
	}
	if b.options.GetUpdate() {
		rows, err := hook.LockRows(c, c.Tx.Order.Query().Where(b.inStore(idsOf(existing))))
		if err != nil {
			return fmt.Errorf("read the orders: %w", err)
		}
		if err = update(&b.batch, existing, rows, func(o *ent.Order) uuid.UUID { return o.ID },
			b.move); err != nil {
			return err
		}
	}
	b.claim("is another order's")
	if len(b.fresh)+len(b.changed) == 0 {
		return nil
	}
	steps := []func(*hook.Change) error{b.lockBuyers, b.lockLinks, b.freeItems, b.saveBuyers, b.saveMoves, b.count}
	if b.exported {
		steps = steps[:5]
	}
	for _, step := range steps {
		if err := step(c); err != nil {
			return err
		}
	}
	return nil
}

// importTransitions has the statuses to which an import may change an order, by its status in the store.
var importTransitions = map[order.Status][]order.Status{
	order.StatusPENDING: {order.StatusPAID, order.StatusFAILED, order.StatusCANCELLED, order.StatusREFUNDED},
	order.StatusFAILED:  {order.StatusPAID, order.StatusREFUNDED},
	order.StatusPAID:    {order.StatusREFUNDED},
}

// move plans the change of the store's order o to the status in the row l, and returns the order as it will be. It returns o if
// it refuses the row.
func (b *orders) move(l row[orderRow], o *ent.Order) (*ent.Order, error) {
	to := l.data.order.Status
	switch {
	case to == o.Status:
		return o, nil
	case !slices.Contains(importTransitions[o.Status], to):
		b.refuse(l.index, "status", fmt.Sprintf("cannot be %s: the store's order is %s", to, o.Status))
		return o, nil
	}
	steps, unpaid := []order.Status{to}, !wasPaid(o)
	if to == order.StatusREFUNDED && unpaid {
		steps = []order.Status{order.StatusPAID, to}
	}
	next := new(*o)
	next.Status = to
	b.moves = append(b.moves, orderMove{next, steps, l.data.order.PaidAt})
	b.moved = append(b.moved, row[*ent.Order]{index: l.index, data: next})
	if unpaid && wasPaid(next) {
		b.paid = append(b.paid, row[*ent.Order]{index: l.index, data: next})
	}
	return next, nil
}

func (b *orders) saveMoves(c *hook.Change) error {
	for _, m := range b.moves {
		for _, status := range m.steps {
			u := c.Tx.Order.UpdateOne(m.order).SetStatus(status)
			if status == order.StatusPAID {
				at := c.Time(m.order.ID)
				if m.paidAt != nil {
					at = *m.paidAt
				}
				u.SetPaidAt(at)
			}
			saved, err := u.Save(c)
			if err != nil {
				return fmt.Errorf("move an order: %w", err)
			}
			*m.order = *saved
		}
	}
	return nil
}

// freeItems refuses a new order with the id of another item, in the database or in the batch.
func (b *orders) freeItems(c *hook.Change) error {
	var ids []uuid.UUID
	for _, l := range b.fresh {
		for _, item := range l.data.items {
			ids = append(ids, item.ID)
		}
	}
	used, err := b.owners(c, orderitem.Table, ids)
	if err != nil {
		return err
	}
	for _, l := range b.fresh {
		for i, item := range l.data.items {
			if _, taken := used[item.ID]; taken {
				b.refuse(l.index, fmt.Sprintf("items[%d].id", i), "is another item's")
			}
			used[item.ID] = b.t.ID
		}
	}
	return nil
}

// itemsAtOnce is how many items one statement inserts: a statement has at most 32,766 parameters.
const itemsAtOnce = 2000

func (b *orders) store(c *hook.Change) error {
	now := c.Time()
	creates := make([]*ent.OrderCreate, len(b.fresh))
	var items []*ent.OrderItemCreate
	for i, l := range b.fresh {
		o := l.data.order
		// updatedAt is the time of the events that this import writes, so that later events get later times.
		creates[i] = c.Tx.Order.Create().SetID(o.ID).SetStoreID(b.t.ID).SetReference(o.Reference).SetStatus(o.Status).SetAmount(o.Amount).
			SetPlatformFeePercent(o.PlatformFeePercent).SetCustomerID(l.data.buyer.id).SetNillablePaymentLinkID(o.PaymentLinkID).
			SetNillableNote(o.Note).SetNillablePaidAt(o.PaidAt).SetCreatedAt(o.CreatedAt).SetUpdatedAt(now)
		if err := fillPlain(creates[i].Mutation(), &storefrontv1.Order{}, &o); err != nil {
			return err
		}
		for _, item := range l.data.items {
			items = append(items, c.Tx.OrderItem.Create().SetID(item.ID).SetStoreID(b.t.ID).SetOrderID(o.ID).SetPosition(item.Position).
				SetProductID(item.ProductID).SetType(item.Type).SetTitle(item.Title).SetUnitAmount(item.UnitAmount).
				SetQuantity(item.Quantity))
			if err := fillPlain(items[len(items)-1].Mutation(), &storefrontv1.Order_Item{}, &item); err != nil {
				return err
			}
		}
	}
	if err := storeCustomers(c, b.t.ID, b.created); err != nil {
		return err
	}
	if err := c.Tx.Order.CreateBulk(creates...).Exec(c); err != nil {
		return err
	}
	for chunk := range slices.Chunk(items, itemsAtOnce) {
		if err := c.Tx.OrderItem.CreateBulk(chunk...).Exec(c); err != nil {
			return err
		}
	}
	if b.exported {
		return nil
	}
	return b.storeCounters(c)
}
