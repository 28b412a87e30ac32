package db_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
)

func TestReadByLibpq(t *testing.T) {
	t.Parallel()
	psql, missing := exec.LookPath("psql")
	for url, want := range map[string]db.Libpq{
		"postgres://u:p@127.0.0.1:1/d?sslmode=disable":                                       {},
		"postgres://u:p%40ss@127.0.0.1:1/d":                                                  {},
		"postgresql://u:p@127.0.0.1:1,127.0.0.1:2/d?application_name=a&options=-c%20a.b%3D1": {},
		"postgres://u:p@ss@127.0.0.1:1/d":                                                    {RawAt: true},
		"postgres://u@x:p@127.0.0.1:1/d":                                                     {RawAt: true},
		"postgres://u:p@127.0.0.1:1/d?statement_timeout=5s&search_path=a":                    {Parameters: []string{"search_path", "statement_timeout"}},
	} {
		require.Equal(t, want, db.ReadByLibpq(url), url)
		if missing == nil {
			output, err := exec.CommandContext(t.Context(), psql, url, "-c", "SELECT 1").CombinedOutput()
			require.Error(t, err, "nothing listens there")
			same := !want.RawAt && want.Parameters == nil
			require.Equal(t, same, !containsAny(string(output), "could not translate host name", "invalid URI query parameter",
				"invalid integer value"), "%s: %s", url, output)
		}
	}
	require.Zero(t, db.ReadByLibpq("sqlite:a@b@c.db"))
}

func containsAny(text string, parts ...string) bool {
	for _, part := range parts {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}
