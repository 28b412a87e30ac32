package server

import (
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"go.storefront.example/server/docs"
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
// connection and grant no room for any: each takes some 50 kB. crowdedTime is how long each part of a further one may wait.
const (
	maxReaders  = 128
	crowdedTime = 100 * time.Millisecond
)

// withDocs puts the reference, under a guard of its own, beside what a listener serves.
func withDocs(guarded func(http.Handler) guard, rest route.Lister) http.Handler {
	pages := docs.New(docs.Own)
	usual, other := guarded(pages), rest.(http.Handler)
	crowded := usual
	crowded.reading = crowdedTime
	var readers atomic.Int64
	return route.List(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !docs.Covers(r.URL.Path):
			other.ServeHTTP(w, r)
		case r.ProtoMajor == 1:
			usual.ServeHTTP(w, r)
		default:
			defer readers.Add(-1)
			under := usual
			if readers.Add(1) > maxReaders {
				under = crowded
			}
			under.ServeHTTP(w, r)
			_ = http.NewResponseController(w).Flush() // the answer counts until its last part is sent
		}
	}), append(rest.Patterns(), pages.(route.Lister).Patterns()...))
}
