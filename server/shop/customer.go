package shop

import (
	"context"
	"errors"
	"fmt"

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

// ListCustomers returns a page of the store's customers, newest first; resource.Customers documents the cost.
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

// GetCustomer returns a customer of the store.
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

// Buyer identifies a customer by an e-mail in lower case, a phone in E.164 form, or both.
type Buyer struct {
	Email *string `json:",omitzero"`
	Name  string  `json:",omitzero"`
	Phone *string `json:",omitzero"`
}

func (b Buyer) row() *ent.Customer {
	return &ent.Customer{Name: b.Name, Email: b.Email, Phone: b.Phone}
}

func (p *problems) newCustomer(in *storefrontv1.CreateCustomerRequest, country string) (*ent.Customer, error) {
	named := NamedOf(&p.Problems, resource.CustomerFields, country, in)
	if err := p.Err(); err != nil {
		return &named.Values, err
	}
	return &named.Values, CheckIdentified(&named.Values)
}

// CreateCustomer creates a customer, or fills in the missing fields of an existing one, as EnsureCustomer does.
func (s *Shop) CreateCustomer(ctx context.Context, in *storefrontv1.CreateCustomerRequest) (*storefrontv1.Customer, error) {
	c, _, err := s.EnsureCustomer(ctx, in)
	return c, err
}

// EnsureCustomer creates a customer, or fills the empty fields of the customer who has the request's e-mail or phone. If many
// callers send the same new e-mail at once, created is true for one of them.
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
	c, err = hook.Answer(ctx, s.db.ForStore(ctx), func(c *hook.Change) (*storefrontv1.Customer, error) {
		known, err := lockKnown(c, buyer)
		if err != nil {
			return nil, err
		}
		created = known == nil
		row, err := completeOrCreate(c, known, buyer)
		if err != nil {
			return nil, err
		}
		return resource.Customer(row, t.Currency), nil
	})
	return c, created && err == nil, err
}

// lockKnown locks the row of the customer who has the buyer's e-mail or phone. It returns nil if there is none.
func lockKnown(c *hook.Change, buyer *ent.Customer) (*ent.Customer, error) {
	known, err := resource.IdentifiedCustomers(c, c.Tx, c.Store, buyer.Email, buyer.Phone, c.DB.RowLock(""))
	switch {
	case err != nil:
		return nil, err
	case len(known) == 0:
		return nil, nil
	case len(known) > 1:
		return nil, customerConflict()
	}
	return known[0], c.MarkLocked(known[0])
}

// completeOrCreate completes the known customer or, if known is nil, creates one. Of two transactions that create the same
// customer, a unique index makes one run again, which then finds the other's.
func completeOrCreate(c *hook.Change, known, buyer *ent.Customer) (*ent.Customer, error) {
	if known != nil {
		return CompleteCustomer(c, known, buyer)
	}
	now := c.Time()
	create := c.Tx.Customer.Create().SetID(id.At(now)).SetStoreID(c.Store.ID).SetOrdersCount(buyer.OrdersCount).
		SetSearch(resource.CustomerSearch(buyer.Name, buyer.Email, buyer.Phone)).SetCreatedAt(now).SetUpdatedAt(now)
	if err := resource.CustomerFields.Fill(create.Mutation(), buyer); err != nil {
		return nil, fmt.Errorf("create customer: %w", err)
	}
	row, err := create.Save(c)
	if err != nil {
		return nil, fmt.Errorf("create customer: %w", err)
	}
	return row, nil
}

// CompleteCustomer saves the Completed customer. The caller has locked the row, and knows that nobody else has the buyer's
// e-mail or phone.
func CompleteCustomer(c *hook.Change, known, buyer *ent.Customer) (*ent.Customer, error) {
	next := Completed(known, buyer)
	return SaveCustomer(c, known, &next)
}

// Completed returns the known customer with the buyer's values in the empty fields.
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

// CheckCustomer has the rules of a change from row to next.
func CheckCustomer(c *hook.Change, row, next *ent.Customer) error {
	if err := CheckIdentified(next); err != nil {
		return err
	}
	if !differ(next.Email, row.Email) && !differ(next.Phone, row.Phone) {
		return nil
	}
	taken, err := c.Tx.Customer.Query().
		Where(customer.StoreID(row.StoreID), customer.IDNEQ(row.ID), identifiedBy(next.Email, next.Phone)).Exist(c)
	if err != nil {
		return fmt.Errorf("look for another customer: %w", err)
	}
	if taken {
		return customerConflict()
	}
	return nil
}

// SaveCustomer saves the fields in which next differs from row, whose change CheckCustomer has accepted.
func SaveCustomer(c *hook.Change, row, next *ent.Customer) (*ent.Customer, error) {
	u := c.Tx.Customer.UpdateOne(row).SetSearch(resource.CustomerSearch(next.Name, next.Email, next.Phone))
	return Save(c, resource.CustomerFields, row, next, u)
}

func (p *problems) customerFields(in *storefrontv1.UpdateCustomerRequest, country string) (Named[ent.Customer], error) {
	named := NamedOf(&p.Problems, resource.CustomerFields, country, in)
	if err := p.Err(); err != nil {
		return named, err
	}
	if named.Has("email") && named.Has("phone") {
		return named, CheckIdentified(&named.Values)
	}
	return named, nil
}

// UpdateCustomer changes the named fields of a customer; null clears the e-mail or the phone.
func (s *Shop) UpdateCustomer(ctx context.Context, in *storefrontv1.UpdateCustomerRequest) (*storefrontv1.Customer, error) {
	t, err := tenant.StoreOf(ctx)
	if err != nil {
		return nil, err
	}
	named, err := newProblems(ctx).customerFields(in, t.Country)
	if err != nil {
		return nil, err
	}
	return hook.Answer(ctx, s.db.ForStore(ctx), func(c *hook.Change) (*storefrontv1.Customer, error) {
		row, err := lockCustomer(c, in.GetId())
		if err != nil {
			return nil, err
		}
		next := named.Applied(row)
		if err := CheckCustomer(c, row, &next); err != nil {
			return nil, err
		}
		if row, err = SaveCustomer(c, row, &next); err != nil {
			return nil, err
		}
		return resource.Customer(row, c.Store.Currency), nil
	})
}

func lockCustomer(c *hook.Change, id string) (*ent.Customer, error) {
	parsed, ok := validate.ParseID(id)
	if !ok {
		return nil, customerNotFound()
	}
	row, err := hook.LockRow(c, c.Tx.Customer.Query().Where(customer.StoreID(c.Store.ID), customer.ID(parsed)))
	return row, apierr.RowError("customer", err, customerNotFound)
}
