package main

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReadsMustBeAnsweredAlike(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		why           string
		status        int
		first, second string
		says          string
	}{
		{"equal bytes", 200, `{"a":1}`, `{"a":1}`, ""},
		{"the same JSON in other white space is other work", 200, `{"a":1}`, `{"a": 1}`, "the answers differ"},
		{"two refusals are no answers", 429, `{}`, `{}`, "answered 429"},
	} {
		t.Run(row.why, func(t *testing.T) {
			t.Parallel()
			var clients []*client
			for _, body := range []string{row.first, row.second} {
				server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					w.WriteHeader(row.status)
					_, _ = w.Write([]byte(body))
				}))
				t.Cleanup(server.Close)
				c, err := dial(t.Context(), server.Listener.Addr().String())
				require.NoError(t, err)
				t.Cleanup(c.close)
				clients = append(clients, c)
			}
			w := newWriter(1)
			w.get("/", "")
			err := compareRead(clients, operations[0], w.text)
			if row.says == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, row.says)
		})
	}
}

func TestTracesAreComparedWithoutWhatVaries(t *testing.T) {
	t.Parallel()
	require.Equal(t, `{"id":"#","at":"#-#-#T#:#:#.#Z","n":#,"name":"Ada"}`,
		masked([]byte(`{"id":"019a0c5e-7b1c-7c3e-8f00-00000000000a","at":"2026-09-01T12:00:00.000Z","n":12,"name":"Ada"}`)))
}
