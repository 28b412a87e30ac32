package transfer

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/google/uuid"

	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/resource"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/customer"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/shop"
	"go.storefront.example/server/validate"
)

// customers is a batch of customers, with the counters of the rows. A later import of orders counts anew, unless it is an
// export.
type customers struct{ batch[ent.Customer] }

func (b *customers) read(p *problems, in *storefrontv1.Customer) row[ent.Customer] {
	p.storeCurrency(in.GetCurrency())
	l := p.customer("", in)
	l.data.OrdersCount = int32(min(p.nonNegative("ordersCount", int64(in.GetOrdersCount())), math.MaxInt32))
	l.data.TotalPaid = p.nonNegative("totalPaid", in.GetTotalPaid())
	l.data.CreatedAt = p.timeOrZero("createdAt", in.GetCreatedAt())
	p.copyPlainFields("", in, &l.data)
	return l
}

// customer reads a customer's row, or the buyer in an order's row.
func (p *problems) customer(prefix string, in interface {
	GetId() string
	GetName() string
	GetEmail() string
	GetPhone() string
}) row[ent.Customer] {
	l := row[ent.Customer]{id: p.RowID(prefix+"id", in.GetId())}
	l.data = ent.Customer{ID: l.id, Name: p.line(prefix+"name", in.GetName(), validate.MaxCustomerNameRunes)}
	email, phone := in.GetEmail(), in.GetPhone()
	if email != "" {
		forgotten := email == resource.ForgottenEmail(l.id) // as a list of customers shows a customer who was forgotten
		if l.data.Email = &email; !forgotten && (!p.exported || !validate.Storable(email)) {
			l.data.Email = p.Email(prefix+"email", email)
		}
	}
	if phone != "" {
		if l.data.Phone = &phone; !p.exported || !validate.Storable(phone) {
			l.data.Phone = p.Phone(prefix+"phone", phone, p.t.Country)
		}
	}
	if l.data.Email != nil {
		l.names = append(l.names, identity{prefix + "email", *l.data.Email})
	}
	if l.data.Phone != nil {
		l.names = append(l.names, identity{prefix + "phone", *l.data.Phone})
	}
	return l
}

func (b *customers) plan(c *hook.Change) error {
	existing, stores, err := b.lockPeople(c, idsOf(b.rows), b.rows)
	if err != nil {
		return err
	}
	all := peopleOf(existing)
	b.fresh = nil
	matches := b.options.GetMatchCustomers() || b.options.GetUpdate()
	for _, l := range b.rows {
		contact := contactOf(l.id, &l.data)
		m := all.Find(contact, false)
		switch store, ok := stores[l.id]; {
		case ok && store != b.t.ID:
			b.refuse(l.index, "id", b.otherStoresID(l.id))
		case m.Person == Nobody && len(l.names) == 0:
			_, _ = b.refused(l.index, shop.CheckIdentified(&l.data))
		case m.Person != Nobody && m.Field != "id" && !matches:
			b.refuse(l.index, m.Field, otherCustomers)
		case m.Owner != Nobody && (m.Person == Nobody || m.Field != "id" && !b.options.GetUpdate() && all.All[m.Person].Phone == 0):
			b.refuse(l.index, "phone", otherCustomers)
		case m.Person == Nobody:
			all.Add(contact, l.index, l.index, "")
			b.fresh = append(b.fresh, l)
		case m.Person < len(existing): // a customer of the store; a larger index is that of a customer who is only in earlier rows
			after, err := b.change(c, l, existing[m.Person], m.Field == "id")
			if refused, err := b.refused(l.index, err); err != nil {
				return err
			} else if !refused && after != existing[m.Person] {
				b.changed = append(b.changed, l.index)
				existing[m.Person] = after
				all.Complete(m.Person, contactOf(after.ID, after), true)
			}
		}
	}
	return nil
}

// change applies the row l to the store's customer r. With the option update, values that are not empty replace the customer's.
// Without it, the row fills empty fields, if the customer was not found by id. An erased customer never changes.
func (b *customers) change(c *hook.Change, l row[ent.Customer], r *ent.Customer, byID bool) (*ent.Customer, error) {
	switch {
	case !b.options.GetUpdate() && byID, resource.IsForgotten(r):
		return r, nil // a customer who was erased gets no data back from an old file
	case !b.options.GetUpdate():
		return shop.CompleteCustomer(c, r, &l.data)
	}
	next := *r
	overwrite(resource.CustomerFields, &next, &l.data)
	if err := shop.CheckCustomer(c, r, &next); err != nil {
		return nil, err
	}
	return shop.SaveCustomer(c, r, &next)
}

const otherCustomers = "is another customer's"

// lockPeople locks the store's customers who have one of ids, or the e-mail or phone of one of rows. stores has the store of
// each of ids that a customer of any store has.
func (b *batch[R]) lockPeople(c *hook.Change, ids []uuid.UUID, rows []row[ent.Customer]) (
	existing []*ent.Customer, stores map[uuid.UUID]uuid.UUID, err error) {
	var names []string
	for _, l := range rows {
		for _, name := range l.names {
			names = append(names, name.text)
		}
	}
	held := map[string]uuid.UUID{}
	for _, column := range []string{customer.FieldEmail, customer.FieldPhone} {
		if err := b.findHeld(c, customer.Table, column, names, held); err != nil {
			return nil, nil, err
		}
	}
	if stores, err = b.owners(c, customer.Table, ids); err != nil {
		return nil, nil, err
	}
	for id := range stores {
		held[id.String()] = id
	}
	ids = slices.SortedFunc(maps.Values(held), func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) })
	ids = slices.Compact(ids)
	if len(ids) == 0 {
		return nil, stores, nil
	}
	// Lock only customers of this store, because one statement can lock rows on one machine only.
	existing, err = hook.LockRows(c, c.Tx.Customer.Query().Where(b.inStore(ids)))
	if err != nil {
		return nil, nil, fmt.Errorf("read the customers: %w", err)
	}
	b.known = nil
	for _, person := range existing {
		b.known = append(b.known, new(*person)) // a copy, because an import of orders changes the counters of the rows in existing
	}
	return existing, stores, nil
}

func peopleOf(rows []*ent.Customer) *People {
	p := NewPeople()
	for _, r := range rows {
		p.Add(contactOf(r.ID, r), 0, 0, r.ID.String())
	}
	return p
}

func (b *customers) store(c *hook.Change) error {
	return storeCustomers(c, b.t.ID, b.fresh)
}

func storeCustomers(c *hook.Change, store uuid.UUID, rows []row[ent.Customer]) error {
	now := c.Time()
	creates := make([]*ent.CustomerCreate, len(rows))
	for i, l := range rows {
		r := l.data
		setDefaultTime(&r.CreatedAt, now)
		creates[i] = c.Tx.Customer.Create().SetID(r.ID).SetStoreID(store).SetSearch(resource.CustomerSearch(r.Name, r.Email, r.Phone)).
			SetOrdersCount(r.OrdersCount).SetTotalPaid(r.TotalPaid).SetCreatedAt(r.CreatedAt).SetUpdatedAt(now)
		if err := resource.CustomerFields.Fill(creates[i].Mutation(), &r); err != nil {
			return err
		}
		if err := fillPlain(creates[i].Mutation(), &storefrontv1.Customer{}, &r); err != nil {
			return err
		}
	}
	return c.Tx.Customer.CreateBulk(creates...).Exec(c)
}
