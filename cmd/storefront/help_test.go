package main

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"
)

func levels(n *kong.Node, path []string) [][]string {
	all := [][]string{path}
	for _, child := range n.Children {
		all = append(all, levels(child, append(path[:len(path):len(path)], child.Name))...)
	}
	return all
}

func TestHelpOnEveryLevelHasAnExample(t *testing.T) {
	t.Parallel()
	parser, err := newParser(&cli{}, kong.Bind(&settings{}))
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
			require.Contains(t, out.String(), strings.Join(append([]string{"storefront"}, path...), " "),
				"the example is one of this command")
		})
	}
}

func TestHelpNamesDefaultsAndValues(t *testing.T) {
	t.Parallel()
	parser, err := newParser(&cli{}, kong.Bind(&settings{}))
	require.NoError(t, err)
	for _, path := range levels(parser.Model.Node, nil) {
		var out, errs bytes.Buffer
		noEnv := func(string) (string, bool) { return "", false }
		require.Equal(t, 0, run(t.Context(), append(path[:len(path):len(path)], "--help"), noEnv, strings.NewReader(""), &out, &errs))
		help := strings.Join(strings.Fields(out.String()), " ")
		node := parser.Model.Node
		for _, name := range path {
			node = childNamed(node, name)
		}
		for _, f := range node.Flags {
			if f.Target.Type() == reflect.TypeFor[onOff]() && f.Default != "" {
				require.Contains(t, help, "(on or off; default: "+f.Default+")", "%s --%s", path, f.Name)
			}
			if f.HasDefault && f.Default != "" && !f.IsBool() && !f.Hidden {
				require.Contains(t, help, "default: "+f.Default, "%s --%s", path, f.Name)
			}
			if f.Enum != "" && !f.Hidden {
				for _, value := range f.EnumSlice() {
					require.Contains(t, describe(f.Value), value, "%s --%s", path, f.Name)
				}
			}
		}
	}
}
