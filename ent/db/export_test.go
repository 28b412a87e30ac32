package db

import (
	"context"
	"database/sql"
	"log/slog"
	"time"
)

// Unkept returns the configuration with the keeping of prepared statements turned off.
func (c Config) Unkept() Config {
	c.unkept = true
	return c
}

// WatchForTest is what WatchClock does with each look.
func WatchForTest(log *slog.Logger) func(context.Context, ClockReading, time.Time) {
	return (&clockWatch{log: log}).see
}

// Migrator is the pool for changes of the schema and of the days.
func (s *DB) Migrator() (*sql.DB, error) { return s.migrator() }
