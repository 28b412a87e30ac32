package server

import (
	"net/http"

	"go.storefront.example/server/docs"
	"go.storefront.example/server/route"
)

// docsMounts is the reference of the public API.
func docsMounts() []mount {
	pages := docs.New()
	return []mount{{docs.Path, pages}, {docs.Path + "/", pages}}
}

// withDocs puts the reference, under a guard of its own, beside what a listener serves.
func withDocs(guarded func(http.Handler) http.Handler, rest route.Lister) http.Handler {
	pages := docs.New()
	under, other := guarded(pages), rest.(http.Handler)
	return route.List(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if docs.Covers(r.URL.Path) {
			under.ServeHTTP(w, r)
			return
		}
		other.ServeHTTP(w, r)
	}), append(rest.Patterns(), pages.(route.Lister).Patterns()...))
}
