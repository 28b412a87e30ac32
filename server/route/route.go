// Package route is a multiplexer that lists its patterns, so that a test can visit every address of
// a listener, including those mounted later. It adds nothing else to http.ServeMux.
package route

import (
	"net/http"
	"slices"
	"strings"
)

// Unmatched is the route, in logs, metrics and traces, of a request without a matching pattern.
const Unmatched = "unmatched"

// Mux is an http.ServeMux that keeps its patterns. Make one with NewMux.
type Mux struct {
	*http.ServeMux
	patterns []string
}

// NewMux returns a Mux without a handler.
func NewMux() *Mux { return &Mux{ServeMux: http.NewServeMux()} }

// Handle adds a handler under a pattern of http.ServeMux. If the handler lists its own patterns,
// those replace this one in the list.
func (m *Mux) Handle(pattern string, handler http.Handler) {
	m.ServeMux.Handle(pattern, handler)
	if listed, ok := handler.(Lister); ok {
		m.patterns = append(m.patterns, listed.Patterns()...)
		return
	}
	m.patterns = append(m.patterns, pattern)
}

// HandleFunc is Handle for a function.
func (m *Mux) HandleFunc(pattern string, handler func(http.ResponseWriter, *http.Request)) {
	m.Handle(pattern, http.HandlerFunc(handler))
}

// Patterns lists what was added, sorted, each once.
func (m *Mux) Patterns() []string {
	slices.Sort(m.patterns)
	return slices.Compact(m.patterns)
}

// Lister is a handler that lists the patterns it serves.
type Lister interface{ Patterns() []string }

// List gives a handler patterns to list.
func List(handler http.Handler, patterns []string) http.Handler { return listed{handler, patterns} }

type listed struct {
	http.Handler
	patterns []string
}

func (l listed) Patterns() []string { return l.patterns }

// Of is the route of a request that a multiplexer has seen: the pattern's path, else Unmatched.
func Of(r *http.Request) string {
	_, path, ok := strings.Cut(r.Pattern, " ")
	switch {
	case ok:
		return path
	case r.Pattern == "":
		return Unmatched
	}
	return r.Pattern
}
