package main

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/hook"
)

// A migration of a large table takes long, so that what begins is told and not only what has ended.
func TestEachMigrationIsToldWhenItBegins(t *testing.T) {
	t.Parallel()
	d := database{DatabaseURL: "sqlite:" + filepath.Join(t.TempDir(), "a.db")}
	var told, expected []string
	tell := func(what string) func(db.Migration) {
		return func(m db.Migration) { told = append(told, fmt.Sprint(what, " ", m.Version, " ", m.Name)) }
	}
	require.NoError(t, migrate(t.Context(), d, tell("begins"), tell("is applied")))
	handle, err := hook.Open(t.Context(), db.Config{URL: d.DatabaseURL})
	require.NoError(t, err)
	steps, err := handle.Migrations(t.Context())
	require.NoError(t, err)
	require.NoError(t, handle.Close())
	for _, m := range steps {
		expected = append(expected, fmt.Sprint("begins ", m.Version, " ", m.Name), fmt.Sprint("is applied ", m.Version, " ", m.Name))
	}
	require.Equal(t, expected, told)
	told = nil
	require.NoError(t, migrate(t.Context(), d, tell("begins"), tell("is applied")))
	require.Empty(t, told)
}
