// Package docs serves the pages about Storefront as a site, which works without JavaScript. Each page is a Markdown file of the
// repository, and is also served as Markdown for programs; llms.txt lists the pages. Nobody needs a key to read them.
//
//	cmd/openapi/guide, client, proto, cmd/storefront ──────────────────────┐
//	protos ─► gen/openapi ─► reference.mjs with samples.md ─► gen/docs ────┴─► goldmark ─► page.html
//
// The files contain the address of the service, so that a sample runs as a reader copies it.
//
// The package answers only GET and HEAD. The Content-Security-Policy of a page lets it load only the index of the search, and run only
// the script whose hash it names. The pages have no form to try a call, because then readers would put keys into a browser; they can
// run the samples in a shell.
package docs

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"net"
	"net/http"
	"net/netip"
	"regexp"
	"strings"
	"sync"
	"time"

	"go.storefront.example/gen/openapi"
)

//go:generate echo "server/docs: write the pages of the reference to gen/docs"
//go:generate node reference.mjs ../../gen/openapi/storefront.json samples.md ../../gen/docs

// Path is the path of the first page. The paths of the other files begin with it.
const Path = "/docs"

// DocumentPath is the path of the OpenAPI document, and documentFile its file in the repository.
const (
	DocumentPath = Path + "/openapi.json"
	documentFile = "gen/openapi/storefront.json"
)

// Address stands in the files for the address of the service.
const Address = "https://storefront.example"

// closedPolicy is the Content-Security-Policy of all files but the pages.
const closedPolicy = "default-src 'none'; frame-ancestors 'none'"

// New returns the handler of the site for some readers: for Path and all paths below. address returns the service's address, without
// a path, for a request. If it returns "", the files show the address of the examples. Goroutines may share the handler.
func New(readers Readers, address func(*http.Request) string) http.Handler {
	// Most processes never need the site.
	files := sync.OnceValue(func() map[string]*file {
		all := map[string]*file{DocumentPath: newFile(content{"application/json", closedPolicy, openapi.Document}, address)}
		for name, one := range sites[readers]().files() {
			all[name] = newFile(one, address)
		}
		return all
	})
	serve := func(w http.ResponseWriter, r *http.Request) {
		if found := files()[r.URL.Path]; found != nil {
			found.ServeHTTP(w, r)
			return
		}
		http.NotFound(w, r)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+Path, serve)
	mux.HandleFunc("GET "+Path+"/{name...}", serve)
	for _, other := range []string{"/{$}", "/" + front} {
		mux.Handle("GET "+Path+other, http.RedirectHandler(Path, http.StatusMovedPermanently))
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		protect(w.Header())
		mux.ServeHTTP(w, r)
	})
}

// host matches a host name or an IP address, with or without a port. None of its characters needs an escape in HTML or JSON.
var host = regexp.MustCompile(`^[A-Za-z0-9.\-]+(:\d+)?$|^\[[0-9A-Fa-f:.]+\](:\d+)?$`)

// maxHostBytes is the length of the longest host name (RFC 1035, section 2.3.4) with a port. Longer hosts are not shown,
// because the page repeats the host many times.
const maxHostBytes = 253 + len(":65535")

// RequestAddress returns the address of the listener that got a request, with the host that the client named. It begins with
// https, unless the client is on this machine.
func RequestAddress(r *http.Request) string {
	if len(r.Host) > maxHostBytes || !host.MatchString(r.Host) {
		return ""
	}
	name := r.Host
	if bare, _, err := net.SplitHostPort(r.Host); err == nil {
		name = bare
	}
	if ip, err := netip.ParseAddr(strings.Trim(name, "[]")); r.TLS == nil && (name == "localhost" || err == nil && ip.IsLoopback()) {
		return "http://" + r.Host
	}
	return "https://" + r.Host
}

// Covers reports whether the handler serves a path.
func Covers(path string) bool {
	return path == Path || strings.HasPrefix(path, Path+"/")
}

// protect sets the headers with which every answer protects the reader's browser.
func protect(h http.Header) {
	h.Set("Content-Security-Policy", closedPolicy)
	h.Set("X-Frame-Options", "DENY")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
}

// The server has at most maxAddresses versions of each file of the reference in memory, one for each address of the service.
// There is a limit because a client can name any host, and because making and compressing a version takes twenty times as
// long as serving it. If a request names a further host, the server drops all versions and makes the one for this host. But
// if the newest version is younger than minVersionAge, the request gets the file with the address of the examples instead.
const (
	maxAddresses  = 8
	minVersionAge = time.Second
)

// file is a file of the reference, which is served plain or compressed.
type file struct {
	content
	address func(*http.Request) string
	example *version

	mu       sync.Mutex
	versions map[string]*version // by the address of the service
	newest   time.Time           // when the newest version was made
}

// version is a file of the reference in which one address of the service is filled in.
type version struct {
	tag, plain string
	// gzipped returns the compressed text. The text is compressed at the first call, because most processes never need it.
	gzipped func() []byte
}

func newFile(c content, address func(*http.Request) string) *file {
	return &file{content: c, address: address, example: newVersion(c.text), versions: map[string]*version{}}
}

func newVersion(text string) *version {
	sum := sha256.Sum256([]byte(text))
	return &version{hex.EncodeToString(sum[:8]), text, sync.OnceValue(func() []byte {
		var gzipped bytes.Buffer
		w := gzip.NewWriter(&gzipped)
		// Writing to a buffer does not fail.
		_, _ = w.Write([]byte(text))
		_ = w.Close()
		return gzipped.Bytes()
	})}
}

// version returns the file in which address, an address of the service, is filled in. "" means the address of the examples.
func (f *file) version(address string) *version {
	if address == "" || !strings.Contains(f.text, Address) {
		return f.example
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if v, ok := f.versions[address]; ok {
		return v
	}
	if len(f.versions) >= maxAddresses {
		if time.Since(f.newest) < minVersionAge {
			return f.example
		}
		clear(f.versions)
	}
	v := newVersion(strings.ReplaceAll(f.text, Address, address))
	f.versions[address], f.newest = v, time.Now()
	return v
}

// acceptsGzip reports whether a client names gzip among the encodings that it accepts.
func acceptsGzip(h http.Header) bool {
	for encoding := range strings.SplitSeq(strings.Join(h["Accept-Encoding"], ","), ",") {
		coding, weight, _ := strings.Cut(strings.ReplaceAll(encoding, " ", ""), ";")
		if strings.EqualFold(coding, "gzip") {
			return strings.Trim(weight, "q=.0") != "" || weight == ""
		}
	}
	return false
}

// ServeHTTP answers with the file, or with 304 if the client has the same version already.
func (f *file) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v, h := f.version(f.address(r)), w.Header()
	h.Set("Content-Type", f.mediaType)
	h.Set("Content-Security-Policy", f.policy)
	h.Set("Vary", "Accept-Encoding")
	// Browsers may store the file, but must ask whether it has changed, because a new release has a new file.
	h.Set("Cache-Control", "no-cache")
	if !acceptsGzip(r.Header) {
		h.Set("ETag", `"`+v.tag+`"`)
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(v.plain))
		return
	}
	// The compressed text needs a tag of its own (RFC 9110, section 8.8.3.3).
	h.Set("ETag", `"`+v.tag+`-gzip"`)
	h.Set("Content-Encoding", "gzip")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(v.gzipped()))
}
