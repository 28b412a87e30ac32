package importing

import (
	"fmt"
	"hash/maphash"

	"github.com/google/uuid"

	"go.storefront.example/gen/ent"
)

// people are the customers whom a row may be: those whom the store has, and those of rows further up. One rule decides for
// the rows of a file and for the store's: two are one customer if they share the id or the e-mail, or the phone while not
// both have an e-mail. It holds hashes, because a file has any number of rows.
type people struct {
	seed maphash.Seed
	all  []person
	of   map[uint64]int // places in all, by the hash of an id, an e-mail or a phone
	undo []func()
}

// person is one of them. A hash of 0 stands for a field that the person lacks.
type person struct {
	id, name, email, phone uint64
	row, line              int
	// label is who a customer of the store is, for a reader, and key the customer's id; empty for one of a row.
	label, key string
	// into is the place of the person that this one turned out to be; its own otherwise.
	into int
}

// String returns who the person is, for a reader: the customer's e-mail or phone, or the line of the first row.
func (p person) String() string {
	if p.label != "" {
		return p.label
	}
	return fmt.Sprint("line ", p.line)
}

// stored reports whether the store has the person.
func (p person) stored() bool { return p.label != "" }

// contact is what a row says of its customer: texts as rows of the store have them, empty for what is missing.
type contact struct{ id, name, email, phone string }

func contactOf(id uuid.UUID, r *ent.Customer) contact {
	c := contact{id: id.String(), name: r.Name}
	if r.Email != nil {
		c.email = *r.Email
	}
	if r.Phone != nil {
		c.phone = *r.Phone
	}
	return c
}

// nobody is the place of no person.
const nobody = -1

func newPeople() *people { return &people{seed: maphash.MakeSeed(), of: map[uint64]int{}} }

func (p *people) hash(field, text string) uint64 {
	if text == "" {
		return 0
	}
	return maphash.Comparable(p.seed, identity{field, text})
}

// at returns the place of the person with an id, an e-mail or a phone, or nobody.
func (p *people) at(field, text string) int {
	place, has := p.of[p.hash(field, text)]
	if text == "" || !has {
		return nobody
	}
	for p.all[place].into != place {
		place = p.all[place].into
	}
	return place
}

// match is who a row's customer is.
type match struct {
	// who is the place of the person, or nobody for a new one; field is what says so: id, email or phone.
	who   int
	field string
	// id is the place of the person with the row's id, or nobody. alias is instead that of a person whom only a row with the
	// id was found to be, which the store does not know.
	id, alias int
	// owner is the place of another person whose phone the row has, or nobody.
	owner int
	// joins is true if the two are one customer because of this row.
	joins bool
}

// find returns who a row's customer is. The customer of an order is known by the e-mail first, because that is what other
// files and forms have of a buyer; a row of customers by its id, because it may change the e-mail.
func (p *people) find(c contact, emailFirst bool) match {
	id, email, phone := p.at("id", c.id), p.at("email", c.email), p.at("phone", c.phone)
	m := match{who: nobody, id: id, owner: nobody, alias: nobody}
	if id != nobody && p.all[id].id != p.hash("id", c.id) && (emailFirst || p.all[id].stored()) {
		m.id, m.alias, id = nobody, id, nobody
	}
	switch {
	case email != nobody && (emailFirst || id == nobody):
		m.who, m.field = email, "email"
	case id != nobody:
		m.who, m.field = id, "id"
	case phone != nobody && (c.email == "" || p.all[phone].email == 0):
		m.who, m.field = phone, "phone"
	}
	if phone == nobody || phone == m.who {
		return m
	}
	m.owner = phone
	if m.who != nobody {
		who, owner := &p.all[m.who], &p.all[phone]
		m.joins = who.phone == 0 && (owner.email == 0 || who.email == 0 && c.email == "") && !(who.stored() && owner.stored())
	}
	return m
}

// add adds a person, and returns the place.
func (p *people) add(c contact, row, line int, label string) int {
	place := len(p.all)
	p.all = append(p.all, person{id: p.hash("id", c.id), row: row, line: line, label: label, into: place})
	p.undo = append(p.undo, func() { p.all = p.all[:place] })
	p.complete(place, c, false)
	return place
}

// complete gives a person what they lack, or with update all that the row has, and lets the row's id stand for them. It
// reports whether anything changes.
func (p *people) complete(place int, c contact, update bool) (changes bool) {
	before := p.all[place]
	p.undo = append(p.undo, func() { p.all[place] = before })
	p.name("id", c.id, place)
	who := &p.all[place]
	for _, of := range []struct {
		field, text string
		hash        *uint64
	}{{"name", c.name, &who.name}, {"email", c.email, &who.email}, {"phone", c.phone, &who.phone}} {
		hash := p.hash(of.field, of.text)
		if hash == 0 || hash == *of.hash || *of.hash != 0 && !update {
			continue
		}
		*of.hash, changes = hash, true
		if of.field != "name" {
			p.name(of.field, of.text, place)
		}
	}
	return changes
}

// name lets a text stand for a person, unless it stands for one.
func (p *people) name(field, text string, place int) {
	key := p.hash(field, text)
	if _, has := p.of[key]; has || text == "" {
		return
	}
	p.of[key] = place
	p.undo = append(p.undo, func() { delete(p.of, key) })
}

// join makes two persons one: the store's or else the first of the file. It returns the place of that one and of the other,
// and whether the one gets anything.
func (p *people) join(a, b int) (kept, gone int, gets bool) {
	kept, gone = a, b
	if !p.all[kept].stored() && (p.all[gone].stored() || p.all[gone].row < p.all[kept].row) {
		kept, gone = gone, kept
	}
	before, other := p.all[kept], p.all[gone]
	p.undo = append(p.undo, func() { p.all[kept], p.all[gone] = before, other })
	p.all[gone].into = kept
	for _, of := range []struct{ to, from *uint64 }{
		{&p.all[kept].name, &other.name}, {&p.all[kept].email, &other.email}, {&p.all[kept].phone, &other.phone},
	} {
		if *of.to == 0 && *of.from != 0 {
			*of.to, gets = *of.from, true
		}
	}
	return kept, gone, gets
}

// begin makes what follows one step, which back takes back.
func (p *people) begin() { p.undo = p.undo[:0] }

func (p *people) back() {
	for i := len(p.undo) - 1; i >= 0; i-- {
		p.undo[i]()
	}
	p.begin()
}
