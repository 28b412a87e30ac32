package main

import (
	"context"
	"io"
	"log/slog"
)

// newLogger writes structured logs: format is json or text, level debug, info, warn or error.
func newLogger(w io.Writer, format, level string) (*slog.Logger, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return nil, usage("--log-level: %w", err)
	}
	options := &slog.HandlerOptions{Level: l}
	if format == "json" {
		return slog.New(slog.NewJSONHandler(w, options)), nil
	}
	return slog.New(slog.NewTextHandler(w, options)), nil
}

// unsent logs what keeps spans from being sent.
func unsent(logger *slog.Logger) func(error) {
	return func(err error) { logger.WarnContext(context.Background(), "traces are not sent", "error", err) }
}
