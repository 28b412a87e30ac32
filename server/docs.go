package server

import (
	"net"
	"net/http"

	"go.storefront.example/server/docs"
)

// docsMounts is the reference of the public API on the operator's listener.
func (s *Server) docsMounts() []mount {
	pages := docs.New(s.config.ownAddress(s.publicAddress))
	return []mount{{docs.Path, pages}, {docs.Path + "/", pages}}
}

// ownAddress is the API's public address where it is set, else how a request tells it.
func (c Config) ownAddress(of func(*http.Request) string) func(*http.Request) string {
	if c.APIURL == "" {
		return of
	}
	return func(*http.Request) string { return c.APIURL }
}

// publicAddress is the address of the public listener on this machine; "" if it is for others too, who reach it
// by a name that this process does not have.
func (s *Server) publicAddress(*http.Request) string {
	if at, ok := s.Addr().(*net.TCPAddr); ok && at.IP.IsLoopback() {
		return "http://" + at.String()
	}
	return ""
}

// withDocs puts the reference beside what a listener serves.
func withDocs(own func(*http.Request) string, api http.Handler) http.Handler {
	pages := docs.New(own)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if docs.Covers(r.URL.Path) {
			pages.ServeHTTP(w, r)
			return
		}
		api.ServeHTTP(w, r)
	})
}
