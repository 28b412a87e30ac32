package validate_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/server/validate"
)

// Forms and headers may contain bytes that are no UTF-8. Databases and messages cannot have them, so Text refuses them.
func TestTextIsUTF8(t *testing.T) {
	t.Parallel()
	for text, problem := range map[string]string{
		"Awa Ngô":   "",
		"\ufffd":    "",
		"A\xff":     "must be UTF-8 text",
		"\xc3":      "must be UTF-8 text",
		"A\x00":     "must not hold control characters other than newline and tab",
		"123456789": "must be at most 8 characters long",
	} {
		var p validate.Problems
		p.Text("name", text, 8)
		if problem == "" {
			require.Empty(t, p.Fields(), "%q", text)
			continue
		}
		require.Len(t, p.Fields(), 1, "%q", text)
		require.Equal(t, problem, p.Fields()[0].Message)
	}
}
