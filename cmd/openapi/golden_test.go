package main

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/server/apierr"
)

// goldenFolder is the path of the golden files relative to this package's folder.
const goldenFolder = "../../" + goldenPath

func TestAGoldenFileIsReadAsAnExample(t *testing.T) {
	t.Parallel()
	g, err := readGolden("link", []byte("POST /v1/payment-links?q=a%20b\nAuthorization: Bearer <key>\n\n{\"title\":\"Don\"}\n\n"+
		"HTTP/1.1 201 Created\nDate: "+
		"<date>\n\n{\"id\":\"<id-1>\",\"slug\":\"link\",\"url\":\"https://link.example/pay/<code-1>\",\"title\":\"link\"}\n"))
	require.NoError(t, err)
	require.Equal(t, 201, g.status)
	require.Equal(t, "POST", g.method)
	require.Equal(t, "/v1/payment-links", g.path)
	require.Equal(t, "a b", g.query.Get("q"))
	require.JSONEq(t, `{"title":"Don"}`, string(g.requestBody))
	require.JSONEq(t, `{"id":"`+exampleID+`","slug":"atelier","url":"https://atelier.example/pay/`+exampleCode+`","title":"link"}`,
		string(g.responseBody))
}

func TestAGoldenFileBelongsToOneOperation(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		path, template string
		want           bool
		because        string
	}{
		{"/v1/orders", "/v1/orders", true, "a path without a variable is itself"},
		{"/v1/orders/<id-1>", "/v1/orders", false, "a longer path"},
		{"/v1/orders/<id-1>", "/v1/orders/{id}", true, "any text is an id"},
		{"/v1/orders/", "/v1/orders/{id}", false, "no text is none"},
		{"/v1/payment-links/<id-1>/enable", "/v1/payment-links/{id}", false, "an id has no slash"},
		{"/v1/payment-links/<id-1>/enable", "/v1/payment-links/{id}/enable", true, "what follows the variable counts"},
	} {
		t.Run(row.because, func(t *testing.T) {
			g := golden{method: "GET", path: row.path}
			require.Equal(t, row.want, g.matches("GET", row.template), "%s on %s: %s", row.path, row.template)
			require.False(t, g.matches("POST", row.template), "another method")
		})
	}
}

// TestTheDocumentHasEveryRecordedAnswer checks that the document has the status of each exchange that the wire tests
// recorded, and the code of each refusal.
func TestTheDocumentHasEveryRecordedAnswer(t *testing.T) {
	t.Parallel()
	doc := written(t)
	goldens, err := readGoldens(os.DirFS(goldenFolder))
	require.NoError(t, err)
	seen := 0
	for _, g := range goldens {
		for path, item := range doc.Paths.all() {
			for verb, op := range item.operations().all() {
				if !g.matches(verb, path) {
					continue
				}
				seen++
				r := op.Responses.get(strconv.Itoa(g.status))
				require.NotNil(t, r, "%s: %s %s lacks %d", g.name, verb, path, g.status)
				if g.code != "" {
					require.Contains(t, codesIn(doc, r), g.code, "%s: %s %s", g.name, verb, path)
				}
			}
		}
	}
	require.Greater(t, seen, 40)
}

// codesIn returns the error codes that a response of the document can have.
func codesIn(doc *document, r *response) []string {
	if r.Ref != "" {
		r = doc.Components.Responses.get(strings.TrimPrefix(r.Ref, "#/components/responses/"))
	}
	codes := make([]string, 0, len(r.Codes))
	for _, code := range r.Codes {
		codes = append(codes, string(code))
	}
	return codes
}

// TestEveryCodeIsAnswered checks that each error code of the public API is an answer of some operation in the document.
func TestEveryCodeIsAnswered(t *testing.T) {
	t.Parallel()
	doc := written(t)
	answered := map[string]bool{"not_found": true, "method_not_allowed": true} // codes of requests that reach no operation
	for _, item := range doc.Paths.all() {
		for _, op := range item.operations().all() {
			for status, r := range op.Responses.all() {
				if status >= "400" {
					for _, code := range codesIn(doc, r) {
						answered[code] = true
					}
				}
			}
		}
	}
	for code := range apierr.Meanings {
		require.NotZero(t, statusOf(code), "%s is no code of the service", code)
		require.True(t, answered[string(code)], "no operation answers %s", code)
	}
	require.Len(t, answered, len(apierr.Meanings))
}
