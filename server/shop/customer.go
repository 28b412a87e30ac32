package shop

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/id"
	"go.storefront.example/ent/invisible"
	"go.storefront.example/ent/resource"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/customer"
	"go.storefront.example/gen/ent/predicate"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/validate"
)

func customerNotFound() error {
	return apierr.New(apierr.CustomerNotFound, "The store has no customer with this id.")
}

// CheckIdentified refuses a customer without an e-mail and a phone.
func CheckIdentified(c *ent.Customer) error {
	if c.Email == nil && c.Phone == nil {
		return apierr.New(apierr.CustomerIdentifierRequired, "A customer needs an e-mail, a phone, or both.")
	}
	return nil
}

func customerConflict() error {
	return apierr.New(apierr.CustomerConflict, "Another customer of the store already has this e-mail or phone.")
}

func (p *problems) listCustomers(in *storefrontv1.ListCustomersRequest) (l list[string], err error) {
	l.number, l.page = p.page(in)
	l.filter = invisible.Trim(in.GetQ())
	return l, p.Err()
}

// ListCustomers returns a page of the store's customers, newest first; resource.Customers
// documents the cost. It refuses with validation_failed.
func (s *Shop) ListCustomers(
	ctx context.Context, in *storefrontv1.ListCustomersRequest,
) (*storefrontv1.ListCustomersResponse, error) {
	t, err := tenant.StoreOf(ctx)
	if err != nil {
		return nil, err
	}
	l, err := newProblems(ctx).listCustomers(in)
	if err != nil {
		return nil, err
	}
	out := &storefrontv1.ListCustomersResponse{Page: l.number, PageSize: int32(l.page.Size)}
	out.Data, out.Total, err = resource.Customers(ctx, s.counts.Lists(ctx), t, l.filter, l.page)
	return out, err
}

// GetCustomer returns a customer of the store. It refuses with customer_not_found.
func (s *Shop) GetCustomer(ctx context.Context, in *storefrontv1.GetCustomerRequest) (*storefrontv1.Customer, error) {
	t, id, err := validate.StoreAndID(ctx, in.GetId(), customerNotFound)
	if err != nil {
		return nil, err
	}
	c, err := resource.ReadCustomer(ctx, s.db.ForStore(ctx).Reader(), t, id)
	if errors.Is(err, resource.ErrNotFound) {
		return nil, customerNotFound()
	}
	return c, err
}

// Buyer identifies a customer by an e-mail, a phone, or both. The e-mail is in lower case and the phone in E.164 form. Name
// may be empty.
type Buyer struct {
	Email *string `json:",omitzero"`
	Name  string  `json:",omitzero"`
	Phone *string `json:",omitzero"`
}

func (b Buyer) row() *ent.Customer {
	return &ent.Customer{Name: b.Name, Email: b.Email, Phone: b.Phone}
}

// newCustomer reads the customer that a request asks to create.
func (p *problems) newCustomer(in *storefrontv1.CreateCustomerRequest, country string) (*ent.Customer, error) {
	c := ChangeOf(&p.Problems, resource.CustomerFields, in, country)
	if err := p.Err(); err != nil {
		return &c.Values, err
	}
	return &c.Values, CheckIdentified(&c.Values)
}

// CreateCustomer creates a customer, or fills in the missing fields of an existing one, as EnsureCustomer does.
func (s *Shop) CreateCustomer(ctx context.Context, in *storefrontv1.CreateCustomerRequest) (*storefrontv1.Customer, error) {
	c, _, err := s.EnsureCustomer(ctx, in)
	return c, err
}

// EnsureCustomer creates a customer. If the store already has a customer with the request's e-mail or phone, it fills the
// empty fields of this customer instead. created is true for a new customer. If many callers send the same new e-mail at
// once, one of them creates the customer.
//
// It refuses with validation_failed, phone_invalid, customer_identifier_required or customer_conflict.
func (s *Shop) EnsureCustomer(
	ctx context.Context, in *storefrontv1.CreateCustomerRequest,
) (c *storefrontv1.Customer, created bool, err error) {
	t, err := tenant.StoreOf(ctx)
	if err != nil {
		return nil, false, err
	}
	buyer, err := newProblems(ctx).newCustomer(in, t.Country)
	if err != nil {
		return nil, false, err
	}
	var row *ent.Customer
	err = hook.Change(ctx, s.db.ForStore(ctx), func(ctx context.Context, tx *ent.Tx) error {
		known, err := s.lockKnown(ctx, tx, t, buyer)
		if err != nil {
			return err
		}
		row, created, err = completeOrCreate(ctx, tx, t, known, buyer)
		return err
	})
	if err != nil {
		return nil, false, err
	}
	return resource.Customer(row, t.Currency), created, nil
}

// lockKnown locks the row of the customer who has the buyer's e-mail or phone. It returns nil if there is none. It refuses
// with customer_conflict if one customer has the e-mail and another has the phone.
func (s *Shop) lockKnown(ctx context.Context, tx *ent.Tx, t tenant.Store, buyer *ent.Customer) (*ent.Customer, error) {
	known, err := resource.IdentifiedCustomers(ctx, tx, t, buyer.Email, buyer.Phone, s.db.RowLock(""))
	switch {
	case err != nil:
		return nil, err
	case len(known) == 0:
		return nil, nil
	case len(known) > 1:
		return nil, customerConflict()
	}
	return known[0], hook.MarkLocked(ctx, known[0])
}

// completeOrCreate fills the empty fields of a customer of the store (known) with the buyer's values, and saves the
// customer. If known is nil, completeOrCreate creates a customer from buyer. If two transactions create a customer with the
// same e-mail or phone, a unique index makes one of them fail. The failed transaction runs again, and then finds the
// customer that the other transaction created.
func completeOrCreate(
	ctx context.Context, tx *ent.Tx, t tenant.Store, known, buyer *ent.Customer,
) (row *ent.Customer, created bool, err error) {
	if known == nil {
		now := hook.Time(ctx)
		create := tx.Customer.Create().SetID(id.At(now)).SetStoreID(t.ID).SetOrdersCount(buyer.OrdersCount).
			SetSearch(resource.CustomerSearch(buyer.Name, buyer.Email, buyer.Phone)).SetCreatedAt(now).SetUpdatedAt(now)
		if err := resource.CustomerFields.Fill(create.Mutation(), buyer); err != nil {
			return nil, false, fmt.Errorf("create customer: %w", err)
		}
		if row, err = create.Save(ctx); err != nil {
			return nil, false, fmt.Errorf("create customer: %w", err)
		}
		return row, true, nil
	}
	row, err = CompleteCustomer(ctx, tx, known, buyer)
	return row, false, err
}

// CompleteCustomer fills the empty fields of a customer of the store (known) with the buyer's values, and saves the
// customer. The caller has locked the customer's row, and has checked that no other customer has the buyer's e-mail or
// phone.
func CompleteCustomer(ctx context.Context, tx *ent.Tx, known, buyer *ent.Customer) (*ent.Customer, error) {
	next := Completed(known, buyer)
	return saveIdentified(ctx, tx, known, &next)
}

// Completed returns a copy of a customer (known) whose empty fields have the buyer's values.
func Completed(known, buyer *ent.Customer) ent.Customer {
	next := *known
	for _, f := range resource.CustomerFields {
		if !f.Differs(known, &ent.Customer{}) {
			f.Copy(&next, buyer)
		}
	}
	return next
}

func identifiedBy(email, phone *string) predicate.Customer {
	switch {
	case phone == nil:
		return customer.Email(*email)
	case email == nil:
		return customer.Phone(*phone)
	default:
		return customer.Or(customer.Email(*email), customer.Phone(*phone))
	}
}

// SaveCustomer saves the fields in which next differs from row, if any. It refuses with
// customer_identifier_required or customer_conflict.
func SaveCustomer(ctx context.Context, tx *ent.Tx, row, next *ent.Customer) (*ent.Customer, error) {
	if err := CheckIdentified(next); err != nil {
		return nil, err
	}
	if differ(next.Email, row.Email) || differ(next.Phone, row.Phone) {
		taken, err := tx.Customer.Query().
			Where(customer.StoreID(row.StoreID), customer.IDNEQ(row.ID), identifiedBy(next.Email, next.Phone)).Exist(ctx)
		if err != nil {
			return nil, fmt.Errorf("look for another customer: %w", err)
		}
		if taken {
			return nil, customerConflict()
		}
	}
	return saveIdentified(ctx, tx, row, next)
}

// saveIdentified saves the fields in which next differs from row, as SaveCustomer does. It leaves out two checks, which the
// caller has made: next has an e-mail or a phone, and no other customer has the same e-mail or phone.
func saveIdentified(ctx context.Context, tx *ent.Tx, row, next *ent.Customer) (*ent.Customer, error) {
	u := tx.Customer.UpdateOne(row).SetSearch(resource.CustomerSearch(next.Name, next.Email, next.Phone))
	return Save(ctx, resource.CustomerFields, row, next, u.Mutation(), u)
}

func (p *problems) customerChange(in *storefrontv1.UpdateCustomerRequest, country string) (Change[ent.Customer], error) {
	c := ChangeOf(&p.Problems, resource.CustomerFields, in, country)
	if err := p.Err(); err != nil {
		return c, err
	}
	if c.Has("email") && c.Has("phone") {
		return c, CheckIdentified(&c.Values)
	}
	return c, nil
}

// UpdateCustomer changes the named fields of a customer; null clears the e-mail or the phone.
//
// It refuses with validation_failed, phone_invalid, customer_not_found,
// customer_identifier_required or customer_conflict.
func (s *Shop) UpdateCustomer(ctx context.Context, in *storefrontv1.UpdateCustomerRequest) (*storefrontv1.Customer, error) {
	t, err := tenant.StoreOf(ctx)
	if err != nil {
		return nil, err
	}
	c, err := newProblems(ctx).customerChange(in, t.Country)
	if err != nil {
		return nil, err
	}
	row, t, err := ChangeRow(ctx, s.db.ForStore(ctx), in.GetId(), customerNotFound, s.lockCustomer,
		func(ctx context.Context, tx *ent.Tx, _ tenant.Store, row *ent.Customer) (*ent.Customer, error) {
			next := c.Applied(row)
			return SaveCustomer(ctx, tx, row, &next)
		})
	if err != nil {
		return nil, err
	}
	return resource.Customer(row, t.Currency), nil
}

func (s *Shop) lockCustomer(ctx context.Context, tx *ent.Tx, t tenant.Store, id uuid.UUID) (*ent.Customer, error) {
	row, err := hook.LockRow(ctx, tx.Customer.Query().Where(customer.StoreID(t.ID), customer.ID(id)))
	return row, apierr.RowError("customer", err, customerNotFound)
}
