package resource

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/tenant"
)

// hasNoTrigram agrees with pg_trgm in PostgreSQL 15 about the texts that have no trigram. The expected results were seen in
// index scans with patterns of these texts.
func TestHasNoTrigram(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"": true, "ab": true, "...": true, "a..": true, "a.": true, "é..": true, "12": true,
		"abc": false, "ééé": false, "ab.": false, ".ab": false, "a.b": false, ".a": false, "_a": false, ".1.": false, "+2 3": false,
		"12.": false,
	} {
		require.Equal(t, want, hasNoTrigram(text), text)
	}
	search := func(text string) string { return customerFilter(Lists{Dialect: Postgres}, tenant.Store{}, text).where }
	require.Contains(t, search("+237"), "(search LIKE $2")
	require.Contains(t, search("+23"), "(search || '') LIKE", "the phone's digits have none")
	require.Contains(t, search("..."), "(search || '') LIKE")
}
