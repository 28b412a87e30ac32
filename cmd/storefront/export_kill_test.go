package main

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/db/dbtest/need"
	"go.storefront.example/ent/hook"
)

// When the command is run again, the result is the same as without the interruption.
func TestAnExportAndItsImportAreStoppedAnywhere(t *testing.T) {
	t.Parallel()
	need.Heavy(t, "it kills exports and imports")
	for _, database := range dbtest.Databases() {
		t.Run(database, func(t *testing.T) {
			t.Parallel()
			source, target := dbtest.URL(t, database), dbtest.URL(t, database)
			require.NoError(t, makeDemo(t.Context(), source))
			from := installation{t, map[string]string{"STOREFRONT_DATABASE_URL": source}}
			to := installation{t, map[string]string{"STOREFRONT_DATABASE_URL": target}}
			d, err := hook.Open(t.Context(), db.Config{URL: target, MaxConns: 2})
			require.NoError(t, err)
			defer func() { require.NoError(t, d.Close()) }()
			folder := filepath.Join(t.TempDir(), "export")

			// stop sends the signal a moment after begun() is true, and returns true if the command has succeeded nevertheless.
			stop := func(i installation, signal os.Signal, begun func() bool, args ...string) bool {
				t.Helper()
				c := i.command("storefront", args...)
				var said bytes.Buffer
				c.Stderr = &said
				require.NoError(t, c.Start())
				ended := make(chan error, 1)
				go func() { ended <- c.Wait() }()
				require.Eventually(t, func() bool { return begun() || len(ended) > 0 }, time.Minute, time.Millisecond)
				time.Sleep(rand.N(60 * time.Millisecond))
				_ = c.Process.Signal(signal)
				select {
				case err := <-ended:
					if signal == os.Interrupt && err != nil {
						require.True(t, c.ProcessState.Exited(), "it ends by itself")
						require.Regexp(t, "run it again|a new run begins anew", said.String())
					}
					return err == nil
				case <-time.After(time.Minute):
					require.FailNow(t, "it does not end")
					return false
				}
			}
			signals := []os.Signal{os.Kill, os.Interrupt, os.Kill, os.Interrupt}
			if runtime.GOOS == "windows" { // one process cannot interrupt another on Windows
				signals = []os.Signal{os.Kill, os.Kill}
			}
			for _, signal := range signals {
				before := namesIn(t, filepath.Dir(folder))
				done := stop(from, signal, func() bool {
					return slices.ContainsFunc(namesIn(t, filepath.Dir(folder)), func(name string) bool { return !slices.Contains(before, name) })
				}, "export", "--store", demoSlug, folder)
				require.Equal(t, done, slices.Contains(namesIn(t, filepath.Dir(folder)), "export"), "whole or not there")
				require.NoError(t, os.RemoveAll(folder))
			}
			from.run(nil, "export", "--store", demoSlug, folder)
			require.Equal(t, []string{"export"}, namesIn(t, filepath.Dir(folder)), "nothing is left of those before")

			rows := func() (sum int) {
				for _, table := range []string{"products", "customers", "order_items", "events", "activity_entries"} {
					sum += dbtest.Count(t, d, table)
				}
				return sum
			}
			for _, signal := range signals {
				before := rows()
				stop(to, signal, func() bool { return rows() > before }, "import", "--store", demoSlug, "--create", folder)
			}
			to.run(nil, "import", "--store", demoSlug, "--create", folder)
			require.Equal(t, newReader(t, source, demoSlug).all(), newReader(t, target, demoSlug).all())
		})
	}
}
