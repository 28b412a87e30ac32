package conformance_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	storefrontv1 "go.storefront.example/gen/storefront/v1"
)

type protocol interface {
	name() string
	call(b *bench, m proto.Message) answer
}

func protocols() []protocol { return append(underV1(), rpcProtocols()...) }

func underV1() []protocol { return []protocol{restProtocol{}} }

func rpcProtocols() []protocol { return []protocol{connectJSON{}, connectBinary, grpc, grpcWeb} }

type answer struct {
	// status is the HTTP status under /v1; in other protocols that in the refusal, or 200.
	status int
	header http.Header
	// protocol is the code of Connect or gRPC of a refused call.
	protocol string
	// body is the resource or the error body.
	body object
}

// object has numbers as json.Number if normal or decoded returned it.
type object map[string]any

// normal converts v to JSON and back, to compare it with an answer.
func normal(b *bench, v any) any {
	b.Helper()
	text, err := json.Marshal(v)
	require.NoError(b, err)
	return decoded(b, text)
}

func decoded(b *bench, text []byte) any {
	b.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	require.NoError(b, d.Decode(&v), string(text))
	require.False(b, d.More(), "one value and nothing after it: %s", text)
	return v
}

func decodedObject(b *bench, text []byte) object {
	b.Helper()
	v, ok := decoded(b, text).(map[string]any)
	require.True(b, ok, "want an object, got %s", text)
	return v
}

// call returns the resource. It fails the test if the call is refused.
func (b *bench) call(m proto.Message) object {
	b.Helper()
	a := b.answer(m)
	require.Less(b, a.status, 300, "%v", a.body)
	return a.body
}

func (b *bench) answer(m proto.Message) answer {
	b.Helper()
	a := b.protocol.call(b, m)
	b.limited(a)
	return a
}

func (b *bench) limited(a answer) {
	b.Helper()
	for _, name := range []string{"X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset", "X-Request-Id"} {
		require.Len(b, a.header.Values(name), 1, name)
	}
	require.Equal(b, []string{"no-store"}, a.header.Values("Cache-Control"))
	require.Equal(b, "120", a.header.Get("X-RateLimit-Limit"))
	require.Empty(b, a.header.Get("Access-Control-Allow-Origin"))
}

// b.refused asserts this status and code, and a complete error body. It returns the details, or nil.
func (b *bench) refused(m proto.Message, status int, code string) any {
	b.Helper()
	return b.refusedAs(b.answer(m), status, code)
}

func (b *bench) refusedAs(a answer, status int, code string) any {
	b.Helper()
	require.Equal(b, code, a.body["code"], "%v", a.body)
	require.Equal(b, status, a.status, "the HTTP status of %s", code)
	require.Equal(b, json.Number(strconv.Itoa(status)), a.body["statusCode"], "the status in the body of %s", code)
	require.NotEmpty(b, a.body["message"], "the message of %s", code)
	require.Equal(b, a.header.Get("X-Request-Id"), a.body["requestId"], "the id in the body is the header's")
	require.Regexp(b, `^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`, a.body["requestId"])
	require.Regexp(b, dateTime, a.body["timestamp"])
	details, ok := a.body["details"]
	require.Equal(b, ok, len(a.body) == 6, "the six fields of the error body and no other: %v", a.body)
	return details
}

// refusedFields asserts that exactly these fields are invalid.
func (b *bench) refusedFields(m proto.Message, fields ...string) {
	b.Helper()
	b.fieldsOf(b.refused(m, 400, "validation_failed"), fields...)
}

func (b *bench) fieldsOf(details any, fields ...string) {
	b.Helper()
	list, ok := details.(map[string]any)["fields"].([]any)
	require.True(b, ok, "%v", details)
	names := []string{}
	for _, entry := range list {
		entry := entry.(map[string]any)
		require.Len(b, entry, 2, "field and message")
		require.NotEmpty(b, entry["message"], "the message of %s", entry["field"])
		names = append(names, entry["field"].(string))
	}
	require.ElementsMatch(b, fields, names, "the refused fields")
}

// dateTime is the only form that answers have.
const dateTime = `^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$`

func methodOf(m proto.Message) protoreflect.MethodDescriptor {
	for _, file := range []protoreflect.FileDescriptor{
		storefrontv1.File_storefront_v1_store_proto, storefrontv1.File_storefront_v1_product_proto,
		storefrontv1.File_storefront_v1_order_proto, storefrontv1.File_storefront_v1_customer_proto,
		storefrontv1.File_storefront_v1_payment_link_proto,
	} {
		methods := file.Services().Get(0).Methods()
		for i := range methods.Len() {
			if methods.Get(i).Input() == m.ProtoReflect().Descriptor() {
				return methods.Get(i)
			}
		}
	}
	panic("no method takes a " + string(m.ProtoReflect().Descriptor().FullName()))
}

type restProtocol struct{}

func (restProtocol) name() string { return "rest" }

func (restProtocol) call(b *bench, m proto.Message) answer {
	b.Helper()
	method, target, body := restRequest(b, m)
	a, text := b.send(method, target, body)
	a.body = decodedObject(b, text)
	return a
}

// restRequest makes a request as would a client that knows only the specification.
func restRequest(b *bench, m proto.Message) (method, target string, body []byte) {
	b.Helper()
	rule := proto.GetExtension(methodOf(m).Options(), annotations.E_Http).(*annotations.HttpRule)
	fields := encodedRequest(m)
	switch p := rule.GetPattern().(type) {
	case *annotations.HttpRule_Get:
		method, target = http.MethodGet, p.Get
	case *annotations.HttpRule_Post:
		method, target = http.MethodPost, p.Post
	case *annotations.HttpRule_Patch:
		method, target = http.MethodPatch, p.Patch
	}
	if id, ok := fields["id"].(string); ok || strings.Contains(target, "{id}") {
		target = strings.Replace(target, "{id}", url.PathEscape(id), 1)
		delete(fields, "id")
	}
	if rule.GetBody() == "*" {
		text, err := json.Marshal(fields)
		require.NoError(b, err)
		return method, target, text
	}
	query := url.Values{}
	for name, value := range fields {
		text, isText := value.(string)
		if !isText {
			encoded, err := json.Marshal(value)
			require.NoError(b, err)
			text = string(encoded)
		}
		query.Set(name, text)
	}
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	return method, target, nil
}

// send uses the bench's key. A body is JSON, unless headers, in pairs, set another type.
func (b *bench) send(method, target string, body []byte, headers ...string) (answer, []byte) {
	b.Helper()
	var reader io.Reader
	if body != nil {
		reader = bytes.NewReader(body)
	}
	r, err := http.NewRequestWithContext(context.Background(), method, b.url+target, reader)
	require.NoError(b, err)
	b.authorize(r.Header)
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i+1] == "" {
			r.Header.Del(headers[i])
		} else {
			r.Header.Set(headers[i], headers[i+1])
		}
	}
	response, err := b.plain.Do(r)
	require.NoError(b, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(b, err)
	return answer{status: response.StatusCode, header: response.Header}, text
}

func (b *bench) insist(method, target string, body []byte) (answer, []byte) {
	b.Helper()
	for tries := 1; ; tries++ {
		a, text := b.send(method, target, body)
		if a.status != http.StatusServiceUnavailable || a.header.Get("Retry-After") != "1" || tries == 60 {
			return a, text
		}
		time.Sleep(time.Second)
	}
}

// get returns the bytes of a GET's answer, whatever protocol the bench has.
func (b *bench) get(target string) []byte {
	b.Helper()
	a, text := b.insist(http.MethodGet, target, nil)
	require.Equal(b, http.StatusOK, a.status, "%s", text)
	return text
}

func (b *bench) json(method, target, body string, headers ...string) answer {
	b.Helper()
	var content []byte
	if body != "" {
		content = []byte(body)
	}
	a, text := b.send(method, target, content, headers...)
	a.body = decodedObject(b, text)
	b.limited(a)
	return a
}
