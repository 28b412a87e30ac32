package server

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
)

// Only the reference, the same for everybody, and the dashboard's own files may be cached, whatever the protocol and the
// status.
func TestNoCacheKeepsAnswers(t *testing.T) {
	t.Parallel()
	s, err := New(Config{Addr: "127.0.0.1:0", AdminAddr: "127.0.0.1:0", AdminToken: strings.Repeat("t", 32), PublicDocs: true,
		DB: dbtest.New(t, dbtest.SQLite, db.Config{}), Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.public.Close()); require.NoError(t, s.admin.Close()) })
	answer := func(h http.Handler, method, path, contentType string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, path, strings.NewReader("{}"))
		r.Header.Set("Content-Type", contentType)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	paths := []string{"/v1", "/v1/nothing", "/nothing"}
	for _, pattern := range s.edge.Patterns() {
		_, path, _ := strings.Cut(pattern, " ")
		paths = append(paths, strings.ReplaceAll(path, "{id}", "0199a1f0-6b7e-7d20-8f41-3c9a5e7b1d02"))
	}
	for _, path := range paths {
		for _, method := range []string{"GET", "HEAD", "POST", "PATCH", "DELETE", "OPTIONS"} {
			for _, contentType := range []string{"application/json", "application/proto", "application/grpc", "application/grpc-web+proto", "text/plain"} {
				w := answer(s.publicHandler(), method, path, contentType)
				require.Equal(t, []string{"no-store"}, w.Header()["Cache-Control"], "%s %s with %s: %d", method, path, contentType, w.Code)
			}
		}
	}
	for _, m := range s.mounts() {
		_, path, hasMethod := strings.Cut(m.Pattern, " ")
		if !hasMethod {
			path = m.Pattern
		}
		path = strings.ReplaceAll(path, "{$}", "")
		if strings.HasPrefix(path, "/docs") {
			continue
		}
		for _, method := range []string{"GET", "POST"} {
			for _, below := range []string{path, strings.TrimSuffix(path, "/") + "/nothing"} {
				w := answer(s.adminHandler(), method, below, "application/json")
				require.Equal(t, []string{"no-store"}, w.Header()["Cache-Control"], "%s %s: %d", method, below, w.Code)
			}
		}
	}
	require.Equal(t, []string{"no-cache"}, answer(s.publicHandler(), "GET", "/docs", "").Header()["Cache-Control"])
}
