// Package docs serves the reference of the public API: one self-contained page that works without JavaScript, the same content
// as Markdown files for programs (listed in llms.txt), and the OpenAPI document from which both are made. All are public and
// need no authentication.
//
//	cmd/openapi/guide.md ─────────┐
//	protos ─► gen/openapi ────────┴─► render.mjs ─► gen/docs ─► here
//	samples.md, page.css, page.js ┘
//
// All contain the address of the service, so that a sample copied from the page runs.
//
// The package answers only GET and HEAD. Its Content-Security-Policy keeps the page from loading or sending anything; only the
// script listed by hash may run. There is no form to try a call, because that would bring keys into a browser; the samples run
// in a shell.
package docs

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"regexp"
	"strings"
	"sync"
	"time"

	"go.storefront.example/gen/docs"
	"go.storefront.example/gen/openapi"
)

//go:generate echo "server/docs: write the pages of the reference to gen/docs"
//go:generate node render.mjs ../../gen/openapi/storefront.json samples.md ../../gen/docs

// Path is the page's path; its files are below.
const Path = "/docs"

// DocumentPath is the path of the OpenAPI document.
const DocumentPath = Path + "/openapi.json"

// closed is the Content-Security-Policy of files other than the page.
const closed = "default-src 'none'; frame-ancestors 'none'"

// New returns the handler of Path and everything below. address returns the service's address, without a path, for a request;
// for "" the files keep the example's address. Goroutines may share the handler.
func New(address func(*http.Request) string) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET "+Path, newFile("text/html; charset=utf-8", docs.Policy, docs.Page, address))
	mux.Handle("GET "+DocumentPath, newFile("application/json", closed, openapi.Document, address))
	// The error is always nil, because the walked files are embedded.
	_ = fs.WalkDir(docs.Markdown, ".", func(name string, entry fs.DirEntry, _ error) error {
		if !entry.IsDir() {
			text, _ := docs.Markdown.ReadFile(name)
			kind := "text/markdown; charset=utf-8"
			if strings.HasSuffix(name, ".txt") {
				kind = "text/plain; charset=utf-8"
			}
			mux.Handle("GET "+Path+"/"+name, newFile(kind, closed, string(text), address))
		}
		return nil
	})
	mux.Handle("GET "+Path+"/{$}", http.RedirectHandler(Path, http.StatusMovedPermanently))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		protect(w.Header())
		mux.ServeHTTP(w, r)
	})
}

// host matches a name or an address with an optional port. It matches no character that HTML or JSON would escape.
var host = regexp.MustCompile(`^[A-Za-z0-9.\-]+(:\d+)?$|^\[[0-9A-Fa-f:.]+\](:\d+)?$`)

// maxHostBytes is the length of the longest name (RFC 1035, section 2.3.4) with a port. It is bounded, because the page repeats
// the name often.
const maxHostBytes = 253 + len(":65535")

// Own returns the address of the listener that got a request, with the host that the client named. It begins with https, except
// for a request from this machine.
func Own(r *http.Request) string {
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

// Covers reports whether a path belongs to the handler.
func Covers(path string) bool {
	return path == Path || strings.HasPrefix(path, Path+"/")
}

// protect sets the browser security headers of every response.
func protect(h http.Header) {
	h.Set("Content-Security-Policy", closed)
	h.Set("X-Frame-Options", "DENY")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
}

// A client can name any host, and making and compressing a file for it takes twenty times as long as serving it. So a file
// keeps versions for maxAddresses addresses. A version for another address is made only once the newest is makeAfter old; until
// then the request gets the file with the example's address.
const (
	maxAddresses = 8
	makeAfter    = time.Second
)

// file is a text that is served as it is or compressed.
type file struct {
	kind, policy string
	address      func(*http.Request) string
	example      *version

	mu     sync.Mutex
	ready  map[string]*version // by address of the service
	newest time.Time           // when the newest version was made
}

// version is a file with one address of the service.
type version struct {
	tag, plain string
	// packed compresses the text at its first use, because most processes never serve it.
	packed func() []byte
}

func newFile(kind, policy, text string, address func(*http.Request) string) *file {
	return &file{kind: kind, policy: policy, address: address, example: newVersion(text), ready: map[string]*version{}}
}

func newVersion(text string) *version {
	sum := sha256.Sum256([]byte(text))
	return &version{hex.EncodeToString(sum[:8]), text, sync.OnceValue(func() []byte {
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		// The error is always nil: a buffer cannot fail.
		_, _ = w.Write([]byte(text))
		_ = w.Close()
		return packed.Bytes()
	})}
}

// version returns the file with an address; for "" it keeps the example's.
func (f *file) version(address string) *version {
	if address == "" {
		return f.example
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if v, ok := f.ready[address]; ok {
		return v
	}
	if len(f.ready) >= maxAddresses {
		if time.Since(f.newest) < makeAfter {
			return f.example
		}
		clear(f.ready)
	}
	v := newVersion(strings.ReplaceAll(f.example.plain, docs.Address, address))
	f.ready[address], f.newest = v, time.Now()
	return v
}

// acceptsGzip reports whether a client names gzip among the encodings that it accepts.
func acceptsGzip(h http.Header) bool {
	for one := range strings.SplitSeq(strings.Join(h["Accept-Encoding"], ","), ",") {
		coding, weight, _ := strings.Cut(strings.ReplaceAll(one, " ", ""), ";")
		if strings.EqualFold(coding, "gzip") {
			return strings.Trim(weight, "q=.0") != "" || weight == ""
		}
	}
	return false
}

// ServeHTTP answers with the file, or with 304 if the client has this version.
func (f *file) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v, h := f.version(f.address(r)), w.Header()
	h.Set("Content-Type", f.kind)
	h.Set("Content-Security-Policy", f.policy)
	h.Set("Vary", "Accept-Encoding")
	// Browsers may cache the file but must revalidate it, because the next release has another.
	h.Set("Cache-Control", "no-cache")
	if !acceptsGzip(r.Header) {
		h.Set("ETag", `"`+v.tag+`"`)
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(v.plain))
		return
	}
	// A different representation needs a different tag (RFC 9110, section 8.8.3.3).
	h.Set("ETag", `"`+v.tag+`-gzip"`)
	h.Set("Content-Encoding", "gzip")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(v.packed()))
}
