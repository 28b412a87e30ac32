package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"
)

// levels lists the path of every command and group.
func levels(n *kong.Node, path []string) [][]string {
	all := [][]string{path}
	for _, child := range n.Children {
		all = append(all, levels(child, append(path[:len(path):len(path)], child.Name))...)
	}
	return all
}

func TestHelpOnEveryLevelHasAnExample(t *testing.T) {
	t.Parallel()
	parser, err := kong.New(&cli{}, kong.Bind(&settings{}))
	require.NoError(t, err)
	all := levels(parser.Model.Node, nil)
	require.Greater(t, len(all), 30)
	for _, path := range all {
		t.Run(strings.Join(append([]string{"storefront"}, path...), " "), func(t *testing.T) {
			t.Parallel()
			var out, errs bytes.Buffer
			noEnv := func(string) (string, bool) { return "", false }
			status := run(t.Context(), append(path, "--help"), noEnv, strings.NewReader(""), &out, &errs)
			require.Equal(t, 0, status)
			require.Empty(t, errs.String())
			require.Contains(t, out.String(), "Example:\n\n    ")
			require.Contains(t, out.String(), strings.Join(append([]string{"storefront"}, path...), " "), "the example is one of this command")
		})
	}
}
