package conformance_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	generated "go.storefront.example/gen/openapi"
	"go.storefront.example/server/conformance/openapi"
)

func recorded(t *testing.T, file string) openapi.Exchange {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	// Replace each name in angle brackets, such as <date>, by a value of its form.
	plain := names.ReplaceAllStringFunc(string(text), func(name string) string {
		switch {
		case name == "<date>":
			return opening.Format(http.TimeFormat)
		case strings.HasPrefix(name, "<id-"), name == "<request-id>":
			return unknownID()
		}
		return "k7m2q9xw4t"
	})
	before, after, found := strings.Cut(plain, "\n\nHTTP/1.1 ")
	require.True(t, found, file)
	line, _, _ := strings.Cut(before, "\n")
	method, target, _ := strings.Cut(line, " ")
	u, err := url.ParseRequestURI(target)
	require.NoError(t, err)
	head, body, _ := strings.Cut("HTTP/1.1 "+after, "\n\n")
	response, err := http.ReadResponse(bufio.NewReader(strings.NewReader(head+"\n\n")), &http.Request{Method: http.MethodHead})
	require.NoError(t, err)
	defer response.Body.Close()
	x := openapi.Exchange{Method: method, URL: u, RequestHeader: http.Header{}, Status: response.StatusCode, Header: response.Header,
		Body: []byte(strings.TrimSpace(body))}
	if _, sent, found := strings.Cut(before, "\n\n"); found && strings.Contains(before, "Content-Type: application/json\n") {
		x.RequestHeader.Set("Content-Type", "application/json")
		x.RequestBody = []byte(sent)
	}
	return x
}

// names matches the placeholders for values that differ from run to run.
var names = regexp.MustCompile(`<[a-z]+(-[a-z0-9]+)?>`)

// wrongs calls put with a copy for each way in which one property is wrong: missing, misspelt, of another type, or one too
// many.
func wrongs(value any, put func(changed any, mutation string)) {
	switch value := value.(type) {
	case []any:
		for i, in := range value {
			wrongs(in, func(changed any, mutation string) {
				copied := append([]any{}, value...)
				copied[i] = changed
				put(copied, fmt.Sprintf("%d/%s", i, mutation))
			})
		}
	case map[string]any:
		putField := func(mutation, name string, in any, without ...string) {
			copied := map[string]any{name: in}
			for n, v := range value {
				if _, set := copied[n]; !set {
					copied[n] = v
				}
			}
			for _, n := range without {
				delete(copied, n)
			}
			put(copied, mutation)
		}
		putField("one more", "colour", "red")
		for name, in := range value {
			putField(name+" left out", name, nil, name)
			putField(name+" misspelt", name+"s", in, name)
			putField(name+" of another type", name, true)
			wrongs(in, func(changed any, mutation string) { putField(name+"/"+mutation, name, changed) })
		}
	}
}

const free = "socialLinks/"

// Answers of testdata/wire, with one wrong property at any depth.
func TestDocumentRefusesEveryWrongField(t *testing.T) {
	t.Parallel()
	d, err := openapi.Read([]byte(generated.Document)) // a copy, because the suite's document must not count these answers
	require.NoError(t, err)
	files, err := filepath.Glob(filepath.Join(wireFolder, "*.golden"))
	require.NoError(t, err)
	wrong := 0
	for _, file := range files {
		x := recorded(t, file)
		require.NoError(t, d.Check(x), file)
		if len(x.Body) == 0 {
			continue
		}
		var value any
		decoder := json.NewDecoder(bytes.NewReader(x.Body))
		decoder.UseNumber()
		require.NoError(t, decoder.Decode(&value))
		wrongs(value, func(changed any, mutation string) {
			if strings.Contains(mutation, free) && !strings.HasSuffix(mutation, "of another type") {
				return
			}
			wrong++
			y := x
			var err error
			y.Body, err = json.Marshal(changed)
			require.NoError(t, err)
			require.Error(t, d.Check(y), "%s: %s", file, mutation)
		})
		for name := range x.Header {
			if name == "Connection" || name == "Content-Length" || name == "Date" || name == "Vary" {
				continue
			}
			y := x
			y.Header = x.Header.Clone()
			y.Header.Del(name)
			if name != "Allow" { // Allow is only in answers of addresses without an operation
				require.Error(t, d.Check(y), "%s: %s left out", file, name)
			}
			y.Header["X-"+name] = x.Header[name]
			require.Error(t, d.Check(y), "%s: %s misspelt", file, name)
		}
	}
	require.Greater(t, wrong, 1000)
	t.Logf("%d wrong answers made of %d", wrong, len(files))
}
