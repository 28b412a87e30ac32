package yardstick

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"
)

// record is what a new customer leaves in the tables.
type record struct {
	made              *customer
	at                time.Time
	id, entry, event  uuid.UUID
	search            string
	changes, envelope []byte
}

type change struct {
	From *string `json:"from"`
	To   *string `json:"to"`
}

type changes struct {
	Name  change  `json:"name"`
	Email *change `json:"email,omitempty"`
	Phone *change `json:"phone,omitempty"`
}

type envelope struct {
	ID        string `json:"id"`
	Type      string `json:"type"`
	CreatedAt string `json:"createdAt"`
	Store     struct {
		ID   string `json:"id"`
		Slug string `json:"slug"`
	} `json:"store"`
	Data *customer `json:"data"`
}

const (
	actorType     = "api_key"
	resourceType  = "customer"
	customerEvent = "customer.created"
)

func (in *newCustomer) record(c *caller, now time.Time) (*record, error) {
	r := &record{at: now.UTC().Truncate(time.Millisecond), search: in.search()}
	for _, id := range []*uuid.UUID{&r.id, &r.entry, &r.event} {
		var err error
		if *id, err = uuid.NewV7(); err != nil {
			return nil, err
		}
	}
	r.made = &customer{
		ID: r.id.String(), Name: in.Name, Email: in.Email, Phone: in.Phone,
		Currency: c.Store.Currency, CreatedAt: stamp(r.at),
	}
	journal := changes{Name: change{To: &in.Name}}
	if in.Email != nil {
		journal.Email = &change{To: in.Email}
	}
	if in.Phone != nil {
		journal.Phone = &change{To: in.Phone}
	}
	var err error
	if r.changes, err = json.Marshal(journal); err != nil {
		return nil, err
	}
	e := envelope{ID: r.event.String(), Type: customerEvent, CreatedAt: stamp(r.at), Data: r.made}
	e.Store.ID, e.Store.Slug = c.Store.ID, c.Store.Slug
	r.envelope, err = json.Marshal(e)
	return r, err
}
