package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"github.com/google/uuid"
)

// compared is how many requests of each operation are compared.
const compared = 25

// comparison holds the service's answers against the yardstick's: what the yardstick answers the
// service answers alike. What the service alone answers is noted, so that a field of the product
// never waits for the yardstick.
type comparison struct{ more map[string]bool }

// compare makes sure that both sides do the same work: the answers to the reads are alike, and a
// customer created by either is answered, journaled and put into the outbox alike. It returns the
// fields that the service alone has, in order.
func compare(ctx context.Context, sides []*side, w *workload, db *database) (more []string, err error) {
	clients := make([]*client, len(sides))
	for i, s := range sides {
		clients[i] = newClient(at(s.address))
		defer clients[i].close()
	}
	c := comparison{map[string]bool{}}
	random := newRandom(0)
	for _, o := range operations {
		if o.name == "create-customer" {
			continue
		}
		for range compared {
			if err := c.read(clients, o.name, w.next(o, random)); err != nil {
				return nil, err
			}
		}
	}
	err = c.create(ctx, clients, w, db)
	return slices.Sorted(maps.Keys(c.more)), err
}

func (c *comparison) read(clients []*client, operation string, r request) error {
	var bodies [2][]byte
	for i, side := range clients {
		status, body, err := side.exchange(r)
		if err != nil {
			return err
		}
		if status != 200 {
			return fmt.Errorf("%s: side %d answered %d: %s", operation, i, status, body)
		}
		bodies[i] = body
	}
	return c.equal(operation, bodies[0], bodies[1], whole)
}

// create has each side create a customer that the other one then answers as known.
func (c *comparison) create(ctx context.Context, clients []*client, w *workload, db *database) error {
	var journals, payloads [2][]byte
	for i := range clients {
		_, key := w.take()
		r := request{"POST", "/v1/customers", key, newCustomerBody(w.created.Add(1))}
		var bodies [2][]byte
		for turn, expected := range []int{201, 200} {
			status, body, err := clients[(i+turn)%2].exchange(r)
			if err != nil {
				return err
			}
			if status != expected {
				return fmt.Errorf("create-customer: side %d answered %d where %d was due: %s", (i+turn)%2, status, expected, body)
			}
			bodies[turn] = body
		}
		if err := c.equal("create-customer", bodies[i], bodies[1-i], whole); err != nil {
			return err
		}
		var made struct {
			ID uuid.UUID `json:"id"`
		}
		if err := json.Unmarshal(bodies[0], &made); err != nil {
			return err
		}
		var err error
		if journals[i], payloads[i], err = db.left(ctx, made.ID); err != nil {
			return fmt.Errorf("create-customer: side %d: %w", i, err)
		}
	}
	if err := c.equal("journal entry", journals[0], journals[1], masked); err != nil {
		return err
	}
	return c.equal("event", payloads[0], payloads[1], masked)
}

// equal compares two JSON texts, their scalars as form gives them.
func (c *comparison) equal(what string, service, yardstick []byte, form func(any) any) error {
	var values [2]any
	for i, text := range [][]byte{service, yardstick} {
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.UseNumber() // 5 and 5.0 are not alike
		if err := decoder.Decode(&values[i]); err != nil {
			return fmt.Errorf("%s: side %d: %w", what, i, err)
		}
	}
	return c.value(what, values[0], values[1], form)
}

func (c *comparison) value(at string, service, yardstick any, form func(any) any) error {
	switch y := yardstick.(type) {
	case map[string]any:
		s, ok := service.(map[string]any)
		if !ok {
			return fmt.Errorf("%s: %v from the service, %v from the yardstick", at, service, yardstick)
		}
		for name := range s {
			if _, known := y[name]; !known {
				c.more[at+"."+name] = true
			}
		}
		for name, value := range y {
			in, known := s[name]
			if !known {
				return fmt.Errorf("%s.%s: missing from the service", at, name)
			}
			if err := c.value(at+"."+name, in, value, form); err != nil {
				return err
			}
		}
		return nil
	case []any:
		s, ok := service.([]any)
		if !ok || len(s) != len(y) {
			return fmt.Errorf("%s: %v from the service, %v from the yardstick", at, service, yardstick)
		}
		for i := range y {
			if err := c.value(at+"[]", s[i], y[i], form); err != nil {
				return err
			}
		}
		return nil
	}
	if form(service) != form(yardstick) {
		return fmt.Errorf("%s: %v from the service, %v from the yardstick", at, service, yardstick)
	}
	return nil
}

// whole is a scalar as it is.
func whole(value any) any {
	switch value.(type) {
	case map[string]any, []any:
		return "no scalar"
	}
	return value
}

// varying are ids, dates and numbers, by which two customers differ.
var varying = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d+`)

// masked is a scalar without what varies.
func masked(value any) any {
	switch value := value.(type) {
	case json.Number:
		return "#"
	case string:
		return varying.ReplaceAllString(value, "#")
	}
	return whole(value)
}
