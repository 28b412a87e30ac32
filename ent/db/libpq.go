package db

import (
	"maps"
	"slices"
	"strings"
)

// Libpq lists how libpq, which pg_dump and psql use, would read a PostgreSQL URL differently than this package.
type Libpq struct {
	// RawAt is true if user or password contain an @ that is not percent-encoded: libpq ends the password at the first @,
	// net/url at the last.
	RawAt bool
	// Parameters are server settings in the query, sorted. libpq rejects names that are not its own parameters.
	Parameters []string
}

// ReadByLibpq returns how libpq would read a PostgreSQL URL differently. It returns the zero value if there is no difference, and
// for any other text.
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
	delete(cfg.Runtime, "timezone") // this setting is not from the URL; postgresConfig adds it
	return Libpq{RawAt: strings.Count(authority, "@") > 1, Parameters: slices.Sorted(maps.Keys(cfg.Runtime))}
}
