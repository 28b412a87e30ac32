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
	write func(r *requests, w *writer, s *storeData)
}

// operations are all that is measured, in this order: the one that writes comes last, so that it
// changes nothing for the others.
var operations = []operation{
	{"get-order", "get order", func(_ *requests, w *writer, s *storeData) {
		w.get("/v1/orders/", s.orders[w.random.IntN(len(s.orders))].String())
	}},
	{"list-orders", "list 25 orders", func(_ *requests, w *writer, _ *storeData) {
		w.get("/v1/orders?pageSize=25&page=", strconv.Itoa(1+w.random.IntN(listedPages)))
	}},
	{"search-customers", "search customers", func(_ *requests, w *writer, _ *storeData) {
		w.get("/v1/customers?q=", surname(w.random.IntN(len(syllables)*len(syllables))))
	}},
	{"create-customer", "create customer", func(r *requests, w *writer, _ *storeData) {
		w.post("/v1/customers", newCustomerBody(r.created.Add(1)))
	}},
}

// listedPages are how many first pages of a list are asked for.
const listedPages = 4

// newCustomerBody is the nth customer that no store has yet.
func newCustomerBody(n int64) string {
	return fmt.Sprintf(`{"name":"Nadège Customer %d","email":"New.Customer.%d@example.com","phone":"+23765%07d"}`, n, n, n)
}

// requests makes requests to the stores of a data set, with their keys in turns. Goroutines share
// it.
type requests struct {
	data    *dataset
	next    atomic.Int64 // the next key's number
	created atomic.Int64 // customers sent so far
}

func newRequests(data *dataset) *requests { return &requests{data: data} }

// take returns the next key in turn and its store: all stores first, then their next keys, so that
// each key is used as seldom as can be.
func (r *requests) take() (*storeData, string) {
	n := int(r.next.Add(1) - 1)
	s := &r.data.stores[n%len(r.data.stores)]
	return s, s.keys[n/len(r.data.stores)%len(s.keys)]
}

// write writes a request of an operation.
func (r *requests) write(w *writer, o operation) {
	s, key := r.take()
	w.key = key
	o.write(r, w, s)
}

// writer spells requests into a buffer that it uses again. It belongs to one goroutine.
type writer struct {
	random *rand.Rand
	key    string
	text   []byte
}

func newWriter(seed uint64) *writer {
	return &writer{random: rand.New(rand.NewPCG(seed, 3))} //nolint:gosec // Nothing secret is made of it.
}

func (w *writer) get(path, rest string) {
	w.text = append(append(append(w.text[:0], "GET "...), path...), rest...)
	w.head()
	w.text = append(w.text, "\r\n"...)
}

func (w *writer) post(path, body string) { w.send("POST ", path, body) }

func (w *writer) patch(path, body string) { w.send("PATCH ", path, body) }

func (w *writer) send(method, path, body string) {
	w.text = append(append(w.text[:0], method...), path...)
	w.head()
	w.text = append(w.text, "Content-Type: application/json\r\nContent-Length: "...)
	w.text = append(strconv.AppendInt(w.text, int64(len(body)), 10), "\r\n\r\n"...)
	w.text = append(w.text, body...)
}

// head ends the request line and writes what most clients send.
func (w *writer) head() {
	w.text = append(w.text, " HTTP/1.1\r\nHost: api.example.com\r\nUser-Agent: bench\r\nAccept: application/json\r\nAuthorization: Bearer "...)
	w.text = append(append(w.text, w.key...), "\r\n"...)
}
