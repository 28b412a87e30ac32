package main

import (
	"encoding/json"
	"fmt"
	"math/bits"
	"path"

	"github.com/anishathalye/porcupine"

	"go.storefront.example/server/limit"
)

// question is a request about one object. If the request pays an order of a payment link, n is the order's number among the
// orders of this link.
type question struct {
	request
	n int
}

// answer is the answer that a caller got. A nil *answer means an unknown outcome: the status was 5xx, or no answer came. Then the
// request may have taken effect, or may still take effect at any later time.
type answer struct {
	status    int
	code      string // the code in the body of an error
	body      []byte
	remaining int   // X-RateLimit-Remaining
	minute    int64 // the minute, since 1970, that counted the request
}

// a.fits reports whether the answer a has this status and, for an error, this code. An unknown outcome fits everything.
func (a *answer) fits(status int, code string) bool {
	return a == nil || a.status == status && a.code == code
}

// modelOf returns porcupine's model of an object. first is the object's first state. step returns the state after a request,
// and whether the answer is right.
//
// step may assume that a request with an unknown outcome took effect, although it may have had no effect. This is enough,
// because such a request never ends in the history: porcupine may put it after all other requests, where nobody sees its
// effect.
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

// merged returns state with the fields that the JSON object body has set to their values in body.
func merged[S any](state S, body []byte) S {
	_ = json.Unmarshal(body, &state) // a field that body lacks keeps its value
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

// nullable is a text that is "" for JSON's null.
type nullable string

// UnmarshalJSON reads a string or null.
func (t *nullable) UnmarshalJSON(text []byte) error {
	*t = ""
	return json.Unmarshal(text, (*string)(t))
}

type customer struct {
	ID    string   `json:"id"` // empty until an answer has shown the id
	Name  string   `json:"name"`
	Email nullable `json:"email"`
	Phone nullable `json:"phone"`
}

// conflictsWith reports whether two customers have the same e-mail or the same phone.
func (c customer) conflictsWith(other customer) bool {
	return c.Email != "" && c.Email == other.Email || c.Phone != "" && c.Phone == other.Phone
}

// customers is the state of an object's customers, at most four, under POST, PATCH and GET. The object has two e-mails and
// two phones. Each customer has one of the e-mails, one of the phones, or both. No two customers may have the same e-mail or
// the same phone.
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
			if j != i && other.conflictsWith(next) {
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
		if !c.conflictsWith(asked) {
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

// all.free returns the index of a customer without e-mail and phone. post calls free for a new customer whose e-mail and phone no
// customer in all has. There are only two e-mails and two phones, and one of these four is therefore unused. So at most three
// customers have an e-mail or a phone.
func (all customers) free() int {
	for i, c := range all {
		if c.Email == "" && c.Phone == "" {
			return i
		}
	}
	return -1
}

// claim is the state of an idempotency key: the body of the request that used it first, and the id of the order that this
// request created.
type claim struct{ request, order string }

// countOrders is the method of a question that is sent to no server: how many orders were created with the key. The bench
// answers it from the database when all requests have ended.
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

// linkAmount is the amount of a payment link's orders.
const linkAmount = 500

// payments are the paid orders of a payment link, a bit for each order. If an order is paid again, nothing changes.
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

// revoked is the state of an API key: true once the key is revoked.
type revoked bool

func (r revoked) step(q question, a *answer) (revoked, bool) {
	switch {
	case q.method == "POST": // the request that revokes the key
		return true, a.fits(200, "")
	case bool(r):
		return r, a.fits(401, "api_key_revoked")
	}
	return r, a.fits(200, "")
}

// counter counts the requests that an API key made in a minute. The service may have counted more requests, because the
// counter leaves out requests without an answer. In a fault the service may forget requests that it has counted.
type counter struct {
	minute int64
	count  int
}

// lostCounters is the method of a question that stands for a fault: the service forgets counts of requests. On PostgreSQL
// the fault is a crash, which empties unlogged tables. On SQLite it is the server's end, which loses the counts of the
// last ten seconds.
const lostCounters = "LOST"

func (c counter) step(q question, a *answer) (counter, bool) {
	if q.method == lostCounters {
		return counter{}, true
	}
	// The history may have a request of the next minute before this request. Then c is already the counter of the next minute,
	// and stays so.
	if a.minute != c.minute && a.minute != c.minute-1 {
		c = counter{minute: a.minute}
	}
	c.count++
	// If the service counts several requests in one statement, each of their answers has the count after all of them. So the
	// count in an answer may be higher than c.count.
	return c, a.fits(429, "rate_limited") || a.status == 200 && c.count <= limit.RequestsPerMinute-a.remaining
}
