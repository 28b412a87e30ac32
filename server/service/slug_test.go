package service

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var slugForm = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

func TestSlugOf(t *testing.T) {
	t.Parallel()
	for title, want := range map[string]string{
		"Soirée d'été : 2e édition": "soiree-d-ete-2e-edition",
		"  --A--  ":                 "a",
		"¡Ñandú!":                   "nandu",
		"日本":                        "",
	} {
		require.Equal(t, want, slugOf(title))
	}
}

func TestSlugsFitInAnAddress(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		title := rapid.StringOfN(rapid.RuneFrom([]rune("ab -é0")), 0, 200, -1).Draw(t, "title")
		taken := rapid.Bool().Draw(t, "taken")
		slug, err := freeSlug(context.Background(), "", title, func(context.Context, string) (bool, error) { return taken, nil })
		require.NoError(t, err)
		require.Regexp(t, slugForm, slug)
		require.LessOrEqual(t, len(slug), maxSlugBytes)
		require.Equal(t, slug, slugOf(slug), "a slug names itself")
	})
	require.Len(t, slugOf(strings.Repeat("a ", 100)), 79)
}
