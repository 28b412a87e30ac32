package importing

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"github.com/google/uuid"

	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/resource"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/customer"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/shop"
	"go.storefront.example/server/validate"
)

// customers is a batch of customers. ordersCount and totalPaid are stored as given; a later import of
// orders sets them from the orders that the store has.
type customers struct{ batch[ent.Customer] }

func (b *customers) read(p *problems, in *storefrontv1.Customer) row[ent.Customer] {
	p.storeCurrency(in.GetCurrency())
	l := p.customer("", in)
	l.data.OrdersCount = int32(min(p.kept("ordersCount", int64(in.GetOrdersCount())), math.MaxInt32))
	l.data.TotalPaid = p.kept("totalPaid", in.GetTotalPaid())
	l.data.CreatedAt = p.pastMoment("createdAt", in.GetCreatedAt())
	return l
}

// customer reads what a customer and the buyer of an order have.
func (p *problems) customer(prefix string, in interface {
	GetId() string
	GetName() string
	GetEmail() string
	GetPhone() string
}) row[ent.Customer] {
	l := row[ent.Customer]{id: p.id(prefix+"id", in.GetId())}
	l.data = ent.Customer{ID: l.id, Name: p.Text(prefix+"name", in.GetName(), validate.MaxCustomerNameRunes)}
	if in.GetEmail() != "" {
		l.data.Email = p.Email(prefix+"email", in.GetEmail())
	}
	if in.GetPhone() != "" {
		l.data.Phone = p.Phone(prefix+"phone", in.GetPhone(), p.t.Country)
	}
	if l.data.Email != nil {
		l.names = append(l.names, identity{prefix + "email", *l.data.Email})
	}
	if l.data.Phone != nil {
		l.names = append(l.names, identity{prefix + "phone", *l.data.Phone})
	}
	return l
}

func (b *customers) plan(ctx context.Context, tx *ent.Tx) (changed int, err error) {
	there, err := b.sort(ctx, tx, customer.Table, customer.FieldEmail, customer.FieldPhone)
	if err != nil {
		return 0, err
	}
	if b.options.GetUpdate() {
		rows, err := hook.LockRows(ctx, tx.Customer.Query().Where(b.own(idsOf(there))))
		if err != nil {
			return 0, fmt.Errorf("read the customers: %w", err)
		}
		if changed, err = update(&b.batch, there, rows, func(r *ent.Customer) uuid.UUID { return r.ID },
			func(l row[ent.Customer], r *ent.Customer) (*ent.Customer, error) {
				if r.Email != nil && *r.Email == resource.ForgottenEmail(r.ID) {
					return r, nil // an old file does not bring back who was forgotten
				}
				next := *r
				next.Name = cmp.Or(l.data.Name, next.Name)
				if l.data.Email != nil {
					next.Email = l.data.Email
				}
				if l.data.Phone != nil {
					next.Phone = l.data.Phone
				}
				return shop.SaveCustomer(ctx, tx, r, &next)
			}); err != nil {
			return 0, err
		}
	}
	for _, l := range b.fresh {
		if len(l.names) == 0 {
			b.refuse(l.index, "email", "is required, or a phone")
		}
	}
	b.claim("is another customer's", b.options.GetMatchCustomers())
	return changed, nil
}

func (b *customers) store(ctx context.Context, tx *ent.Tx) error {
	return storeCustomers(ctx, tx, b.t.ID, b.fresh)
}

// storeCustomers stores customers.
func storeCustomers(ctx context.Context, tx *ent.Tx, store uuid.UUID, rows []row[ent.Customer]) error {
	now := hook.Time(ctx)
	creates := make([]*ent.CustomerCreate, len(rows))
	for i, l := range rows {
		r := l.data
		dated(&r.CreatedAt, now)
		creates[i] = tx.Customer.Create().SetID(r.ID).SetStoreID(store).SetSearch(resource.CustomerSearch(r.Name, r.Email, r.Phone)).
			SetOrdersCount(r.OrdersCount).SetTotalPaid(r.TotalPaid).SetCreatedAt(r.CreatedAt).SetUpdatedAt(now)
		if err := resource.CustomerFields.Fill(creates[i].Mutation(), &r); err != nil {
			return err
		}
	}
	return tx.Customer.CreateBulk(creates...).Exec(ctx)
}
