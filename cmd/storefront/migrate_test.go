package main

import (
	"bytes"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/db/dbtest/need"
	"go.storefront.example/ent/hook"
)

// The migration of a large table takes long.
func TestEachMigrationIsToldWhenItBegins(t *testing.T) {
	t.Parallel()
	d := database{DatabaseURL: "sqlite:" + filepath.Join(t.TempDir(), "a.db")}
	var told, expected []string
	tell := func(what string) func(db.Migration) {
		return func(m db.Migration) { told = append(told, fmt.Sprint(what, " ", m.Version, " ", m.Name)) }
	}
	require.NoError(t, migrate(t.Context(), d, watcher{begin: tell("begins"), applied: tell("is applied")}))
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
	require.NoError(t, migrate(t.Context(), d, watcher{begin: tell("begins"), applied: tell("is applied")}))
	require.Empty(t, told)
}

// PostgreSQL completes a killed command's statement. One interrupted while it creates an index leaves an invalid one.
func TestMigrateUpThatIsStoppedGoesOn(t *testing.T) {
	t.Parallel()
	need.Heavy(t, "it stops migrations")
	for _, name := range dbtest.Databases() {
		for _, signal := range []os.Signal{os.Kill, os.Interrupt} {
			t.Run(fmt.Sprint(name, " ", signal), func(t *testing.T) {
				t.Parallel()
				if signal == os.Interrupt && runtime.GOOS == "windows" {
					t.Skip("which cannot interrupt another process")
				}
				url := dbtest.EmptyURL(t, name)
				d, err := hook.Open(t.Context(), db.Config{URL: url, MaxConns: 4})
				require.NoError(t, err)
				defer func() { require.NoError(t, d.Close()) }()
				dbtest.MigrateTo(t, d, 1)
				i := installation{t, map[string]string{"STOREFRONT_DATABASE_URL": url}}
				var said bytes.Buffer
				up := i.command("storefront", "migrate", "up")
				up.Stderr = &said
				if name == dbtest.SQLite {
					require.NoError(t, up.Start())
					time.Sleep(rand.N(60 * time.Millisecond))
					_ = up.Process.Signal(signal)
					_ = up.Wait()
				} else {
					snapshot, err := d.Writer().BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
					require.NoError(t, err)
					_, err = snapshot.Exec("SELECT 1")
					require.NoError(t, err)
					lines, stderr, err := os.Pipe()
					require.NoError(t, err)
					up.Stderr = stderr
					require.NoError(t, up.Start())
					require.NoError(t, stderr.Close())
					told := readUntil(t, lines, ", waits for a lock")
					require.Contains(t, told, "CREATE UNIQUE INDEX CONCURRENTLY")
					require.NoError(t, up.Process.Signal(signal))
					_, _ = said.ReadFrom(lines)
					require.Error(t, up.Wait())
					if signal == os.Interrupt {
						require.Contains(t, said.String(), "`storefront migrate up` goes on with it")
						require.Equal(t, 1, dbtest.Count(t, d, "pg_index WHERE NOT indisvalid"))
					}
					require.NoError(t, snapshot.Rollback())
				}
				i.run(nil, "migrate", "up")
				var left []any
				i.run(&left, "migrate", "plan")
				require.Empty(t, left)
				if name != dbtest.SQLite {
					require.Zero(t, dbtest.Count(t, d, "pg_index WHERE NOT indisvalid"))
				}
			})
		}
	}
}

func readUntil(t *testing.T, from *os.File, text string) string {
	t.Helper()
	var all []byte
	for some := make([]byte, 1024); !bytes.Contains(all, []byte(text)); {
		n, err := from.Read(some)
		require.NoError(t, err, "%s", all)
		all = append(all, some[:n]...)
	}
	return string(all)
}
