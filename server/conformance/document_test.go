package conformance_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"strings"
	"sync"

	"github.com/stretchr/testify/require"

	generated "go.storefront.example/gen/openapi"
	"go.storefront.example/server/conformance/openapi"
)

// document also records which of its parts the tests have seen.
var document = sync.OnceValue(func() *openapi.Document {
	d, err := openapi.Read([]byte(generated.Document))
	if err != nil {
		panic(err)
	}
	return d
})

// differences are for TestMain, because a test that expects an error does not show them.
var differences struct {
	sync.Mutex
	found []error
}

func held(x openapi.Exchange) error {
	if !strings.HasPrefix(x.URL.Path, "/v1/") {
		return nil
	}
	return noted(document().Check(x))
}

func noted(err error) error {
	if err != nil {
		err = fmt.Errorf("service and OpenAPI document differ: %w", err)
		differences.Lock()
		defer differences.Unlock()
		differences.found = append(differences.found, err)
	}
	return err
}

// observed is the transport of all clients. A request that differs from the document fails.
type observed struct{ *http.Transport }

func (o observed) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := o.Transport.RoundTrip(r)
	if err != nil || !strings.HasPrefix(r.URL.Path, "/v1/") {
		return response, err
	}
	x := openapi.Exchange{Method: r.Method, URL: r.URL, RequestHeader: r.Header, Status: response.StatusCode,
		Header: response.Header}
	defer response.Body.Close()
	if x.Body, err = io.ReadAll(response.Body); err != nil {
		return nil, err // the server was killed before its answer was complete
	}
	if r.GetBody != nil {
		sent, err := r.GetBody()
		if err != nil {
			return nil, err
		}
		if x.RequestBody, err = io.ReadAll(sent); err != nil {
			return nil, err
		}
	}
	whole := *response
	whole.Body = io.NopCloser(bytes.NewReader(x.Body))
	if response.Header.Get("Content-Encoding") == "gzip" {
		reader, err := gzip.NewReader(bytes.NewReader(x.Body))
		if err != nil {
			return nil, err
		}
		if x.Body, err = io.ReadAll(reader); err != nil {
			return nil, err
		}
	}
	if err := held(x); err != nil {
		return nil, err
	}
	return &whole, nil
}

func (b *bench) documented(r request, text []byte) {
	b.Helper()
	method, target, _ := strings.Cut(r.line, " ")
	u, err := url.ParseRequestURI(target)
	require.NoError(b, err)
	response, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(text)), &http.Request{Method: method})
	require.NoError(b, err)
	defer response.Body.Close()
	x := openapi.Exchange{Method: method, URL: u, RequestHeader: http.Header{}, RequestBody: []byte(r.body),
		Status: response.StatusCode,
		Header: response.Header}
	for _, line := range r.headers {
		name, value, _ := strings.Cut(line, ": ")
		x.RequestHeader.Add(name, value)
	}
	x.Body, err = io.ReadAll(response.Body)
	require.NoError(b, err)
	require.NoError(b, held(x))
}

// unseen are parts of the document that no test can show, with the reasons.
var unseen = []struct{ place, reason string }{
	{`/components/schemas/Store/properties/status "suspended"`, "the keys of a store that is suspended are refused"},
	{`/components/schemas/Store/properties/status "closed"`, "the keys of a store that is closed are refused"},
	{"/components/schemas/PaymentLinkOrder/properties/items/items",
		"an order through a payment link is recorded without items; that it may have some is the specification's"},
}

// withheld returns why this run cannot show a part of the document, or "".
func withheld(place string) string {
	for _, row := range unseen {
		if strings.HasPrefix(place, row.place) {
			return row.reason
		}
	}
	switch {
	case (strings.Contains(place, " 503") || place == `/components/schemas/Error/properties/code "unavailable"`) &&
		os.Getenv("STOREFRONT_TEST_POSTGRES") == "":
		return "only a database on the other side of a connection goes away"
	}
	return ""
}

// judged turns the tests' exit status into 1 if an exchange differed from the document or, when all tests ran, if a part of it
// was in no exchange without a reason in withheld; except, on Windows and macOS, the latter.
func judged(status int) int {
	differences.Lock()
	defer differences.Unlock()
	alike := map[string]int{}
	for _, err := range differences.found {
		if alike[ruleOf(err)]++; alike[ruleOf(err)] == 1 {
			fmt.Fprintln(os.Stderr, err)
		}
		status = 1
	}
	for rule, n := range alike {
		if n > 1 {
			fmt.Fprintf(os.Stderr, "%d requests in all: %s\n", n, rule)
		}
	}
	for _, name := range []string{"test.run", "test.skip", "test.list", "test.bench", "test.fuzz"} {
		if f := flag.Lookup(name); f != nil && f.Value.String() != "" {
			return status
		}
	}
	if status != 0 || runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		return status // Windows and macOS skip TestDelivery, so some parts stay unseen
	}
	for _, place := range document().Unseen() {
		if withheld(place) == "" {
			fmt.Fprintf(os.Stderr, "the OpenAPI document names what no test has seen of the service: %s\n", place)
			status = 1
		}
	}
	return status
}
