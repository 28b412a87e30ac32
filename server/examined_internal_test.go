package server

import (
	"context"
	"log/slog"
	"strings"
	"sync"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// examined collects what a server logs, and the names of its spans.
type examined struct {
	mu     sync.Mutex
	routes map[string]bool
	spans  map[string]bool
	errors []string
}

func (e *examined) Enabled(context.Context, slog.Level) bool { return true }

func (e *examined) WithAttrs([]slog.Attr) slog.Handler { return e }

func (e *examined) WithGroup(string) slog.Handler { return e }

// Handle keeps routes and errors.
func (e *examined) Handle(_ context.Context, r slog.Record) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	line := r.Message
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "route" {
			e.routes[a.Value.String()] = true
		}
		line += " " + a.Key + "=" + a.Value.String()
		return true
	})
	if r.Level >= slog.LevelError || strings.Contains(line, marker) && r.Level > slog.LevelDebug {
		e.errors = append(e.errors, line)
	}
	return nil
}

func (e *examined) OnStart(context.Context, sdktrace.ReadWriteSpan) {}

// OnEnd keeps the names of requests' spans, and ignores those of the database.
func (e *examined) OnEnd(s sdktrace.ReadOnlySpan) {
	if s.SpanKind() != trace.SpanKindServer {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.spans[s.Name()] = true
	for _, a := range s.Attributes() {
		if a.Key == "http.route" {
			e.routes[a.Value.String()] = true
		}
	}
}

func (e *examined) Shutdown(context.Context) error { return nil }

func (e *examined) ForceFlush(context.Context) error { return nil }
