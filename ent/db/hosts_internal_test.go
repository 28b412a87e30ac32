package db

import (
	"testing"
	"time"

	"github.com/lib/pq"
	"github.com/stretchr/testify/require"
)

func TestNotificationsComeFromTheSameServer(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"postgres://u:p%40ss@/db?host=a,b&port=5433,5434", "postgres://u:p%40ss@/db?host=/var/run/postgresql",
		"postgres://u:p%40ss@/db?host=a,b&target_session_attrs=primary", "postgres://u:p%40ss@[::1]:5433/db",
	} {
		cfg, err := postgresConfig(url)
		require.NoError(t, err)
		listener, err := pq.NewConfig(listenerURL(url, cfg))
		require.NoError(t, err)
		require.Equal(t, []any{cfg.Host, cfg.Port, cfg.Multi, cfg.User, cfg.Password, cfg.Database, cfg.TargetSessionAttrs,
			cfg.ConnectTimeout},
			[]any{listener.Host, listener.Port, listener.Multi, listener.User, listener.Password, listener.Database,
				listener.TargetSessionAttrs, listener.ConnectTimeout}, url)
	}
}

func TestOneOfSeveralHostsIsTheOneThatCanBeWritten(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]pq.TargetSessionAttrs{
		"postgres://u@a/db":                                      pq.TargetSessionAttrs(""),
		"postgres://u@/db?host=a,b":                              pq.TargetSessionAttrsReadWrite,
		"postgres://u@/db?host=a,b&target_session_attrs=primary": pq.TargetSessionAttrsPrimary,
		"postgres://u@/db?host=a,b&target_session_attrs=any":     pq.TargetSessionAttrsAny,
	} {
		cfg, err := postgresConfig(url)
		require.NoError(t, err)
		require.Equal(t, want, cfg.TargetSessionAttrs, url)
	}
	cfg, err := postgresConfig("postgres://u@/db?host=a,b")
	require.NoError(t, err)
	require.Equal(t, 3*time.Second, cfg.ConnectTimeout, "a host that has vanished delays the others no longer")
	cfg, err = postgresConfig("postgres://u@/db?host=a,b&connect_timeout=7")
	require.NoError(t, err)
	require.Equal(t, 7*time.Second, cfg.ConnectTimeout)
}

func TestSeveralHostsThatAreWrongShowNoPassword(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"postgres://u:hunter2@a:5433,b:x/db", "postgres://u:hun/ter2@a,b/db", "postgres://u:hunter2@a:1,b:2,c/db?port=1,2&sslmode=what",
		"postgres://u:hunter2@[::1,b/db?sslmode=what", "postgres://u:hun%zzter2@a,b/db",
	} {
		_, err := postgresConfig(url)
		require.ErrorIs(t, err, ErrURL, url)
		require.NotContains(t, err.Error(), "hun", url)
		require.NotContains(t, err.Error(), "ter2", url)
	}
}

func FuzzSeveralHostsEndInAnErrorOrAConfig(f *testing.F) {
	for _, seed := range []string{"u@/db?host=a,b&port=1,2", "u:p@[::1]:1/db?x=y#z", "a,b", "@,@", "%2Ftmp:1,", ",", "[",
		"a:b:c,d"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, rest string) {
		url := "postgres://" + rest
		if cfg, err := postgresConfig(url); err == nil {
			_ = listenerURL(url, cfg)
		}
	})
}
