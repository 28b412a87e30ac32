package importing

import (
	"context"
	"fmt"
	"math"

	"github.com/google/uuid"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/field"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/resource"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/ent/wire"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/customer"
	"go.storefront.example/gen/ent/predicate"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/validate"
)

// customerBatch loads customers. ordersCount and totalPaid are kept as they are given, until a
// load of orders reckons them anew from the orders that the store has.
type customerBatch struct {
	db    *db.DB
	t     tenant.Store
	lines []importLine[ent.Customer]
}

func customerID(c *ent.Customer) uuid.UUID { return c.ID }

func (b *customerBatch) read(text []byte, line int) error {
	in := &storefrontv1.Customer{}
	p := lineProblems(wire.Unmarshal(text, in))
	if !p.Broken() {
		b.lines = append(b.lines, importLine[ent.Customer]{line, p.customerRow(in, b.t)})
	}
	return p.lineError(line)
}

func (p *problems) customerRow(in *storefrontv1.Customer, t tenant.Store) ent.Customer {
	p.storeCurrency(in.GetCurrency(), t.Currency)
	row := ent.Customer{
		ID:          p.id("id", in.GetId()),
		Name:        p.Text("name", in.GetName(), validate.MaxCustomerNameRunes),
		OrdersCount: int32(min(p.kept("ordersCount", int64(in.GetOrdersCount())), math.MaxInt32)),
		TotalPaid:   p.kept("totalPaid", in.GetTotalPaid()),
		CreatedAt:   p.pastMoment("createdAt", in.GetCreatedAt()),
	}
	row.Email, row.Phone = p.identifiers("", in.Email, in.Phone, t.Country)
	if row.Email == nil && row.Phone == nil && !p.Any() {
		p.Invalid("email", "is required, or a phone")
	}
	return row
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

func (b *customerBatch) save(ctx context.Context, tx *ent.Tx) (int, error) {
	there, err := tx.Customer.Query().Where(customer.IDIn(idsOf(b.lines, customerID)...)).
		Select(customer.FieldID, customer.FieldStoreID).All(ctx)
	if err != nil {
		return 0, fmt.Errorf("look for the customers: %w", err)
	}
	known := owners{}
	for _, row := range there {
		known[row.ID] = row.StoreID
	}
	lines, err := fresh(b.lines, "id", customerID, known, b.t.ID)
	if err != nil {
		return 0, err
	}
	if err := freeIdentifiers(ctx, tx, b.t, lines, ""); err != nil {
		return 0, err
	}
	return len(lines), storeCustomers(ctx, tx, b.t, lines)
}

// freeIdentifiers refuses a line whose e-mail or phone is another customer's.
func freeIdentifiers(ctx context.Context, tx *ent.Tx, t tenant.Store, lines []importLine[ent.Customer], prefix string) error {
	var emails, phones []string
	for _, l := range lines {
		if l.row.Email != nil {
			emails = append(emails, *l.row.Email)
		}
		if l.row.Phone != nil {
			phones = append(phones, *l.row.Phone)
		}
	}
	taken := map[string]bool{}
	for _, search := range []struct {
		field string
		where predicate.Customer
	}{
		{customer.FieldEmail, customer.EmailIn(emails...)},
		{customer.FieldPhone, customer.PhoneIn(phones...)},
	} {
		used, err := tx.Customer.Query().Where(customer.StoreID(t.ID), search.where).Select(search.field).Strings(ctx)
		if err != nil {
			return fmt.Errorf("look for each %s: %w", search.field, err)
		}
		for _, text := range used {
			taken[text] = true
		}
	}
	for _, l := range lines {
		// E-mails contain an @ and phones start with +: one map holds both.
		for i, text := range []*string{l.row.Email, l.row.Phone} {
			if text == nil {
				continue
			}
			if taken[*text] {
				return l.refuse(prefix+[]string{"email", "phone"}[i], "is another customer's")
			}
			taken[*text] = true
		}
	}
	return nil
}

// storeCustomers stores the lines' customers.
func storeCustomers(ctx context.Context, tx *ent.Tx, t tenant.Store, lines []importLine[ent.Customer]) error {
	create := make([]*ent.CustomerCreate, len(lines))
	for i, l := range lines {
		create[i] = tx.Customer.Create().SetID(l.row.ID).SetStoreID(t.ID).
			SetSearch(resource.CustomerSearch(l.row.Name, l.row.Email, l.row.Phone)).
			SetOrdersCount(l.row.OrdersCount).SetTotalPaid(l.row.TotalPaid).
			SetCreatedAt(l.row.CreatedAt).SetUpdatedAt(hook.Time(ctx))
		if err := field.Customer.Fill(create[i].Mutation(), &l.row); err != nil {
			return fmt.Errorf("store the customers: %w", err)
		}
	}
	if err := tx.Customer.CreateBulk(create...).Exec(ctx); err != nil {
		return fmt.Errorf("store the customers: %w", err)
	}
	return nil
}
