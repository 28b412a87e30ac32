package file

import (
	"strings"

	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/validate"
)

// identity is a field that identifies a row among those of its kind, spelt as rows store it.
type identity struct{ field, text string }

func (l *load) identities(e *entry) []identity {
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
func (l *load) contacts(email, phone *string) []identity {
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

// repeats reports whether a row that is only checked is that of an earlier batch, and refuses one that
// has what identifies another row. When rows are stored, the store reports both.
func (l *load) repeats(e *entry) bool {
	for _, i := range l.identities(e) {
		switch {
		case i.text == "" || !l.seen[i]:
		case i.field == "id" || l.Kind == Customers && e.derived:
			return true
		default:
			e.refuse(i.field, "is another "+strings.TrimSuffix(string(l.Kind), "s")+"'s")
		}
	}
	if m, is := e.message.(*storefrontv1.Order); is && m.Customer != nil {
		l.meet(e, m.GetCustomer())
	}
	return false
}

// meet gives the customer of an order, whom an order of an earlier batch would have made, the e-mail and the
// phone by which the store would know them. It refuses a new customer with those of another one.
func (l *load) meet(e *entry, c *storefrontv1.Order_Customer) {
	if known := l.buyers[identity{"id", spelt(c.GetId())}]; known != nil {
		if c.Email == nil && c.Phone == nil {
			c.Email, c.Phone = known.Email, known.Phone
		}
		return
	}
	for _, i := range l.contacts(c.Email, c.Phone) {
		if l.buyers[i] != nil && !e.derived {
			e.refuse("customer."+i.field, "is another customer's")
			return
		}
	}
}

// checked notes a row that was checked and is not stored.
func (l *load) checked(e *entry) {
	for _, i := range l.identities(e) {
		l.seen[i] = true
	}
	m, is := e.message.(*storefrontv1.Order)
	if !is || m.Customer == nil || l.buyers[identity{"id", spelt(m.GetCustomer().GetId())}] != nil {
		return
	}
	for _, i := range append(l.contacts(m.Customer.Email, m.Customer.Phone), identity{"id", spelt(m.GetCustomer().GetId())}) {
		l.buyers[i] = m.GetCustomer()
	}
}
