package shop

import (
	"context"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"go.storefront.example/server/validate"
)

var slugForm = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

func TestSlugsFitInAnAddress(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		title := rapid.StringOfN(rapid.RuneFrom([]rune("ab -é0")), 0, 200, -1).Draw(t, "title")
		taken := rapid.Bool().Draw(t, "taken")
		slug, err := freeSlug(context.Background(), "", title, func(context.Context, string) (bool, error) { return taken, nil })
		require.NoError(t, err)
		require.Regexp(t, slugForm, slug)
		require.LessOrEqual(t, len(slug), validate.MaxSlugBytes)
		require.Equal(t, slug, validate.SlugOf(slug), "a slug names itself")
	})
}
