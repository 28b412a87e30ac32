package db

import (
	"maps"
	"slices"
	"strings"
)

// Libpq is how libpq, with which pg_dump and psql read a URL, reads a PostgreSQL URL otherwise than this package does.
type Libpq struct {
	// RawAt reports an @ in the user or the password that is not percent-encoded: libpq takes the first @ for the end of the
	// password, and net/url the last one.
	RawAt bool
	// Parameters are settings of the server in the query, sorted. libpq refuses each name that is not a parameter of its own.
	Parameters []string
}

// ReadByLibpq compares how libpq reads a PostgreSQL URL. Of anything else it returns the zero value.
func ReadByLibpq(text string) Libpq {
	scheme, rest, _ := strings.Cut(text, "://")
	if scheme != "postgres" && scheme != "postgresql" {
		return Libpq{}
	}
	authority := rest
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		authority = rest[:end]
	}
	cfg, err := postgresConfig(text)
	if err != nil {
		return Libpq{}
	}
	delete(cfg.Runtime, "timezone") // which postgresConfig sets
	return Libpq{RawAt: strings.Count(authority, "@") > 1, Parameters: slices.Sorted(maps.Keys(cfg.Runtime))}
}
