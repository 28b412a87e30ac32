package openapi_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/server/conformance/openapi"
)

// shelf has every part of OpenAPI that the package supports.
const shelf = `
openapi: 3.1.0
info: {title: Shelf, version: "1"}
paths:
  /v1/books:
    get:
      operationId: listBooks
      parameters:
        - {name: pageSize, in: query, schema: {type: integer, minimum: 1, maximum: 100}}
        - {name: kind, in: query, schema: {$ref: '#/components/schemas/Kind'}}
        - {name: q, in: query, schema: {type: string, maxLength: 5}}
      responses:
        '200': {$ref: '#/components/responses/Books'}
        '400': {$ref: '#/components/responses/Invalid'}
    post:
      operationId: createBook
      requestBody:
        required: true
        content:
          application/json:
            schema:
              type: object
              additionalProperties: false
              required: [title]
              properties:
                title: {type: string, minLength: 1, maxLength: 5}
                price: {type: [integer, 'null'], minimum: 0, maximum: 9007199254740991}
                kind: {$ref: '#/components/schemas/Kind'}
            example: {title: Café, price: 5}
      responses:
        '201':
          description: made
          headers: {X-Left: {$ref: '#/components/headers/Left'}}
          content: {application/json: {schema: {$ref: '#/components/schemas/Book'}}}
        '400': {$ref: '#/components/responses/Invalid'}
  /v1/books/{id}:
    parameters:
      - {name: id, in: path, required: true, schema: {type: string, format: uuid}}
    get:
      operationId: getBook
      responses:
        '200':
          description: a book
          headers: {X-Left: {$ref: '#/components/headers/Left'}}
          content: {application/json: {schema: {$ref: '#/components/schemas/Book'}}}
components:
  headers:
    Left: {required: true, schema: {type: integer, minimum: 0}}
  responses:
    Books:
      description: books
      headers: {X-Left: {$ref: '#/components/headers/Left'}}
      content:
        application/json:
          schema: {type: array, items: {$ref: '#/components/schemas/Book'}}
    Invalid:
      description: refused
      headers: {X-Left: {$ref: '#/components/headers/Left'}}
      content:
        application/json: {schema: {$ref: '#/components/schemas/Error'}}
      x-error-codes: [invalid, taken]
  schemas:
    Kind: {type: string, enum: [PAPER, SOUND]}
    Book:
      type: object
      required: [id, title, price, kind, madeAt]
      properties:
        id: {type: string, format: uuid}
        title: {type: string}
        price: {type: [integer, 'null']}
        kind: {type: string, x-extensible-enum: [PAPER, SOUND]}
        cover: {type: [string, 'null'], x-extensible-enum: [HARD, SOFT]}
        madeAt: {type: string, format: date-time}
        links: {type: object, additionalProperties: {type: string}}
        shelf: {oneOf: [{type: object, required: [row], properties: {row: {type: integer}}}, {type: 'null'}]}
    Error:
      type: object
      required: [statusCode, code]
      properties:
        statusCode: {type: integer}
        code: {type: string, x-extensible-enum: [invalid, taken, away]}
        details: {type: object, properties: {fields: {type: array, items: {type: string}}}}
      x-details: {invalid: fields}
webhooks:
  book.made:
    post:
      parameters:
        - {name: Attempt, in: header, required: true, schema: {type: integer, minimum: 1, maximum: 8}}
      requestBody:
        required: true
        content:
          application/json:
            schema:
              type: object
              required: [type, data]
              properties: {type: {const: book.made}, data: {$ref: '#/components/schemas/Book'}}
`

const (
	bookID = "0195e000-0000-7000-8000-000000000000"
	book   = `{"id":"` + bookID + `","title":"Café","price":null,"kind":"PAPER","madeAt":"2026-10-01T12:00:30.000Z"}`
)

func read(t *testing.T) *openapi.Document {
	t.Helper()
	d, err := openapi.Read([]byte(shelf))
	require.NoError(t, err)
	return d
}

func served(t *testing.T) openapi.Exchange {
	return exchange(t, "GET /v1/books/"+bookID, "", 200, book)
}

func exchange(t *testing.T, line, sent string, status int, body string) openapi.Exchange {
	t.Helper()
	method, target, _ := strings.Cut(line, " ")
	u, err := url.ParseRequestURI(target)
	require.NoError(t, err)
	kind := []string{"application/json"}
	x := openapi.Exchange{
		Method: method, URL: u, RequestHeader: http.Header{}, RequestBody: []byte(sent), Status: status,
		Header: http.Header{"Content-Type": kind, "Date": {"now"}}, Body: []byte(body),
	}
	x.Header.Set("X-Left", "5")
	if sent != "" {
		x.RequestHeader["Content-Type"] = kind
	}
	return x
}

func TestAgreement(t *testing.T) {
	t.Parallel()
	d := read(t)
	require.NoError(t, d.Check(served(t)))
	for line, reason := range map[string]string{
		"GET /v1/books?pageSize=100&kind=SOUND&q=12345":      "every parameter at its bound",
		"GET /v1/books?q=++12345%20":                         "texts are measured without the space around them",
		"GET /v1/books?pageSize=0100":                        "a number may begin with zeros",
		"HEAD /v1/books?pageSize=1":                          "HEAD is GET without a body",
		"GET /v1/books/0195E000-0000-7000-8000-000000000000": "a UUID in capitals is the same",
	} {
		x := exchange(t, line, "", 200, "["+book+"]")
		switch {
		case x.Method == "HEAD":
			x.Body = nil
		case strings.Contains(line, "books/"):
			x.Body = []byte(book)
		}
		require.NoError(t, d.Check(x), reason)
	}
	require.NoError(t, d.Check(exchange(t, "POST /v1/books", `{"title":" Café ","price":100.0}`, 201, book)), "100.0 is an integer")
	require.NoError(t, d.Check(exchange(t, "POST /v1/books", `{"title":5}`, 400, `{"statusCode":400,"code":"taken"}`)),
		"what is refused may be anything")
	require.NoError(t, d.Check(nothing(t, `{"statusCode":404,"code":"away"}`)), "no operation, and the error body")
}

func nothing(t *testing.T, body string) openapi.Exchange {
	t.Helper()
	x := exchange(t, "GET /v1/nothing", "", 404, body)
	x.Header.Set("Allow", "POST")
	return x
}

func TestDifference(t *testing.T) {
	t.Parallel()
	d := read(t)
	rows := []struct {
		name   string
		change func(x *openapi.Exchange)
		want   string
	}{
		{"a property more", replace(`"kind"`, `"colour":"red","kind"`),
			"getBook: answer 200: the body: /: additional properties 'colour' not allowed"},
		{"a property less", replace(`"price":null,`, ``), "missing property 'price'"},
		{"a misspelt property", replace(`"title"`, `"titel"`), "titel"},
		{"another type", replace(`"Café"`, `5`), "/title: got number, want string"},
		{"a number as text", replace(`null`, `"5"`), "/price: got string, want null or integer"},
		{"a fraction", replace(`null`, `1.5`), "/price"},
		{"null where none can be", replace(`"Café"`, `null`), "/title: got null, want string"},
		{"an unknown word", replace(`PAPER`, `paper`), "/kind: value must be one of 'PAPER', 'SOUND'"},
		{"an unknown word beside null", replace(`"kind"`, `"cover":"NONE","kind"`), "/cover: value must be one of"},
		{"a date of no form", replace(`T12`, ` 12`), "/madeAt"},
		{"an id of no form", replace(`"0195e000`, `"0195e00`), "/id"},
		{"no JSON", replace(`}`, ``), "no JSON"},
		{"two values", replace(`}`, `}{}`), "no JSON"},
		{"another media type", header("Content-Type", "text/plain"), "text/plain"},
		{"another charset", header("Content-Type", "application/json; charset=latin1"), "latin1"},
		{"another parameter", header("Content-Type", "application/json; a=b"), "a=b"},
		{"a header more", header("X-Right", "1"), "the document has no header X-Right"},
		{"a header less", header("X-Left", ""), "the header X-Left is missing"},
		{"a header of no form", header("X-Left", "-1"), "X-Left"},
		{"a header twice", func(x *openapi.Exchange) { x.Header.Add("X-Left", "5") }, "stands 2 times"},
		{"a status that is not there", func(x *openapi.Exchange) { x.Status = 202 },
			"getBook: answer 202: the document has no such status"},
		{"an operation that is not there", func(x *openapi.Exchange) { x.Method = "DELETE" }, "no operation"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			x := served(t)
			row.change(&x)
			require.ErrorContains(t, d.Check(x), row.want)
		})
	}
	for line, sent := range map[string]string{
		"GET /v1/books?pageSize=0":            "",
		"GET /v1/books?pageSize=101":          "",
		"GET /v1/books?pageSize=+5":           "",
		"GET /v1/books?pageSize=":             "",
		"GET /v1/books?pageSize=1&pageSize=1": "",
		"GET /v1/books?kind=":                 "",
		"GET /v1/books?q=123456":              "",
		"GET /v1/books?page=1":                "",
		"POST /v1/books":                      "",
		"POST /v1/books?q=1":                  `{"title":"x"}`,
		"POST /v1/books?":                     `{}`,
		"POST /v1/books?&":                    `{"title":" "}`,
		"POST /v1/books?&&":                   `{"title":"123456"}`,
		"POST /v1/books?&&&":                  `{"title":"x","price":"5"}`,
		"POST /v1/books?&&&&":                 `{"title":"x","price":9007199254740992}`,
		"POST /v1/books?&&&&&":                `{"title":"x","id":"x"}`,
		"POST /v1/books?&&&&&&":               `{"title":"x","kind":null}`,
	} {
		status, body := 200, "[]"
		if strings.HasPrefix(line, "POST") {
			status, body = 201, book
		}
		require.ErrorContains(t, d.Check(exchange(t, line, sent, status, body)), "a request that the document refuses", "%s %s", line,
			sent)
	}
	for refused, want := range map[string]string{
		`{"statusCode":400,"code":"away"}`: "/code: away is not among the answer's " +
			"x-error-codes",
		`{"statusCode":400,"code":"lost"}`:                                        "/code: value must be one of",
		`{"statusCode":401,"code":"taken"}`:                                       "/statusCode: got 401, want 400",
		`{"statusCode":400,"code":"invalid"}`:                                     "/details: invalid has fields alone",
		`{"statusCode":400,"code":"invalid","details":{}}`:                        "/details: invalid has fields alone",
		`{"statusCode":400,"code":"invalid","details":{"fields":[],"more":true}}`: "additional properties 'more' not allowed",
		`{"statusCode":400,"code":"taken","details":{"fields":[]}}`:               "/details: taken has none",
	} {
		require.ErrorContains(t, d.Check(exchange(t, "GET /v1/books", "", 400, refused)), want)
	}
	require.NoError(t, d.Check(exchange(t, "GET /v1/books", "", 400,
		`{"statusCode":400,"code":"invalid","details":{"fields":["a"]}}`)))
	require.ErrorContains(t, d.Check(nothing(t, `{"error":"x"}`)), "missing properties")
	x := nothing(t, `{"statusCode":404,"code":"away"}`)
	header("X-Right", "1")(&x)
	require.ErrorContains(t, d.Check(x), "the document has no header X-Right")
	header("X-Left", "")(&x)
	require.ErrorContains(t, d.Check(x), "the header X-Left stands 0 times")
}

func replace(old, replacement string) func(*openapi.Exchange) {
	return func(x *openapi.Exchange) { x.Body = []byte(strings.Replace(string(x.Body), old, replacement, 1)) }
}

// header sets a header of the answer; an empty value removes it.
func header(name, value string) func(*openapi.Exchange) {
	return func(x *openapi.Exchange) {
		x.Header.Set(name, value)
		if value == "" {
			x.Header.Del(name)
		}
	}
}

func TestDelivery(t *testing.T) {
	t.Parallel()
	d := read(t)
	sent := func(attempt string) http.Header {
		return http.Header{"Content-Type": {"application/json"}, "Attempt": {attempt}, "Content-Length": {"1"}}
	}
	envelope := `{"type":"book.made","data":` + book + `}`
	require.NoError(t, d.Delivery(sent("8"), []byte(envelope)))
	require.ErrorContains(t, d.Delivery(sent("9"), []byte(envelope)), "Attempt")
	require.ErrorContains(t, d.Delivery(http.Header{"Content-Type": {"application/json"}}, []byte(envelope)),
		"the header Attempt is missing")
	more := sent("1")
	more.Set("Other", "x")
	require.ErrorContains(t, d.Delivery(more, []byte(envelope)), "the document has no header Other")
	require.ErrorContains(t, d.Delivery(sent("1"), []byte(strings.Replace(envelope, "title", "titel", 1))),
		"delivery of book.made: the body: /data")
	require.ErrorContains(t, d.Delivery(sent("1"), []byte(`{"type":"book.lost"}`)), `no webhook "book.lost"`)
}

func TestUnseen(t *testing.T) {
	t.Parallel()
	d := read(t)
	all := len(d.Unseen())
	require.Equal(t, d.Places(), all)
	require.NoError(t, d.Check(served(t)))
	unseen := d.Unseen()
	for _, place := range []string{
		"getBook 200", "getBook path parameter id", "getBook 200 header X-Left", "/components/schemas/Book/properties/title",
		"/components/schemas/Book/properties/price null", `/components/schemas/Book/properties/kind "PAPER"`,
	} {
		require.NotContains(t, unseen, place)
	}
	for _, place := range []string{
		"listBooks 200", "listBooks query parameter q", "listBooks 400 taken", "createBook 201", "webhook book.made",
		"/components/schemas/Book/properties/price", "/components/schemas/Book/properties/links/additionalProperties",
		"/components/schemas/Book/properties/shelf/oneOf/1", `/components/schemas/Kind "SOUND"`,
		`/components/responses/Books/content/application~1json/schema/items`,
		"/paths/~1v1~1books/post/requestBody/content/application~1json/schema/properties/price null",
	} {
		require.Contains(t, unseen, place)
	}
	x := served(t)
	x.Body = []byte(strings.Replace(book, "}", `,"shelf":null,"links":{"a":"b"}}`, 1))
	require.NoError(t, d.Check(x))
	require.NotContains(t, d.Unseen(), "/components/schemas/Book/properties/shelf/oneOf/1")
	require.Contains(t, d.Unseen(), "/components/schemas/Book/properties/shelf/oneOf/0")
	require.NotContains(t, d.Unseen(), "/components/schemas/Book/properties/links/additionalProperties")
	require.Error(t, d.Check(exchange(t, "GET /v1/books?q=x", "", 200, `{}`)))
	require.Contains(t, d.Unseen(), "listBooks 200", "what disagrees shows nothing")
}

func TestRead(t *testing.T) {
	t.Parallel()
	for old, row := range map[string]struct{ replacement, want string }{
		"operationId: getBook":  {"summary: x", "GET /v1/books/{id}: no operationId"},
		"'200': {$ref":          {"2XX: {$ref", "2XX is no single status"},
		"in: query":             {"in: cookie", `"pageSize" in "cookie"`},
		"schemas/Kind'":         {"schemas/Sort'", "/components/schemas/Sort"},
		"format: uuid}}":        {"format: uuid, type: 5}}", "read document"},
		"minLength: 1":          {"pattern: '('", "pattern"},
		"      x-error-codes":   {"      x-codes", "the answer 400: no x-error-codes"},
		"    Error:\n":          {"    Refusal:\n", "Error"},
		"openapi: 3.1.0":        {"openapi: [", "read document"},
		"'#/components/headers": {"'https://x.example/#/h", "another document"},
	} {
		_, err := openapi.Read([]byte(strings.Replace(shelf, old, row.replacement, 1)))
		require.ErrorContains(t, err, row.want, old)
	}
}
