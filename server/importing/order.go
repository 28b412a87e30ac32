package importing

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/field"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/ent/wire"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/customer"
	"go.storefront.example/gen/ent/order"
	"go.storefront.example/gen/ent/orderitem"
	"go.storefront.example/gen/ent/paymentlink"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/validate"
)

// orderBatch loads orders with their items. A payment link must be in the store; a customer
// that is not is created from the order. Products need not be there: an item keeps
// what was bought, and the product may be gone.
//
// Rows are taken in the order of customers, then payment links, as every payment takes them, and
// new ones stored behind that.
type orderBatch struct {
	db    *db.DB
	t     tenant.Store
	lines []importLine[orderRow]
}

// orderRow is an order with what stands inside it.
type orderRow struct {
	order ent.Order
	buyer ent.Customer
	items []ent.OrderItem
}

func orderID(o *orderRow) uuid.UUID { return o.order.ID }

// taken reports whether money was taken for the order, even if it was paid back since.
func (o *orderRow) taken() bool {
	return o.order.Status == order.StatusPAID || o.order.Status == order.StatusREFUNDED
}

func (b *orderBatch) read(text []byte, line int) error {
	in := &storefrontv1.Order{}
	p := lineProblems(wire.Unmarshal(text, in))
	if !p.Broken() {
		b.lines = append(b.lines, importLine[orderRow]{line, p.orderRow(in, b.t)})
	}
	return p.lineError(line)
}

func (p *problems) orderRow(in *storefrontv1.Order, t tenant.Store) orderRow {
	p.given("status", in.GetStatus())
	p.storeCurrency(in.GetCurrency(), t.Currency)
	row := orderRow{order: ent.Order{
		ID:                 p.id("id", in.GetId()),
		Reference:          p.filled("reference", in.GetReference(), maxReferenceRunes),
		Status:             order.Status(in.GetStatus().String()),
		Amount:             p.kept("amount", in.GetAmount()),
		PlatformFeePercent: in.GetPlatformFeePercent(),
		Note:               p.OptionalText("note", in.Note, validate.MaxNoteRunes),
		PaidAt:             p.Moment("paidAt", in.GetPaidAt()),
		CreatedAt:          p.pastMoment("createdAt", in.GetCreatedAt()),
	}}
	if !(row.order.PlatformFeePercent >= 0 && row.order.PlatformFeePercent <= 100) {
		p.Invalid("platformFeePercent", "must be a percentage from 0 to 100")
	}
	switch {
	case row.taken() && row.order.PaidAt == nil:
		p.Invalid("paidAt", "is required for an order that was paid")
	case !row.taken() && row.order.PaidAt != nil:
		p.Invalid("paidAt", "must be null for an order that was not paid")
	}
	if in.Customer == nil {
		p.Invalid("customer", "is required")
	} else {
		row.buyer = ent.Customer{
			ID:        p.id("customer.id", in.GetCustomer().GetId()),
			Name:      p.Text("customer.name", in.GetCustomer().GetName(), validate.MaxCustomerNameRunes),
			CreatedAt: row.order.CreatedAt,
		}
		row.buyer.Email, row.buyer.Phone = p.identifiers("customer.", in.Customer.Email, in.Customer.Phone, t.Country)
	}
	if in.PaymentLink != nil {
		id := p.id("paymentLink.id", in.GetPaymentLink().GetId())
		row.order.PaymentLinkID = &id
	}
	for i, item := range in.GetItems() {
		field := fmt.Sprintf("items[%d].", i)
		p.given(field+"type", item.GetType())
		if item.GetQuantity() < 1 {
			p.Invalid(field+"quantity", "must be a whole number from 1")
		}
		row.items = append(row.items, ent.OrderItem{
			ID:         p.id(field+"id", item.GetId()),
			Position:   int32(i),
			ProductID:  p.id(field+"productId", item.GetProductId()),
			Type:       orderitem.Type(item.GetType().String()),
			Title:      p.Title(field+"title", item.GetTitle()),
			UnitAmount: p.kept(field+"unitAmount", item.GetUnitAmount()),
			Quantity:   item.GetQuantity(),
		})
	}
	return row
}

func (b *orderBatch) save(ctx context.Context, tx *ent.Tx) (int, error) {
	there, err := tx.Order.Query().Where(order.IDIn(idsOf(b.lines, orderID)...)).
		Select(order.FieldID, order.FieldStoreID).All(ctx)
	if err != nil {
		return 0, fmt.Errorf("look for the orders: %w", err)
	}
	known := owners{}
	for _, row := range there {
		known[row.ID] = row.StoreID
	}
	lines, err := fresh(b.lines, "id", orderID, known, b.t.ID)
	if err != nil || len(lines) == 0 {
		return 0, err
	}
	if err := b.freeReferences(ctx, tx, lines); err != nil {
		return 0, err
	}
	buyers, created, err := b.buyers(ctx, tx, lines)
	if err != nil {
		return 0, err
	}
	links, err := b.links(ctx, tx, lines)
	if err != nil {
		return 0, err
	}
	if err := storeCustomers(ctx, tx, b.t, created); err != nil {
		return 0, err
	}
	if err := b.store(ctx, tx, lines); err != nil {
		return 0, err
	}
	if err := b.countForCustomers(ctx, tx, buyers, lines); err != nil {
		return 0, err
	}
	return len(lines), b.countForLinks(ctx, tx, links, lines)
}

// freeReferences refuses a line whose reference is another order's.
func (b *orderBatch) freeReferences(ctx context.Context, tx *ent.Tx, lines []importLine[orderRow]) error {
	references := make([]string, len(lines))
	for i, l := range lines {
		references[i] = l.row.order.Reference
	}
	used, err := tx.Order.Query().Where(order.StoreID(b.t.ID), order.ReferenceIn(references...)).
		Select(order.FieldReference).Strings(ctx)
	if err != nil {
		return fmt.Errorf("look for the references: %w", err)
	}
	taken := map[string]bool{}
	for _, reference := range used {
		taken[reference] = true
	}
	for _, l := range lines {
		if taken[l.row.order.Reference] {
			return l.refuse("reference", "is another order's")
		}
		taken[l.row.order.Reference] = true
	}
	return nil
}

// buyers holds the rows of the lines' customers, and returns the ids of all and those that are to
// be stored.
func (b *orderBatch) buyers(ctx context.Context, tx *ent.Tx, lines []importLine[orderRow]) ([]uuid.UUID, []importLine[ent.Customer], error) {
	var inline []importLine[ent.Customer]
	for _, l := range lines {
		inline = append(inline, importLine[ent.Customer]{l.number, l.row.buyer})
	}
	ids := idsOf(inline, customerID)
	slices.SortFunc(ids, func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) })
	ids = slices.Compact(ids)
	there, err := db.TakeAll(ctx, b.db, tx.Customer.Query().Where(customer.IDIn(ids...)).Order(customer.ByID()))
	if err != nil {
		return nil, nil, fmt.Errorf("read the customers: %w", err)
	}
	known := owners{}
	for _, row := range there {
		known[row.ID] = row.StoreID
	}
	created, err := fresh(inline, "customer.id", customerID, known, b.t.ID)
	if err != nil {
		return nil, nil, err
	}
	for _, l := range created {
		if l.row.Email == nil && l.row.Phone == nil {
			return nil, nil, l.refuse("customer.id", "is no customer of the store, and without an e-mail or a phone none can be made")
		}
	}
	if err := freeIdentifiers(ctx, tx, b.t, created, "customer."); err != nil {
		return nil, nil, err
	}
	return ids, created, nil
}

// links holds the rows of the payment links of the lines.
func (b *orderBatch) links(ctx context.Context, tx *ent.Tx, lines []importLine[orderRow]) (map[uuid.UUID]*ent.PaymentLink, error) {
	var ids []uuid.UUID
	for _, l := range lines {
		if l.row.order.PaymentLinkID != nil {
			ids = append(ids, *l.row.order.PaymentLinkID)
		}
	}
	links := map[uuid.UUID]*ent.PaymentLink{}
	if len(ids) == 0 {
		return links, nil
	}
	rows, err := db.TakeAll(ctx, b.db, tx.PaymentLink.Query().
		Where(paymentlink.StoreID(b.t.ID), paymentlink.IDIn(ids...)).Order(paymentlink.ByID()))
	if err != nil {
		return nil, fmt.Errorf("read the payment links: %w", err)
	}
	for _, row := range rows {
		links[row.ID] = row
	}
	for _, l := range lines {
		if id := l.row.order.PaymentLinkID; id != nil && links[*id] == nil {
			return nil, l.refuse("paymentLink.id", "is no payment link of the store")
		}
	}
	return links, nil
}

// itemRows bounds the items of one statement: nine parameters each.
const itemRows = 1000

// store stores the lines' orders and items.
func (b *orderBatch) store(ctx context.Context, tx *ent.Tx, lines []importLine[orderRow]) error {
	orders := make([]*ent.OrderCreate, len(lines))
	var items []*ent.OrderItemCreate
	for i, l := range lines {
		o := &l.row.order
		orders[i] = tx.Order.Create().SetID(o.ID).SetStoreID(b.t.ID).SetReference(o.Reference).SetStatus(o.Status).
			SetAmount(o.Amount).SetPlatformFeePercent(o.PlatformFeePercent).SetCustomerID(l.row.buyer.ID).
			SetNillablePaymentLinkID(o.PaymentLinkID).SetNillablePaidAt(o.PaidAt).
			SetCreatedAt(o.CreatedAt).SetUpdatedAt(hook.Time(ctx)) // the events of the load lie before those to come
		if err := field.Order.Fill(orders[i].Mutation(), o); err != nil {
			return fmt.Errorf("store the orders: %w", err)
		}
		for _, item := range l.row.items {
			items = append(items, tx.OrderItem.Create().SetID(item.ID).SetStoreID(b.t.ID).SetOrderID(o.ID).
				SetPosition(item.Position).SetProductID(item.ProductID).SetType(item.Type).SetTitle(item.Title).
				SetUnitAmount(item.UnitAmount).SetQuantity(item.Quantity))
		}
	}
	if err := b.freeItems(ctx, tx, lines); err != nil {
		return err
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

// freeItems refuses a line one of whose items has the id of another item.
func (b *orderBatch) freeItems(ctx context.Context, tx *ent.Tx, lines []importLine[orderRow]) error {
	var ids []uuid.UUID
	for _, l := range lines {
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
	for _, l := range lines {
		for i, item := range l.row.items {
			if taken[item.ID] {
				return l.refuse(fmt.Sprintf("items[%d].id", i), "is another item's")
			}
			taken[item.ID] = true
		}
	}
	return nil
}
