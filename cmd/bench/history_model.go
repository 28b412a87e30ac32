package main

import (
	"encoding/json"
	"fmt"
	"math/bits"
	"path"

	"github.com/anishathalye/porcupine"

	"go.storefront.example/server/limit"
)

// question is a request about one object. If the request pays an order, n numbers that order among the orders of its payment
// link.
type question struct {
	request
	n int
}

// answer is what a caller was answered. A nil answer is an unknown one: the request was refused with 503 or its connection broke,
// so it may have taken effect, or may still do so at any later time.
type answer struct {
	status    int
	code      string // of an error
	body      []byte
	remaining int   // X-RateLimit-Remaining
	minute    int64 // the minute, since 1970, whose counter has the request
}

// fits reports whether an answer is unknown or has a status, and a code if it is an error.
func (a *answer) fits(status int, code string) bool {
	return a == nil || a.status == status && a.code == code
}

// modelOf returns the model of an object: its first state, and the function that returns the state after a request and whether
// the answer is right. A request without a known outcome needs no second state without its effect, because it never ends:
// porcupine may put it after all other requests, where nobody saw its effect.
func modelOf[S comparable](first S, step func(S, question, *answer) (S, bool)) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return first },
		Step: func(state, input, output any) (bool, any) {
			next, right := step(state.(S), input.(question), output.(*answer))
			return right, next
		},
		DescribeOperation: func(input, output any) string {
			q, a := input.(question), output.(*answer)
			text := fmt.Sprint(q.method, " ", q.path, " ", q.body)
			if a == nil {
				return text + " → unknown"
			}
			return fmt.Sprint(text, " → ", a.status, " ", string(a.body))
		},
	}
}

// merged returns a state with the fields that a JSON object names.
func merged[S any](state S, body []byte) S {
	_ = json.Unmarshal(body, &state) // a body without the fields gives a state that no other one equals
	return state
}

// product is the state of a product under PATCH and GET.
type product struct {
	Price  int64  `json:"priceAmount"`
	Status string `json:"status"`
}

func (p product) step(q question, a *answer) (product, bool) {
	next := merged(p, []byte(q.body))
	return next, a == nil || a.status == 200 && merged(product{}, a.body) == next
}

// nullable is a text that is "" where JSON has null.
type nullable string

// UnmarshalJSON reads a string or null.
func (t *nullable) UnmarshalJSON(text []byte) error {
	*t = ""
	return json.Unmarshal(text, (*string)(t))
}

type customer struct {
	ID    string   `json:"id"` // "" while only unknown answers have it
	Name  string   `json:"name"`
	Email nullable `json:"email"`
	Phone nullable `json:"phone"`
}

// same reports whether two customers have an e-mail or a phone in common.
func (c customer) same(other customer) bool {
	return c.Email != "" && c.Email == other.Email || c.Phone != "" && c.Phone == other.Phone
}

// customers are those who have one of two e-mails and two phones, under POST, PATCH and GET: at most four. No two may have the
// same e-mail or phone.
type customers [4]customer

func (all customers) step(q question, a *answer) (customers, bool) {
	if q.method == "POST" {
		return all.post(merged(customer{}, []byte(q.body)), a)
	}
	for i, c := range all {
		if c.ID == "" || c.ID != path.Base(q.path) {
			continue
		}
		next := merged(c, []byte(q.body))
		if next.Email == "" && next.Phone == "" {
			return all, a.fits(400, "customer_identifier_required")
		}
		for j, other := range all {
			if j != i && other.same(next) {
				return all, a.fits(409, "customer_conflict")
			}
		}
		all[i] = next
		return all, a == nil || a.status == 200 && merged(customer{}, a.body) == next
	}
	return all, false
}

func (all customers) post(asked customer, a *answer) (customers, bool) {
	at, status := -1, 200
	for i, c := range all {
		if !c.same(asked) {
			continue
		}
		if at >= 0 {
			return all, a.fits(409, "customer_conflict")
		}
		at = i
	}
	if at < 0 {
		at, status = all.free(), 201
	}
	c := &all[at]
	if c.Name == "" {
		c.Name = asked.Name
	}
	if c.Email == "" {
		c.Email = asked.Email
	}
	if c.Phone == "" {
		c.Phone = asked.Phone
	}
	if a == nil {
		return all, true
	}
	got := merged(customer{}, a.body)
	if c.ID == "" {
		c.ID = got.ID
	}
	return all, a.status == status && got == *c
}

// free is the first place without a customer: there is one, because everybody has an identifier of the four.
func (all customers) free() int {
	for i, c := range all {
		if c.Email == "" && c.Phone == "" {
			return i
		}
	}
	return -1
}

// claim is an idempotency key: the request that used it first, and the order that it recorded.
type claim struct{ request, order string }

// countOrders asks how many orders were recorded under a key. It is no request, but read from the database at the end.
const countOrders = "COUNT"

func (c claim) step(q question, a *answer) (claim, bool) {
	if q.method == countOrders {
		return c, a.body[0] == '0' && c.request == "" || a.body[0] == '1' && c.request != ""
	}
	if c.request == "" {
		c.request = q.body
	}
	if q.body != c.request {
		return c, a.fits(409, "already_exists")
	}
	if a == nil {
		return c, true
	}
	order := merged(customer{}, a.body).ID
	if c.order == "" {
		c.order = order
	}
	return c, a.status == 200 && order != "" && order == c.order
}

// linkAmount is what an order of a payment link costs.
const linkAmount = 500

// payments are the orders of a payment link that are paid, a bit for each. Paying one again changes nothing.
type payments uint64

func (p payments) step(q question, a *answer) (payments, bool) {
	if q.method == "POST" {
		return p | 1<<q.n, a == nil || a.status == 200 && merged(product{}, a.body).Status == "PAID"
	}
	var counted struct{ PaidCount, PaidAmount int }
	counted = merged(counted, a.body)
	count := bits.OnesCount64(uint64(p))
	return p, a.status == 200 && counted.PaidCount == count && counted.PaidAmount == count*linkAmount
}

// revoked is whether an API key is.
type revoked bool

func (r revoked) step(q question, a *answer) (revoked, bool) {
	switch {
	case q.method == "POST": // revokes it
		return true, a.fits(200, "")
	case bool(r):
		return r, a.fits(401, "api_key_revoked")
	}
	return r, a.fits(200, "")
}

// counter is how many requests of an API key were counted in a minute, at least: one without an answer is not in it, and a lost
// counter begins at 0.
type counter struct {
	minute int64
	count  int
}

// lostCounters is the fault that takes the counters away: on PostgreSQL a crash, which empties unlogged tables, and on SQLite the
// server's end, which loses what it counted in the last ten seconds.
const lostCounters = "LOST"

func (c counter) step(q question, a *answer) (counter, bool) {
	if q.method == lostCounters {
		return counter{}, true
	}
	// A request that was overtaken by one of the next minute is counted in that.
	if a.minute != c.minute && a.minute != c.minute-1 {
		c = counter{minute: a.minute}
	}
	c.count++
	// Requests that share a statement are answered with the count after all of them, so it may be above this one's.
	return c, a.fits(429, "rate_limited") || a.status == 200 && c.count <= limit.RequestsPerMinute-a.remaining
}
