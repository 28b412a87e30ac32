package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/valyala/fasthttp"

	"go.storefront.example/ent/db"
)

const (
	// callersPerObject send requests about one object at the same time.
	callersPerObject = 5
	// productLife, claimLife and counterLife are short, because porcupine's work grows with an object's history.
	productLife, claimLife, counterLife = 2 * time.Second, time.Second, 15 * time.Second
	// historyKeys are enough for 1000 requests a second. The store's further keys are for counting and revoking.
	historyKeys = 600
	// maxUnknown requests without a known outcome make callers leave an object, because each doubles porcupine's work.
	maxUnknown = 6
	// restAfterRefusal is the longest pause of a caller after a request without an answer.
	restAfterRefusal = 100 * time.Millisecond
	// maxLinkOrders fit into the model, which keeps a payment link's paid orders as the bits of a number.
	maxLinkOrders = 64
	counterKind   = "counter"
)

// kind is how long objects of one kind are used, and how create makes one. create returns nil if the servers could not.
type kind struct {
	name   string
	life   time.Duration
	create func(h *history, c *caller, number int) *object
}

var kinds = []kind{
	{"product", productLife, newProduct},
	{"customers", productLife, newCustomers},
	{"idempotency key", claimLife, newClaim},
	{"payment link", productLife, newPayments},
	{"API key", productLife, newRevocation},
	{counterKind, counterLife, newCounter},
}

// object is one thing of the service, such as a product or an API key, with the requests about it and their answers.
type object struct {
	kind  string
	name  string
	model porcupine.Model
	ask   func(c *caller) // sends a random request
	read  func(c *caller) // sends the last requests, at the end of the run; nil sends none

	mu      sync.Mutex
	history []porcupine.Operation
	unknown int
	known   []string // ids of the object's customers or orders
}

// exhausted is true once too many requests have an unknown outcome.
func (o *object) exhausted() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.unknown >= maxUnknown
}

func (o *object) addKnown(id string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if id != "" && len(o.known) < maxLinkOrders && !slices.Contains(o.known, id) {
		o.known = append(o.known, id)
	}
}

// randomKnown returns a random known id and its index, or "".
func (o *object) randomKnown(c *caller) (string, int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.known) == 0 {
		return "", 0
	}
	n := c.random.IntN(len(o.known))
	return o.known[n], n
}

// caller sends one request after the other. The seed, and the ids in earlier answers, decide its requests.
type caller struct {
	number int
	random *rand.Rand
}

func (h *history) caller(kind, object, number int) *caller {
	stream := uint64(kind)<<40 | uint64(object)<<8 | uint64(number)               //nolint:gosec // These numbers are small.
	return &caller{number: number, random: rand.New(rand.NewPCG(h.seed, stream))} //nolint:gosec // These numbers are no secret.
}

// cycle has callers use one object of a kind after the other until the context ends.
func (h *history) cycle(ctx context.Context, number int, k kind) {
	each := seconds(float64(len(kinds)*callersPerObject) / h.rate)
	for n := 0; ctx.Err() == nil; n++ {
		var o *object
		for c := h.caller(number, n, callersPerObject); o == nil; {
			if ctx.Err() != nil {
				return
			}
			if h.create(c, h.request("GET", "/v1/store", "")) != nil { // repeated until a server answers
				o = k.create(h, c, n)
			}
		}
		o.kind = k.name
		var asking sync.WaitGroup
		until := time.Now().Add(k.life)
		for i := range callersPerObject {
			asking.Go(func() {
				for c := h.caller(number, n, i); time.Now().Before(until) && !o.exhausted() && ctx.Err() == nil; {
					o.ask(c)
					_ = wait(ctx, time.Duration(2*c.random.Float64()*float64(each))) // wait fails only if ctx has ended, and then the loop ends
				}
			})
		}
		asking.Wait()
		h.mu.Lock()
		h.objects = append(h.objects, o)
		h.mu.Unlock()
	}
}

// ask sends a request to one of the servers, and adds it and its answer to the object's history. It
// returns nil if the outcome is unknown, for example after a status 5xx, and then adds only a request that may have changed
// something. After a 429 it adds nothing, except if the object counts requests.
func (h *history) ask(o *object, c *caller, q question) *answer {
	server := h.servers[c.random.IntN(len(h.servers))]
	listener := server.api
	if strings.HasPrefix(q.path, "/storefront.admin.") {
		listener = server.admin
	}
	h.requests.Add(1)
	a := &answer{}
	called := time.Now()
	err := listener.do(q.request, called.Add(answerTimeout), func(r *fasthttp.Response) { a.read(r, called) })
	returned := time.Now()
	if err == nil && a.status < 500 {
		if a.status != 429 || o.kind == counterKind {
			o.record(c, q, a, called.Sub(h.begun), returned.Sub(h.begun))
			return a
		}
	} else if !unsent(err) {
		h.unknown.Add(1)
		if err == nil && (a.status != 503 || a.code != "unavailable") {
			h.countUnexpected(q, a)
		}
		if q.method != "GET" {
			o.record(c, q, nil, called.Sub(h.begun), math.MaxInt64)
		}
	}
	time.Sleep(rand.N(restAfterRefusal))
	return nil
}

// create returns nil if the request failed. The request is in no history, because no model describes it.
func (h *history) create(c *caller, q question) *answer {
	a := h.ask(&object{}, c, q)
	if a != nil && a.status >= 300 {
		h.countUnexpected(q, a)
		return nil
	}
	return a
}

// countUnexpected counts an answer that the service must never give.
func (h *history) countUnexpected(q question, a *answer) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.unexpected.add(fmt.Sprintf("%d %s to %s %s", a.status, a.code, q.method, q.path), 1)
}

// unsent reports whether a request failed before a server could receive it.
func unsent(err error) bool {
	var failed *net.OpError
	return errors.As(err, &failed) && failed.Op == "dial"
}

// read sets a from r. called is when the request was sent.
func (a *answer) read(r *fasthttp.Response, called time.Time) {
	a.status, a.body = r.StatusCode(), slices.Clone(r.Body())
	if a.status >= 400 {
		var refusal struct{ Code string }
		_ = json.Unmarshal(a.body, &refusal) // no model accepts an empty code
		a.code = refusal.Code
	}
	a.remaining, _ = strconv.Atoi(string(r.Header.Peek("X-RateLimit-Remaining"))) // 0 without the header
	a.minute = called.Unix() / 60
	// If a minute began meanwhile, X-RateLimit-Reset shows which one counted the request.
	if reset, _ := strconv.Atoi(string(r.Header.Peek("X-RateLimit-Reset"))); time.Now().Unix()/60 > a.minute && reset > 30 {
		a.minute++
	}
}

func (o *object) record(c *caller, q question, a *answer, called, returned time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if a == nil {
		o.unknown++
	}
	o.history = append(o.history, porcupine.Operation{
		ClientId: c.number, Input: q, Output: a, Call: int64(called), Return: int64(returned),
	})
}

// request goes to the API, with the next of the callers' keys.
func (h *history) request(method, path, body string) question {
	_, key := h.stage.keys.next()
	return question{request: request{method: method, path: path, key: key, body: body}}
}

// operator goes to the admin listener.
func (h *history) operator(service, body string) question {
	return question{request: request{method: "POST", path: "/storefront.admin.v1." + service, key: h.stage.token, body: body}}
}

// newProduct uses a product for one object only, because a request without a known outcome may still take effect later. Each
// price is new among all products.
func newProduct(h *history, c *caller, number int) *object {
	o := &object{name: h.stage.stores[0].products[number].String()}
	first := h.ask(o, c, h.request("GET", "/v1/products/"+o.name, ""))
	if first == nil {
		return nil
	}
	state := merged(product{}, first.body)
	o.model = modelOf(state, product.step)
	o.read = func(c *caller) { h.ask(o, c, h.request("GET", "/v1/products/"+o.name, "")) }
	o.ask = func(c *caller) {
		if c.random.IntN(5) < 2 {
			o.read(c)
			return
		}
		h.ask(o, c, h.request("PATCH", "/v1/products/"+o.name, h.body(c, productChanges, 100_000+h.number.Add(1))))
	}
	return o
}

// In bodies, # stands for a new price, or for one of two numbers in e-mails and phones, and NEW for a number that no name has
// had.
var (
	productChanges = []string{
		`{"priceAmount":#}`, `{"priceAmount":#}`, `{"status":"DRAFT"}`, `{"status":"ARCHIVED"}`,
		`{"status":"PUBLISHED","priceAmount":#}`, `{"status":"DRAFT","priceAmount":#}`,
	}
	customerBodies = []string{
		`{"email":"history.#@example.com"}`, `{"phone":"+23765#","name":"Customer NEW"}`,
		`{"email":"history.#@example.com","phone":"+23765#"}`,
	}
	customerChanges = []string{
		`{"name":"Customer NEW"}`, `{"email":"history.#@example.com"}`, `{"phone":"+23765#"}`, `{"email":null}`, `{"phone":null}`,
		`{"email":"history.#@example.com","phone":null,"name":"Customer NEW"}`,
	}
)

// body returns a random template with # and NEW replaced.
func (h *history) body(c *caller, templates []string, number int64) string {
	text := strings.ReplaceAll(templates[c.random.IntN(len(templates))], "#", strconv.FormatInt(number, 10))
	return strings.ReplaceAll(text, "NEW", strconv.FormatInt(h.number.Add(1), 10))
}

// newCustomers has customers who share two e-mails and two phones, so that two often ask for the same.
func newCustomers(h *history, _ *caller, _ int) *object {
	o, first := &object{model: modelOf(customers{}, customers.step)}, 1_000_000+10*h.number.Add(1) // seven digits, as phones have
	o.ask = func(c *caller) {
		id, _ := o.randomKnown(c)
		number := first + int64(c.random.IntN(2))
		switch action := c.random.IntN(3); {
		case id == "" || action == 0:
			if a := h.ask(o, c, h.request("POST", "/v1/customers", h.body(c, customerBodies, number))); a != nil {
				o.addKnown(merged(customer{}, a.body).ID)
			}
		case action == 1:
			h.ask(o, c, h.request("PATCH", "/v1/customers/"+id, h.body(c, customerChanges, number)))
		default:
			h.ask(o, c, h.request("GET", "/v1/customers/"+id, ""))
		}
	}
	o.read = func(c *caller) {
		for _, id := range o.known {
			h.ask(o, c, h.request("GET", "/v1/customers/"+id, ""))
		}
	}
	return o
}

// newClaim has a new idempotency key, with which callers ask for one of two orders.
func newClaim(h *history, _ *caller, _ int) *object {
	o := &object{model: modelOf(claim{}, claim.step), name: fmt.Sprintf("history-%d", h.number.Add(1))}
	store := h.stage.stores[0]
	o.ask = func(c *caller) {
		quantity := 1 + max(0, c.random.IntN(4)-2) // seldom two
		h.ask(o, c, h.operator("OrderService/CreateOrder", fmt.Sprintf(
			`{"store":%q,"email":"%s@example.com","items":[{"productId":%q,"quantity":%d}],"note":%q,"idempotencyKey":%q}`,
			store.slug, o.name, store.product, quantity, o.name, o.name)))
	}
	return o
}

// countClaims adds to each idempotency key's history how many orders were created with it.
func (h *history) countClaims() {
	handle, err := h.stage.open(h.ctx)
	h.require(err)
	count := map[string]int{}
	for row := range db.Rows(h.ctx, handle.Reader(), "SELECT note, count(*) FROM orders WHERE note LIKE 'history-%' GROUP BY note") {
		var note string
		var orders int
		h.require(row.Scan(&note, &orders))
		count[note] = orders
	}
	at := time.Since(h.begun)
	for _, o := range h.objects {
		if strings.HasPrefix(o.name, "history-") {
			asked := question{request: request{method: countOrders}}
			o.record(&caller{}, asked, &answer{body: strconv.AppendInt(nil, int64(count[o.name]), 10)}, at, at)
		}
	}
}

// newPayments has a payment link, whose orders callers create, pay once or several times, and read.
func newPayments(h *history, c *caller, _ int) *object {
	o := &object{model: modelOf(payments(0), payments.step)}
	created := h.create(c, h.request("POST", "/v1/payment-links",
		fmt.Sprintf(`{"title":"History","pricing":"FIXED","amount":%d}`, linkAmount)))
	if created == nil {
		return nil
	}
	o.name = merged(customer{}, created.body).ID
	o.read = func(c *caller) { h.ask(o, c, h.request("GET", "/v1/payment-links/"+o.name, "")) }
	o.ask = func(c *caller) {
		order, n := o.randomKnown(c)
		switch action := c.random.IntN(3); {
		case order == "" || action == 0:
			body := fmt.Sprintf(`{"store":%q,"email":"payer.%d@example.com","paymentLinkId":%q}`, h.stage.stores[0].slug,
				h.number.Add(1), o.name)
			if a := h.create(c, h.operator("OrderService/CreateOrder", body)); a != nil {
				o.addKnown(merged(customer{}, a.body).ID)
			}
		case action == 1:
			q := h.operator("OrderService/PayOrder", fmt.Sprintf(`{"id":%q}`, order))
			q.n = n
			h.ask(o, c, q)
		default:
			o.read(c)
		}
	}
	return o
}

// spareKey returns an API key that no other object uses, and its id.
func (h *history) spareKey() (key, id string) {
	store := &h.stage.stores[0]
	n := len(store.keys) + int(h.spare.Add(1)) - 1
	return store.keys[:cap(store.keys)][n], store.keyIDs[n].String()
}

// newRevocation has a new API key, which callers use and now and then revoke.
func newRevocation(h *history, _ *caller, _ int) *object {
	o := &object{model: modelOf(revoked(false), revoked.step)}
	key, id := h.spareKey()
	o.read = func(c *caller) {
		h.ask(o, c, question{request: request{method: "GET", path: "/v1/store", key: key}})
	}
	o.ask = func(c *caller) {
		if c.random.IntN(20) > 0 {
			o.read(c)
			return
		}
		h.ask(o, c, h.operator("KeyService/RevokeKey", fmt.Sprintf(`{"id":%q}`, id)))
	}
	return o
}

// newCounter has a new API key, which callers use more often than its rate limit allows.
func newCounter(h *history, _ *caller, _ int) *object {
	o := &object{model: modelOf(counter{}, counter.step), kind: counterKind}
	key, _ := h.spareKey()
	o.ask = func(c *caller) {
		h.ask(o, c, question{request: request{method: "GET", path: "/v1/store", key: key}})
	}
	return o
}
