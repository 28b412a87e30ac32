package db

import (
	"testing"
	"time"

	"github.com/lib/pq"
	"github.com/stretchr/testify/require"
)

func TestSeveralHostsInEitherForm(t *testing.T) {
	t.Parallel()
	type host struct {
		name string
		port uint16
	}
	for url, want := range map[string][]host{
		"postgres://u:p%40ss@a:5433,b:5434/db?sslmode=disable":                         {{"a", 5433}, {"b", 5434}},
		"postgresql://u:p%40ss@a,b:5434/db":                                            {{"a", 5432}, {"b", 5434}},
		"postgres://u:p%40ss@a:5433,b/db":                                              {{"a", 5433}, {"b", 5432}},
		"postgres://u:p%40ss@a,b/db":                                                   {{"a", 5432}, {"b", 5432}},
		"postgres://u:p%40ss@a,b/db?port=6000":                                         {{"a", 6000}, {"b", 6000}},
		"postgres://u:p%40ss@[::1]:5433,[2001:db8::2]:5434,c/db":                       {{"::1", 5433}, {"2001:db8::2", 5434}, {"c", 5432}},
		"postgres://u:p%40ss@[::1],[2001:db8::2]/db":                                   {{"::1", 5432}, {"2001:db8::2", 5432}},
		"postgres://u:p%40ss@/db?host=a,b&port=5433,5434":                              {{"a", 5433}, {"b", 5434}},
		"postgres://u:p%40ss@/db?host=a,b&port=5433,5434&target_session_attrs=primary": {{"a", 5433}, {"b", 5434}},
		"postgres://u:p%40ss@%2Fvar%2Frun%2Fpostgresql/db":                             {{"/var/run/postgresql", 5432}},
		"postgres://u:p%40ss@%2Fvar%2Frun:5433,b:5434/db":                              {{"/var/run", 5433}, {"b", 5434}},
		"postgres://u:p%40ss@[::1]:5433/db":                                            {{"::1", 5433}},
		"postgres://u:p%40ss@a:5433/db":                                                {{"a", 5433}},
		"postgres://u:p%40ss@a/db":                                                     {{"a", 5432}},
	} {
		t.Run(url, func(t *testing.T) {
			t.Parallel()
			cfg, err := postgresConfig(url)
			require.NoError(t, err)
			got := []host{{cfg.Host, cfg.Port}}
			for _, m := range cfg.Multi {
				got = append(got, host{m.Host, m.Port})
			}
			require.Equal(t, want, got)
			require.Equal(t, []string{"u", "p@ss", "db"}, []string{cfg.User, cfg.Password, cfg.Database})
			listener, err := pq.NewConfig(listenerURL(spreadHosts(url)))
			require.NoError(t, err)
			require.Equal(t, []any{cfg.Host, cfg.Port, cfg.Multi, cfg.User, cfg.Password, cfg.Database, cfg.TargetSessionAttrs, cfg.ConnectTimeout},
				[]any{listener.Host, listener.Port, listener.Multi, listener.User, listener.Password, listener.Database, listener.TargetSessionAttrs, listener.ConnectTimeout},
				"notifications come from the same server")
		})
	}
}

func TestOneOfSeveralHostsIsTheOneThatCanBeWritten(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]pq.TargetSessionAttrs{
		"postgres://u@a/db":   pq.TargetSessionAttrs(""),
		"postgres://u@a,b/db": pq.TargetSessionAttrsReadWrite,
		"postgres://u@a,b/db?target_session_attrs=primary": pq.TargetSessionAttrsPrimary,
		"postgres://u@a,b/db?target_session_attrs=any":     pq.TargetSessionAttrsAny,
	} {
		cfg, err := postgresConfig(url)
		require.NoError(t, err)
		require.Equal(t, want, cfg.TargetSessionAttrs, url)
	}
	cfg, err := postgresConfig("postgres://u@a,b/db")
	require.NoError(t, err)
	require.Equal(t, 3*time.Second, cfg.ConnectTimeout, "a host that has vanished delays the others no longer")
	cfg, err = postgresConfig("postgres://u@a,b/db?connect_timeout=7")
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
	for _, seed := range []string{"u@a:1,b:2/db", "u:p@[::1]:1,[::2]/db?x=y#z", "a,b", "@,@", "%2Ftmp:1,", ",", "[", "a:b:c,d"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, rest string) {
		_, _ = postgresConfig("postgres://" + rest)
		_ = listenerURL(spreadHosts("postgres://" + rest))
	})
}
