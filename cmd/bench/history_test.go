package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

func op(called, returned int64, method, path, body string, n int, a *answer) porcupine.Operation {
	return porcupine.Operation{
		Call: called, Return: returned, Output: a,
		Input: question{request: request{method: method, path: path, body: body}, n: n},
	}
}

func ok(body string) *answer { return &answer{status: 200, body: []byte(body)} }

func TestModelsTellRightHistoriesFromWrongOnes(t *testing.T) {
	t.Parallel()
	const forever = math.MaxInt64
	products := modelOf(product{1, "DRAFT"}, product.step)
	get := func(at int64, price int) porcupine.Operation {
		return op(at, at+1, "GET", "", "", 0, ok(fmt.Sprintf(`{"priceAmount":%d,"status":"DRAFT"}`, price)))
	}
	price := func(called, returned int64, price int, a *answer) porcupine.Operation {
		return op(called, returned, "PATCH", "", fmt.Sprintf(`{"priceAmount":%d}`, price), 0, a)
	}
	set := ok(`{"priceAmount":2,"status":"DRAFT"}`)

	people := modelOf(customers{}, customers.step)
	post := func(at int64, body string, status int, answered string) porcupine.Operation {
		return op(at, at+1, "POST", "/v1/customers", body, 0, &answer{status: status, body: []byte(answered)})
	}
	ada := post(10, `{"email":"a@x.org"}`, 201, `{"id":"A","email":"a@x.org","phone":null}`)
	conflict, missing := &answer{status: 409, code: "customer_conflict"}, &answer{status: 400, code: "customer_identifier_required"}

	claims := modelOf(claim{}, claim.step)
	order := func(at int64, body string, a *answer) porcupine.Operation {
		return op(at, at+1, "POST", "", body, 0, a)
	}
	orders := func(n string) porcupine.Operation { return op(90, 91, countOrders, "", "", 0, ok(n)) }
	reused := &answer{status: 409, code: "already_exists"}

	links := modelOf(payments(0), payments.step)
	pay := func(at int64, n int, a *answer) porcupine.Operation { return op(at, at+1, "POST", "", "", n, a) }
	paid := func(at int64, n int) porcupine.Operation {
		return op(at, at+1, "GET", "", "", 0, ok(fmt.Sprintf(`{"paidCount":%d,"paidAmount":%d}`, n, n*linkAmount)))
	}

	keys := modelOf(revoked(false), revoked.step)
	use := func(at int64, a *answer) porcupine.Operation { return op(at, at+5, "GET", "", "", 0, a) }
	revoke := func(at, returned int64, a *answer) porcupine.Operation {
		return op(at, returned, "POST", "", "", 0, a)
	}
	gone := &answer{status: 401, code: "api_key_revoked"}

	counters := modelOf(counter{}, counter.step)
	counted := func(at, minute int64, count int) porcupine.Operation {
		return op(at, at+1, "GET", "", "", 0, &answer{status: 200, minute: minute, remaining: 120 - count})
	}
	var full []porcupine.Operation
	for n := range 120 {
		full = append(full, counted(int64(2*n), 7, n+1))
	}
	lost := op(1000, 1010, lostCounters, "", "", 0, &answer{})

	for _, row := range []struct {
		why     string
		model   porcupine.Model
		history []porcupine.Operation
		right   bool
	}{
		{"a change that was answered is seen", products, []porcupine.Operation{price(10, 11, 2, set), get(20, 2)}, true},
		{"one under way may be seen or not, in this order", products, []porcupine.Operation{price(10, 30, 2, set), get(12, 1), get(20, 2)}, true},
		{"a lost update", products, []porcupine.Operation{price(10, 11, 2, set), get(20, 1)}, false},
		{"a stale read after a newer one", products, []porcupine.Operation{price(10, 30, 2, set), get(12, 2), get(20, 1)}, false},
		{"an unknown change may have been lost", products, []porcupine.Operation{price(10, forever, 2, nil), get(20, 1)}, true},
		{"or be late", products, []porcupine.Operation{price(10, forever, 2, nil), get(20, 1), get(30, 2)}, true},
		{"and is not taken back", products, []porcupine.Operation{price(10, forever, 2, nil), get(20, 2), get(30, 1)}, false},

		{"a known customer is answered 200", people, []porcupine.Operation{ada,
			post(20, `{"email":"a@x.org","phone":"1"}`, 200, `{"id":"A","email":"a@x.org","phone":"1"}`)}, true},
		{"two with one e-mail", people, []porcupine.Operation{ada,
			post(20, `{"email":"a@x.org"}`, 201, `{"id":"B","email":"a@x.org","phone":null}`)}, false},
		{"a 409 without a reason", people, []porcupine.Operation{ada,
			op(20, 21, "PATCH", "/v1/customers/A", `{"phone":"1"}`, 0, conflict)}, false},
		{"a 409, because another one has the phone", people, []porcupine.Operation{ada,
			post(20, `{"phone":"1"}`, 201, `{"id":"B","phone":"1"}`),
			op(30, 31, "PATCH", "/v1/customers/A", `{"phone":"1"}`, 0, conflict)}, true},
		{"or may have, after an unknown request", people, []porcupine.Operation{ada,
			op(20, forever, "POST", "/v1/customers", `{"phone":"1"}`, 0, nil),
			op(30, 31, "PATCH", "/v1/customers/A", `{"phone":"1"}`, 0, conflict)}, true},
		{"one identifier must stay", people, []porcupine.Operation{ada,
			op(20, 21, "PATCH", "/v1/customers/A", `{"email":null}`, 0, missing)}, true},

		{"one order for a key", claims, []porcupine.Operation{order(10, "x", ok(`{"id":"A"}`)), order(20, "x", ok(`{"id":"A"}`)),
			order(30, "y", reused), orders("1")}, true},
		{"two orders for a key", claims, []porcupine.Operation{order(10, "x", ok(`{"id":"A"}`)), order(20, "x", ok(`{"id":"B"}`))}, false},
		{"two that are counted", claims, []porcupine.Operation{order(10, "x", ok(`{"id":"A"}`)), orders("2")}, false},
		{"another request for a used key", claims, []porcupine.Operation{order(10, "x", ok(`{"id":"A"}`)), order(20, "y", ok(`{"id":"A"}`))}, false},
		{"a key that is refused without a reason", claims, []porcupine.Operation{order(10, "x", reused)}, false},

		{"an order that is paid twice counts once", links, []porcupine.Operation{pay(10, 3, ok(`{"status":"PAID"}`)),
			pay(20, 3, ok(`{"status":"PAID"}`)), pay(30, 5, ok(`{"status":"PAID"}`)), paid(40, 2)}, true},
		{"a payment that is not counted", links, []porcupine.Operation{pay(10, 3, ok(`{"status":"PAID"}`)), paid(40, 0)}, false},

		{"a request under way when its key is revoked", keys, []porcupine.Operation{use(10, ok("")), revoke(12, 13, ok("")), use(20, gone)}, true},
		{"one that begins afterwards is admitted", keys, []porcupine.Operation{revoke(12, 13, ok("")), use(20, ok(""))}, false},
		{"a key that nobody revoked is refused", keys, []porcupine.Operation{use(20, gone)}, false},
		{"one that an unknown request revoked", keys, []porcupine.Operation{revoke(12, forever, nil), use(15, ok("")), use(20, gone)}, true},

		{"120 in a minute, and one in the next", counters, append(full[:120:120], counted(999, 8, 1)), true},
		{"121 in a minute", counters, append(full[:120:120], counted(999, 7, 120)), false},
		{"those of the minute before that were overtaken", counters, []porcupine.Operation{counted(10, 8, 1), counted(20, 7, 2)}, true},
		{"a count that is lost", counters, []porcupine.Operation{counted(10, 7, 1), counted(20, 7, 1)}, false},
		{"or was lost with all others", counters, append(full[:120:120], lost, counted(1020, 7, 1)), true},
	} {
		want := porcupine.Illegal
		if row.right {
			want = porcupine.Ok
		}
		require.Equal(t, want, porcupine.CheckOperationsTimeout(row.model, row.history, time.Minute), row.why)
	}
}

func TestAHistoryThatIsNotDecidedInTimeIsWrong(t *testing.T) {
	t.Parallel()
	decided := make(chan struct{})
	defer close(decided)
	o := &object{kind: "product", history: []porcupine.Operation{op(1, 2, "GET", "", "", 0, ok(""))}}
	o.model = modelOf(false, func(bool, question, *answer) (bool, bool) { <-decided; return true, true })
	require.Equal(t, "history that was not decided in time: product", o.decide(time.Millisecond))
}

func TestJournalIsAChainOfTheStatesThatWereSeen(t *testing.T) {
	t.Parallel()
	type changes = map[string]struct{ From, To any }
	status := func(from, to any) changes { return changes{"status": {from, to}} }
	at := time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)
	order := func(entries ...changes) (c *chain, broken string) {
		c = &chain{resource: "order", states: []map[string]any{{}}, began: []time.Time{{}}}
		for n, e := range entries {
			broken += c.add(e, at.Add(time.Duration(n)*time.Second))
		}
		return c, broken
	}
	c, broken := order(status(nil, "PENDING"), status("PENDING", "FAILED"), status("FAILED", "PAID"))
	require.Empty(t, broken)
	require.Equal(t, tally{"order.paid": 1, "payment_link.paid": 1}, c.events)
	_, broken = order(status(nil, "PENDING"), status("FAILED", "PAID"))
	require.Contains(t, broken, "another status")

	saw := func(called, returned int64, status string) *sighting {
		return &sighting{called: called, returned: returned, body: map[string]any{"status": status}}
	}
	require.Zero(t, c.follow([]*sighting{saw(5, 6, "PAID"), saw(1, 2, "PENDING"), saw(3, 9, "FAILED")}))
	require.Equal(t, 1, c.follow([]*sighting{saw(1, 2, "PAID"), saw(3, 4, "PENDING")}), "PENDING was over")
	require.Zero(t, c.follow([]*sighting{saw(1, 3, "PAID"), saw(2, 4, "PENDING")}), "at the same time")
	require.Equal(t, 1, c.follow([]*sighting{saw(1, 2, "REFUNDED")}))
}

// broken is a proxy that changes a server's answers, or answers in its place.
type broken struct {
	// instead, if not nil, gets each PATCH and the GET of the same path. If it returns true, the proxy answers with the
	// returned body, and the server does not get the PATCH.
	instead func(r *http.Request, body, found []byte) (answered []byte, answers bool)
	// change, if not nil, replaces the body of a server's answer.
	change func(r *http.Response, body []byte) []byte
}

// b.through returns the address of a proxy for both listeners of a server.
func (b broken) through(t *testing.T, server *process) string {
	proxy := &httputil.ReverseProxy{
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
		Rewrite: func(r *httputil.ProxyRequest) {
			to := server.api
			if strings.HasPrefix(r.In.URL.Path, "/storefront.admin.") {
				to = server.admin
			}
			r.SetURL(&url.URL{Scheme: "http", Host: to})
		},
		ModifyResponse: func(r *http.Response) error {
			body, err := io.ReadAll(r.Body)
			if b.change != nil {
				body = b.change(r, body)
			}
			r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
			r.Header.Set("Content-Length", fmt.Sprint(len(body)))
			return err
		},
	}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if b.instead != nil && r.Method == http.MethodPatch {
			body, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(body))
			get, _ := http.NewRequestWithContext(r.Context(), http.MethodGet, "http://"+server.api+r.URL.Path, nil)
			get.Header = r.Header
			if got, err := http.DefaultClient.Do(get); err == nil {
				found, _ := io.ReadAll(got.Body)
				_ = got.Body.Close()
				if answered, answers := b.instead(r, body, found); answers && got.StatusCode == http.StatusOK {
					_, _ = w.Write(answered)
					return
				}
			}
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	return front.Listener.Addr().String()
}

// of reports whether r is a successful answer to such a request; path is a beginning.
func of(r *http.Response, method, path string) bool {
	return r.StatusCode == http.StatusOK && r.Request.Method == method && strings.HasPrefix(r.Request.URL.Path, path)
}

func TestAServerThatAnswersWronglyIsFound(t *testing.T) {
	t.Parallel()
	var patches, reads, moves atomic.Int64
	var first sync.Map
	for _, row := range []struct {
		why, wrong string
		server     broken
	}{
		{"it answers as the service does", "", broken{}},
		{"it loses an update that it answers with 200", "history that is not linearizable: product", broken{
			instead: func(r *http.Request, body, found []byte) ([]byte, bool) {
				resource := map[string]any{}
				_ = json.Unmarshal(found, &resource)
				_ = json.Unmarshal(body, &resource)
				answered, _ := json.Marshal(resource)
				return answered, strings.HasPrefix(r.URL.Path, "/v1/products/") && patches.Add(1)%5 == 0
			},
		}},
		{"it reads a product from an older answer", "history that is not linearizable: product", broken{
			change: func(r *http.Response, body []byte) []byte {
				if of(r, "GET", "/v1/products/") {
					if kept, before := first.LoadOrStore(r.Request.URL.Path, body); before && reads.Add(1)%3 == 0 {
						return kept.([]byte)
					}
				}
				return body
			},
		}},
		{"it answers a state that never was", "product answer with a state that its journal does not have", broken{
			change: func(r *http.Response, body []byte) []byte {
				if of(r, "PATCH", "/v1/products/") {
					return bytes.Replace(body, []byte(`"PUBLISHED"`), []byte(`"DRAFT"`), 1)
				}
				return body
			},
		}},
		{"it refuses a customer's change without a reason", "history that is not linearizable: customers", broken{
			change: func(r *http.Response, body []byte) []byte {
				if of(r, "PATCH", "/v1/customers/") && moves.Add(1)%5 == 0 {
					r.StatusCode = http.StatusConflict
					return []byte(`{"code":"customer_conflict"}`)
				}
				return body
			},
		}},
		{"it answers with another order each time", "history that is not linearizable: idempotency key", broken{
			change: func(r *http.Response, body []byte) []byte {
				if of(r, "POST", "/storefront.admin.v1.OrderService/CreateOrder") {
					return []byte(`{"id":"` + uuid.NewString() + `"}`)
				}
				return body
			},
		}},
		{"it counts payments twice", "history that is not linearizable: payment link", broken{
			change: func(r *http.Response, body []byte) []byte {
				var counted struct{ PaidCount int }
				_ = json.Unmarshal(body, &counted)
				if of(r, "GET", "/v1/payment-links/") {
					return bytes.Replace(body, fmt.Appendf(nil, `"paidCount":%d`, counted.PaidCount),
						fmt.Appendf(nil, `"paidCount":%d`, 2*counted.PaidCount), 1)
				}
				return body
			},
		}},
		{"it admits a revoked key", "history that is not linearizable: API key", broken{
			change: func(r *http.Response, body []byte) []byte {
				if r.StatusCode == http.StatusUnauthorized {
					r.StatusCode = http.StatusOK
				}
				return body
			},
		}},
		{"it forgets what it counted", "history that is not linearizable: counter", broken{
			change: func(r *http.Response, body []byte) []byte {
				if of(r, "GET", "/v1/store") {
					r.Header.Set("X-RateLimit-Remaining", "119")
				}
				return body
			},
		}},
	} {
		t.Run(row.why, func(t *testing.T) {
			t.Parallel()
			// On a busy machine a run may fail to show the fault, so try up to ten seeds.
			for seed := uint64(1); ; seed++ {
				p := recordThrough(t, seed, row.server)
				if row.wrong == "" {
					require.Empty(t, p.wrong)
					require.Empty(t, p.lost)
					return
				}
				if strings.Contains(p.wrong.String(), row.wrong) {
					return
				}
				require.Less(t, seed, uint64(10), p.wrong.String())
			}
		})
	}
}

// recordThrough records a broken server for some seconds, on SQLite and without other faults.
func recordThrough(t *testing.T, seed uint64, server broken) *play {
	binary, err := serviceProgram()
	require.NoError(t, err)
	p := &play{sceneFlags: &sceneFlags{Span: 3 * time.Second}, ctx: t.Context(), sqlite: true, workspace: workspace{t.TempDir(), binary}}
	_, err = p.run(scene{play: func(p *play) {
		h := openHistory(p, seed, 300, func(string, ...any) {})
		h.faults, h.drawDir = nil, t.TempDir()
		h.servers[0].api = newClient(at(server.through(t, h.servers[0].process.Load())))
		h.servers[0].admin = h.servers[0].api
		h.record()
		h.check()
		for _, k := range kinds {
			require.Contains(t, strings.Join(p.log, "\n"), k.name)
		}
	}})
	require.NoError(t, err)
	return p
}

func TestHistoryIsRightAlthoughTheServerIsKilled(t *testing.T) {
	t.Parallel()
	code, out := bench(t, "history", "--sqlite", "--span=4s", "--seed=7")
	require.Zero(t, code, out)
	require.Contains(t, out, "history, seed 7: what callers were answered on SQLite (")
	require.Contains(t, out, "lost: nothing\n  wrong: nothing\n")
	require.Regexp(t, `faults: [1-9]\d* × server killed\n`, out)
}
