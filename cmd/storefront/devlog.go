package main

import (
	"context"
	"log/slog"
	"net/http"
)

// devLog lowers lines of level info to debug, unless they report a person's action or a refusal: a request of the API, a form
// of the dashboard, a failed delivery, any refusal. Otherwise the requests of commands and open dashboard pages would hide the
// events that dev prints.
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

// isForPerson reports whether a line of level info keeps its level.
func isForPerson(line slog.Record) (is bool) {
	switch line.Message {
	case "request", "attempt":
		return true
	case "admin request", "dashboard request":
		line.Attrs(func(a slog.Attr) bool {
			switch a.Key {
			case "code": // a refusal has it
				is = true
			case "status":
				is = is || a.Value.Kind() == slog.KindInt64 && a.Value.Int64() >= http.StatusBadRequest
			case "method": // a form of the dashboard has it
				is = is || a.Value.String() == http.MethodPost
			}
			return !is
		})
	}
	return is
}
