package importfile

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	"go.storefront.example/ent/apijson"
	"go.storefront.example/ent/resource"
	"go.storefront.example/ent/tenant"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/transfer"
	"go.storefront.example/server/validate"
)

// identity is a field, an id, slug or reference, whose stored value no two rows of a kind may share.
type identity struct{ field, text string }

// checker decides in the first pass which rows repeat earlier rows, are merged into others, or are about stored customers. The
// second pass obeys, so that a dry run reports what an import would do. A nil checker sends all rows.
type checker struct {
	update bool
	seed   maphash.Seed
	seen   map[uint64]seenRow // the good rows of earlier batches, by the hash of an identity
	people *transfer.People
	// batch and merges are of the current batch. judge computes both anew; accept adds batch to seen.
	batch  map[uint64]seenRow
	merges []merge
}

// seenRow has the row's line, and a hash of the whole row.
type seenRow struct {
	sum  uint64
	line int
}

func (s seenRow) String() string { return fmt.Sprint("line ", s.line) }

// merge has the numbers of two rows in the file: row is merged into target.
type merge struct {
	row, target int
	// adds is true for two records of one customer, whose counts and totals are summed, and false for one record that the file
	// has twice.
	adds bool
	note LineError
}

func newChecker(update bool) *checker {
	return &checker{update: update, seed: maphash.MakeSeed(), seen: map[uint64]seenRow{}, people: transfer.NewPeople()}
}

// identify sets what the checker compares. It refuses a row of customers with invalid values.
func (l *loader) identify(e *entry) {
	if l.check == nil {
		return
	}
	switch m := e.message.(type) {
	case *storefrontv1.Product:
		e.identities = []identity{{"id", m.GetId()}, {"slug", m.GetSlug()}}
		if e.idFromTitle {
			e.identities[0].field = "title" // a refusal names the title, from which the id was derived
		}
		if id, ok := validate.ParseID(m.GetId()); ok && m.GetSlug() == "" {
			e.slugs = transfer.SlugsOf(m.GetTitle(), id)
		}
	case *storefrontv1.Customer:
		e.identities = []identity{{"id", m.GetId()}}
		// Apply the importer's rules here, because send ignores the importer's refusal of a merged row.
		var wrong []apijson.Field
		e.contact, wrong = transfer.CheckCustomer(tenant.Store{Currency: l.Store.GetCurrency(), Country: l.Store.GetCountry()}, m)
		for _, f := range wrong {
			e.refuse(f.Name, f.Message)
		}
	case *storefrontv1.Order:
		e.identities = []identity{{"id", m.GetId()}, {"reference", strings.TrimSpace(m.GetReference())}}
		if c := m.GetCustomer(); c != nil {
			e.contact = transfer.ContactOfBuyer(tenant.Store{Country: l.Store.GetCountry()}, c)
		}
	}
	text, _ := proto.MarshalOptions{Deterministic: true}.Marshal(e.message)
	e.sum = maphash.Bytes(l.check.seed, text)
}

type verdict struct {
	fresh, repeated []*entry
	conflicts       []conflict
}

// conflict is a row that is refused because related, an earlier row or the stored customer that it is about, has its field's
// value for another object.
type conflict struct {
	*entry
	field, problem string
	related        fmt.Stringer
}

// judge leaves merged rows out. It sends bad rows, so that the API finds all their errors, but compares none with them. It may
// be called again for a batch when more is known.
func (c *checker) judge(rows []*entry) (v verdict) {
	if c == nil {
		return verdict{fresh: rows}
	}
	c.people.Undo()
	c.batch, c.merges = map[uint64]seenRow{}, nil
	for _, e := range rows {
		e.restore()
		if len(e.bad) > 0 {
			v.fresh = append(v.fresh, e)
			continue
		}
		repeated, found := c.compare(e)
		if !repeated && found.problem == "" {
			repeated, found = c.match(e)
		}
		switch {
		case repeated:
			v.repeated = append(v.repeated, e)
			continue
		case found.problem != "":
			v.conflicts = append(v.conflicts, found)
			continue
		}
		v.fresh = append(v.fresh, e)
		identities := e.identities
		if !e.stored { // add the slug that the store would make
			slug := identity{"slug", e.slugs[0]}
			if _, taken := c.find(slug); taken {
				slug.text = e.slugs[1]
			}
			identities = append(slices.Clone(identities), slug)
		}
		for _, id := range identities {
			c.batch[maphash.Comparable(c.seed, id)] = seenRow{e.sum, e.line}
		}
	}
	v.fresh = slices.DeleteFunc(v.fresh, func(e *entry) bool {
		return slices.ContainsFunc(c.merges, func(m merge) bool { return m.row == e.row })
	})
	return v
}

// unchanged reports whether all rows are sent exactly as they were read.
func (v verdict) unchanged(rows []*entry) bool {
	return len(v.fresh) == len(rows) && !slices.ContainsFunc(rows, func(e *entry) bool { return e.phoneless || e.id != "" })
}

type fate int

const (
	storedNew fate = iota
	changed
	skipped
)

func (c *checker) accept() {
	if c == nil {
		return
	}
	for key, s := range c.batch {
		c.seen[key] = s
	}
	c.people.Begin()
}

func (c *checker) find(id identity) (seenRow, bool) {
	key := maphash.Comparable(c.seed, id)
	s, ok := c.batch[key]
	if !ok {
		s, ok = c.seen[key]
	}
	return s, ok && id.text != ""
}

// compare looks for a row's identities in earlier rows. found is zero unless the row conflicts.
func (c *checker) compare(e *entry) (repeated bool, found conflict) {
	grouped := e.table != nil && e.table.Group != ""
	_, customer := e.message.(*storefrontv1.Customer)
	for _, id := range e.identities {
		s, ok := c.find(id)
		switch {
		case !ok, customer && s.sum != e.sum: // no earlier row has the identity, or match decides what to do with the customer
		case s.sum == e.sum:
			e.notes = append(e.notes, e.note("", "is left out: it is the same as a row further up", s))
			return true, conflict{}
		case id.field == "id" && !grouped:
			e.notes = append(e.notes, e.note("id", sameID, s))
			return true, conflict{}
		case id.field == "title":
			return false, conflict{e, id.field, "is that of another line too; give products of one title an id column", s}
		case grouped:
			return false, conflict{e, e.table.Group,
				"stands further up too; all lines of one record must follow each other and have one id and one buyer", s}
		default:
			return false, conflict{e, id.field, "is that of another row of the file", s}
		}
	}
	return false, conflict{}
}

// match looks for the row's customer in the store and in earlier rows.
func (c *checker) match(e *entry) (repeated bool, found conflict) {
	switch m := e.message.(type) {
	case *storefrontv1.Customer:
		return c.matchCustomer(e)
	case *storefrontv1.Order:
		if m.Customer != nil && !e.stored {
			c.matchBuyer(e, m.GetCustomer())
		}
	}
	return false, conflict{}
}

// matchCustomer merges e into an earlier row of its customer. If e shows that two persons are one, their rows are merged too.
func (c *checker) matchCustomer(e *entry) (repeated bool, found conflict) {
	all := c.people
	m := all.Find(e.contact, false)
	if m.Alias != transfer.Nobody && m.Alias != m.Person {
		if person := all.All[m.Alias]; e.contact.Email != "" && person.Email != 0 {
			return false, conflict{e, "id", emailDiffers, person}
		}
		e.notes = append(e.notes, e.note("id", sameID, all.All[m.Alias]))
		return true, conflict{}
	}
	if m.Person == transfer.Nobody {
		all.Add(e.dropTakenPhone(all, m.Owner, "phone"), e.row, e.line, "")
		e.fate = storedNew
		return false, conflict{}
	}
	person := all.All[m.Person]
	mail := all.Index("email", e.contact.Email)
	switch {
	case m.Field != "id":
	case person.Stored():
		if e.fate = skipped; !c.update || person.Label == resource.ForgottenEmail(uuid.MustParse(e.contact.ID)) {
			return false, conflict{}
		}
	case mail != transfer.Nobody && mail != m.Person, mail == transfer.Nobody && e.contact.Email != "" && person.Email != 0:
		return false, conflict{e, "id", emailDiffers, person}
	}
	known, gets := e.contact, false
	if m.Joins {
		var kept, gone int
		kept, gone, gets = all.Join(m.Person, m.Owner)
		person = all.All[kept]
		m.Person = kept
		other, joined := all.All[gone], sameCustomer
		if person.Stored() {
			joined = "is of the same " + storedCustomer
		}
		c.merges = append(c.merges, merge{row: other.Row, target: rowOf(person, e), adds: true,
			note: LineError{Line: other.Line, Problem: joined, Related: fmt.Sprint("line ", lineOf(person, e))}})
	} else {
		known = e.dropTakenPhone(all, m.Owner, "phone")
	}
	e.useStoredID(person)
	if e.fate = skipped; all.Complete(m.Person, known, c.update && person.Stored()) || gets {
		e.fate = changed
	}
	field, problem, adds := m.Field, "is that of a row further up: "+sameCustomer, true
	switch {
	case field == "id" && e.hasCustomerID:
		problem, adds = "is that of a row further up: "+sameRecord, false
	case field == "id" && known.Email != "":
		field = "email" // a remark names the e-mail, from which the id was derived
	case field == "id":
		field = "phone"
	}
	switch {
	case !person.Stored():
		n := e.note(field, problem, person)
		c.merges = append(c.merges, merge{row: e.row, target: person.Row, adds: adds, note: n})
	case !c.update:
		e.notes = append(e.notes, e.note(field, "is that of a "+storedCustomer, person))
	}
	return false, conflict{}
}

// rowOf and lineOf return the row into which those about person are merged: the first or, for a stored customer, e.
func rowOf(person transfer.Person, e *entry) int {
	if person.Stored() {
		return e.row
	}
	return person.Row
}

func lineOf(person transfer.Person, e *entry) int {
	if person.Stored() {
		return e.line
	}
	return person.Line
}

// The ends of remarks on a row, "this one", with the id, e-mail or phone of an earlier row or a stored customer.
const (
	sameID         = "is that of a row further up: this one is left out"
	emailDiffers   = "is that of another line, which has another e-mail"
	oneCustomer    = "they are stored as one customer, with what the first row that has it says, and "
	sameRecord     = oneCustomer + "the first one's counts and totals"
	sameCustomer   = oneCustomer + "the sums of their counts and totals; a customer of the store keeps its own"
	storedCustomer = "customer of the store, who gets what they lack and keeps what they have"
)

func (c *checker) matchBuyer(e *entry, buyer *storefrontv1.Order_Customer) {
	all := c.people
	m := all.Find(e.contact, true)
	known := e.dropTakenPhone(all, m.Owner, "customer.phone")
	if m.Person == transfer.Nobody {
		all.Add(known, e.row, e.line, "")
		return
	}
	person := all.All[m.Person]
	e.useStoredID(person)
	if e.hasCustomerID && m.ID != m.Person {
		e.notes = append(e.notes, e.note("customer.id", "is not kept: the order is of the customer who has its "+m.Field, person))
		if id := idOf(e.message); !person.Stored() { // so that the first pass, which stores no rows, creates no customer with this id
			e.id, *id = *id, uuid.NewSHA1(uuid.Nil, []byte(*id)).String()
		}
	}
	for _, f := range []struct {
		field, text string
		hash        uint64
	}{{"name", known.Name, person.Name}, {"email", known.Email, person.Email}, {"phone", known.Phone, person.Phone}} {
		if f.text != "" && all.Hash(f.field, f.text) != f.hash && (f.hash != 0 || m.Field == "id") {
			e.notes = append(e.notes, e.note("customer."+f.field, "is not stored: the customer keeps what they have", person))
		}
	}
	if m.Field != "id" {
		all.Complete(m.Person, known, false)
	} else if !person.Stored() && buyer.Email == nil && buyer.Phone == nil {
		// The API would refuse the earlier row's id, because the first pass stores no rows. An invented e-mail, which restore
		// removes, lets it check the rest of the order.
		buyer.Email, e.inventedEmail = new(buyer.GetId()+"@checked.invalid"), true
	}
}

// skip marks the rows that the store has. rejudge is true if judge took such an order, or product without a slug, for new.
func (c *checker) skip(out *adminv1.ImportResponse, rows []*entry) (rejudge bool) {
	if c == nil {
		return false
	}
	for _, i := range out.GetSkippedRows() {
		_, order := rows[i].message.(*storefrontv1.Order)
		rejudge = rejudge || (order || rows[i].slugs[1] != "") && !rows[i].stored
		rows[i].stored = true
	}
	return rejudge
}

// addStored tells the checker about stored customers. rejudge is true if one was unknown.
func (c *checker) addStored(customers []*storefrontv1.Customer) (rejudge bool) {
	if c == nil {
		return false
	}
	fresh := slices.DeleteFunc(slices.Clone(customers), func(m *storefrontv1.Customer) bool {
		return c.people.Index("stored", m.GetId()) != transfer.Nobody
	})
	if len(fresh) == 0 {
		return false
	}
	c.people.Undo()
	for _, m := range fresh {
		contact := transfer.Contact{ID: m.GetId(), Name: m.GetName(), Email: m.GetEmail(), Phone: m.GetPhone()}
		at := c.people.Add(contact, 0, 0, cmp.Or(contact.Email, contact.Phone, contact.ID))
		c.people.All[at].Key = contact.ID
		c.people.SetKey("stored", contact.ID, at)
	}
	c.people.Begin()
	return true
}

// note returns a remark, about the whole row if field is "". It ends with related, unless that is nil.
func (e *entry) note(field, problem string, related fmt.Stringer) LineError {
	n := LineError{Line: e.line, Problem: problem}
	if related != nil {
		n.Related = related.String()
	}
	if field != "" {
		n.Column, n.Line, n.Value = e.locate(field)
	}
	return n
}

// dropTakenPhone removes, with a remark, the phone of the customer with index owner, which may be Nobody.
func (e *entry) dropTakenPhone(all *transfer.People, owner int, field string) transfer.Contact {
	contact := e.contact
	if owner != transfer.Nobody {
		e.notes = append(e.notes, e.note(field, "is left out: it is another customer's", all.All[owner]))
		e.dropPhone()
		contact.Phone = ""
	}
	return contact
}

func (e *entry) dropPhone() {
	if phone := phoneOf(e.message); phone != nil && *phone != nil {
		e.phone, *phone, e.phoneless = *phone, nil, true
	}
}

// useStoredID names a stored customer by id, because the customer may get the e-mail and phone only from an earlier row.
func (e *entry) useStoredID(person transfer.Person) {
	if id := idOf(e.message); person.Key != "" && *id != person.Key {
		e.id, *id = *id, person.Key
	}
}

func idOf(m proto.Message) *string {
	if order, ok := m.(*storefrontv1.Order); ok {
		return &order.GetCustomer().Id
	}
	return &m.(*storefrontv1.Customer).Id
}

func (e *entry) restore() {
	e.notes = nil
	if e.id != "" {
		*idOf(e.message), e.id = e.id, ""
	}
	if e.phoneless {
		*phoneOf(e.message), e.phoneless = e.phone, false
	}
	if e.inventedEmail {
		e.message.(*storefrontv1.Order).Customer.Email, e.inventedEmail = nil, false
	}
}

func phoneOf(m proto.Message) **string {
	switch m := m.(type) {
	case *storefrontv1.Customer:
		return &m.Phone
	case *storefrontv1.Order:
		if m.Customer != nil {
			return &m.Customer.Phone
		}
	}
	return nil
}
