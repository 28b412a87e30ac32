package conformance_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"go.storefront.example/ent/db/dbtest"
)

var _ = cases(
	scenario{
		name: "a refusal has the six fields of the error body, and details only where a code has them",
		run: func(b *bench) {
			a := b.answer(&getProduct{Id: unknownID()})
			require.Nil(b, b.refusedAs(a, 404, "product_not_found"))
			b.same(object{
				"statusCode": 404, "code": "product_not_found", "message": a.body["message"],
				"requestId": a.header.Get("X-Request-Id"), "timestamp": a.body["timestamp"],
			}, a.body)
			require.WithinRange(b, b.moment(a.body["timestamp"]), opening, b.clock.now())
			require.NotEqual(b, a.body["requestId"], b.answer(&getProduct{Id: unknownID()}).body["requestId"])
			require.Contains(b, b.log.String(), a.body["requestId"])
		},
	},
	scenario{
		name:      "on Connect and gRPC a refusal has the protocol's own code beside ours",
		protocols: rpcProtocols(),
		run: func(b *bench) {
			p := b.product("Guide", 1500, unready)
			b.call(&createCustomer{Email: new("a@example.com")})
			c := b.call(&createCustomer{Email: new("b@example.com")})["id"].(string)
			require.Equal(b, "unauthenticated", b.withKey("").answer(&getStore{}).protocol)
			require.Equal(b, "not_found", b.answer(&getProduct{Id: "x"}).protocol)
			require.Equal(b, "invalid_argument", b.answer(&updateProduct{Id: p, Title: new("")}).protocol)
			require.Equal(b, "failed_precondition", b.answer(&updateProduct{Id: p, Status: published}).protocol)
			require.Equal(b, "already_exists", b.answer(&updateCustomer{Id: c, Email: new("a@example.com")}).protocol)
			key, _ := b.newKey("narrow", "never", "store:read")
			require.Equal(b, "permission_denied", b.withKey(key).answer(&listProducts{}).protocol)
		},
	},
	scenario{
		name: "every refused field of a body is listed, unknown, read-only and mistyped ones too",
		run: func(b *bench) {
			id := b.product("Guide", 1500)
			body := `{"title":5,"summary":null,"priceAmount":"1500","status":"published","type":"FILE","createdAt":"x","nope":1,"Title":"x","compareAtAmount":1.5}`
			fields := []string{"title", "summary", "priceAmount", "status", "type", "createdAt", "nope", "Title", "compareAtAmount"}
			b.leavesNothing(func() {
				if b.isREST() {
					a := b.json("PATCH", "/v1/products/"+id, strings.Replace(body, "{", `{"id":"`+id+`","updateMask":"title",`, 1))
					b.fieldsOf(b.refusedAs(a, 400, "validation_failed"), append(fields, "id", "updateMask")...)
				}
				if b.protocol == (connectJSON{}) {
					body = strings.Replace(body, `"1500"`, `"x"`, 1) // on Connect, "1500" is a valid integer
					a := connectJSON{}.post(b, "/storefront.v1.ProductService/UpdateProduct",
						[]byte(strings.Replace(body, "{", `{"id":"`+id+`",`, 1)))
					b.fieldsOf(b.refusedAs(a, 400, "validation_failed"), fields...)
				}
			})
			if b.isREST() {
				a := b.json("PATCH", "/v1/products/"+id, `{"priceAmount":100.0,"compareAtAmount":2e2}`)
				b.requireFields(a.body, object{"priceAmount": 100, "compareAtAmount": 200})
			}
		},
	},
	scenario{
		name: "a field has both names of Protobuf's JSON on Connect, and one under /v1",
		run: func(b *bench) {
			id := b.product("Guide", 1500)
			b.product("Atlas", 900)
			body := `{"price_amount":1700,"compare_at_amount":2000}`
			switch b.protocol.(type) {
			case restProtocol:
				b.leavesNothing(func() {
					a := b.json("PATCH", "/v1/products/"+id, body)
					b.fieldsOf(b.refusedAs(a, 400, "validation_failed"), "price_amount", "compare_at_amount")
				})
			case connectJSON:
				post := func(method, body string) answer {
					return connectJSON{}.post(b, "/storefront.v1.ProductService/"+method, []byte(body))
				}
				b.requireFields(post("ListProducts", `{"page_size":1,"page":2}`).body, object{"pageSize": 1, "page": 2, "total": 2})
				b.requireFields(post("UpdateProduct", strings.Replace(body, "{", `{"id":"`+id+`",`, 1)).body,
					object{"priceAmount": 1700, "compareAtAmount": 2000})
				for _, body := range []string{`{"page_size":0}`, `{"page_size":"x"}`, `{"page_size":1,"pageSize":1}`} {
					b.fieldsOf(b.refusedAs(post("ListProducts", body), 400, "validation_failed"), "pageSize")
				}
				// Connect accepts min_amount for minAmount. The error lists the field once, as minAmount, and not as missing.
				a := connectJSON{}.post(b, "/storefront.v1.PaymentLinkService/CreatePaymentLink",
					[]byte(`{"title":"A","pricing":"OPEN","min_amount":"x"}`))
				b.fieldsOf(b.refusedAs(a, 400, "validation_failed"), "minAmount")
			}
		},
	},
	scenario{
		name: "a body is one JSON object in UTF-8",
		run: func(b *bench) {
			id := b.product("Guide", 1500)
			before := b.call(&getProduct{Id: id})
			b.leavesNothing(func() {
				for _, body := range []string{
					" ", "null", "[]", `"x"`, "5", "{", `{"title":"x"`, `{"title":"x"} {}`, `{"title":"x"}x`, `{'title':'x'}`, `{"title":"x",}`,
					`{title:"x"}`, "{\"title\":\"\xff\"}", `{"title":"\ud800"}`, "\xef\xbb\xbf{}", `{"title":"a` + "\n" + `b"}`,
					`{"priceAmount":01}`,
					strings.Repeat(`[`, 100_000), `{"x":` + strings.Repeat(`[`, 100_000),
				} {
					switch b.protocol.(type) {
					case restProtocol:
						a := b.json("PATCH", "/v1/products/"+id, body)
						b.refusedAs(a, 400, "validation_failed")
					case connectJSON:
						a := connectJSON{}.post(b, "/storefront.v1.ProductService/UpdateProduct", []byte(body))
						b.refusedAs(a, 400, "validation_failed")
					}
				}
				if b.isREST() {
					a := b.json("PATCH", "/v1/products/"+id, `{"title":"x","title":"y","summary":"s"}`)
					b.fieldsOf(b.refusedAs(a, 400, "validation_failed"), "title")
					a, text := b.send("PATCH", "/v1/products/"+id, []byte{})
					a.body = decodedObject(b, text)
					b.refusedAs(a, 400, "validation_failed")
					b.same(before, b.json("PATCH", "/v1/products/"+id, ` {} `).body)
				}
			})
		},
	},
	scenario{
		name:      "a query is read strictly",
		protocols: underV1(),
		run: func(b *bench) {
			for target, fields := range map[string][]string{
				"/v1/products?page=x&pageSize=1.5&status=draft&type=0&nope=1":      {"page", "pageSize", "status", "type", "nope"},
				"/v1/products?page=1&page=2":                                       {"page"},
				"/v1/products?page=&pageSize=+5":                                   {"page", "pageSize"},
				"/v1/products?page_size=5":                                         {"page_size"},
				"/v1/products?Page=1":                                              {"Page"},
				"/v1/products?page=99999999999999999999":                           {"page"},
				"/v1/products?q=%ff":                                               {"q"},
				"/v1/products?q=%zz":                                               {"q"},
				"/v1/products?q=%00":                                               {"q"},
				"/v1/store?x=1":                                                    {"x"},
				"/v1/customers?status=PAID":                                        {"status"},
				"/v1/orders?q=x":                                                   {"q"},
				"/v1/orders?from=2026-11-01&to=2026-12":                            {"from", "to"},
				"/v1/payment-links?status=ACTIVE":                                  {"status"},
				"/v1/payment-links?status=":                                        {"status"},
				"/v1/products?status=STATUS_UNSPECIFIED&type=TYPE_UNSPECIFIED":     {"status", "type"},
				"/v1/products/" + unknownID() + "?id=" + unknownID() + "&expand=1": {"id", "expand"},
			} {
				b.fieldsOf(b.refusedAs(b.json("GET", target, ""), 400, "validation_failed"), fields...)
			}
			id := b.product("Guide", 1500)
			b.fieldsOf(b.refusedAs(b.json("PATCH", "/v1/products/"+id+"?title=x", `{"nope":1}`), 400, "validation_failed"), "title",
				"nope")
			b.requireFields(b.json("GET", "/v1/products?&&page=1&", "").body, object{"total": 1})
		},
	},
	scenario{
		name:      "every operation lists a field that it does not have, before it looks for its resource",
		protocols: underV1(),
		run: func(b *bench) {
			operations := 0
			protoregistry.GlobalFiles.RangeFilesByPackage("storefront.v1", func(file protoreflect.FileDescriptor) bool {
				for i := range file.Services().Len() {
					methods := file.Services().Get(i).Methods()
					for j := range methods.Len() {
						rule := proto.GetExtension(methods.Get(j).Options(), annotations.E_Http).(*annotations.HttpRule)
						verb, path := "GET", rule.GetGet()
						if post := rule.GetPost(); post != "" {
							verb, path = "POST", post
						} else if patch := rule.GetPatch(); patch != "" {
							verb, path = "PATCH", patch
						}
						path, body := strings.Replace(path, "{id}", unknownID(), 1), ""
						if rule.GetBody() != "" {
							body = `{"nope":1}`
						} else {
							path += "?nope=1"
						}
						details := b.refusedAs(b.json(verb, path, body), 400, "validation_failed")
						require.Contains(b, fmt.Sprint(details), "field:nope", "%s %s", verb, path)
						operations++
					}
				}
				return true
			})
			require.Greater(b, operations, 12)
		},
	},
	scenario{
		name:      "what is not there, not allowed, too large or of another type has a code of its own",
		protocols: underV1(),
		run: func(b *bench) {
			id := b.product("Guide", 1500)
			for _, path := range []string{
				"/v1", "/v1/", "/v1/nothing", "/v1/products/", "/v1//products", "/v1/products/" + id + "/", "/v1/Products",
				"/v1/products/../store",
				"/v1/payment-links/" + id + "/disable", "/v2/store", "/", "/healthz", "/v1/products%2F" + id,
			} {
				require.Nil(b, b.refusedAs(b.json("GET", path, ""), 404, "not_found"), path)
			}
			for _, row := range []struct{ method, path, allow string }{
				{"POST", "/v1/store", "GET, HEAD"}, {"POST", "/v1/products", "GET, HEAD"}, {"DELETE", "/v1/products/" + id,
					"GET, HEAD, PATCH"},
				{"PUT", "/v1/products/" + id, "GET, HEAD, PATCH"}, {"PATCH", "/v1/orders", "GET, HEAD"}, {"PATCH", "/v1/customers",
					"GET, HEAD, POST"},
				{"DELETE", "/v1/payment-links/" + id, "GET, HEAD, PATCH"}, {"GET", "/v1/payment-links/" + id + "/enable", "POST"},
				{"OPTIONS", "/v1/products", "GET, HEAD"}, {"OPTIONS", "/v1/customers", "GET, HEAD, POST"}, {"BREW", "/v1/store", "GET, HEAD"},
			} {
				a := b.json(row.method, row.path, "")
				require.Nil(b, b.refusedAs(a, 405, "method_not_allowed"))
				require.Equal(b, []string{row.allow}, a.header.Values("Allow"), "%s %s", row.method, row.path)
			}

			a, text := b.send("HEAD", "/v1/products/"+id, nil)
			require.Equal(b, 200, a.status)
			require.Empty(b, text)
			b.limited(a)
			require.Equal(b, json.Number(a.header.Get("Content-Length")), normal(b, len(b.get("/v1/products/"+id))))
			a, text = b.send("HEAD", "/v1/products/"+unknownID(), nil)
			require.Equal(b, 404, a.status)
			require.Empty(b, text)
			b.limited(a)

			for _, body := range []string{`{"title":"` + strings.Repeat("x", 1<<20) + `"}`, strings.Repeat(" ", 1<<20+1)} {
				require.Nil(b, b.refusedAs(b.json("PATCH", "/v1/products/"+id, body), 413, "payload_too_large"))
			}
			b.refusedAs(b.json("PATCH", "/v1/products/"+id, `{"description":"`+strings.Repeat("x", 1<<20-19)+`"}`), 400,
				"validation_failed")
			for _, kind := range []string{
				"", "text/plain", "text/json", "application/json; charset=latin1", "application/x-www-form-urlencoded",
				"application/json; a=b; charset=latin1",
				"application/json; a=b; charset", "multipart/form-data", "application/problem+json", "json",
			} {
				require.Nil(b, b.refusedAs(b.json("PATCH", "/v1/products/"+id, `{"title":"x"}`, "Content-Type", kind), 415,
					"unsupported_media_type"), kind)
			}
			require.Nil(b, b.refusedAs(b.json("PATCH", "/v1/products/"+id, `{"title":"x"}`, "Content-Encoding", "gzip"), 415,
				"unsupported_media_type"))
			for _, kind := range []string{
				"application/json;charset=UTF-8", "Application/JSON; charset=\"utf-8\"", "application/json", "application/json; a=b",
				"application/json; version=2; charset=utf-8; profile=\"x\"",
			} {
				require.Equal(b, 200, b.json("PATCH", "/v1/products/"+id, `{"title":"x"}`, "Content-Type", kind).status, kind)
			}
		},
	},
	scenario{
		name:      "answers of 1 KiB or more are gzip for clients that accept it",
		protocols: underV1(),
		run: func(b *bench) {
			var long string
			for i := range 300 {
				long += fmt.Sprintf("ligne %d é, ", i)
			}
			path := "/v1/products/" + b.product("Guide", 1500)
			require.Equal(b, 200, b.json("PATCH", path, `{"description":"`+long+`"}`).status)
			plain, want := b.send("GET", path, nil)
			require.Equal(b, "Accept-Encoding", plain.header.Get("Vary"))
			require.Empty(b, plain.header.Get("Content-Encoding"))
			for _, accepts := range []string{"gzip", "br;q=1, GZIP;q=0.1"} {
				packed, text := b.send("GET", path, nil, "Accept-Encoding", accepts)
				require.Equal(b, "gzip", packed.header.Get("Content-Encoding"), accepts)
				require.Equal(b, "Accept-Encoding", packed.header.Get("Vary"))
				require.Equal(b, strconv.Itoa(len(text)), packed.header.Get("Content-Length"))
				require.Less(b, len(text), len(want)/2)
				reader, err := gzip.NewReader(bytes.NewReader(text))
				require.NoError(b, err)
				unpacked, err := io.ReadAll(reader)
				require.NoError(b, err)
				require.Equal(b, string(want), string(unpacked))
				b.limited(packed)
			}
			for _, accepts := range []string{"", "identity", "gzip;q=0", "deflate, br"} {
				a, text := b.send("GET", path, nil, "Accept-Encoding", accepts)
				require.Empty(b, a.header.Get("Content-Encoding"), accepts)
				require.Equal(b, want, text)
			}
			head, text := b.send("HEAD", path, nil, "Accept-Encoding", "gzip")
			require.Empty(b, text)
			require.Empty(b, head.header.Get("Content-Encoding"))
			require.Equal(b, strconv.Itoa(len(want)), head.header.Get("Content-Length"))
			for _, small := range []string{"/v1/store", "/v1/products/" + unknownID(), "/v1/products?" + strings.Repeat("x", 2000) +
				"=1"} {
				a, _ := b.send("GET", small, nil, "Accept-Encoding", "gzip")
				require.Empty(b, a.header.Get("Content-Encoding"), small)
				require.Empty(b, a.header.Get("Vary"), small)
			}
		},
	},
	scenario{
		name:      "the first check that fails answers",
		protocols: underV1(),
		run: func(b *bench) {
			narrow, _ := b.newKey("narrow", "never", "store:read")
			bad := []string{"PATCH", "/v1/products/x?y=1", "[", "Content-Type", "text/plain"}
			send := func(key string, r []string) answer { return b.withKey(key).json(r[0], r[1], r[2], r[3:]...) }
			b.refusedAs(send("", []string{"BREW", "/v1/nothing", ""}), 401, "api_key_missing")
			b.refusedAs(send(narrow, []string{"BREW", "/v1/products/x", ""}), 405, "method_not_allowed")
			b.refusedAs(send(narrow, []string{"GET", "/v1/nothing", ""}), 404, "not_found")
			b.refusedAs(send(narrow, bad), 403, "insufficient_scope")
			b.refusedAs(send(b.key, bad), 415, "unsupported_media_type")
			b.refusedAs(send(b.key, []string{"PATCH", "/v1/products/x?y=1", strings.Repeat("[", 1<<20+1)}), 413, "payload_too_large")
			b.refusedAs(send(b.key, []string{"PATCH", "/v1/products/x?y=1", "["}), 400, "validation_failed")
			b.refusedAs(send(b.key, []string{"PATCH", "/v1/products/x", `{"title":""}`}), 400, "validation_failed")
			b.refusedAs(send(b.key, []string{"PATCH", "/v1/products/x", `{"compareAtAmount":0,"priceAmount":1}`}), 404,
				"product_not_found")
		},
	},
	scenario{
		name:      "no answer has a CORS header, whatever a browser asks",
		protocols: underV1(),
		run: func(b *bench) {
			for _, method := range []string{"GET", "OPTIONS", "HEAD", "POST"} {
				a, _ := b.send(method, "/v1/products", nil, "Origin", "https://shop.example", "Access-Control-Request-Method", "GET")
				for name := range a.header {
					require.False(b, strings.HasPrefix(name, "Access-Control-"), name)
				}
				require.Equal(b, "application/json", a.header.Get("Content-Type"))
			}
		},
	},
)

// The log has the cause of a 500, the answer does not.
func TestFailures(t *testing.T) {
	t.Parallel()
	for _, database := range dbtest.Databases() {
		t.Run(database, func(t *testing.T) {
			t.Parallel()
			s := newService(t, database, settings{})
			b := s.newBench(t, restProtocol{})
			_, err := s.db.Writer().Exec("ALTER TABLE order_items RENAME COLUMN title TO other")
			require.NoError(t, err)
			for _, f := range protocols() {
				a := b.withProtocol(f).answer(&getOrder{Id: unknownID()})
				require.Nil(t, b.refusedAs(a, http.StatusInternalServerError, "internal_error"))
				require.NotContains(t, a.body["message"], "title")
				require.Contains(t, s.log.String(), a.body["requestId"])
			}
			require.Contains(t, s.log.String(), "i.title")
			require.Equal(t, 200, b.answer(&getStore{}).status)
		})
	}
}
