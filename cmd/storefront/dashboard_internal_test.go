package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/server/dashboard"
)

func TestALinkToADeadAddressIsWarnedOf(t *testing.T) {
	t.Parallel()
	warning := func(address string) string {
		var errs strings.Builder
		warnIfDead(&invocation{ctx: t.Context(), errs: &errs}, linkBaseURL(address))
		return errs.String()
	}
	pages := http.NewServeMux()
	pages.HandleFunc(dashboard.Path+"/sign-in", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusGone) })
	live := httptest.NewServer(pages)
	require.Empty(t, warning(live.URL))
	require.Empty(t, warning(live.URL+"/"))
	live.Close()
	other := httptest.NewServer(http.NotFoundHandler()) // a server without --admin-token
	defer other.Close()
	for _, address := range []string{live.URL, other.URL} {
		require.Contains(t, warning(address), "warning: no dashboard answers at "+address+", so the link will not work")
	}
}
