package guide_test

import (
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/server/conformance/devtest"
)

type sample struct{ operation, text string }

var (
	shownSample = regexp.MustCompile(`(?s)<div class="code" data-language="(\w+)"><pre[^>]*><code>(.*?)</code>`)
	markup      = regexp.MustCompile(`<[^>]+>`)
)

// samples are as a reader copies them from the pages of the operations.
func samples(t *testing.T, dev devtest.Server, language string) []sample {
	t.Helper()
	var found []sample
	var shown []string
	for _, page := range regexp.MustCompile(`\(/docs/operations/(\w+)\.md\)`).FindAllStringSubmatch(fetch(t, dev, "/docs/llms.txt"), -1) {
		for _, m := range shownSample.FindAllStringSubmatch(fetch(t, dev, "/docs/operations/"+page[1]), -1) {
			if m[1] == language {
				shown = append(shown, page[1])
				found = append(found, sample{page[1], html.UnescapeString(markup.ReplaceAllString(m[2], ""))})
			}
		}
	}
	var document struct {
		Paths map[string]map[string]struct {
			OperationID string `json:"operationId"`
		}
	}
	require.NoError(t, json.Unmarshal([]byte(fetch(t, dev, "/docs/openapi.json")), &document))
	var operations []string
	for _, item := range document.Paths {
		for _, operation := range item {
			operations = append(operations, operation.OperationID)
		}
	}
	require.ElementsMatch(t, operations, shown)
	for _, s := range found {
		require.Contains(t, s.text, dev.URL, "it calls the server that shows it")
	}
	return found
}

func fetch(t *testing.T, dev devtest.Server, path string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, dev.URL+path, nil)
	require.NoError(t, err)
	request.Header.Set("Authorization", "Bearer "+dev.Key)
	answer, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, answer.StatusCode, "%s", text)
	return string(text)
}

// sampleVariables has the ids of rows that the samples read and change.
func sampleVariables(t *testing.T, dev devtest.Server) []string {
	t.Helper()
	// The customer of the sample of createCustomer, so that other samples have an id.
	variables := []string{"CUSTOMER_ID=" + record(t, dev, `{"name":"Ada Ndé","email":"ada@example.com"}`)}
	for name, path := range map[string]string{
		"PRODUCT_ID": "/v1/products?status=PUBLISHED", "ORDER_ID": "/v1/orders", "LINK_ID": "/v1/payment-links?status=active",
	} {
		var list struct {
			Data []struct{ ID, Pricing string }
		}
		require.NoError(t, json.Unmarshal([]byte(fetch(t, dev, path)), &list))
		fixed := slices.IndexFunc(list.Data, func(link struct{ ID, Pricing string }) bool { return link.Pricing != "OPEN" })
		require.NotEqual(t, -1, fixed, path)
		variables = append(variables, name+"="+list.Data[fixed].ID)
	}
	return variables
}

// together makes one Go program from samples, each of them a program. It returns its files by name.
func together(samples []sample) map[string]string {
	files, calls := map[string]string{}, ""
	for _, s := range samples {
		files["samples/"+s.operation+".go"] = strings.Replace(s.text, "func main() {", "func "+s.operation+"() {", 1)
		calls += fmt.Sprintf("\tfmt.Print(%q, \": \")\n\t%s()\n", s.operation, s.operation)
	}
	files["samples/main.go"] = "package main\n\nimport \"fmt\"\n\nfunc main() {\n" + calls + "}\n"
	return files
}

var sampleResults = []string{
	"getStore: Atelier Mboa XAF ", "updateProduct: Le guide 2000 PUBLISHED\n", "createCustomer: ", " +237670000003\n",
	"updateCustomer: ",
	"createPaymentLink: ", "updatePaymentLink: FIXED 500 ", "enablePaymentLink: ACTIVE\n",
}

func requireResults(t *testing.T, printed string) {
	t.Helper()
	for _, want := range sampleResults {
		require.Contains(t, printed, want)
	}
}

func runCurl(t *testing.T, dev devtest.Server, w *webhook) {
	needs(t, "sh", "curl")
	var script strings.Builder
	script.WriteString(prelude)
	for _, s := range samples(t, dev, "sh") {
		script.WriteString(s.text + "\necho\n")
	}
	answers := output(t, exec.CommandContext(t.Context(), "sh", "-c", script.String()), variables(dev, w)...)
	for _, want := range []string{
		`"name":"Atelier Mboa"`, `"priceAmount":2000,"compareAtAmount":2500,`,
		`"name":"Ada Ndé","email":"ada@example.com","phone":"+237670000003"`,
		`"name":"Ada Ndé","email":null,"phone":"+237670000003"`, `"title":"Atelier"`, `"amount":500,"minAmount":null`,
		`"availability":"ACTIVE"`,
	} {
		require.Contains(t, answers, want)
	}
}
