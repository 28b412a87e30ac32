package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"go.storefront.example/ent/db"
)

// journaledFields are what both the journal and the API show, by type of resource. A product's updatedAt is the time of its
// last entry.
var journaledFields = map[string][]string{
	"product": {"priceAmount", "status", "updatedAt"}, "customer": {"name", "email", "phone"}, "order": {"status"},
}

// chain is the journal of an object: its states before the first entry and after each, and when each began.
type chain struct {
	resource string
	states   []map[string]any
	began    []time.Time
	events   tally // by type: how many events the entries require, less those that checkEvents has found
}

// requiredEvents has the events that a change to a new status must send, by type of resource.
var requiredEvents = map[string][]string{
	"product PUBLISHED": {"product.published"}, "product ARCHIVED": {"product.archived"},
	"order PAID": {"order.paid", "payment_link.paid"},
}

// add appends the state after an entry. It returns what is wrong if the values before the change are not the last state, or "".
func (c *chain) add(changes map[string]struct{ From, To any }, at time.Time) string {
	last := c.states[len(c.states)-1]
	next, broken := map[string]any{}, ""
	for _, field := range journaledFields[c.resource] {
		next[field] = last[field]
		change, changed := changes[field]
		if !changed {
			continue
		}
		if known, seen := last[field]; seen && known != change.From {
			broken = fmt.Sprintf("%s entry that begins with another %s than the one before it left", c.resource, field)
		}
		next[field] = change.To
		if field == "status" {
			for _, event := range requiredEvents[fmt.Sprint(c.resource, " ", change.To)] {
				c.events.add(event, 1)
			}
		}
	}
	if _, moment := last["updatedAt"]; moment {
		next["updatedAt"] = at.UTC().Format("2006-01-02T15:04:05.000Z")
	}
	c.states, c.began = append(c.states, next), append(c.began, at)
	return broken
}

// matches reports whether body, an answer or an event, has the journalled values of state.
func (c *chain) matches(state, body map[string]any) bool {
	for _, field := range journaledFields[c.resource] {
		if got := body[field]; got != state[field] && (got != "" || state[field] != nil) {
			return false
		}
	}
	return true
}

// sighting is an answer that showed an object.
type sighting struct {
	called, returned int64
	body             map[string]any
	stateIndex       int // index in chain.states of the state that the answer showed
}

// checkJournal compares the journal with the callers' answers and with the events.
func (h *history) checkJournal() {
	seen := map[string][]*sighting{}
	for _, o := range h.objects {
		for _, op := range o.history {
			a, _ := op.Output.(*answer)
			s := &sighting{called: op.Call, returned: op.Return}
			if a == nil || a.status >= 300 || json.Unmarshal(a.body, &s.body) != nil {
				continue
			}
			if id, named := s.body["id"].(string); named {
				seen[id] = append(seen[id], s)
			}
		}
	}
	chains := h.readJournal(seen)
	for id, c := range chains {
		h.wrong.add(c.resource+" answer with a state that its journal does not have, or had before", c.follow(seen[id]))
	}
	h.checkEvents(chains)
	states := 0
	for _, c := range chains {
		states += len(c.states)
	}
	h.logf("%d journals with %d states", len(chains), states)
}

// follow counts wrong answers among seen. A right one shows a state of c.states, and no answer before its request showed a
// newer one. follow stores the index of the state.
func (c *chain) follow(seen []*sighting) (lost int) {
	slices.SortFunc(seen, func(a, b *sighting) int { return cmp.Compare(a.called, b.called) })
	for i, s := range seen {
		for _, before := range seen[:i] {
			if before.returned < s.called {
				s.stateIndex = max(s.stateIndex, before.stateIndex)
			}
		}
		n := slices.IndexFunc(c.states[s.stateIndex:], func(state map[string]any) bool { return c.matches(state, s.body) })
		if n < 0 {
			lost++
			continue
		}
		s.stateIndex += n
	}
	return lost
}

// readJournal returns the states of the objects that callers saw, by id. A product's first state is what they saw first,
// because it exists before the run; that of a customer or an order is empty.
func (h *history) readJournal(seen map[string][]*sighting) map[string]*chain {
	chains := map[string]*chain{}
	handle, err := h.stage.open(h.ctx)
	h.require(err)
	for row := range db.Rows(h.ctx, handle.Reader(), `SELECT resource_type, resource_id, changes, created_at FROM activity_entries
 WHERE resource_type IN ('product', 'customer', 'order') ORDER BY created_at, id`) {
		var resource string
		var id uuid.UUID
		var changes []byte
		var at time.Time
		h.require(row.Scan(&resource, &id, &changes, &at))
		c := chains[id.String()]
		if c == nil {
			c = &chain{resource: resource, states: []map[string]any{{}}, began: []time.Time{{}}}
			if first := seen[id.String()]; resource == "product" && len(first) > 0 {
				c.states[0] = first[0].body
			}
			if resource == "customer" {
				c.events.add("customer.created", 1)
			}
			chains[id.String()] = c
		}
		var fields map[string]struct{ From, To any }
		h.require(json.Unmarshal(changes, &fields))
		if broken := c.add(fields, at); broken != "" {
			h.wrong.add(broken, 1)
		}
	}
	return chains
}

// checkEvents requires that each event shows its object after the last entry that is not later, and each change has exactly the
// events that it must send.
func (h *history) checkEvents(chains map[string]*chain) {
	events, err := h.stage.events(h.ctx, time.Time{})
	h.require(err)
	for _, e := range events {
		c := chains[e.subject.String()]
		if c == nil {
			h.wrong.add("event "+e.kind+" without a journal", 1)
			continue
		}
		at := len(c.began) - 1
		for at > 0 && c.began[at].After(e.at) {
			at--
		}
		var data map[string]any
		h.require(json.Unmarshal(e.data, &data))
		if !c.matches(c.states[at], data) {
			h.wrong.add("event "+e.kind+" with another state than the journal has at its moment", 1)
		}
		c.events.add(e.kind, -1)
	}
	for _, c := range chains {
		for kind, n := range c.events {
			h.lost.add("event "+kind, max(n, 0))
			h.wrong.add("event "+kind+" without a change", max(-n, 0))
		}
	}
	h.logf("%d events", len(events))
}
