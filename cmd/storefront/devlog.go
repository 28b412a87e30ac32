package main

import (
	"context"
	"log/slog"
	"net/http"
)

// devLog lowers info lines to debug, because they report requests of commands and open pages and would hide the events that dev
// prints; except those that isForPerson names.
type devLog struct{ slog.Handler }

func (h devLog) Handle(ctx context.Context, line slog.Record) error {
	if line.Level == slog.LevelInfo && !isForPerson(line) {
		line.Level = slog.LevelDebug
		if !h.Enabled(ctx, line.Level) {
			return nil
		}
	}
	return h.Handler.Handle(ctx, line)
}

func (h devLog) WithAttrs(attrs []slog.Attr) slog.Handler { return devLog{h.Handler.WithAttrs(attrs)} }

func (h devLog) WithGroup(name string) slog.Handler { return devLog{h.Handler.WithGroup(name)} }

// isForPerson is true for a request of the API, an attempt, a refused request or a form of the dashboard.
func isForPerson(line slog.Record) (keep bool) {
	switch line.Message {
	case "request", "attempt":
		return true
	case "admin request", "dashboard request":
		line.Attrs(func(a slog.Attr) bool {
			switch a.Key {
			case "code": // only a refused request has a code
				keep = true
			case "status":
				keep = keep || a.Value.Kind() == slog.KindInt64 && a.Value.Int64() >= http.StatusBadRequest
			case "method": // only forms of the dashboard are sent with POST
				keep = keep || a.Value.String() == http.MethodPost
			}
			return !keep
		})
	}
	return keep
}
