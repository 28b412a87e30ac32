package transfer

import (
	"fmt"
	"hash/maphash"

	"github.com/google/uuid"

	"go.storefront.example/ent/apijson"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
)

// People are the customers whom a row may be: those whom the store has, and those of rows further up. One rule decides for
// the rows of a file and for the store's: two are one customer if they share the id or the e-mail, or the phone while not
// both have an e-mail. It holds hashes, because a file has any number of rows.
type People struct {
	// All has everyone, also who turned out to be another one.
	All  []Person
	seed maphash.Seed
	of   map[uint64]int // places in All, by the hash of an id, an e-mail or a phone
	undo []func()
}

// Person is one of them. A hash of 0 stands for a field that the person lacks.
type Person struct {
	ID, Name, Email, Phone uint64
	Row, Line              int
	// Label is who a customer of the store is, for a reader, and Key the customer's id; empty for one of a row.
	Label, Key string
	// Into is the place of the person that this one turned out to be; its own otherwise.
	Into int
}

// String returns who the person is, for a reader: the customer's e-mail or phone, or the line of the first row.
func (p Person) String() string {
	if p.Label != "" {
		return p.Label
	}
	return fmt.Sprint("line ", p.Line)
}

// Stored reports whether the store has the person.
func (p Person) Stored() bool { return p.Label != "" }

// Contact is what a row says of its customer: texts as rows of the store have them, empty for what is missing.
type Contact struct{ ID, Name, Email, Phone string }

// CheckCustomer returns what a row of customers says of its customer, and its refused fields. A row that becomes part of
// another one is not sent to the Importer, so whoever reads the file applies the rules to it.
func CheckCustomer(t tenant.Store, m *storefrontv1.Customer) (Contact, []apijson.Field) {
	p := &problems{t: t}
	r := (&customers{}).read(p, m)
	return contactOf(r.id, &r.data), p.Fields()
}

// ContactOfBuyer returns what an order says of its customer. The Importer refuses the fields that are wrong.
func ContactOfBuyer(t tenant.Store, m *storefrontv1.Order_Customer) Contact {
	r := (&problems{t: t}).customer("", m)
	return contactOf(r.id, &r.data)
}

func contactOf(id uuid.UUID, r *ent.Customer) Contact {
	c := Contact{ID: id.String(), Name: r.Name}
	if r.Email != nil {
		c.Email = *r.Email
	}
	if r.Phone != nil {
		c.Phone = *r.Phone
	}
	return c
}

// Nobody is the place of no person.
const Nobody = -1

// NewPeople returns nobody yet.
func NewPeople() *People { return &People{seed: maphash.MakeSeed(), of: map[uint64]int{}} }

// Hash returns the hash of a field's text, 0 for an empty one.
func (p *People) Hash(field, text string) uint64 {
	if text == "" {
		return 0
	}
	return maphash.Comparable(p.seed, identity{field, text})
}

// At returns the place of the person with an id, an e-mail or a phone, or Nobody.
func (p *People) At(field, text string) int {
	place, has := p.of[p.Hash(field, text)]
	if text == "" || !has {
		return Nobody
	}
	for p.All[place].Into != place {
		place = p.All[place].Into
	}
	return place
}

// Match is who a row's customer is.
type Match struct {
	// Who is the place of the person, or Nobody for a new one; Field is what says so: id, email or phone.
	Who   int
	Field string
	// ID is the place of the person with the row's id, or Nobody. Alias is instead that of a person whom only a row with the
	// id was found to be, which the store does not know.
	ID, Alias int
	// Owner is the place of another person whose phone the row has, or Nobody.
	Owner int
	// Joins is true if the two are one customer because of this row.
	Joins bool
}

// Find returns who a row's customer is. The customer of an order is known by the e-mail first, because that is what other
// files and forms have of a buyer; a row of customers by its id, because it may change the e-mail.
func (p *People) Find(c Contact, emailFirst bool) Match {
	id, email, phone := p.At("id", c.ID), p.At("email", c.Email), p.At("phone", c.Phone)
	m := Match{Who: Nobody, ID: id, Owner: Nobody, Alias: Nobody}
	if id != Nobody && p.All[id].ID != p.Hash("id", c.ID) && (emailFirst || p.All[id].Stored()) {
		m.ID, m.Alias, id = Nobody, id, Nobody
	}
	switch {
	case email != Nobody && (emailFirst || id == Nobody):
		m.Who, m.Field = email, "email"
	case id != Nobody:
		m.Who, m.Field = id, "id"
	case phone != Nobody && (c.Email == "" || p.All[phone].Email == 0):
		m.Who, m.Field = phone, "phone"
	}
	if phone == Nobody || phone == m.Who {
		return m
	}
	m.Owner = phone
	if m.Who != Nobody {
		who, owner := &p.All[m.Who], &p.All[phone]
		m.Joins = who.Phone == 0 && (owner.Email == 0 || who.Email == 0 && c.Email == "") && !(who.Stored() && owner.Stored())
	}
	return m
}

// Add adds a person, and returns the place.
func (p *People) Add(c Contact, row, line int, label string) int {
	place := len(p.All)
	p.All = append(p.All, Person{ID: p.Hash("id", c.ID), Row: row, Line: line, Label: label, Into: place})
	p.undo = append(p.undo, func() { p.All = p.All[:place] })
	p.Complete(place, c, false)
	return place
}

// Complete fills in the name, e-mail and phone that a person lacks; with update it also replaces those that differ from the
// row. From then on the row's id stands for the person too. It reports whether anything changes.
func (p *People) Complete(place int, c Contact, update bool) (changes bool) {
	before := p.All[place]
	p.undo = append(p.undo, func() { p.All[place] = before })
	p.Name("id", c.ID, place)
	who := &p.All[place]
	for _, of := range []struct {
		field, text string
		hash        *uint64
	}{{"name", c.Name, &who.Name}, {"email", c.Email, &who.Email}, {"phone", c.Phone, &who.Phone}} {
		hash := p.Hash(of.field, of.text)
		if hash == 0 || hash == *of.hash || *of.hash != 0 && !update {
			continue
		}
		*of.hash, changes = hash, true
		if of.field != "name" {
			p.Name(of.field, of.text, place)
		}
	}
	return changes
}

// Name lets a text stand for a person, unless it stands for one.
func (p *People) Name(field, text string, place int) {
	key := p.Hash(field, text)
	if _, has := p.of[key]; has || text == "" {
		return
	}
	p.of[key] = place
	p.undo = append(p.undo, func() { delete(p.of, key) })
}

// Join makes two persons one: the store's or else the first of the file. It returns the place of that one and of the other,
// and whether the one gets anything.
func (p *People) Join(a, b int) (kept, gone int, gets bool) {
	kept, gone = a, b
	if !p.All[kept].Stored() && (p.All[gone].Stored() || p.All[gone].Row < p.All[kept].Row) {
		kept, gone = gone, kept
	}
	before, other := p.All[kept], p.All[gone]
	p.undo = append(p.undo, func() { p.All[kept], p.All[gone] = before, other })
	p.All[gone].Into = kept
	for _, of := range []struct{ to, from *uint64 }{
		{&p.All[kept].Name, &other.Name}, {&p.All[kept].Email, &other.Email}, {&p.All[kept].Phone, &other.Phone},
	} {
		if *of.to == 0 && *of.from != 0 {
			*of.to, gets = *of.from, true
		}
	}
	return kept, gone, gets
}

// Begin makes what follows one step, which Back takes back.
func (p *People) Begin() { p.undo = p.undo[:0] }

// Back takes back all since Begin.
func (p *People) Back() {
	for i := len(p.undo) - 1; i >= 0; i-- {
		p.undo[i]()
	}
	p.Begin()
}
