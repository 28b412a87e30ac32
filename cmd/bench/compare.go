package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"

	"github.com/google/uuid"
)

// compared is how many requests of each operation are compared.
const compared = 25

// compare makes sure that both sides do the same work: the answers to the reads are equal byte for
// byte, and a customer created by either is answered, journaled and put into the outbox alike.
func compare(ctx context.Context, sides []*side, r *requests, db *database) error {
	clients := make([]*client, len(sides))
	for i, s := range sides {
		c, err := dial(ctx, s.address)
		if err != nil {
			return err
		}
		defer c.close()
		clients[i] = c
	}
	w := newWriter(0)
	for _, o := range operations {
		if o.name == "create-customer" {
			continue
		}
		for range compared {
			r.write(w, o)
			if err := compareRead(clients, o, w.text); err != nil {
				return err
			}
		}
	}
	return compareCreate(ctx, clients, r, db)
}

func compareRead(clients []*client, o operation, request []byte) error {
	var bodies [2][]byte
	for i, c := range clients {
		status, body, err := c.do(request)
		if err != nil {
			return err
		}
		if status != 200 {
			return fmt.Errorf("%s: side %d answered %d: %s", o.name, i, status, body)
		}
		bodies[i] = body
	}
	if !bytes.Equal(bodies[0], bodies[1]) {
		return fmt.Errorf("%s: the answers differ:\n%s\n%s", o.name, bodies[0], bodies[1])
	}
	return nil
}

// compareCreate has each side create a customer that the other one then answers as known.
func compareCreate(ctx context.Context, clients []*client, r *requests, db *database) error {
	w := newWriter(0)
	var traces [2]string
	for i := range clients {
		_, w.key = r.take()
		w.post("/v1/customers", newCustomerBody(r.created.Add(1)))
		var bodies [2][]byte
		for turn, expected := range []int{201, 200} {
			status, body, err := clients[(i+turn)%2].do(w.text)
			if err != nil {
				return err
			}
			if status != expected {
				return fmt.Errorf("create-customer: side %d answered %d where %d was due: %s", (i+turn)%2, status, expected, body)
			}
			bodies[turn] = body
		}
		if !bytes.Equal(bodies[0], bodies[1]) {
			return fmt.Errorf("create-customer: the answers differ:\n%s\n%s", bodies[0], bodies[1])
		}
		var made struct {
			ID uuid.UUID `json:"id"`
		}
		if err := json.Unmarshal(bodies[0], &made); err != nil {
			return err
		}
		changes, payload, err := db.left(ctx, made.ID)
		if err != nil {
			return fmt.Errorf("create-customer: side %d: %w", i, err)
		}
		traces[i] = masked(changes) + "\n" + masked(payload)
	}
	if traces[0] != traces[1] {
		return fmt.Errorf("create-customer: the journal and the outbox differ:\n%s\n%s", traces[0], traces[1])
	}
	return nil
}

// varying are ids, dates and numbers, by which two customers differ.
var varying = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d+`)

func masked(text []byte) string { return string(varying.ReplaceAll(text, []byte("#"))) }
