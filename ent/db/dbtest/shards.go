package dbtest

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/shard"
)

// Shards simulates a database that is distributed by store: each distributed table is two partitions by the hash of the store,
// in a separate schema. So unique indexes must contain the store, as on Citus. The tables are empty, because statements are
// only planned on them.
type Shards struct {
	t    testing.TB
	conn *sql.Conn
}

// NewShards fails the test if a unique index does not contain the store.
func NewShards(t testing.TB, d *db.DB) *Shards {
	t.Helper()
	conn, err := d.Writer().Conn(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	shards := &Shards{t, conn}
	shards.exec("CREATE SCHEMA shards")
	for _, table := range shard.Tables() {
		shards.exec(fmt.Sprintf("CREATE TABLE shards.%[1]s (LIKE public.%[1]s INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING "+
			"INDEXES) PARTITION BY HASH (store_id)", table))
		for n := range 2 {
			shards.exec(fmt.Sprintf("CREATE TABLE shards.%[1]s_shard%[2]d PARTITION OF shards.%[1]s FOR VALUES WITH (MODULUS 2, "+
				"REMAINDER %[2]d)", table, n))
		}
	}
	// Plan without the values of parameters, so that the plan is the same for every store.
	shards.exec("SET search_path = shards, public; SET plan_cache_mode = force_generic_plan")
	return shards
}

func (s *Shards) exec(statement string) {
	s.t.Helper()
	_, err := s.conn.ExecContext(s.t.Context(), statement)
	require.NoError(s.t, err, statement)
}

var shardName = regexp.MustCompile(`_shard\d$`)

// CrossStoreTables returns the distributed tables, sorted, that a statement does not restrict to one store.
func (s *Shards) CrossStoreTables(statement string) []string {
	s.t.Helper()
	ctx := context.Background()
	s.exec("PREPARE recorded AS " + statement)
	defer s.exec("DEALLOCATE recorded")
	var parameters int
	require.NoError(s.t, s.conn.QueryRowContext(ctx,
		"SELECT cardinality(parameter_types) FROM pg_prepared_statements WHERE name = 'recorded'").Scan(&parameters))
	call := "recorded"
	if parameters > 0 {
		call += "(NULL" + strings.Repeat(", NULL", parameters-1) + ")"
	}
	var text []byte
	require.NoError(s.t, s.conn.QueryRowContext(ctx, "EXPLAIN (FORMAT JSON, COSTS OFF) EXECUTE "+call).Scan(&text), statement)
	var plans []struct{ Plan plan }
	require.NoError(s.t, json.Unmarshal(text, &plans))
	var crossed []string
	for _, p := range plans {
		crossed = p.Plan.shards(crossed)
	}
	slices.Sort(crossed)
	return slices.Compact(crossed)
}

type plan struct {
	Type     string `json:"Node Type"`
	Relation string `json:"Relation Name"`
	Plans    []plan `json:"Plans"`
}

// shards adds the tables whose shards the plan reads to found.
func (p plan) shards(found []string) []string {
	if strings.HasSuffix(p.Type, "Scan") && shardName.MatchString(p.Relation) {
		found = append(found, shardName.ReplaceAllString(p.Relation, ""))
	}
	for _, child := range p.Plans {
		found = child.shards(found)
	}
	return found
}
