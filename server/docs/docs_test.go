package docs_test

import (
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"html"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	storefront "go.storefront.example"
	"go.storefront.example/gen/openapi"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/docs"
)

// site is the handler of all pages, which shows the address of the examples.
var site = docs.New(docs.Everybody, func(*http.Request) string { return "" })

// ask sends a request. headers are pairs of a name and a value.
func ask(method, path string, headers ...string) *http.Response {
	r := httptest.NewRequest(method, path, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	site.ServeHTTP(w, r)
	return w.Result()
}

func text(t *testing.T, from io.Reader) string {
	t.Helper()
	all, err := io.ReadAll(from)
	require.NoError(t, err)
	return string(all)
}

// get returns the text of a file.
func get(t *testing.T, path string) string {
	t.Helper()
	answer := ask(http.MethodGet, path)
	require.Equal(t, http.StatusOK, answer.StatusCode, path)
	return text(t, answer.Body)
}

func TestFilesAreServedToAnybody(t *testing.T) {
	t.Parallel()
	const page, markdown = "text/html; charset=utf-8", "text/markdown; charset=utf-8"
	for path, want := range map[string]string{
		docs.Path: page, docs.Path + "/guide/errors": page, docs.Path + "/manual/install": page, docs.Path + "/operations/updateProduct": page,
		docs.DocumentPath: "application/json", docs.Path + "/search.json": "application/json", docs.Path + "/llms.txt": "text/plain; charset=utf-8",
		docs.Path + "/guide.md": markdown, docs.Path + "/operations/updateProduct.md": markdown, docs.Path + "/operations/orderPaidEvent.md": markdown,
	} {
		plain := ask(http.MethodGet, path)
		require.Equal(t, http.StatusOK, plain.StatusCode, path)
		require.Equal(t, want, plain.Header.Get("Content-Type"), path)
		body := text(t, plain.Body)
		require.Less(t, len(body), 1<<20, path)
		require.Empty(t, plain.Header.Get("Content-Encoding"), path)

		packed := ask(http.MethodGet, path, "Accept-Encoding", "br, gzip;q=0.8")
		require.Equal(t, "gzip", packed.Header.Get("Content-Encoding"), path)
		unpacked, err := gzip.NewReader(packed.Body)
		require.NoError(t, err)
		require.True(t, body == text(t, unpacked), path) // require.Equal would print both long texts

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
		require.Equal(t, int64(len(body)), head.ContentLength, path)
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
		{http.MethodGet, docs.Path + "/guide", http.StatusMovedPermanently, "the first page has one address"},
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

// The site for callers has no page that is for operators or contributors, and no link to one.
func TestCallersSeeOnlyTheirPages(t *testing.T) {
	t.Parallel()
	public := docs.New(docs.Callers, func(*http.Request) string { return "" })
	status := func(path string) (int, string) {
		w := httptest.NewRecorder()
		public.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		return w.Code, w.Body.String()
	}
	own := map[string]bool{}
	for _, p := range docs.Pages(docs.Callers) {
		own[p.Name] = true
	}
	for _, name := range []string{"guide", "guide/verify", "clients", "php", "contract", "codes", "reference", "operations/getStore", "objects/Order"} {
		require.True(t, own[name], name)
	}
	others := 0
	for _, p := range docs.Pages(docs.Everybody) {
		code, shown := status(p.Path())
		if own[p.Name] {
			require.Equal(t, http.StatusOK, code, p.Name)
			require.NotContains(t, shown, "Run it", p.Name)
			continue
		}
		others++
		require.Equal(t, http.StatusNotFound, code, p.Name)
		code, _ = status(docs.Path + "/" + p.Name + ".md")
		require.Equal(t, http.StatusNotFound, code, p.Name)
	}
	require.Greater(t, others, 12)
	_, index := status(docs.Path + "/llms.txt")
	_, found := status(docs.Path + "/search.json")
	require.NotContains(t, index+found, "manual/")
}

// Every Markdown file that the program contains is a page: a file that is not in the navigation is not read.
func TestEveryFileIsAPage(t *testing.T) {
	t.Parallel()
	var files int
	require.NoError(t, fs.WalkDir(storefront.Pages, ".", func(name string, entry fs.DirEntry, err error) error {
		if strings.HasSuffix(name, ".md") {
			files++
		}
		return err
	}))
	names := map[string]bool{}
	for _, p := range docs.Pages(docs.Everybody) {
		require.False(t, names[p.Name], p.Name)
		names[p.Name] = true
	}
	require.Len(t, names, files, "the first page of each part links to all pages of it: %v", names)
}

var (
	hrefs       = regexp.MustCompile(` href="(/docs[^"#]*)?(?:#([^"]+))?"`)
	idsOfPlaces = regexp.MustCompile(` id="([^"]+)"`)
)

// Headings go down one level at a time, ids are unique, and links lead to existing places.
func TestPagesAreInOrderAndTheirLinksHold(t *testing.T) {
	t.Parallel()
	ids := map[string]map[string]bool{}
	for _, p := range docs.Pages(docs.Everybody) {
		level := 0
		for _, h := range regexp.MustCompile(`<h([1-6])[ >]`).FindAllStringSubmatch(get(t, p.Path()), -1) {
			next := int(h[1][0] - '0')
			require.LessOrEqual(t, next, level+1, p.Name)
			level = next
		}
		ids[p.Path()] = map[string]bool{"": true}
		for _, id := range idsOfPlaces.FindAllStringSubmatch(get(t, p.Path()), -1) {
			require.False(t, ids[p.Path()][id[1]], "%s: %s", p.Name, id[1])
			ids[p.Path()][id[1]] = true
		}
	}
	links := 0
	for from := range ids {
		shown := get(t, from)
		require.NotRegexp(t, `<a href="[^/#hm]`, shown, "%s: a link is relative", from)
		for _, to := range hrefs.FindAllStringSubmatch(shown, -1) {
			target := to[1]
			if target == "" {
				target = from
			}
			if ids[target] == nil {
				require.Equal(t, http.StatusOK, ask(http.MethodGet, target).StatusCode, "%s: %s", from, target)
				require.Empty(t, to[2], "%s: %s", from, to[0])
				continue
			}
			links++
			require.True(t, ids[target][to[2]], "%s: %s", from, to[0])
		}
	}
	require.Greater(t, links, 1000)
}

// notInAnchor matches the characters of a heading that its fragment leaves out on a forge.
var notInAnchor = regexp.MustCompile(`[^a-z0-9_ -]`)

// In the repository, too, every link of a generated page leads to a file, and to a heading of it. A test of cmd/storefront holds this for
// the other pages.
func TestLinksOfGeneratedPagesHold(t *testing.T) {
	t.Parallel()
	anchors := func(text string) map[string]bool {
		all := map[string]bool{"": true}
		for _, m := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(text, -1) {
			all[strings.ReplaceAll(notInAnchor.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-")] = true
		}
		for _, m := range idsOfPlaces.FindAllStringSubmatch(text, -1) {
			all[m[1]] = true
		}
		return all
	}
	links := 0
	require.NoError(t, filepath.WalkDir(filepath.Join("..", "..", "gen", "docs"), func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(file) != ".md" {
			return err
		}
		content, err := os.ReadFile(file)
		require.NoError(t, err)
		own := strings.ReplaceAll(string(content), "\r\n", "\n")
		for _, m := range regexp.MustCompile(`\]\(([^)#: ]*)(?:#([^) ]*))?\)`).FindAllStringSubmatch(
			regexp.MustCompile("(?ms)^ *```.*?^ *```$").ReplaceAllString(own, ""), -1) {
			links++
			target := own
			if m[1] != "" {
				at := filepath.Join(filepath.Dir(file), filepath.FromSlash(m[1]))
				info, err := os.Stat(at)
				require.NoError(t, err, "%s: %s", file, m[0])
				if m[2] == "" || info.IsDir() {
					continue
				}
				other, err := os.ReadFile(at)
				require.NoError(t, err)
				target = string(other)
			}
			require.True(t, anchors(target)[m[2]], "%s: %s", file, m[0])
		}
		return nil
	}))
	require.Greater(t, links, 100)
}

// A program that begins at llms.txt finds every page as Markdown, whole and without HTML.
func TestTheMarkdownIsAllThere(t *testing.T) {
	t.Parallel()
	listed := get(t, docs.Path+"/llms.txt")
	for _, p := range docs.Pages(docs.Everybody) {
		address := docs.Path + "/" + p.Name + ".md"
		require.Contains(t, listed, "("+address+")")
		require.Contains(t, get(t, p.Path()), `type="text/markdown" title="This page" href="`+address+`"`)
		shown := get(t, address)
		require.Less(t, len(shown), 64<<10, "%s: a program reads it whole", p.Name)
		prose := regexp.MustCompile("(?ms)^```.*?^```$").ReplaceAllString(shown, "")
		require.Empty(t, regexp.MustCompile(`undefined|\[object|&(quot|lt|gt|amp);`).FindString(prose), p.Name)
		for _, to := range regexp.MustCompile(`\]\(([^)\s#:]+)(?:#[^)\s]*)?\)`).FindAllStringSubmatch(prose, -1) {
			require.Equal(t, http.StatusOK, ask(http.MethodGet, path.Clean(to[1])).StatusCode, "%s: %s", p.Name, to[0])
		}
	}
}

// A reader without JavaScript, and a search engine, find every operation and every event at an address with its title.
func TestEachOperationAndEventHasAPage(t *testing.T) {
	t.Parallel()
	var document struct {
		Paths, Webhooks map[string]map[string]json.RawMessage
	}
	require.NoError(t, json.Unmarshal([]byte(openapi.Document), &document))
	seen := 0
	for _, all := range []map[string]map[string]json.RawMessage{document.Paths, document.Webhooks} {
		for _, item := range all {
			for method, content := range item {
				if method == "parameters" {
					continue
				}
				var one struct {
					OperationID, Summary string
					Parameters           []struct{ Name string }
				}
				require.NoError(t, json.Unmarshal(content, &one))
				shown := get(t, docs.Path+"/operations/"+one.OperationID)
				require.Contains(t, shown, "<title>"+one.Summary+" · Storefront</title>")
				require.Contains(t, shown, ">"+one.Summary+"</h1>")
				for _, p := range one.Parameters {
					if p.Name != "" && !strings.Contains(one.OperationID, "Event") {
						require.Contains(t, shown, `<li class="field" id="`+p.Name+`"><code>`+p.Name+"</code>", one.OperationID)
					}
				}
				seen++
			}
		}
	}
	require.Greater(t, seen, 20)
}

// Each error code has a place that says what it means and what to do.
func TestEachCodeHasAPlace(t *testing.T) {
	t.Parallel()
	shown := html.UnescapeString(regexp.MustCompile(`</?(code|strong|p)>`).ReplaceAllString(get(t, docs.Path+"/codes"), ""))
	for code, meaning := range apierr.Meanings {
		_, part, found := strings.Cut(shown, `<h2 id="`+string(code)+`">`)
		require.True(t, found, code)
		part, _, _ = strings.Cut(part, "<h2")
		plain := strings.NewReplacer("`", "")
		require.Contains(t, part, strconv.Itoa(apierr.New(code, "").Status())+": "+plain.Replace(meaning.Text)+"\n", code)
		require.Contains(t, part, "What to do: "+plain.Replace(meaning.Remedy)+"\n", code)
		require.Contains(t, part, "Returned by ", code)
	}
}

// A sample copied from a server's page calls that server.
func TestFilesNameTheServersAddress(t *testing.T) {
	t.Parallel()
	pages := docs.New(docs.Everybody, docs.RequestAddress)
	for host, want := range map[string]string{
		"127.0.0.1:8080": "http://127.0.0.1:8080", "localhost:8080": "http://localhost:8080", "[::1]:8080": "http://[::1]:8080",
		"[::1]":            "http://[::1]",
		"api.shop.example": "https://api.shop.example", "api.shop.example:8443": "https://api.shop.example:8443",
		"10.0.0.1:8080":          "https://10.0.0.1:8080",
		"localhost.evil.example": "https://localhost.evil.example", `evil"><script>`: docs.Address,
		strings.Repeat("a", 300): docs.Address, "a b": docs.Address, "": docs.Address,
	} {
		for _, path := range []string{docs.Path, docs.DocumentPath, docs.Path + "/llms.txt", docs.Path + "/operations/getStore", docs.Path + "/operations/getStore.md"} {
			before := get(t, path)
			for range 2 {
				r := httptest.NewRequest(http.MethodGet, path, nil)
				r.Host = host
				w := httptest.NewRecorder()
				pages.ServeHTTP(w, r)
				// Compare with True, because Equal would print both long texts.
				require.True(t, w.Body.String() == strings.ReplaceAll(before, docs.Address, want), "%s %s", host, path)
				require.True(t, strings.Contains(w.Body.String(), want), path)
			}
		}
	}
}

// A client that sends invented hosts does not make the server render and compress the page for each of them.
func TestInventedHostsGetTheExample(t *testing.T) {
	t.Parallel()
	pages, tags := docs.New(docs.Everybody, docs.RequestAddress), map[string]bool{}
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

// Blocks in several languages that follow each other are tabs of one group, and each of them has a rule that shows it.
func TestPagesShowOneLanguageAtATime(t *testing.T) {
	t.Parallel()
	for path, want := range map[string][]int{
		docs.Path + "/guide/quick-start": {5}, docs.Path + "/guide/verify": {4, 3}, docs.Path + "/operations/getStore": {5},
	} {
		shown := get(t, path)
		for i, tabs := range want {
			require.Equal(t, tabs, strings.Count(shown, `name="language-`+strconv.Itoa(i+1)+`" value=`), path)
		}
		require.Equal(t, len(want), strings.Count(shown, " checked>"), path)
		for _, tab := range regexp.MustCompile(` name="language-\d+" value="(\w+)"`).FindAllStringSubmatch(shown, -1) {
			require.Contains(t, shown, ".samples:has([value="+tab[1]+"]:checked) > [data-language="+tab[1]+"]", path)
		}
	}
}

func TestPagesAreWholeInThemselves(t *testing.T) {
	t.Parallel()
	policy := ask(http.MethodGet, docs.Path).Header.Get("Content-Security-Policy")
	for _, part := range []string{"unsafe-inline", "unsafe-eval", "http"} {
		require.NotContains(t, policy, part)
	}
	for _, p := range docs.Pages(docs.Everybody) {
		shown := get(t, p.Path())
		for _, loads := range []string{
			`(?i)<(script|img|iframe|link|source|object|embed)\b[^>]*\b(src|href|data)=["']?(https?:)?//`, `(\burl\(|@import\s)["']?(https?:)?//`, `<[^>]+ style=`,
		} {
			require.Empty(t, regexp.MustCompile(loads).FindString(shown), "%s: %s", p.Name, loads)
		}
		scripts := regexp.MustCompile(`(?s)<script[^>]*>(.*?)</script>`).FindAllStringSubmatch(shown, -1)
		require.Len(t, scripts, 1)
		sum := sha256.Sum256([]byte(scripts[0][1]))
		require.Contains(t, policy, "'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'", "the policy is of this page")
		still, _, _ := strings.Cut(shown, "<script>")
		require.NotRegexp(t, `<th[^>]*></th>`, still, p.Name)
		require.NotContains(t, still, "<pre>", "what is scrolled is reached with the keys")
		require.Equal(t, strings.Count(still, "<table>"), strings.Count(still, `<div class="scrolled" tabindex="0" role="group" aria-label="Table"><table>`))
	}
}

// The search finds pages, headings, fields and error codes by their names.
func TestTheSearchKnowsEveryPlace(t *testing.T) {
	t.Parallel()
	var all []struct{ URL, Name, Where, Words string }
	require.NoError(t, json.Unmarshal([]byte(get(t, docs.Path+"/search.json")), &all))
	names := map[string]string{}
	for _, one := range all {
		names[one.URL] = one.Name
	}
	for url, name := range map[string]string{
		"/docs": "Storefront API", "/docs/guide/errors": "Errors", "/docs/guide/webhooks#ship-exactly-once": "Ship exactly once",
		"/docs/operations/updateProduct#compareAtAmount": "compareAtAmount", "/docs/codes#rate_limited": "rate_limited", "/docs/manual/backup": "Back up and restore",
	} {
		require.Equal(t, name, names[url], url)
	}
	for _, p := range docs.Pages(docs.Everybody) {
		require.Equal(t, html.UnescapeString(strings.ReplaceAll(p.Title, "`", "")), names[p.Path()])
	}
}
