package conformance_test

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.storefront.example/client"
	"go.storefront.example/server/conformance/devtest"
)

const requestID = "79a8915a-dfa3-4478-8f40-8432eb1c2055"

// reply writes one answer of a scripted server.
type reply func(w http.ResponseWriter)

func sends(status int, kind, body string, headers ...string) reply {
	return func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", kind)
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}
}

func refuses(status int, code string, headers ...string) reply {
	return sends(status, "application/json", fmt.Sprintf(
		`{"statusCode":%d,"code":%q,"message":"No.","requestId":%q,"timestamp":"2026-11-21T01:43:04.600Z","more":[{}]}`, status, code,
		requestID),
		headers...)
}

// customer and link are answers of the operations. link has enum values that no client knows.
const customer = `{"id":"1","name":"","email":null,"phone":null,"ordersCount":9007199254740991,"totalPaid":0,"currency":"KWD",` +
	`"createdAt":"2026-11-21T01:43:04.600Z"}`

const link = `{"id":"1","code":"c","url":"https://x","title":"x","description":null,` +
	`"coverUrl":null,"pricing":"AUCTION","amount":1,` +
	`"minAmount":null,"currency":"NGN","thankYouMessage":null,"expiresAt":null,"maxPayments":null,"disabledAt":null,` +
	`"availability":"PAUSED","paidCount":0,"paidAmount":0,"lastPaidAt":null,"createdAt":"2026-11-21T01:43:04.600Z",` +
	`"updatedAt":"2026-11-21T01:43:04.600Z"}`

var (
	html        = sends(502, "text/html; charset=utf-8", "<html><body>Bad Gateway</body></html>")
	limited     = refuses(429, "rate_limited", "Retry-After", "1")
	unavailable = refuses(503, "unavailable")
	hangUp      = reply(func(w http.ResponseWriter) { cut(w, "") })
	half        = reply(func(w http.ResponseWriter) { cut(w, "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{\"id\":") })
	hangs       = reply(hang)
	drips       = reply(func(w http.ResponseWriter) {
		for range 100 {
			if _, err := w.Write([]byte(" ")); err != nil || http.NewResponseController(w).Flush() != nil {
				return
			}
			time.Sleep(100 * time.Millisecond)
		}
	})
)

// hang answers nothing until the client gives up.
func hang(w http.ResponseWriter) {
	connection, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	defer connection.Close()
	_, _ = io.Copy(io.Discard, connection)
}

// dripHead sends one byte of the headers now and then.
func dripHead(w http.ResponseWriter) {
	connection, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	defer connection.Close()
	_, err = connection.Write([]byte("HTTP/1.1 200 OK\r\nX: "))
	for range 100 {
		if err != nil {
			return
		}
		time.Sleep(100 * time.Millisecond)
		_, err = connection.Write([]byte("x"))
	}
}

func gzipped(text string) string {
	var b strings.Builder
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(text))
	_ = w.Close()
	return b.String()
}

// cut sends text, which need not be a whole answer, and closes the connection.
func cut(w http.ResponseWriter, text string) {
	connection, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	_, _ = connection.Write([]byte(text))
	_ = connection.Close()
}

// serve sends the replies one after the other, and repeats the last. requests returns what arrived.
func serve(t *testing.T, replies []reply) (url string, requests func() []*http.Request) {
	t.Helper()
	var mu sync.Mutex
	var got []*http.Request
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		got = append(got, r)
		next := replies[min(len(got), len(replies))-1]
		mu.Unlock()
		next(w)
	}))
	t.Cleanup(server.Close)
	return server.URL, func() []*http.Request {
		mu.Lock()
		defer mu.Unlock()
		return got
	}
}

// operation is an operation that the tests call, and its answer.
type operation struct {
	resource, method string
	args             arguments
	answer           string
}

var (
	get        = operation{"customers", "get", arguments{"id": "1"}, customer}
	update     = operation{"customers", "update", arguments{"id": "1", "name": "x"}, customer}
	create     = operation{"customers", "create", arguments{"email": "a@example.com"}, customer}
	createLink = operation{"paymentLinks", "create", arguments{"title": "x", "pricing": "OPEN", "minAmount": 1}, link}
	changeLink = operation{"paymentLinks", "update", arguments{"id": "1", "title": "x"}, link}
	enable     = operation{"paymentLinks", "enable", arguments{"id": "1"}, link}
)

func TestWhatIsSentAgain(t *testing.T) {
	each(t, func(t *testing.T, l language) {
		d := l.start(t) // starting a process takes longer than the calls
		for _, row := range []struct {
			reason    string
			do        operation
			replies   []reply // the server's replies before the answer
			retries   int
			code      string // expected error; "" if the call succeeds
			status    int
			pause     time.Duration // minimum duration of the call
			arguments arguments
		}{
			{"an answer needs no other", get, nil, 0, "", 0, 0, nil},
			{"a read after a 429, after the time that the service asks for", get, []reply{limited}, 1, "", 0, time.Second, nil},
			{"a change after two", update, []reply{limited, limited}, 2, "", 0, 2 * time.Second, nil},
			{"a POST after a 429", create, []reply{limited}, 1, "", 0, time.Second, nil},
			{"a payment link after a 429: none was made", createLink, []reply{limited}, 1, "", 0, time.Second, nil},
			{"enabling, after anything", enable, []reply{hangUp, html}, 2, "", 0, 300 * time.Millisecond, nil},
			{"a read after a 503, after the time that the service asks for", get, []reply{refuses(503, "unavailable", "Retry-After", "1")},
				1, "",
				0, time.Second, nil},
			{"a read after a 5xx and no answer, with growing pauses", get, []reply{refuses(500, "internal_error"), half, html}, 3, "", 0,
				800 * time.Millisecond, nil},
			{"a read four times in all", get, []reply{unavailable, unavailable, unavailable, unavailable}, 3, "unavailable", 503,
				800 * time.Millisecond, nil},
			{"a change of a payment link too", changeLink, []reply{half}, 1, "", 0, 0, nil},
			{"a customer, who is never recorded twice", create, []reply{hangUp, html}, 2, "", 0, 0, nil},
			{"no payment link after a 5xx: it may have been made", createLink, []reply{refuses(503, "unavailable", "Retry-After", "1")}, 0,
				"unavailable", 503, 0, nil},
			{"no payment link after no answer", createLink, []reply{half}, 0, "network_error", 0, 0, nil},
			{"no read after a refusal", get, []reply{refuses(404, "customer_not_found")}, 0, "customer_not_found", 404, 0, nil},
			{"nothing that the service wants to wait for too long", get, []reply{refuses(429, "rate_limited", "Retry-After", "61")}, 0,
				"rate_limited", 429, 0, nil},
			{"a 429 that asks for no wait", get, []reply{refuses(429, "rate_limited", "Retry-After", "0")}, 1, "", 0,
				100 * time.Millisecond, nil},
			{"a 429 with a date", update, []reply{refuses(429, "rate_limited", "Retry-After", "Fri, 31 Dec 1999 23:59:59 GMT")}, 1, "", 0,
				0, nil},
			{"nothing without retries", get, []reply{limited}, 0, "rate_limited", 429, 0, arguments{"maxRetries": 0}},
			{"no wait that ends after the call's time", get, []reply{refuses(429, "rate_limited", "Retry-After", "5")}, 0, "rate_limited",
				429, 0,
				arguments{"timeout": 4.0}},
			{"the call's time ends an answer that does not come", get, []reply{hangs}, 0, "timeout", 0, 450 * time.Millisecond,
				arguments{"timeout": 0.5}},
			{"and one that does not end", get, []reply{drips}, 0, "timeout", 0, 450 * time.Millisecond, arguments{"timeout": 0.5}},
			{"nor one whose headers do not end", get, []reply{dripHead}, 0, "timeout", 0, 450 * time.Millisecond,
				arguments{"timeout": 0.5}},
			{"nothing at once if the service asks for ages", get, []reply{refuses(429, "rate_limited", "Retry-After", "99999999999")}, 0,
				"rate_limited", 429, 0, nil},
			{"nor for longer", get, []reply{refuses(429, "rate_limited", "Retry-After", strings.Repeat("9", 400))}, 0, "rate_limited", 429, 0,
				nil},
			{"nor if a proxy sends the header twice", get, []reply{refuses(429, "rate_limited", "Retry-After", "61, 61")}, 0, "rate_limited",
				429, 0, nil},
			{"an answer that a proxy compressed", get, []reply{sends(200, "application/json", gzipped(customer), "Content-Encoding", "GZIP")},
				0, "", 0, 0, nil},
			{"no answer that is too large", get, []reply{sends(200, "application/json", customer+strings.Repeat(" ", 32<<20))}, 0,
				"unexpected_answer", 200, 0, nil},
			{"nor if it is small on its way", get, []reply{sends(200, "application/json", gzipped(customer+strings.Repeat(" ", 32<<20)),
				"Content-Encoding", "gzip")}, 0, "unexpected_answer", 200, 0, nil},
			{"text in another encoding than UTF-8", get, []reply{sends(200, "application/json",
				strings.Replace(customer, `"name":""`, "\"name\":\"Nd\xe9\"", 1))}, 0, "unexpected_answer", 200, 0, nil},
			{"lists in lists without end", get, []reply{sends(200, "application/json", strings.Repeat("[", 100_000))}, 0, "unexpected_answer",
				200, 0, nil},
			{"such an error", get, []reply{sends(404, "application/json", strings.Repeat("[", 100_000))}, 0, "unexpected_answer", 404, 0, nil},
			{"a connection that is refused", get, nil, 1, "network_error", 0, 100 * time.Millisecond, arguments{"maxRetries": 1}},
			{"a page in place of an answer", get, []reply{sends(200, "text/html", "<p>Sign in</p>")}, 0, "unexpected_answer", 200, 0, nil},
			{"a proxy's page", createLink, []reply{html}, 0, "unexpected_answer", 502, 0, nil},
			{"JSON that is no object", get, []reply{sends(200, "application/json", "[]")}, 0, "unexpected_answer", 200, 0, nil},
			{"an object of something else", get, []reply{sends(200, "application/json", `{"ok":true}`)}, 0, "unexpected_answer", 200, 0,
				nil},
			{"a number as text", get, []reply{sends(200, "application/json", `{"id":1}`)}, 0, "unexpected_answer", 200, 0, nil},
			{"somebody else's errors", get, []reply{sends(404, "application/json", `{"error":"nothing here","code":7}`)}, 0,
				"unexpected_answer",
				404, 0, nil},
			{"an error's body that is text", get, []reply{sends(403, "application/json", `"no"`)}, 0, "unexpected_answer", 403, 0, nil},
			{"a redirect, which would take the key elsewhere", get, []reply{sends(302, "text/plain", "", "Location", "/elsewhere")}, 0,
				"unexpected_answer", 302, 0, nil},
			{"a code that is newer than the client", get, []reply{refuses(418, "teapot")}, 0, "teapot", 418, 0, nil},
		} {
			t.Run(row.reason, func(t *testing.T) {
				d := &driver{t, d.in, d.out} // a copy with the t of the subtest, so that a failure is reported for the row
				url, requests := serve(t, append(row.replies, sends(200, "application/json", row.do.answer)))
				if row.code == "network_error" && row.replies == nil {
					url = closed(t)
				}
				args := arguments{"baseUrl": url, "apiKey": "svc_live_x"}
				agent := `^`
				if !l.noUserAgent {
					args["userAgent"] = "crm/1.4"
					agent = `^crm/1\.4 `
				}
				for name, value := range row.arguments {
					args[name] = value
				}
				d.open(row.reason, args)
				start := time.Now()
				got := d.call(row.reason, row.do.resource, row.do.method, row.do.args)
				took := time.Since(start)
				require.Empty(t, got.Invalid)
				if row.code == "" {
					require.Nil(t, got.Refused, "%+v", got.Refused)
					require.JSONEq(t, row.do.answer, string(got.Answer))
				} else {
					require.NotNil(t, got.Refused, "%s", got.Answer)
					require.Equal(t, row.code, got.Refused.Code, got.Refused.Message)
					require.Equal(t, row.status, got.Refused.Status)
					require.NotContains(t, got.Refused.Message, "svc_live_x")
					if row.status == http.StatusFound {
						require.Contains(t, got.Refused.Message, "it redirects to /elsewhere")
					}
				}
				require.GreaterOrEqual(t, took, row.pause)
				if row.code == "network_error" && row.replies == nil {
					return
				}
				require.Len(t, requests(), row.retries+1)
				for _, r := range requests() {
					require.Equal(t, "Bearer svc_live_x", r.Header.Get("Authorization"))
					require.Regexp(t, agent+`storefront-\w+/\d+\.\d+\.\d+$`, r.Header.Get("User-Agent"))
					require.NotContains(t, r.Header.Get("Content-Type"), "form")
				}
			})
		}
	})
}

// HTTP libraries send a request again when a reused connection dies. The service may already have created the link.
func TestNoPaymentLinkTwiceOverAKeptConnection(t *testing.T) {
	each(t, func(t *testing.T, l language) {
		d := l.start(t)
		url, requests := serve(t, []reply{sends(200, "application/json", customer), hangUp})
		d.open("shop", arguments{"baseUrl": url, "apiKey": "svc_live_x"})
		require.Nil(t, d.call("shop", get.resource, get.method, get.args).Refused)
		require.Equal(t, "network_error", d.call("shop", createLink.resource, createLink.method, createLink.args).Refused.Code)
		require.Len(t, requests(), 2)
	})
}

// closed returns a URL whose port refuses connections.
func closed(t *testing.T) string {
	t.Helper()
	return "http://" + devtest.FreeAddress(t)
}

// documentedCode matches a line of the document's description of codes.
var documentedCode = regexp.MustCompile("- `(\\w+)` \\((\\d{3})\\): ")

// Even the codes that no request can cause.
func TestEveryCodeOfTheServiceArrives(t *testing.T) {
	each(t, func(t *testing.T, l language) {
		d := l.start(t)
		text, err := os.ReadFile(filepath.Join(devtest.Root(t), "gen", "openapi", "storefront.json"))
		require.NoError(t, err)
		codes := map[string]int{}
		for _, m := range documentedCode.FindAllStringSubmatch(string(text), -1) {
			codes[m[1]], err = strconv.Atoi(m[2])
			require.NoError(t, err)
		}
		require.Greater(t, len(codes), 25)
		for code, status := range codes {
			url, _ := serve(t, []reply{refuses(status, code, "Retry-After", "7")})
			d.open(code, arguments{"baseUrl": url, "apiKey": "svc_live_x", "maxRetries": 0})
			got := d.call(code, "store", "get", nil).Refused
			require.NotNil(t, got)
			require.Equal(t, code, got.Code)
			require.Equal(t, status, got.Status)
			require.Equal(t, l.operation("getStore"), got.Operation)
			require.Equal(t, 7, got.RetryAfter)
			require.Equal(t, l.errorName+": "+l.operation("getStore")+": "+code+": No. (request "+requestID+")", got.Message)
		}
	})
}

func TestSettingsThatCannotBeUsed(t *testing.T) {
	each(t, func(t *testing.T, l language) {
		d := l.start(t)
		good := arguments{"baseUrl": "https://api.example.com", "apiKey": "svc_live_x"}
		d.open("shop", good)
		d.open("shop", arguments{"baseUrl": "http://127.0.0.1:1/api/", "apiKey": "svc_live_x"})
		d.open("shop", arguments{"baseUrl": "http://[::1]:1", "apiKey": "svc_live_x"})
		d.open("shop", arguments{"baseUrl": "http://shop.internal", "apiKey": "svc_live_x", "allowHttp": true})
		for name, values := range map[string][]any{
			"baseUrl": {"", "api.example.com", "ftp://api.example.com", "https://", "https://u:secret@api.example.com",
				"https://api.example.com/v1", "https://api.example.com/v1/", "https://api.example.com?x", "https://api.example.com/#x",
				"http://api.example.com", "http://127.0.0.1.example.com", "https://api.example.com\n"},
			"apiKey":     {"", "whsec_secret", "svc_live_secret\n", "svc_live_sécret", "svc_live_ secret"},
			"maxRetries": {-1},
			"timeout":    {0.0, -1.0},
			"userAgent":  {"a\r\nX-Evil: b"},
		} {
			if name == "userAgent" && l.noUserAgent {
				continue
			}
			for _, value := range values {
				args := arguments{name: value}
				for other, good := range good {
					if _, set := args[other]; !set {
						args[other] = good
					}
				}
				got := d.ask(map[string]any{"do": "open", "client": "x", "arguments": args})
				require.NotEmpty(t, got.Invalid, "%s %q", name, value)
				require.NotContains(t, got.Invalid, "secret", "%q", value)
				_, err := client.New(args["baseUrl"].(string), args["apiKey"].(string))
				require.Equal(t, name == "baseUrl" || name == "apiKey", err != nil, "as the Go client does: %s %q", name, value)
			}
		}
	})
}

// JSON may write a whole number in several ways. No client rounds a number that it cannot hold.
func TestWholeNumbersArriveExactlyOrNotAtAll(t *testing.T) {
	each(t, func(t *testing.T, l language) {
		d := l.start(t)
		for written, want := range map[string]string{"1e3": "1000", "15.0": "15", "-0.0": "0", "15.5": "", "1e300": "",
			"9007199254740991": "9007199254740991", "9007199254740993": "9007199254740993", "1e16": "10000000000000000"} {
			url, _ := serve(t, []reply{sends(200, "application/json", strings.Replace(customer, "9007199254740991", written, 1))})
			d.open("shop", arguments{"baseUrl": url, "apiKey": "svc_live_x"})
			got := d.call("shop", get.resource, get.method, get.args)
			if got.Refused != nil {
				require.Equal(t, "unexpected_answer", got.Refused.Code, written)
				require.Contains(t, got.Refused.Message, "ordersCount of Customer is not a whole number", written)
				require.True(t, want == "" || len(want) > 15, written)
				continue
			}
			var answer struct{ OrdersCount json.Number }
			require.NoError(t, json.Unmarshal(got.Answer, &answer))
			require.Equal(t, want, answer.OrdersCount.String(), written)
		}
	})
}

// None after an empty page, and none after as many objects as the list's total.
func TestPagesThatAreAskedFor(t *testing.T) {
	each(t, func(t *testing.T, l language) {
		page := func(number, total int, items string) reply {
			return sends(200, "application/json", `{"page":`+strconv.Itoa(number)+`,"pageSize":1,"total":`+strconv.Itoa(total)+`,"data":[`+
				items+`]}`)
		}
		for _, row := range []struct {
			reason  string
			replies []reply
			items   int
			asked   []any
		}{
			{"no items", []reply{page(1, 0, "")}, 0, []any{"page=1"}},
			{"one page", []reply{page(1, 1, customer)}, 1, []any{"page=1"}},
			{"two pages", []reply{page(1, 2, customer), page(2, 2, customer)}, 2, []any{"page=1", "page=2"}},
			{"items that vanish meanwhile", []reply{page(1, 3, customer), page(2, 3, "")}, 1, []any{"page=1", "page=2"}},
		} {
			d := l.start(t)
			url, requests := serve(t, row.replies)
			d.open("shop", arguments{"baseUrl": url, "apiKey": "svc_live_x"})
			got := d.call("shop", "customers", "list", nil)
			require.Nil(t, got.Refused, "%+v", got.Refused)
			var items, asked []any
			require.NoError(t, json.Unmarshal(got.Answer, &items))
			require.Len(t, items, row.items)
			for _, r := range requests() {
				asked = append(asked, r.URL.RawQuery)
			}
			require.Equal(t, row.asked, asked, row.reason)
		}
	})
}
