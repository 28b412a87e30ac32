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

func TestSeveralHostsInTheFormOfLibpq(t *testing.T) {
	t.Parallel()
	// user, password and name with every character that has a meaning in a URL
	escaped := "%40u%3A:p%40s%2Fs%3Fw%23%25%5B%5D%2C%27%5C+%20"
	for libpq, query := range map[string]string{
		"postgres://a:5433,b:5434/db":                               "postgres:///db?host=a,b&port=5433,5434",
		"postgresql://a:5433,b:5434/db":                             "postgresql:///db?host=a,b&port=5433,5434",
		"postgres://u@a:5433,b:5434/db?target_session_attrs=any":    "postgres://u@/db?host=a,b&port=5433,5434&target_session_attrs=any",
		"postgres://a,b/db":                                         "postgres:///db?host=a,b",
		"postgres://a,b:5434,c/db":                                  "postgres:///db?host=a,b,c&port=5432,5434,5432",
		"postgres://a:5433,b:/db":                                   "postgres:///db?host=a,b&port=5433,5432",
		"postgres://a,b/db?port=5433":                               "postgres:///db?host=a,b&port=5433",
		"postgres://a,b/db?port=5433,5434":                          "postgres:///db?host=a,b&port=5433,5434",
		"postgres://[::1]:5433,[::1]:5434/db":                       "postgres:///db?host=::1,::1&port=5433,5434",
		"postgres://[::1],a:5434/db":                                "postgres:///db?host=::1,a&port=5432,5434",
		"postgres://[fe80::1%25eth0],[::1]:1/db":                    "postgres:///db?host=fe80::1%25eth0,::1&port=5432,1",
		"postgres://%2Frun%2Fpg,a:5434/db":                          "postgres:///db?host=/run/pg,a&port=5432,5434",
		"postgres://a:5433,b:5434":                                  "postgres://?host=a,b&port=5433,5434",
		"postgres://a:5433,b:5434?sslmode=disable":                  "postgres://?host=a,b&port=5433,5434&sslmode=disable",
		"postgres://" + escaped + "@a:5433,b:5434/n%2Fa%20m?x=%26y": "postgres://" + escaped + "@/n%2Fa%20m?x=%26y&host=a,b&port=5433,5434",
		"postgres://u:p,w@a:5433,b:5434/db":                         "postgres://u:p,w@/db?host=a,b&port=5433,5434",
	} {
		want, err := postgresConfig(query)
		require.NoError(t, err, query)
		got, err := postgresConfig(libpq)
		require.NoError(t, err, libpq)
		require.Equal(t, []any{want.Host, want.Port, want.Multi, want.User, want.Password, want.Database, want.TargetSessionAttrs,
			want.SSLMode, want.ConnectTimeout, want.Runtime},
			[]any{got.Host, got.Port, got.Multi, got.User, got.Password, got.Database, got.TargetSessionAttrs, got.SSLMode,
				got.ConnectTimeout, got.Runtime}, libpq)
		require.NotEmpty(t, got.Multi, libpq)
		listener, err := pq.NewConfig(listenerURL(libpq, got))
		require.NoError(t, err, libpq)
		require.Equal(t, []any{got.Host, got.Port, got.Multi, got.Password}, []any{listener.Host, listener.Port, listener.Multi,
			listener.Password}, libpq)
	}
	cfg, err := postgresConfig("postgres://" + escaped + "@[::1]:5433,b:5434/n%2Fa%20m")
	require.NoError(t, err)
	require.Equal(t, []string{"@u:", "p@s/s?w#%[],'\\+ ", "n/a m", "::1"}, []string{cfg.User, cfg.Password, cfg.Database, cfg.Host})
}

func TestTheMistakeInAURLOfSeveralHostsIsNamed(t *testing.T) {
	t.Parallel()
	for url, mistake := range map[string]string{
		"postgres://u:hunter2@a:5433,b:x/db":                            "host 2 has a port that is not a number from 1 to 65535",
		"postgres://u:hunter2@a:0,b/db":                                 "host 1 has a port",
		"postgres://u:hunter2@a,b:65536/db":                             "host 2 has a port",
		"postgres://u:hunter2@a,,b/db":                                  "host 2 is empty",
		"postgres://u:hunter2@a,/db":                                    "host 2 is empty",
		"postgres://u:hunter2@:5432,b/db":                               "host 1 is empty",
		"postgres://u:hunter2@::1,b/db":                                 "host 1 has two colons: an IPv6 address is written in brackets",
		"postgres://u:hunter2@[::1,b/db":                                "host 1 has no ]",
		"postgres://u:hunter2@[::1]5432,b/db":                           "host 1 has something other than :PORT",
		"postgres://u:hunter2@[a],b/db":                                 "host 1 has no IPv6 address",
		"postgres://u:hunter2@%zz,b/db":                                 "host 1 is not percent-encoded",
		"postgres://u:hunter2@a,b/db?host=c":                            "hosts are before the name and in ?host=",
		"postgres://u:hunter2@a:1,b/db?port=2":                          "ports are before the name and in ?port=",
		"postgres://u:hunter2@a,b,c/db?port=1,2":                        "2 port numbers to 3 hosts",
		"postgres://u:hunter2@a,b/db?sslmode=hunter2":                   "sslmode of the PostgreSQL URL",
		"postgres://u:hunter2@a,b/db?target_session_attrs=hunter2":      "target_session_attrs of the PostgreSQL URL",
		"postgres://u:hunter2@/db?host=a,b&target_session_attrs=hunter": "target_session_attrs of the PostgreSQL URL",
		"postgres://u:hunter2@a,b/db?connect_timeout=hunter2":           "connect_timeout of the PostgreSQL URL",
		"postgres://u:hunter2@a,b/db?sslmode=%hunter2":                  "behind the ? is not name=value",
		"postgres://u:hun,/ter2@a,b/db":                                 "must be percent-encoded: %2F, %3F or %23",
		"postgres://u:hun,?ter2@a,b/db":                                 "must be percent-encoded: %2F, %3F or %23",
		"postgres://u:hun,#ter2@a,b/db":                                 "must be percent-encoded: %2F, %3F or %23",
		"postgres://u:hunter2@a,b/db#c":                                 "must be percent-encoded: %2F, %3F or %23",
		"postgres://u:hunter^2@a,b/db":                                  "special characters percent-encoded; several hosts are postgres://user@a:5432,b:5432/name",
	} {
		_, err := postgresConfig(url)
		require.ErrorIs(t, err, ErrURL, url)
		require.ErrorContains(t, err, mistake, url)
		for _, part := range []string{"hun", "ter2"} {
			require.NotContains(t, err.Error(), part, url)
		}
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
