package docs_test

import (
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"path"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	page "go.storefront.example/gen/docs"
	"go.storefront.example/gen/openapi"
	"go.storefront.example/server/docs"
)

// ask sends a request. headers are pairs of a name and a value.
func ask(method, path string, headers ...string) *http.Response {
	r := httptest.NewRequest(method, path, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	docs.New(func(*http.Request) string { return "" }).ServeHTTP(w, r)
	return w.Result()
}

func text(t *testing.T, from io.Reader) string {
	t.Helper()
	all, err := io.ReadAll(from)
	require.NoError(t, err)
	return string(all)
}

func TestThePageAndTheDocumentAreServedToAnybody(t *testing.T) {
	t.Parallel()
	const markdown = "text/markdown; charset=utf-8"
	for path, want := range map[string]struct{ kind, body string }{
		docs.Path:                                   {"text/html; charset=utf-8", page.Page},
		docs.DocumentPath:                           {"application/json", openapi.Document},
		docs.Path + "/llms.txt":                     {"text/plain; charset=utf-8", embedded(t, "llms.txt")},
		docs.Path + "/guide.md":                     {markdown, embedded(t, "guide.md")},
		docs.Path + "/operations/updateProduct.md":  {markdown, embedded(t, "operations/updateProduct.md")},
		docs.Path + "/operations/orderPaidEvent.md": {markdown, embedded(t, "operations/orderPaidEvent.md")},
	} {
		plain := ask(http.MethodGet, path)
		require.Equal(t, http.StatusOK, plain.StatusCode, path)
		require.Equal(t, want.kind, plain.Header.Get("Content-Type"), path)
		require.True(t, want.body == text(t, plain.Body), path) // require.Equal would print both long texts
		require.Less(t, len(want.body), 1<<20, path)
		require.Empty(t, plain.Header.Get("Content-Encoding"), path)

		packed := ask(http.MethodGet, path, "Accept-Encoding", "br, gzip;q=0.8")
		require.Equal(t, "gzip", packed.Header.Get("Content-Encoding"), path)
		require.Less(t, packed.ContentLength*2, int64(len(want.body)), "%s: it is worth it", path)
		unpacked, err := gzip.NewReader(packed.Body)
		require.NoError(t, err)
		require.True(t, want.body == text(t, unpacked), path)

		require.NotEqual(t, plain.Header.Get("ETag"), packed.Header.Get("ETag"), "%s: they are two representations", path)
		for _, answer := range []*http.Response{plain, packed} {
			require.Equal(t, "Accept-Encoding", answer.Header.Get("Vary"), path)
			require.Equal(t, "no-cache", answer.Header.Get("Cache-Control"), path)
			again := ask(http.MethodGet, path, "Accept-Encoding", answer.Header.Get("Content-Encoding"), "If-None-Match",
				answer.Header.Get("ETag"))
			require.Equal(t, http.StatusNotModified, again.StatusCode, path)
			require.Empty(t, text(t, again.Body), path)
		}

		head := ask(http.MethodHead, path)
		require.Equal(t, http.StatusOK, head.StatusCode, path)
		require.Equal(t, int64(len(want.body)), head.ContentLength, path)
		require.Empty(t, text(t, head.Body), path)
	}
}

func TestWhatIsNotThereIsRefusedUnderTheSameProtection(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		method, path string
		status       int
		because      string
	}{
		{http.MethodGet, docs.Path, http.StatusOK, "the page"},
		{http.MethodGet, docs.Path + "/", http.StatusMovedPermanently, "the page has one address"},
		{http.MethodGet, docs.Path + "/openapi.yaml", http.StatusNotFound, "there is one form of the document"},
		{http.MethodGet, docs.Path + "/operations/", http.StatusNotFound, "llms.txt is the list"},
		{http.MethodGet, docs.Path + "/operations/../guide.md", http.StatusTemporaryRedirect, "a path is what it is"},
		{http.MethodGet, docs.Path + "/../healthz", http.StatusTemporaryRedirect, "nothing else is below"},
		{http.MethodPost, docs.Path, http.StatusMethodNotAllowed, "it is only read"},
		{http.MethodDelete, docs.DocumentPath, http.StatusMethodNotAllowed, "it is only read"},
	} {
		t.Run(row.because, func(t *testing.T) {
			answer := ask(row.method, row.path)
			require.Equal(t, row.status, answer.StatusCode, "%s %s: %s", row.method, row.path)
			require.Equal(t, "nosniff", answer.Header.Get("X-Content-Type-Options"), row.path)
			require.Equal(t, "DENY", answer.Header.Get("X-Frame-Options"), row.path)
			require.Equal(t, "no-referrer", answer.Header.Get("Referrer-Policy"), row.path)
			require.Contains(t, answer.Header.Get("Content-Security-Policy"), "default-src 'none'", row.path)
			require.Empty(t, answer.Header.Get("Access-Control-Allow-Origin"), row.path)
		})
	}
	require.Equal(t, "GET, HEAD", ask(http.MethodPut, docs.Path).Header.Get("Allow"))
}

func TestCoversWhatIsItsOwn(t *testing.T) {
	t.Parallel()
	for path, served := range map[string]bool{
		"/docs": true, "/docs/": true, "/docs/openapi.json": true, "/docsy": false, "/v1/docs": false, "/": false, "": false,
	} {
		require.Equal(t, served, docs.Covers(path), path)
	}
}

// embedded returns the text of a Markdown file.
func embedded(t *testing.T, name string) string {
	t.Helper()
	text, err := page.Markdown.ReadFile(name)
	require.NoError(t, err)
	return string(text)
}

var markdownLink = regexp.MustCompile(`\]\(([^)\s]*)\)`)

// A program that begins at llms.txt finds every operation and event in Markdown files. The page links to llms.txt.
func TestTheMarkdownIsAllThereAndItsLinksHold(t *testing.T) {
	t.Parallel()
	alternates := regexp.MustCompile(`<link rel="alternate" [^>]*href="([^"]+)"`).FindAllStringSubmatch(page.Page, -1)
	require.Len(t, alternates, 2)
	for _, one := range alternates {
		require.Equal(t, http.StatusOK, ask(http.MethodGet, "/"+one[1]).StatusCode, one[1]) // the link is relative to /docs
	}
	listed := embedded(t, "llms.txt")
	for _, id := range regexp.MustCompile(`"operationId": ?"(\w+)"`).FindAllStringSubmatch(openapi.Document, -1) {
		require.Contains(t, listed, "(operations/"+id[1]+".md)")
	}
	headings := map[string]bool{}
	for _, h := range regexp.MustCompile(`(?m)^##+ (.+)$`).FindAllStringSubmatch(embedded(t, "guide.md"), -1) {
		headings[strings.Trim(regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(strings.ToLower(h[1]), "-"), "-")] = true
	}
	links := 0
	require.NoError(t, fs.WalkDir(page.Markdown, ".", func(name string, entry fs.DirEntry, _ error) error {
		if entry.IsDir() {
			return nil
		}
		text := embedded(t, name)
		require.Less(t, len(text), 64<<10, "%s: a program reads it whole", name)
		require.Equal(t, 0, strings.Count(text, "\n```")%2, name)
		prose := regexp.MustCompile("(?s)\n```.*?\n```").ReplaceAllString(text, "")
		require.Empty(t, regexp.MustCompile(`undefined|\[object|&(quot|lt|gt|amp);`).FindString(prose), name)
		for _, link := range markdownLink.FindAllStringSubmatch(prose, -1) {
			links++
			to, part, _ := strings.Cut(link[1], "#")
			require.True(t, part == "" || headings[part], "%s: %s", name, link[1])
			if to != "" {
				require.Equal(t, http.StatusOK, ask(http.MethodGet, path.Join(docs.Path, path.Dir(name), to)).StatusCode, "%s: %s", name, to)
			}
		}
		return nil
	}))
	require.Greater(t, links, 40)
}

// A reader without JavaScript, and a search engine, find every operation and every event.
func TestThePageHoldsTheWholeDocumentBeforeAnyScriptRuns(t *testing.T) {
	t.Parallel()
	still, _, found := strings.Cut(page.Page, "<script>")
	require.True(t, found)
	require.NotContains(t, still, "<pre>", "what is scrolled is reached with the keys")
	require.Equal(t, strings.Count(still, "<table>"),
		len(regexp.MustCompile(`<div class="scrolled" tabindex="0" role="group" aria-label="[^"]+"><table>`).FindAllString(still, -1)))
	holds := func(text string) {
		t.Helper()
		require.True(t, strings.Contains(still, text), "the page does not hold %q", text) // Contains would print the page
	}
	type operations map[string]struct {
		OperationID string `json:"operationId"`
		Summary     string
	}
	var document struct {
		Info            struct{ Description string }
		Paths, Webhooks map[string]json.RawMessage
	}
	require.NoError(t, json.Unmarshal([]byte(openapi.Document), &document))
	seen := 0
	for _, all := range []map[string]json.RawMessage{document.Paths, document.Webhooks} {
		for _, item := range all {
			var fields map[string]json.RawMessage
			require.NoError(t, json.Unmarshal(item, &fields))
			for method, text := range fields {
				if method == "parameters" || method == "summary" || method == "description" {
					continue
				}
				one := operations{method: {}}
				require.NoError(t, json.Unmarshal([]byte(`{"`+method+`":`+string(text)+`}`), &one))
				holds(` id="` + one[method].OperationID + `"`)
				holds(">" + one[method].Summary)
				seen++
			}
		}
	}
	require.Greater(t, seen, 20)
	for _, heading := range regexp.MustCompile(`(?m)^##? (.+)$`).FindAllStringSubmatch(document.Info.Description, -1) {
		holds(heading[1] + "</h")
	}
}

// A sample copied from a server's page calls that server.
func TestThePageAndTheDocumentNameTheServersAddress(t *testing.T) {
	t.Parallel()
	pages := docs.New(docs.RequestAddress)
	for host, want := range map[string]string{
		"127.0.0.1:8080": "http://127.0.0.1:8080", "localhost:8080": "http://localhost:8080", "[::1]:8080": "http://[::1]:8080",
		"[::1]":            "http://[::1]",
		"api.shop.example": "https://api.shop.example", "api.shop.example:8443": "https://api.shop.example:8443",
		"10.0.0.1:8080":          "https://10.0.0.1:8080",
		"localhost.evil.example": "https://localhost.evil.example", `evil"><script>`: page.Address,
		strings.Repeat("a", 300): page.Address, "a b": page.Address, "": page.Address,
	} {
		for path, before := range map[string]string{
			docs.Path: page.Page, docs.DocumentPath: openapi.Document, docs.Path + "/llms.txt": embedded(t, "llms.txt"),
		} {
			for range 2 {
				r := httptest.NewRequest(http.MethodGet, path, nil)
				r.Host = host
				w := httptest.NewRecorder()
				pages.ServeHTTP(w, r)
				// Compare with True, because Equal would print both long texts.
				require.True(t, w.Body.String() == strings.ReplaceAll(before, page.Address, want), "%s %s", host, path)
				require.True(t, strings.Contains(w.Body.String(), want), path)
			}
		}
	}
}

// A client that sends invented hosts does not make the server render and compress the page for each of them.
func TestInventedHostsGetTheExample(t *testing.T) {
	t.Parallel()
	pages, tags := docs.New(docs.RequestAddress), map[string]bool{}
	const hosts = 500
	for i := range hosts {
		r := httptest.NewRequest(http.MethodHead, docs.Path, nil)
		r.Host = "h" + strconv.Itoa(i) + ".example"
		w := httptest.NewRecorder()
		pages.ServeHTTP(w, r)
		require.Equal(t, http.StatusOK, w.Code)
		tags[w.Header().Get("ETag")] = true
	}
	require.Less(t, len(tags), hosts/2)
}

func TestThePageIsSmall(t *testing.T) {
	t.Parallel()
	require.Less(t, len(page.Page), 1<<20)
}

// Headings go down one level at a time, ids are unique, and links lead to existing places.
func TestThePageIsInOrder(t *testing.T) {
	t.Parallel()
	level := 0
	for _, h := range regexp.MustCompile(`<h([1-6])[ >]`).FindAllStringSubmatch(page.Page, -1) {
		next := int(h[1][0] - '0')
		require.LessOrEqual(t, next, level+1)
		level = next
	}
	seen := map[string]bool{}
	for _, id := range regexp.MustCompile(` id="([^"]+)"`).FindAllStringSubmatch(page.Page, -1) {
		require.False(t, seen[id[1]], id[1])
		seen[id[1]] = true
	}
	for _, to := range regexp.MustCompile(` href="#([^"]+)"`).FindAllStringSubmatch(page.Page, -1) {
		require.True(t, seen[to[1]], "a link leads to #%s", to[1])
	}
}

// Blocks of the guide in several languages that follow each other are tabs of one group.
func TestTheGuideShowsOneLanguageAtATime(t *testing.T) {
	t.Parallel()
	groups := map[string]int{}
	for _, tab := range regexp.MustCompile(` name="(language-guide-\d+)" value=`).FindAllStringSubmatch(page.Page, -1) {
		groups[tab[1]]++
	}
	require.Equal(t, 5, groups["language-guide-1"], "the quick start in curl, Go, TypeScript, PHP and Python")
	require.GreaterOrEqual(t, len(groups), 5)
}

func TestThePageIsWholeInItself(t *testing.T) {
	t.Parallel()
	for _, loads := range []string{
		`(?i)<(script|img|iframe|link|source|object|embed)\b[^>]*\b(src|href|data)=["']?(https?:)?//`,
		`(\burl\(|@import\s)["']?(https?:)?//`,
	} {
		require.Empty(t, regexp.MustCompile(loads).FindString(page.Page), loads)
	}
	require.NotContains(t, page.Policy, "unsafe-inline")
	require.NotContains(t, page.Policy, "unsafe-eval")
	require.NotContains(t, page.Policy, "http")
	scripts := regexp.MustCompile(`(?s)<script[^>]*>(.*?)</script>`).FindAllStringSubmatch(page.Page, -1)
	require.Len(t, scripts, 1)
	sum := sha256.Sum256([]byte(scripts[0][1]))
	require.Contains(t, page.Policy, "'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'", "the policy is of this page")
}
