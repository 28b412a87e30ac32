package validate_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/server/validate"
)

func TestSlugOf(t *testing.T) {
	t.Parallel()
	for title, want := range map[string]string{
		"Soirée d'été : 2e édition": "soiree-d-ete-2e-edition",
		"  --A--  ":                 "a",
		"¡Ñandú!":                   "nandu",
		"日本":                        "",
	} {
		require.Equal(t, want, validate.SlugOf(title))
	}
	require.Len(t, validate.SlugOf(strings.Repeat("a ", 100)), 79)
}
