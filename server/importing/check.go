package importing

import (
	"hash/maphash"
	"strings"

	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/validate"
)

// identity is a field that identifies a row among those of its kind, spelt as rows store it.
type identity struct{ field, text string }

// checker knows the rows that were only checked, and so are not in the store.
type checker struct {
	seen   map[uint64]bool // by the hash of an identity
	seed   maphash.Seed
	buyers map[identity]*storefrontv1.Order_Customer
}

func newChecker() *checker {
	return &checker{seen: map[uint64]bool{}, seed: maphash.MakeSeed(), buyers: map[identity]*storefrontv1.Order_Customer{}}
}

func (l *reading) identities(e *entry) []identity {
	switch m := e.message.(type) {
	case *storefrontv1.Product:
		return []identity{{"id", spelt(m.GetId())}, {"slug", m.GetSlug()}}
	case *storefrontv1.Customer:
		return append([]identity{{"id", spelt(m.GetId())}}, l.contacts(m.Email, m.Phone)...)
	case *storefrontv1.Order:
		return []identity{{"id", spelt(m.GetId())}, {"reference", strings.TrimSpace(m.GetReference())}}
	}
	return nil
}

// contacts are the e-mail and the phone of a customer; what is wrong with them the importer reports.
func (l *reading) contacts(email, phone *string) []identity {
	var of []identity
	var p validate.Problems
	if email != nil {
		if text := p.Email("email", *email); text != nil {
			of = append(of, identity{"email", *text})
		}
	}
	if phone != nil {
		if text := p.Phone("phone", *phone, l.Store.GetCountry()); text != nil {
			of = append(of, identity{"phone", *text})
		}
	}
	return of
}

// spelt is an id in lower case.
func spelt(text string) string {
	if id, ok := validate.ParseID(text); ok {
		return id.String()
	}
	return text
}

// repeats reports whether a row stands further up in the file, and refuses one that has what identifies another
// row there. It notes a row that is neither.
func (l *reading) repeats(e *entry) bool {
	c := l.check
	all := l.identities(e)
	keys := make([]uint64, len(all))
	for i, id := range all {
		keys[i] = maphash.Comparable(c.seed, id)
		switch {
		case id.text == "" || !c.seen[keys[i]]:
		case id.field == "id" || l.Kind == Customers && e.derived:
			return true
		default:
			e.refuse(id.field, "is that of another "+strings.TrimSuffix(string(l.Kind), "s")+" of the file")
		}
	}
	m, order := e.message.(*storefrontv1.Order)
	if order && m.Customer != nil {
		l.meet(e, m.GetCustomer())
	}
	if len(e.bad) > 0 {
		return false
	}
	for _, key := range keys {
		c.seen[key] = true
	}
	e.keys = keys
	if order && m.Customer != nil {
		ids := append(l.contacts(m.Customer.Email, m.Customer.Phone), identity{"id", spelt(m.GetCustomer().GetId())})
		if c.buyers[ids[len(ids)-1]] == nil {
			for _, id := range ids {
				c.buyers[id] = m.GetCustomer()
			}
		}
	}
	return false
}

// meet gives the customer of an order, whom an order further up would have made, the e-mail and the phone by
// which the store would know them. It refuses a new customer with those of another one.
func (l *reading) meet(e *entry, c *storefrontv1.Order_Customer) {
	if known := l.check.buyers[identity{"id", spelt(c.GetId())}]; known != nil {
		if c.Email == nil && c.Phone == nil {
			c.Email, c.Phone = known.Email, known.Phone
		}
		return
	}
	for _, i := range l.contacts(c.Email, c.Phone) {
		if l.check.buyers[i] != nil && !e.derived {
			e.refuse("customer."+i.field, "is another customer's")
			return
		}
	}
}
