package server

import (
	"net"
	"net/http"
	"sync/atomic"

	"go.storefront.example/server/docs"
	"go.storefront.example/server/rest"
	"go.storefront.example/server/route"
)

// docsMounts is the reference of the public API on the operator's listener.
func (s *Server) docsMounts() []mount {
	pages := docs.New(s.publicAddress)
	return []mount{{docs.Path, pages}, {docs.Path + "/", pages}}
}

// publicAddress is the address of the public listener on this machine; "" if it is for others too, who reach it
// by a name that this process does not have.
func (s *Server) publicAddress(*http.Request) string {
	if at, ok := s.Addr().(*net.TCPAddr); ok && at.IP.IsLoopback() {
		return "http://" + at.String()
	}
	return ""
}

// maxReaders is how many answers of the reference may wait for their readers on HTTP/2, where anyone can ask for 128 on one
// connection and grant no room for any: each takes some 50 kB. Each part of a further one may wait for rest.CrowdedTime.
const maxReaders = 128

// withDocs puts the reference, under a guard of its own, beside what a listener serves.
func withDocs(guarded func(http.Handler) guard, api route.Lister) http.Handler {
	pages := docs.New(docs.Own)
	usual, other := guarded(pages), api.(http.Handler)
	crowded := usual
	crowded.reading = rest.CrowdedTime
	var readers atomic.Int64
	return route.List(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !docs.Covers(r.URL.Path):
			other.ServeHTTP(w, r)
		case r.ProtoMajor == 1:
			usual.ServeHTTP(w, r)
		default:
			defer readers.Add(-1)
			page := usual
			if readers.Add(1) > maxReaders {
				page = crowded
			}
			page.ServeHTTP(w, r)
			_ = http.NewResponseController(w).Flush() // the answer counts until its last part is sent
		}
	}), append(api.Patterns(), pages.(route.Lister).Patterns()...))
}
