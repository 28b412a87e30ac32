package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db/dbtest"
)

// Every GET under /v1 answers at the new place as it did at the old one, which takes no change any more. Each place has a
// secret key of its own.
func TestAMovedStoreAnswersEveryGETAsBefore(t *testing.T) {
	t.Parallel()
	for _, way := range [][2]string{{dbtest.SQLite, dbtest.Postgres}, {dbtest.Postgres, dbtest.SQLite}} {
		t.Run(way[0]+" to "+way[1], func(t *testing.T) {
			t.Parallel()
			newKey := func() string {
				key, _ := command(t, 0, "secret", "generate")
				return strings.TrimSpace(key)
			}
			source, target, key := dbtest.URL(t, way[0]), dbtest.URL(t, way[1]), newKey()
			dinars(t, source)
			command(t, 0, "webhook", "create", "--store", "souk", "--database-url", source, "--secret-key", key,
				"--url", "https://souk.example.com/hook")
			webhooks, _ := command(t, 0, "webhook", "list", "--store", "souk", "--database-url", source, "-o", "json")
			want := newReader(t, source, "souk").all()
			remote := startServer(t, "--database-url", target, "--admin-token", remoteToken, "--secret-key", newKey())
			move := []string{"store", "move", "souk", "--database-url", source}

			_, errs := command(t, 2, append(move, "--secret-key", key, "--yes")...)
			require.Contains(t, errs, "say where the store moves to")
			_, errs = command(t, 1, append(move, "--to", remote, "--to-admin-token", remoteToken, "--yes", "--secret-key", newKey())...)
			require.Contains(t, errs, "run it again to go on")
			out, _ := command(t, 0, append(move, "--status")...)
			require.Contains(t, out, "is being copied, and sells")
			out, _ = command(t, 0, append(move, "--to", remote, "--to-admin-token", remoteToken, "--yes", "--secret-key", key)...)
			require.Contains(t, out, "souk answers at "+remote)

			require.Equal(t, want, newReader(t, target, "souk").all())
			there, _ := command(t, 0, "webhook", "list", "--store", "souk", "--database-url", target, "-o", "json")
			require.Equal(t, webhooks, there)
			out, _ = command(t, 0, append(move, "--status")...)
			require.Contains(t, out, "has moved")
			_, errs = command(t, 1, "customer", "create", "--store", "souk", "--database-url", source, "--email", "b@example.com")
			require.Contains(t, errs, "mov")
		})
	}
}
