// Package docs serves the reference of the public API: one self-contained page that works without
// JavaScript, and the OpenAPI document from which it is made. Both are public, so they need no
// authentication.
//
//	server/openapi/guide.md ─┐
//	protos ─► gen/openapi ──┴─► render.mjs (Redoc) ─► gen/docs ─► here
//
// It answers only GET and HEAD, and its policy keeps the page from loading or sending anything:
// only scripts listed by hash may run. There is no form to try a call, because that would bring
// keys into a browser; the guide's snippets run in a shell.
package docs

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"sync"
	"time"

	"go.storefront.example/gen/docs"
	"go.storefront.example/gen/openapi"
	"go.storefront.example/server/compress"
	"go.storefront.example/server/route"
)

//go:generate node render.mjs ../../gen/openapi/storefront.json ../../gen/docs

// Path is the page's path; its files are below.
const Path = "/docs"

// DocumentPath is the path of the OpenAPI document.
const DocumentPath = Path + "/openapi.json"

// closed is the policy for files other than the page.
const closed = "default-src 'none'; frame-ancestors 'none'"

// New returns the handler of Path and everything below. Goroutines may share it.
func New() http.Handler {
	mux := route.NewMux()
	mux.Handle("GET "+Path, newFile("text/html; charset=utf-8", docs.Policy, docs.Page))
	mux.Handle("GET "+DocumentPath, newFile("application/json", closed, openapi.Document))
	mux.Handle("GET "+Path+"/{$}", http.RedirectHandler(Path, http.StatusMovedPermanently))
	return route.List(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		protect(w.Header())
		mux.ServeHTTP(w, r)
	}), mux.Patterns())
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

// file is a text that is served plain or compressed.
type file struct {
	kind, policy, tag string
	plain             string
	// packed compresses the file on first use: most processes never serve it.
	packed func() []byte
}

func newFile(kind, policy, text string) *file {
	sum := sha256.Sum256([]byte(text))
	return &file{kind, policy, hex.EncodeToString(sum[:8]), text, sync.OnceValue(func() []byte {
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		// A buffer cannot fail.
		_, _ = w.Write([]byte(text))
		_ = w.Close()
		return packed.Bytes()
	})}
}

// ServeHTTP answers with the file, or with 304 if the client has it already.
func (f *file) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", f.kind)
	h.Set("Content-Security-Policy", f.policy)
	h.Set("Vary", "Accept-Encoding")
	// Browsers may keep it but must revalidate: the next release has another.
	h.Set("Cache-Control", "no-cache")
	if !compress.Accepted(r.Header) {
		h.Set("ETag", `"`+f.tag+`"`)
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(f.plain))
		return
	}
	// A different representation needs a different tag (RFC 9110, section 8.8.3.3).
	h.Set("ETag", `"`+f.tag+`-gzip"`)
	h.Set("Content-Encoding", "gzip")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(f.packed()))
}
