package conformance_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.storefront.example/client/webhook"
	"go.storefront.example/server/conformance/devtest"
)

// A client must read the answers and events of every earlier release, and today's with any field left out (an older service) or
// added (a newer one).
//
// Each folder in testdata is a release: a copy of server/conformance/testdata/wire from that time. The expected values come
// from the OpenAPI document (see completed), because the clients' own code is under test.

// exchange is the answer in one file, and the call that requests it.
type exchange struct {
	name   string
	status int
	body   map[string]any
	// called is nil for an error, because any operation can return it.
	called *called
}

// called is an operation: its names in the clients, its arguments, and its answer's schema.
type called struct {
	resource, method, schema string
	args                     arguments
}

// schema has the keywords that these tests need.
type schema struct {
	Ref        string `json:"$ref"`
	Type       any
	Format     string
	Words      []string `json:"x-extensible-enum"`
	Properties map[string]schema
	Items      *schema
	OneOf      []schema
}

type document struct {
	Paths map[string]map[string]struct {
		OperationID string `json:"operationId"`
		Tags        []string
		Responses   map[string]struct {
			Content map[string]struct{ Schema schema }
		}
	}
	Components struct{ Schemas map[string]schema }
}

func readDocument(t *testing.T) *document {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(devtest.Root(t), "gen", "openapi", "storefront.json"))
	require.NoError(t, err)
	d := &document{}
	require.NoError(t, json.Unmarshal(text, d))
	return d
}

// resolve follows a reference. It returns the JSON type, and whether the value may be null.
func (d *document) resolve(s schema) (resolved schema, kind string, nullable bool) {
	if len(s.OneOf) == 2 {
		nullable, s = true, s.OneOf[0]
	}
	if s.Ref != "" {
		s = d.Components.Schemas[s.Ref[strings.LastIndexByte(s.Ref, '/')+1:]]
	}
	kind, _ = s.Type.(string)
	if several, ok := s.Type.([]any); ok {
		kind, nullable = several[0].(string), true
	}
	return s, kind, nullable
}

// completed adds each missing field with its zero value. Fields that the schema does not have stay if keepsNewer is true.
func (d *document) completed(s schema, value any, keepsNewer bool) any {
	s, kind, nullable := d.resolve(s)
	if value == nil {
		if nullable {
			return nil
		}
		value = map[string]any{"string": "", "integer": 0, "number": 0, "array": []any{}, "object": map[string]any{}}[kind]
		if s.Format == "date-time" {
			return "1970-01-01T00:00:00.000Z"
		}
		if s.Properties["id"].Type != nil {
			value = map[string]any{"id": ""}
		}
	}
	switch {
	case kind == "array" && s.Items != nil:
		list := []any{}
		for _, item := range value.([]any) {
			list = append(list, d.completed(*s.Items, item, keepsNewer))
		}
		return list
	case s.Properties != nil:
		given, object := value.(map[string]any), map[string]any{}
		if keepsNewer {
			maps.Copy(object, given)
		}
		for name, property := range s.Properties {
			object[name] = d.completed(property, given[name], keepsNewer)
		}
		return object
	}
	return value
}

// release reads the exchanges in a folder, without answers without a body.
func (d *document) release(t *testing.T, folder string) []exchange {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.golden"))
	require.NoError(t, err)
	var all []exchange
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		request, answer, found := strings.Cut(string(text), "\n\nHTTP/1.1 ")
		require.True(t, found, file)
		head, body, _ := strings.Cut(answer, "\n\n")
		x := exchange{name: strings.TrimSuffix(filepath.Base(file), ".golden")}
		if body == "" {
			continue // The answer to a HEAD request has no body.
		}
		require.NoError(t, json.Unmarshal([]byte(body), &x.body), file)
		x.status, err = strconv.Atoi(head[:3])
		require.NoError(t, err)
		if x.status < http.StatusBadRequest {
			x.called = d.find(t, request)
		}
		all = append(all, x)
	}
	require.Greater(t, len(all), 40)
	return all
}

// find returns the operation of a request, which begins with the request line.
func (d *document) find(t *testing.T, request string) *called {
	t.Helper()
	method, rest, _ := strings.Cut(request, " ")
	path := regexp.MustCompile(`^[^? \n]+`).FindString(rest)
	for template, operations := range d.Paths {
		o, ok := operations[strings.ToLower(method)]
		if !ok || !regexp.MustCompile("^"+strings.ReplaceAll(template, "{id}", "[^/]+")+"$").MatchString(path) {
			continue
		}
		answer := o.Responses["200"]
		if answer.Content == nil {
			answer = o.Responses["201"]
		}
		ref := answer.Content["application/json"].Schema.Ref
		c := &called{resource: map[string]string{"Store": "store", "Products": "products", "Orders": "orders",
			"Customers": "customers", "Payment links": "paymentLinks"}[o.Tags[0]], args: arguments{}, schema: ref}
		c.method = regexp.MustCompile("^[a-z]+").FindString(o.OperationID)
		switch {
		case c.method == "list":
			c.method = "page"
		case strings.Contains(template, "{id}"):
			c.args["id"] = "1"
		case o.OperationID == "createPaymentLink":
			c.args = arguments{"title": "x", "pricing": "OPEN"}
		case o.OperationID == "createCustomer":
			c.args = arguments{"email": "a@example.com"}
		}
		require.NotEmpty(t, c.resource)
		return c
	}
	require.Fail(t, "no operation", request)
	return nil
}

// variant is a copy of an object with one change.
type variant struct {
	change, field string
	// isNeeded is true for a required field, and isWrong for a value of a wrong type.
	isNeeded, isWrong bool
	// isEnum and isNull are for the Go client, whose Protobuf JSON mapping accepts values that the others refuse.
	isEnum, isNull bool
	body           map[string]any
}

// newer is the name of a field that no client has.
const newer = "newer"

// variants returns a copy for every change of one field, at any depth: left out, null, of another type, or added.
func (d *document) variants(t *testing.T, s schema, body map[string]any) []variant {
	t.Helper()
	var all []variant
	var walk func(s schema, value any, path string)
	// change appends a copy of the changed body to all, and undoes the change.
	change := func(v variant, object map[string]any, name string, to any, remove bool) {
		before, had := object[name]
		if object[name] = to; remove {
			delete(object, name)
		}
		text, err := json.Marshal(body)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, &v.body))
		if object[name] = before; !had {
			delete(object, name)
		}
		v.field = name
		all = append(all, v)
	}
	walk = func(s schema, value any, path string) {
		s, _, _ = d.resolve(s)
		switch value := value.(type) {
		case []any:
			for i, item := range value {
				walk(*s.Items, item, fmt.Sprintf("%s[%d]", path, i))
			}
		case map[string]any:
			if s.Properties == nil {
				return // a map of strings, such as socialLinks
			}
			_, isPage := s.Properties["pageSize"]
			_, isEvent := s.Properties["data"]
			for _, name := range slices.Sorted(maps.Keys(value)) {
				property, kind, nullable := d.resolve(s.Properties[name])
				isNeeded := name == "id" || isPage || isEvent
				change(variant{change: path + "." + name + " left out", isNeeded: isNeeded}, value, name, nil, true)
				change(variant{change: path + "." + name + " null", isNeeded: isNeeded, isWrong: !nullable, isNull: true}, value, name, nil, false)
				wrong := []any{"x", map[string]any{"x": 1.0}}
				if kind == "string" {
					wrong = []any{7.0, []any{}}
				}
				if property.Format == "date-time" {
					wrong = append(wrong, "yesterday")
				}
				if kind == "object" {
					wrong = wrong[:1]
				}
				for _, problem := range wrong {
					change(variant{change: fmt.Sprintf("%s.%s of another type, %v", path, name, problem), isWrong: true,
						isEnum: property.Words != nil}, value, name, problem, false)
				}
				walk(s.Properties[name], value[name], path+"."+name)
			}
			change(variant{change: path + " with one more"}, value, newer, map[string]any{"deep": []any{1.5, nil}}, false)
		}
	}
	walk(s, body, "")
	return all
}

// clientOf is a driver, or the Go client in this process.
type clientOf interface {
	call(client, resource, method string, args arguments) result
	verify(body []byte, header any, now, tolerance int64, secrets ...string) result
}

// replayer is a client with a server that sends the field answer, which got sets.
type replayer struct {
	*document
	language
	clientOf
	answer atomic.Pointer[exchange]
}

func (d *document) replay(t *testing.T, l language) *replayer {
	t.Helper()
	r := &replayer{document: d, language: l}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		x := r.answer.Load()
		text, err := json.Marshal(x.body)
		if err == nil && strings.HasPrefix(request.URL.Path, "/storefront.v1.") {
			err = answerConnect(w, request, x.status, text)
		} else if err == nil {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(x.status)
			_, err = w.Write(text)
		}
		if err != nil {
			panic(err)
		}
	}))
	t.Cleanup(server.Close)
	if l.name == golang.name {
		r.clientOf = openGo(t, server.URL)
		return r
	}
	driver := l.start(t)
	driver.open("shop", arguments{"baseUrl": server.URL, "apiKey": "svc_live_x", "maxRetries": 0})
	r.clientOf = driver
	return r
}

// got returns what the client makes of an answer with the status of x and this body. For an error, which has no operation, it
// calls GetStore.
func (r *replayer) got(x exchange, body map[string]any) result {
	r.answer.Store(&exchange{status: x.status, body: body})
	if x.called == nil {
		return r.call("shop", "store", "get", nil)
	}
	return r.call("shop", x.called.resource, x.called.method, x.called.args)
}

// requireAnswer requires the body, with zero values for missing fields and, unless the client keeps them, without newer ones.
// ref refers to the body's schema.
func (r *replayer) requireAnswer(t *testing.T, ref string, body map[string]any, got json.RawMessage, reason string) {
	t.Helper()
	want := r.completed(schema{Ref: ref}, body, r.keepsNewer)
	var value any
	require.NoError(t, json.Unmarshal(got, &value), reason)
	if r.name == golang.name {
		value = r.completed(schema{Ref: ref}, value, false)
	}
	text, err := json.Marshal(value)
	require.NoError(t, err)
	wanted, err := json.Marshal(want)
	require.NoError(t, err)
	require.JSONEq(t, string(wanted), string(text), reason)
}

func TestEveryReleaseIsRead(t *testing.T) {
	d := readDocument(t)
	folders, err := filepath.Glob(filepath.Join("testdata", "*"))
	require.NoError(t, err)
	changes, err := os.ReadFile(filepath.Join(devtest.Root(t), "CHANGELOG.md"))
	require.NoError(t, err)
	released := regexp.MustCompile(`(?m)^## \[(\d{4}-\d{2})\]`).FindAllStringSubmatch(string(changes), -1)
	require.NotEmpty(t, released)
	for _, release := range released {
		require.Contains(t, folders, filepath.Join("testdata", release[1]), "RELEASING.md says how it gets there")
	}
	folders = append(folders, today(t))
	eachOf(t, append(languages, golang), func(t *testing.T, l language) {
		r := d.replay(t, l)
		for _, folder := range folders {
			for _, x := range d.release(t, folder) {
				reason := filepath.Base(folder) + " " + x.name
				got := r.got(x, x.body)
				if x.called == nil {
					require.NotNil(t, got.Refused, reason)
					require.Equal(t, x.body["code"], got.Refused.Code, reason)
					require.Equal(t, x.status, got.Refused.Status, reason)
					require.Equal(t, x.body["requestId"], got.Refused.RequestID, reason)
					continue
				}
				require.Nil(t, got.Refused, "%s: %+v", reason, got.Refused)
				r.requireAnswer(t, x.called.schema, x.body, got.Answer, reason)
				// d.events makes an event as the release of this folder would have sent it.
				for _, e := range d.events(x) {
					r.requireEvent(t, e, e.body, reason)
				}
			}
		}
	})
}

// today returns the folder with the exchanges of the current source.
func today(t *testing.T) string {
	t.Helper()
	return filepath.Join(devtest.Root(t), "server", "conformance", "testdata", "wire")
}

// event is a webhook event. class is its class in the clients, and ref refers to its schema.
type event struct {
	class, ref string
	body       map[string]any
}

// events returns the event with the exchange's object. For the store it is a ping, and there is none for lists and payment
// links.
func (d *document) events(x exchange) []event {
	var all []event
	kinds := map[string]string{"Product": "product.published", "Customer": "customer.created", "Order": "order.paid", "Store": "ping"}
	kind := kinds[x.called.schema[strings.LastIndexByte(x.called.schema, '/')+1:]]
	if kind == "" {
		return nil
	}
	data := x.body
	if kind == "ping" {
		data = map[string]any{"message": "hello", "sentAt": "2026-11-21T12:00:00.000Z"}
	}
	class := regexp.MustCompile(`(?:^|\.)[a-z]`).ReplaceAllStringFunc(kind, func(s string) string {
		return strings.ToUpper(strings.TrimPrefix(s, "."))
	}) + "Event"
	return append(all, event{class, "#/components/schemas/" + class, map[string]any{"id": "1", "type": kind,
		"createdAt": "2026-11-21T12:00:00.000Z", "store": map[string]any{"id": "2", "slug": "demo"}, "data": data}})
}

func (r *replayer) read(t *testing.T, body map[string]any) result {
	t.Helper()
	text, err := json.Marshal(body)
	require.NoError(t, err)
	now := time.Unix(1_800_000_000, 0)
	return r.verify(text, webhook.Sign(text, secret, now), now.Unix(), 300, secret)
}

func (r *replayer) requireEvent(t *testing.T, e event, body map[string]any, reason string) {
	t.Helper()
	got := r.read(t, body)
	require.Nil(t, got.Refused, "%s: %+v", reason, got.Refused)
	var read map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(got.Answer, &read))
	require.JSONEq(t, strconv.Quote(e.class), string(read["class"]), reason)
	event := r.Components.Schemas[strings.TrimPrefix(e.ref, "#/components/schemas/")]
	for _, name := range []string{"store", "data"} {
		r.requireAnswer(t, event.Properties[name].Ref, body[name].(map[string]any), read[name], reason+" "+name)
	}
}

func TestAFieldMoreOrLess(t *testing.T) {
	d := readDocument(t)
	eachOf(t, append(languages, golang), func(t *testing.T, l language) {
		r := d.replay(t, l)
		isGo := l.name == golang.name
		// refused reports whether the client refused the variant, which it must if a required field is missing or a value has a
		// wrong type, with this code and the field's name.
		refused := func(v variant, got result, code, reason string) bool {
			if !v.isNeeded && !v.isWrong {
				require.Nil(t, got.Refused, "%s: %+v", reason, got.Refused)
				return false
			}
			require.NotNil(t, got.Refused, "%s: %s", reason, got.Answer)
			require.Equal(t, code, got.Refused.Code, reason)
			require.Contains(t, got.Refused.Message, v.field, reason)
			return true
		}
		for _, x := range d.release(t, today(t)) {
			if x.called == nil {
				continue
			}
			for _, v := range d.variants(t, schema{Ref: x.called.schema}, x.body) {
				reason := x.name + ": " + v.change
				if isGo && (v.isWrong || v.isNeeded) {
					continue // Protobuf's binary form has no wrong types and no absent strings.
				}
				if got := r.got(x, v.body); !refused(v, got, "unexpected_answer", reason) {
					r.requireAnswer(t, x.called.schema, v.body, got.Answer, reason)
				}
			}
			for _, e := range d.events(x) {
				for _, v := range d.variants(t, schema{Ref: e.ref}, e.body) {
					reason := x.name + " as an event: " + v.change
					if !v.isNeeded && !v.isWrong {
						r.requireEvent(t, e, v.body, reason)
						continue
					}
					if isGo && (v.isEnum || v.isNull) {
						continue
					}
					refused(v, r.read(t, v.body), "payload", reason)
				}
			}
		}
	})
}

// Programs branch on the code, so it must be reported even if other fields are missing or wrong.
func TestAnErrorWithAFieldMoreOrLess(t *testing.T) {
	d := readDocument(t)
	eachOf(t, append(languages, golang), func(t *testing.T, l language) {
		r := d.replay(t, l)
		for _, x := range d.release(t, today(t)) {
			if x.called != nil {
				continue
			}
			for _, v := range d.variants(t, schema{Ref: "#/components/schemas/Error"}, x.body) {
				reason := x.name + ": " + v.change
				if l.name == golang.name && v.isWrong {
					continue
				}
				got := r.got(x, v.body).Refused
				require.NotNil(t, got, reason)
				status := x.status
				if l.name == golang.name && v.body["statusCode"] == nil {
					status = 0 // The Go client takes the status from the body, not from the HTTP response.
				}
				require.Equal(t, status, got.Status, reason)
				code, _ := v.body["code"].(string)
				if code == "" {
					code = "unexpected_answer"
				}
				if l.name == golang.name && v.field == "code" {
					continue // The Go client knows an error of the service by the Connect detail's type.
				}
				require.Equal(t, code, got.Code, reason)
				id, _ := v.body["requestId"].(string)
				if code != "unexpected_answer" {
					require.Equal(t, id, got.RequestID, reason)
				}
			}
		}
	})
}
