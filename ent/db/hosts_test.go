package db_test

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/hook"
)

func TestAHostThatDoesNotAnswerIsPassedOver(t *testing.T) {
	t.Parallel()
	u, err := url.Parse(dbtest.URL(t, dbtest.Postgres))
	require.NoError(t, err)
	answers := u.Host
	u.Host = "[::1]:1," + answers
	text := u.String()
	d, err := hook.Open(t.Context(), db.Config{URL: text, MaxConns: 2})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	require.NoError(t, d.Reader().PingContext(t.Context()))
	hosts := db.Hosts(t.Context(), text)
	require.Len(t, hosts, 2)
	require.Equal(t, "[::1]:1", hosts[0].Address)
	require.Error(t, hosts[0].Err)
	require.Equal(t, db.Host{Address: answers, Primary: true}, hosts[1])
}
