package importing

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/order"
	"go.storefront.example/gen/ent/orderitem"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/validate"
)

// orders is a batch of orders with their items. Their payment links must be in the store. A customer who
// is not is created from the order. Products need not be: an item describes what was bought.
//
// It locks customers first and then payment links, the order of every payment, and inserts new rows
// after that.
type orders struct {
	batch
	rows, fresh []row[orderRow]
	// buyers are the customers of the fresh orders whom the store has; created are new ones.
	buyers  map[uuid.UUID]*ent.Customer
	created []row[ent.Customer]
	links   map[uuid.UUID]*ent.PaymentLink
	// stored are the fresh orders as they are stored.
	stored []*ent.Order
	// moved are orders of the store that got another status; paid are those that were not paid before.
	moved, paid []row[*ent.Order]
}

// orderRow is an order with its parsed values.
type orderRow struct {
	order ent.Order
	buyer ent.Customer
	items []ent.OrderItem
}

func orderID(o *orderRow) uuid.UUID { return o.order.ID }

// taken reports whether the order was paid, also if it has been refunded since.
func taken(o *ent.Order) bool {
	return o.Status == order.StatusPAID || o.Status == order.StatusREFUNDED
}

func (b *orders) read(index int, in *storefrontv1.Order) {
	p := &problems{}
	if r := p.orderRow(in, b.t); b.add(index, p) {
		b.rows = append(b.rows, row[orderRow]{index, r})
	}
}

func (p *problems) orderRow(in *storefrontv1.Order, t tenant.Store) orderRow {
	p.given("status", in.GetStatus())
	p.storeCurrency(in.GetCurrency(), t.Currency)
	r := orderRow{order: ent.Order{
		ID:                 p.id("id", in.GetId()),
		Reference:          p.filled("reference", in.GetReference(), maxReferenceRunes),
		Status:             order.Status(in.GetStatus().String()),
		Amount:             p.kept("amount", in.GetAmount()),
		PlatformFeePercent: in.GetPlatformFeePercent(),
		Note:               p.OptionalText("note", in.Note, validate.MaxNoteRunes),
		PaidAt:             p.Moment("paidAt", in.GetPaidAt()),
		CreatedAt:          p.pastMoment("createdAt", in.GetCreatedAt()),
	}}
	if !(r.order.PlatformFeePercent >= 0 && r.order.PlatformFeePercent <= 100) {
		p.Invalid("platformFeePercent", "must be a percentage from 0 to 100")
	}
	if !taken(&r.order) && r.order.PaidAt != nil {
		p.Invalid("paidAt", "must be null for an order that was not paid")
	}
	if in.Customer == nil {
		p.Invalid("customer", "is required")
	} else {
		r.buyer = ent.Customer{
			ID:        p.id("customer.id", in.GetCustomer().GetId()),
			Name:      p.Text("customer.name", in.GetCustomer().GetName(), validate.MaxCustomerNameRunes),
			CreatedAt: r.order.CreatedAt,
		}
		r.buyer.Email, r.buyer.Phone = p.identifiers("customer.", in.Customer.Email, in.Customer.Phone, t.Country)
	}
	if in.PaymentLink != nil {
		id := p.id("paymentLink.id", in.GetPaymentLink().GetId())
		r.order.PaymentLinkID = &id
	}
	for i, item := range in.GetItems() {
		r.items = append(r.items, p.itemRow(fmt.Sprintf("items[%d].", i), int32(i), item)) //nolint:gosec // Bounded by the message.
	}
	return r
}

func (p *problems) itemRow(field string, position int32, item *storefrontv1.Order_Item) ent.OrderItem {
	p.given(field+"type", item.GetType())
	if item.GetQuantity() < 1 {
		p.Invalid(field+"quantity", "must be a whole number from 1")
	}
	return ent.OrderItem{
		ID:         p.id(field+"id", item.GetId()),
		Position:   position,
		ProductID:  p.id(field+"productId", item.GetProductId()),
		Type:       orderitem.Type(item.GetType().String()),
		Title:      p.Title(field+"title", item.GetTitle()),
		UnitAmount: p.kept(field+"unitAmount", item.GetUnitAmount()),
		Quantity:   item.GetQuantity(),
	}
}

func (b *orders) plan(ctx context.Context, tx *ent.Tx, _ *ent.Store) (fresh, changed int, err error) {
	b.moved, b.paid = nil, nil
	found, err := tx.Order.Query().Where(among(order.FieldID, idsOf(b.rows, orderID))).
		Select(order.FieldID, order.FieldStoreID).All(ctx)
	if err != nil {
		return 0, 0, fmt.Errorf("look for the orders: %w", err)
	}
	known := owners{}
	for _, r := range found {
		known[r.ID] = r.StoreID
	}
	var there []row[orderRow]
	b.fresh, there = split(&b.batch, b.rows, "id", orderID, known)
	steps := []func(context.Context, *ent.Tx) error{b.freeReferences, b.holdBuyers, b.holdLinks, b.freeItems, b.countForCustomers}
	if b.options.GetUpdate() {
		steps = append([]func(context.Context, *ent.Tx) error{func(ctx context.Context, tx *ent.Tx) error {
			return b.update(ctx, tx,
				there)
		}}, steps...)
	} else if len(b.fresh) == 0 {
		return 0, 0, nil
	}
	for _, step := range steps {
		if err := step(ctx, tx); err != nil {
			return 0, 0, err
		}
	}
	b.withinLinks()
	return len(b.fresh), len(b.moved), nil
}

func (b *orders) store(ctx context.Context, tx *ent.Tx) error {
	if err := b.storeCustomers(ctx, tx, b.created); err != nil {
		return err
	}
	if err := b.storeOrders(ctx, tx); err != nil {
		return err
	}
	if err := b.setCounters(ctx, tx); err != nil {
		return err
	}
	return b.countForLinks(ctx, tx)
}

// update moves orders of the store, by id or reference, to the status that their rows have.
func (b *orders) update(ctx context.Context, tx *ent.Tx, rows []row[orderRow]) error {
	references := make([]string, len(b.fresh))
	for i, l := range b.fresh {
		references[i] = l.row.order.Reference
	}
	used, err := b.holding(ctx, tx, order.Table, order.FieldReference, references)
	if err != nil {
		return err
	}
	left, named := held(b.fresh, used, func(o *orderRow) string { return o.order.Reference }, func(o *orderRow,
		id uuid.UUID) {
		o.order.ID = id
	})
	b.fresh, rows = left, append(rows, named...)
	there, err := db.LockRows(ctx, b.db, tx.Order.Query().
		Where(order.StoreID(b.t.ID), among(order.FieldID, idsOf(rows, orderID))).Order(order.ByID()))
	if err != nil {
		return fmt.Errorf("read the orders: %w", err)
	}
	byID := map[uuid.UUID]*ent.Order{}
	for _, r := range there {
		byID[r.ID] = r
	}
	for _, l := range rows {
		if o := byID[l.row.order.ID]; o != nil && o.Status != l.row.order.Status {
			if err := b.move(ctx, tx, l, o); err != nil {
				return err
			}
		}
	}
	return nil
}

// ways are the statuses that an order of a status can get; a refund is one of a payment.
var ways = map[order.Status][]order.Status{
	order.StatusPENDING: {order.StatusPAID, order.StatusFAILED, order.StatusCANCELLED, order.StatusREFUNDED},
	order.StatusFAILED:  {order.StatusPAID, order.StatusREFUNDED},
	order.StatusPAID:    {order.StatusREFUNDED},
}

func (b *orders) move(ctx context.Context, tx *ent.Tx, l row[orderRow], o *ent.Order) error {
	to := l.row.order.Status
	if !slices.Contains(ways[o.Status], to) {
		b.refuse(l.index, "status", fmt.Sprintf("cannot be %s: the store's order is %s", to, o.Status))
		return nil
	}
	steps, unpaid := []order.Status{to}, !taken(o)
	if to == order.StatusREFUNDED && unpaid {
		steps = []order.Status{order.StatusPAID, to}
	}
	for _, status := range steps {
		u := tx.Order.UpdateOne(o).SetStatus(status).SetUpdatedAt(hook.Time(ctx))
		if status == order.StatusPAID {
			at := hook.Time(ctx)
			if l.row.order.PaidAt != nil {
				at = *l.row.order.PaidAt
			}
			u.SetPaidAt(at)
		}
		var err error
		if o, err = u.Save(ctx); err != nil {
			return fmt.Errorf("move an order: %w", err)
		}
	}
	b.moved = append(b.moved, row[*ent.Order]{l.index, o})
	if unpaid && taken(o) {
		b.paid = append(b.paid, row[*ent.Order]{l.index, o})
	}
	return nil
}

// freeReferences refuses a row whose reference is another order's.
func (b *orders) freeReferences(ctx context.Context, tx *ent.Tx) error {
	references := make([]string, len(b.fresh))
	for i, l := range b.fresh {
		references[i] = l.row.order.Reference
	}
	used, err := b.holding(ctx, tx, order.Table, order.FieldReference, references)
	if err != nil {
		return err
	}
	refuseTaken(&b.batch, b.fresh, "reference", "is another order's", used, func(o *orderRow) string { return o.order.Reference })
	return nil
}
