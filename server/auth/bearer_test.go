package auth

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/server/apierr"
)

func TestBearer(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		values []string
		want   string // empty if the request is refused with api_key_missing
	}{
		{"the form", []string{"Bearer svc_live_x"}, "svc_live_x"},
		{"the scheme has no case", []string{"bEARER svc_live_x"}, "svc_live_x"},
		{"one space or more", []string{"Bearer   svc_live_x"}, "svc_live_x"},
		{"space at the end is none of the key", []string{"Bearer svc_live_x "}, "svc_live_x"},
		{"what is no key is still a value: it counts as unknown", []string{"Bearer a b, c"}, "a b, c"},
		{"no header", nil, ""},
		{"an empty header", []string{""}, ""},
		{"the scheme alone", []string{"Bearer"}, ""},
		{"the scheme and spaces", []string{"Bearer  "}, ""},
		{"the key alone", []string{"svc_live_x"}, ""},
		{"another scheme", []string{"Basic c3ZjOmxpdmU="}, ""},
		{"a scheme that begins alike", []string{"BearerX svc_live_x"}, ""},
		{"no tab for the space", []string{"Bearer\tsvc_live_x"}, ""},
		{"space before the scheme", []string{" Bearer svc_live_x"}, ""},
		{"two headers, even with one key", []string{"Bearer svc_live_x", "Bearer svc_live_x"}, ""},
	} {
		t.Run(row.reason, func(t *testing.T) {
			key, err := bearer(row.values)
			require.Equal(t, row.want, key)
			if row.want != "" {
				require.NoError(t, err)
				return
			}
			var r *apierr.Refusal
			require.ErrorAs(t, err, &r)
			require.Equal(t, apierr.APIKeyMissing, r.Code)
			require.NotContains(t, r.Message, "svc_live_x", row.reason)
		})
	}
}

func FuzzBearer(f *testing.F) {
	for _, value := range []string{"Bearer svc_live_x", "bearer  x ", "Bearer", "Basic eA==", " ", "", "Bearer \x00",
		"Bearer \u00a0"} {
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value string) {
		key, err := bearer([]string{value})
		if err != nil {
			require.Empty(t, key)
			return
		}
		require.NotEmpty(t, key)
		require.Equal(t, strings.Trim(key, " "), key)
		again, err := bearer([]string{"Bearer " + key})
		require.NoError(t, err)
		require.Equal(t, key, again, "print and parse give the same key")
	})
}
