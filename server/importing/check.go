package importing

import (
	"hash/maphash"
	"strings"

	"google.golang.org/protobuf/proto"

	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/validate"
)

// identity is a field that identifies a row among those of its kind, spelt as rows store it.
type identity struct{ field, text string }

// checker knows the rows that were only checked, and so are not in the store. A nil one knows none.
type checker struct {
	seen   map[uint64]uint64 // hashes of rows, by the hash of an identity
	seed   maphash.Seed
	buyers map[identity]*storefrontv1.Order_Customer
}

// identify finds what identifies a row that is to be checked.
func (l *reading) identify(e *entry) {
	if l.check == nil {
		return
	}
	switch m := e.message.(type) {
	case *storefrontv1.Product:
		e.identities = []identity{{"id", m.GetId()}, {"slug", m.GetSlug()}}
		if e.titled {
			e.identities[0].field = "title" // from which the id was made
		}
	case *storefrontv1.Customer:
		e.identities = append([]identity{{"id", m.GetId()}}, l.contacts(m.Email, m.Phone)...)
	case *storefrontv1.Order:
		e.identities = []identity{{"id", m.GetId()}, {"reference", strings.TrimSpace(m.GetReference())}}
		if m.Customer != nil {
			l.meet(e, m.GetCustomer())
		}
	}
	text, _ := proto.MarshalOptions{Deterministic: true}.Marshal(e.message)
	e.sum = maphash.Bytes(l.check.seed, text)
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

// clash is a row with a field that says it is another row, which stands further up in the file.
type clash struct {
	*entry
	field, problem string
}

// apart tells the rows that are new in the file from those that stand further up in it, and those that clash with such.
// Bad rows are sent like new ones, for all that is wrong with them, and nothing repeats them.
func (c *checker) apart(rows []*entry) (fresh, repeated []*entry, clashing []clash) {
	if c == nil {
		return rows, nil, nil
	}
	here := map[uint64]uint64{}
	for _, e := range rows {
		again, clashes := c.compare(e, here)
		switch {
		case len(e.bad) > 0:
			fresh = append(fresh, e)
		case again:
			repeated = append(repeated, e)
		case clashes.problem != "":
			clashing = append(clashing, clashes)
		default:
			fresh = append(fresh, e)
			c.note(e, here)
		}
	}
	return fresh, repeated, clashing
}

// compare compares a row with those of earlier batches and those above it in its own.
func (c *checker) compare(e *entry, here map[uint64]uint64) (again bool, clashes clash) {
	grouped := e.table != nil && e.table.Group != ""
	for _, id := range e.identities {
		key := maphash.Comparable(c.seed, id)
		sum, has := here[key]
		if !has {
			sum, has = c.seen[key]
		}
		_, customer := e.message.(*storefrontv1.Customer)
		switch {
		case id.text == "" || !has:
		case sum == e.sum, id.field == "id" && !grouped, customer && e.derived:
			return true, clash{}
		case id.field == "title":
			return false, clash{e, id.field, "is that of another line too; give products of one title an id column"}
		case grouped:
			return false, clash{e, e.table.Group,
				"stands further up too; all lines of one record must follow each other and have one id and one buyer"}
		default:
			return false, clash{e, id.field, "is that of another row of the file"}
		}
	}
	return false, clash{}
}

func (c *checker) note(e *entry, in map[uint64]uint64) {
	for _, id := range e.identities {
		in[maphash.Comparable(c.seed, id)] = e.sum
	}
}

// keep notes rows, and the customers whom orders would have made.
func (l *reading) keep(rows []*entry) {
	c := l.check
	if c == nil {
		return
	}
	for _, e := range rows {
		c.note(e, c.seen)
		if m, order := e.message.(*storefrontv1.Order); order && m.Customer != nil {
			id := identity{"id", m.GetCustomer().GetId()}
			if c.buyers[id] == nil {
				for _, i := range append(l.contacts(m.Customer.Email, m.Customer.Phone), id) {
					c.buyers[i] = m.GetCustomer()
				}
			}
		}
	}
}

// meet gives the customer of an order, whom an order of an earlier batch would have made, the e-mail and the phone by
// which the store would know them. It refuses a new customer with those of another one.
func (l *reading) meet(e *entry, c *storefrontv1.Order_Customer) {
	if known := l.check.buyers[identity{"id", c.GetId()}]; known != nil {
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
