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

// People are the customers to whom a row may refer: customers of the store, and customers in earlier rows. Two rows have the
// same customer if they share the id or the e-mail, or share the phone and one of them has no e-mail. People store hashes of
// the fields to save memory, because a file may have any number of rows.
type People struct {
	// All has every person that was added. If Join made two persons one, All still has both, and the Into of the one that was
	// not kept is the index of the other.
	All    []Person
	seed   maphash.Seed
	byHash map[uint64]int // from the hash of an id, an e-mail or a phone to the person's index in All
	undo   []func()
}

// Person is one of the People. A field's hash is 0 if the person lacks the field.
type Person struct {
	ID, Name, Email, Phone uint64
	Row, Line              int
	// Label is how messages name a customer of the store, and Key is the customer's id. Both are empty for a person who is
	// only in rows.
	Label, Key string
	// Into is the person's own index or, once the person was joined with another, the index of the person who was kept.
	Into int
}

// String returns how messages name the person: by Label or, without a label, by the line of the person's first row.
func (p Person) String() string {
	if p.Label != "" {
		return p.Label
	}
	return fmt.Sprint("line ", p.Line)
}

// Stored reports whether the person is a customer of the store.
func (p Person) Stored() bool { return p.Label != "" }

// Contact has the fields of a row that identify its customer, spelled as in the database. Missing fields are empty.
type Contact struct{ ID, Name, Email, Phone string }

// CheckCustomer returns the Contact of a customer's row and the fields that it refuses. Call it for a row that is merged
// into another row, because no Importer checks such a row.
func CheckCustomer(t tenant.Store, m *storefrontv1.Customer) (Contact, []apijson.Field) {
	p := &problems{t: t}
	r := (&customers{}).read(p, m)
	return contactOf(r.id, &r.data), p.Fields()
}

// ContactOfBuyer returns the Contact of an order's customer. It leaves out wrong fields, because the Importer refuses them.
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

// Nobody is the index that means no person.
const Nobody = -1

// NewPeople returns People without persons.
func NewPeople() *People { return &People{seed: maphash.MakeSeed(), byHash: map[uint64]int{}} }

// Hash returns the hash of a field's text, or 0 for an empty one.
func (p *People) Hash(field, text string) uint64 {
	if text == "" {
		return 0
	}
	return maphash.Comparable(p.seed, identity{field, text})
}

// Index returns the index of the person who has an id, an e-mail or a phone, or Nobody.
func (p *People) Index(field, text string) int {
	index, ok := p.byHash[p.Hash(field, text)]
	if text == "" || !ok {
		return Nobody
	}
	for p.All[index].Into != index {
		index = p.All[index].Into
	}
	return index
}

// Match says which person the customer of a row is.
type Match struct {
	// Person is the index of the person, or Nobody if the customer is new. Field is the field by which the person was found:
	// id, email or phone.
	Person int
	Field  string
	// ID is the index of the person who has the row's id, or Nobody. A person may have a second id, from an earlier row that
	// Find matched by e-mail or phone. If the row's id is such a second id, and the person is a customer of the store or
	// emailFirst is set, ID is Nobody and Alias is the person's index. Otherwise Alias is Nobody.
	ID, Alias int
	// Owner is the index of the person who has the row's phone, if this is not Person; otherwise Nobody.
	Owner int
	// Joins is true if the row shows that Person and Owner are one customer: Person has no phone yet, and at most one of the
	// two has an e-mail (the row's e-mail counts as Person's). It is never true for two customers of the store.
	Joins bool
}

// Find finds the person who is the customer of a row. With emailFirst, the e-mail counts more than the id; use it for
// orders, because other files and forms identify a buyer by e-mail. Without emailFirst, the id counts more; use it for rows
// of customers, because such a row may change the e-mail.
func (p *People) Find(c Contact, emailFirst bool) Match {
	id, email, phone := p.Index("id", c.ID), p.Index("email", c.Email), p.Index("phone", c.Phone)
	m := Match{Person: Nobody, ID: id, Owner: Nobody, Alias: Nobody}
	if id != Nobody && p.All[id].ID != p.Hash("id", c.ID) && (emailFirst || p.All[id].Stored()) {
		m.ID, m.Alias, id = Nobody, id, Nobody
	}
	switch {
	case email != Nobody && (emailFirst || id == Nobody):
		m.Person, m.Field = email, "email"
	case id != Nobody:
		m.Person, m.Field = id, "id"
	case phone != Nobody && (c.Email == "" || p.All[phone].Email == 0):
		m.Person, m.Field = phone, "phone"
	}
	if phone == Nobody || phone == m.Person {
		return m
	}
	m.Owner = phone
	if m.Person != Nobody {
		person, owner := &p.All[m.Person], &p.All[phone]
		m.Joins = person.Phone == 0 && (owner.Email == 0 || person.Email == 0 && c.Email == "") && !(person.Stored() && owner.Stored())
	}
	return m
}

// Add adds a person and returns the person's index.
func (p *People) Add(c Contact, row, line int, label string) int {
	index := len(p.All)
	p.All = append(p.All, Person{ID: p.Hash("id", c.ID), Row: row, Line: line, Label: label, Into: index})
	p.undo = append(p.undo, func() { p.All = p.All[:index] })
	p.Complete(index, c, false)
	return index
}

// Complete sets the name, e-mail and phone that c has and the person with this index lacks. If update is true, it also
// replaces the fields that differ from c's. Afterwards Find finds the person by c's id, too. Complete reports whether a
// field changed.
func (p *People) Complete(index int, c Contact, update bool) (changes bool) {
	before := p.All[index]
	p.undo = append(p.undo, func() { p.All[index] = before })
	p.SetKey("id", c.ID, index)
	person := &p.All[index]
	for _, f := range []struct {
		field, text string
		hash        *uint64
	}{{"name", c.Name, &person.Name}, {"email", c.Email, &person.Email}, {"phone", c.Phone, &person.Phone}} {
		hash := p.Hash(f.field, f.text)
		if hash == 0 || hash == *f.hash || *f.hash != 0 && !update {
			continue
		}
		*f.hash, changes = hash, true
		if f.field != "name" {
			p.SetKey(f.field, f.text, index)
		}
	}
	return changes
}

// SetKey makes Find return the person with this index for text. field says whether text is an id, an e-mail or a phone.
// SetKey changes nothing if Find already returns a person for text.
func (p *People) SetKey(field, text string, index int) {
	key := p.Hash(field, text)
	if _, ok := p.byHash[key]; ok || text == "" {
		return
	}
	p.byHash[key] = index
	p.undo = append(p.undo, func() { delete(p.byHash, key) })
}

// Join makes two persons one. It keeps the one who is in the store or, if neither is, the one with the earlier row. It
// returns both indexes, and whether the person who is kept gets fields of the other.
func (p *People) Join(a, b int) (kept, removed int, changed bool) {
	kept, removed = a, b
	if !p.All[kept].Stored() && (p.All[removed].Stored() || p.All[removed].Row < p.All[kept].Row) {
		kept, removed = removed, kept
	}
	before, other := p.All[kept], p.All[removed]
	p.undo = append(p.undo, func() { p.All[kept], p.All[removed] = before, other })
	p.All[removed].Into = kept
	for _, f := range []struct{ to, from *uint64 }{
		{&p.All[kept].Name, &other.Name}, {&p.All[kept].Email, &other.Email}, {&p.All[kept].Phone, &other.Phone},
	} {
		if *f.to == 0 && *f.from != 0 {
			*f.to, changed = *f.from, true
		}
	}
	return kept, removed, changed
}

// Begin marks the state to which Undo returns.
func (p *People) Begin() { p.undo = p.undo[:0] }

// Undo reverts all changes since Begin.
func (p *People) Undo() {
	for i := len(p.undo) - 1; i >= 0; i-- {
		p.undo[i]()
	}
	p.Begin()
}
