package server

import (
	"net/http"

	"go.storefront.example/server/docs"
)

// docsMounts is the reference of the public API.
func docsMounts() []mount {
	pages := docs.New()
	return []mount{{docs.Path, pages}, {docs.Path + "/", pages}}
}

// withDocs puts the reference beside what a listener serves.
func withDocs(rest http.Handler) http.Handler {
	pages := docs.New()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if docs.Covers(r.URL.Path) {
			pages.ServeHTTP(w, r)
			return
		}
		rest.ServeHTTP(w, r)
	})
}
