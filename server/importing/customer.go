package importing

import (
	"context"
	"fmt"
	"maps"
	"math"

	"github.com/google/uuid"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/field"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/resource"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/customer"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/shop"
	"go.storefront.example/server/validate"
)

// customers is a batch of customers. ordersCount and totalPaid are stored as given; a later import of
// orders sets them from the orders that the store has.
type customers struct {
	batch
	rows, fresh []row[ent.Customer]
}

func customerID(c *ent.Customer) uuid.UUID { return c.ID }

func (b *customers) read(index int, in *storefrontv1.Customer) {
	p := &problems{}
	if r := p.customerRow(in, b.t); b.add(index, p) {
		b.rows = append(b.rows, row[ent.Customer]{index, r})
	}
}

func (p *problems) customerRow(in *storefrontv1.Customer, t tenant.Store) ent.Customer {
	p.storeCurrency(in.GetCurrency(), t.Currency)
	r := ent.Customer{
		ID:          p.id("id", in.GetId()),
		Name:        p.Text("name", in.GetName(), validate.MaxCustomerNameRunes),
		OrdersCount: int32(min(p.kept("ordersCount", int64(in.GetOrdersCount())), math.MaxInt32)),
		TotalPaid:   p.kept("totalPaid", in.GetTotalPaid()),
		CreatedAt:   p.pastMoment("createdAt", in.GetCreatedAt()),
	}
	r.Email, r.Phone = p.identifiers("", in.Email, in.Phone, t.Country)
	if r.Email == nil && r.Phone == nil && !p.Any() {
		p.Invalid("email", "is required, or a phone")
	}
	return r
}

// identifiers brings an e-mail and a phone, of which either may be null, into their stored form.
func (p *problems) identifiers(prefix string, email, phone *string, country string) (*string, *string) {
	if email != nil {
		email = p.Email(prefix+"email", *email)
	}
	if phone != nil {
		phone = p.Phone(prefix+"phone", *phone, country)
	}
	return email, phone
}

func (b *customers) plan(ctx context.Context, tx *ent.Tx, _ *ent.Store) (fresh, changed int, err error) {
	found, err := tx.Customer.Query().Where(among(customer.FieldID, idsOf(b.rows, customerID))).
		Select(customer.FieldID, customer.FieldStoreID).All(ctx)
	if err != nil {
		return 0, 0, fmt.Errorf("look for the customers: %w", err)
	}
	known := owners{}
	for _, r := range found {
		known[r.ID] = r.StoreID
	}
	var there []row[ent.Customer]
	b.fresh, there = split(&b.batch, b.rows, "id", customerID, known)
	holders, err := b.holders(ctx, tx, b.fresh)
	if err != nil {
		return 0, 0, err
	}
	if b.options.GetUpdate() {
		var left []row[ent.Customer]
		for _, l := range b.fresh {
			if id, _, found := holder(&l.row, holders); found {
				l.row.ID = id
				there = append(there, l)
			} else {
				left = append(left, l)
			}
		}
		b.fresh = left
		if changed, err = b.update(ctx, tx, there); err != nil {
			return 0, 0, err
		}
	}
	b.fresh = identified(&b.batch, b.fresh, "", holders)
	return len(b.fresh), changed, nil
}

// update changes customers of the store to what their rows say, and returns how many were changed.
func (b *customers) update(ctx context.Context, tx *ent.Tx, rows []row[ent.Customer]) (changed int, err error) {
	there, err := db.LockRows(ctx, b.db, tx.Customer.Query().
		Where(customer.StoreID(b.t.ID), among(customer.FieldID, idsOf(rows, customerID))).Order(customer.ByID()))
	if err != nil {
		return 0, fmt.Errorf("read the customers: %w", err)
	}
	byID := map[uuid.UUID]*ent.Customer{}
	for _, r := range there {
		byID[r.ID] = r
	}
	for _, l := range rows {
		row := byID[l.row.ID]
		if row == nil {
			continue // deleted meanwhile
		}
		next := *row
		if l.row.Name != "" {
			next.Name = l.row.Name
		}
		if l.row.Email != nil {
			next.Email = l.row.Email
		}
		if l.row.Phone != nil {
			next.Phone = l.row.Phone
		}
		saved, err := shop.SaveCustomer(ctx, tx, row, &next)
		if err := b.refused(l.index, err); err != nil {
			return 0, err
		}
		if saved != nil && saved != row {
			changed++
			byID[row.ID] = saved
		}
	}
	return changed, nil
}

func (b *customers) store(ctx context.Context, tx *ent.Tx) error {
	return b.storeCustomers(ctx, tx, b.fresh)
}

// holders maps those e-mails and phones of the rows that a customer of the store has to that customer.
// E-mails contain an @ and phones start with +: one map holds both.
func (b *batch) holders(ctx context.Context, tx *ent.Tx, rows []row[ent.Customer]) (map[string]uuid.UUID, error) {
	var emails, phones []string
	for _, l := range rows {
		if l.row.Email != nil {
			emails = append(emails, *l.row.Email)
		}
		if l.row.Phone != nil {
			phones = append(phones, *l.row.Phone)
		}
	}
	held, err := b.holding(ctx, tx, customer.Table, customer.FieldEmail, emails)
	if err != nil {
		return nil, err
	}
	called, err := b.holding(ctx, tx, customer.Table, customer.FieldPhone, phones)
	maps.Copy(held, called)
	return held, err
}

// holder returns the customer who has the row's e-mail or else its phone, and which of the two it was.
func holder(c *ent.Customer, held map[string]uuid.UUID) (id uuid.UUID, field string, found bool) {
	if c.Email != nil {
		if id, found = held[*c.Email]; found {
			return id, "email", true
		}
	}
	if c.Phone != nil {
		if id, found = held[*c.Phone]; found {
			return id, "phone", true
		}
	}
	return id, "", false
}

// identified returns the new customers without those whose e-mail or phone another customer has, of the
// store or of an earlier row. If customers are matched these are that customer; otherwise it refuses them.
func identified(b *batch, rows []row[ent.Customer], prefix string, held map[string]uuid.UUID) []row[ent.Customer] {
	var left []row[ent.Customer]
	for _, l := range rows {
		if _, field, found := holder(&l.row, held); found {
			if !b.options.GetMatchCustomers() {
				b.refuse(l.index, prefix+field, "is another customer's")
			}
			continue
		}
		for _, text := range []*string{l.row.Email, l.row.Phone} {
			if text != nil {
				held[*text] = l.row.ID
			}
		}
		left = append(left, l)
	}
	return left
}

// storeCustomers stores customers.
func (b *batch) storeCustomers(ctx context.Context, tx *ent.Tx, rows []row[ent.Customer]) error {
	now := hook.Time(ctx)
	creates := make([]*ent.CustomerCreate, len(rows))
	for i := range rows {
		r := rows[i].row
		dated(&r.CreatedAt, now)
		creates[i] = tx.Customer.Create().SetID(r.ID).SetStoreID(b.t.ID).SetSearch(resource.CustomerSearch(r.Name, r.Email, r.Phone)).
			SetOrdersCount(r.OrdersCount).SetTotalPaid(r.TotalPaid).SetCreatedAt(r.CreatedAt).SetUpdatedAt(now)
		if err := field.Customer.Fill(creates[i].Mutation(), &r); err != nil {
			return err
		}
	}
	if err := tx.Customer.CreateBulk(creates...).Exec(ctx); err != nil {
		return fmt.Errorf("store customers: %w", err)
	}
	return nil
}
