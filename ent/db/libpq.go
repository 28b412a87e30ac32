package db

import (
	"maps"
	"slices"
	"strings"
)

// Libpq is how libpq, which pg_dump and psql use, would read a URL differently.
type Libpq struct {
	// RawAt is true if user or password contain an unencoded @: libpq ends the password at the first, net/url at the last.
	RawAt bool
	// Parameters are server settings in the query, sorted. libpq rejects names that are not its own.
	Parameters []string
}

// ReadByLibpq returns the zero value if there is no difference.
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
	delete(cfg.Runtime, "timezone") // postgresConfig adds it, not the URL
	return Libpq{RawAt: strings.Count(authority, "@") > 1, Parameters: slices.Sorted(maps.Keys(cfg.Runtime))}
}
