package main

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
)

// operation is one of the measured calls.
type operation struct {
	name  string // on the command line and in JSON
	title string // in the table
	next  func(w *workload, s *storeData, random *rand.Rand) request
}

// operations are all that is measured, in this order: the one that writes comes last, so that it
// changes nothing for the others.
var operations = []operation{
	{"get-order", "get order", func(_ *workload, s *storeData, random *rand.Rand) request {
		return request{method: "GET", path: "/v1/orders/" + s.orders[random.IntN(len(s.orders))].String()}
	}},
	{"list-orders", "list 25 orders", func(_ *workload, _ *storeData, random *rand.Rand) request {
		return request{method: "GET", path: "/v1/orders?pageSize=25&page=" + strconv.Itoa(1+random.IntN(listedPages))}
	}},
	{"search-customers", "search customers", func(_ *workload, _ *storeData, random *rand.Rand) request {
		return request{method: "GET", path: "/v1/customers?q=" + surname(random.IntN(len(syllables)*len(syllables)))}
	}},
	{"create-customer", "create customer", func(w *workload, _ *storeData, _ *rand.Rand) request {
		return request{method: "POST", path: "/v1/customers", body: newCustomerBody(w.created.Add(1))}
	}},
}

// listedPages are how many first pages of a list are asked for.
const listedPages = 4

// newCustomerBody is the nth customer that no store has yet.
func newCustomerBody(n int64) string {
	return fmt.Sprintf(`{"name":"Nadège Customer %d","email":"New.Customer.%d@example.com","phone":"+23765%07d"}`, n, n, n)
}

// workload makes requests to stores, with their keys in turns. Goroutines share it.
type workload struct {
	stores  []storeData
	turn    atomic.Int64 // the next key's number
	created atomic.Int64 // customers sent so far
}

// take returns the next key in turn and its store: all stores first, then their next keys, so that
// each key is used as seldom as can be.
func (w *workload) take() (*storeData, string) {
	n := int(w.turn.Add(1) - 1)
	s := &w.stores[n%len(w.stores)]
	return s, s.key(n / len(w.stores))
}

// next returns a request of an operation.
func (w *workload) next(o operation, random *rand.Rand) request {
	s, key := w.take()
	r := o.next(w, s, random)
	r.key = key
	return r
}

// newRandom returns the choices of one client.
func newRandom(seed int) *rand.Rand {
	return rand.New(rand.NewPCG(uint64(seed), 3)) //nolint:gosec // Nothing secret is made of it.
}
