package conformance_test

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTheKeyReachesThisMachineThroughNoProxy has a proxy in the environment, which would read the key.
func TestTheKeyReachesThisMachineThroughNoProxy(t *testing.T) {
	var proxied atomic.Int32
	proxy := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { proxied.Add(1) }))
	t.Cleanup(proxy.Close)
	var variables []string
	for _, name := range []string{"http_proxy", "https_proxy", "all_proxy"} {
		variables = append(variables, name+"="+proxy.URL, strings.ToUpper(name)+"="+proxy.URL)
	}
	variables = append(variables, "no_proxy=", "NO_PROXY=")
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", ":0") // all addresses of this machine, such as 127.0.0.2
	require.NoError(t, err)
	shop := &httptest.Server{Listener: listener, Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter,
		r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, customer)
	})}}
	shop.Start()
	t.Cleanup(shop.Close)
	_, port, err := net.SplitHostPort(listener.Addr().String())
	require.NoError(t, err)
	hosts := []string{"localhost", "LocalHost", "127.0.0.1", "127.8.9.10", "[::ffff:127.0.0.1]", "[::ffff:7f00:2]"}
	if probe, err := net.Dial("tcp", "[::1]:"+port); err == nil {
		require.NoError(t, probe.Close())
		hosts = append(hosts, "[::1]", "[0:0::0:1]")
	}
	for _, l := range languages {
		t.Run(l.name, func(t *testing.T) {
			d := l.start(t, variables...)
			for _, host := range hosts {
				d.open("shop", arguments{"baseUrl": "http://" + host + ":" + port, "apiKey": "svc_live_x", "maxRetries": 0})
				got := d.call("shop", "customers", "get", arguments{"id": "1"})
				require.Nil(t, got.Refused, "%s: %+v", host, got.Refused)
				require.Zero(t, proxied.Load(), host)
			}
			if l.name == "typescript" {
				return // Node's fetch uses no proxy of the environment
			}
			d.open("shop", arguments{"baseUrl": "http://shop.invalid", "apiKey": "svc_live_x", "maxRetries": 0, "allowHttp": true})
			require.NotNil(t, d.call("shop", "customers", "get", arguments{"id": "1"}).Refused)
			require.NotZero(t, proxied.Swap(0), "a request to another machine goes through the proxy")
		})
	}
}
