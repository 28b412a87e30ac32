package main

import (
	"encoding/json"
	"fmt"
	"math/bits"
	"path"

	"github.com/anishathalye/porcupine"

	"go.storefront.example/server/limit"
)

// question is a request about one object. n is the number of the paid order among those of a payment link.
type question struct {
	request
	n int
}

// answer is nil for an unknown outcome: a 5xx, or no answer. The request may have taken effect, or still take effect at any
// time.
type answer struct {
	status    int
	code      string // the code in the body of an error
	body      []byte
	remaining int   // X-RateLimit-Remaining
	minute    int64 // the minute, since 1970, that counted the request
}

// fits reports whether an answer has this status and code. An unknown outcome fits everything.
func (a *answer) fits(status int, code string) bool {
	return a == nil || a.status == status && a.code == code
}

// modelOf returns porcupine's model of an object. The function step returns the state after a request, and whether the answer is
// right. It may assume that a request with an unknown outcome took effect: such a request never ends in the history, so porcupine
// may put it after all others, where nobody sees its effect.
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

// merged sets the fields of state that the JSON object body has.
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

func (c customer) conflictsWith(other customer) bool {
	return c.Email != "" && c.Email == other.Email || c.Phone != "" && c.Phone == other.Phone
}

// customers are at most four under POST, PATCH and GET, with two e-mails and two phones between them. No two may share one.
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

// free returns the index of a customer without e-mail and phone. post calls it for a new customer whose e-mail and phone
// nobody has, so at most three others have one.
func (all customers) free() int {
	for i, c := range all {
		if c.Email == "" && c.Phone == "" {
			return i
		}
	}
	return -1
}

// claim is an idempotency key's first request, and the id of the order that it created.
type claim struct{ request, order string }

// countOrders is the method of a question to no server: how many orders were created with the key, by the database when all
// requests have ended.
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

const linkAmount = 500

// payments has a bit for each order. Paid again, an order changes nothing.
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

// revoked is true once an API key is revoked.
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

// counter counts an API key's requests in a minute. The service may have counted more, because requests without an answer are
// left out, and may forget some in a fault.
type counter struct {
	minute int64
	count  int
}

// lostCounters is the method of a question for a fault in which the service forgets counts: on PostgreSQL a crash, which
// empties unlogged tables; on SQLite the server's end, which loses the last ten seconds.
const lostCounters = "LOST"

func (c counter) step(q question, a *answer) (counter, bool) {
	if q.method == lostCounters {
		return counter{}, true
	}
	// The history may have a request of the next minute before this one. Then c is already that minute's counter, and stays so.
	if a.minute != c.minute && a.minute != c.minute-1 {
		c = counter{minute: a.minute}
	}
	c.count++
	// If the service counts several requests in one statement, each answer has the count after all, which may be higher than
	// c.count.
	return c, a.fits(429, "rate_limited") || a.status == 200 && c.count <= limit.RequestsPerMinute-a.remaining
}
