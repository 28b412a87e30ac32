package main

import (
	"context"
	"log/slog"
	"net/http"
)

// devLog lowers lines of the level info to debug, unless they report what a person did or got, or a refusal: a request of
// the API, a form of the dashboard, a failed delivery, whatever was refused. The others would stand between the events that
// dev prints, because each command and each open page of the dashboard makes requests of its own.
type devLog struct{ slog.Handler }

// Handle writes a line, at its level or at debug.
func (h devLog) Handle(ctx context.Context, line slog.Record) error {
	if line.Level == slog.LevelInfo && !isForPerson(line) {
		line.Level = slog.LevelDebug
		if !h.Enabled(ctx, line.Level) {
			return nil
		}
	}
	return h.Handler.Handle(ctx, line)
}

// WithAttrs returns a handler that lowers the same lines.
func (h devLog) WithAttrs(attrs []slog.Attr) slog.Handler { return devLog{h.Handler.WithAttrs(attrs)} }

// WithGroup returns a handler that lowers the same lines.
func (h devLog) WithGroup(name string) slog.Handler { return devLog{h.Handler.WithGroup(name)} }

// isForPerson reports whether a line of the level info stays at it.
func isForPerson(line slog.Record) (is bool) {
	switch line.Message {
	case "request", "attempt":
		return true
	case "admin request", "dashboard request":
		line.Attrs(func(a slog.Attr) bool {
			switch a.Key {
			case "code": // of a refusal
				is = true
			case "status":
				is = is || a.Value.Kind() == slog.KindInt64 && a.Value.Int64() >= http.StatusBadRequest
			case "method": // of a form
				is = is || a.Value.String() == http.MethodPost
			}
			return !is
		})
	}
	return is
}
