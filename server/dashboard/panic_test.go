package dashboard_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.storefront.example/server/dashboard"
	"go.storefront.example/server/limit"
)

func TestPanicIsAnswered(t *testing.T) {
	t.Parallel()
	logs := &log{}
	// Without Sessions, looking for a session panics.
	pages := dashboard.New(dashboard.Config{Unreachable: func(error) bool { return false },
		Logger: slog.New(slog.NewTextHandler(logs, nil)), Now: time.Now, Slots: limit.NewSlots(2, 1)})
	w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/dashboard/keys", nil)
	r.AddCookie(&http.Cookie{Name: "storefront_session", Value: "x"})
	pages.ServeHTTP(w, r)
	require.Equal(t, http.StatusInternalServerError, w.Code)
	require.Equal(t, "no-store", w.Header().Get("Cache-Control"))
	require.Contains(t, w.Body.String(), "Something went wrong")
	require.Contains(t, w.Body.String(), w.Header().Get("X-Request-Id"))
	require.NotContains(t, w.Body.String(), "panic")
	require.Contains(t, logs.String(), "level=ERROR")
	require.Contains(t, logs.String(), "panic: ")
	require.Contains(t, logs.String(), "status=500")
}
