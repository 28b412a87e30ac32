package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"
)

// emptyable are the flags whose empty value clears what they set. All others refuse it.
var emptyable = map[string][]string{
	"webhook create":  {"description"},
	"webhook update":  {"description"},
	"store create":    {"description", "phone", "public-url", "social", "support-email", "unavailable-types", "whatsapp-phone"},
	"store update":    {"description", "phone", "social", "support-email", "unavailable-types", "whatsapp-phone"},
	"product create":  {"cover-url", "description", "summary"},
	"product update":  {"compare-at", "cover-url", "description", "summary"},
	"product list":    {"q"},
	"customer list":   {"q"},
	"customer create": {"name"},
	"customer update": {"email", "name", "phone"},
	"order create":    {"customer-name", "note"},
	"link create":     {"cover-url", "description", "expires-at", "max-payments", "thank-you-message"},
	"link update":     {"amount", "cover-url", "description", "expires-at", "max-payments", "min-amount", "thank-you-message"},
	"server": {"api-url", "brand-color", "brand-logo", "brand-name", "frame-ancestors", "public-url", "sign-in-url",
		"trusted-proxies"},
	"worker": {"admin-addr"},
}

// An empty value is never the same as no flag: of every flag of every command, it clears or it is
// refused.
func TestEmptyValuesAreNeverIgnored(t *testing.T) {
	t.Parallel()
	parser, err := newParser(&cli{}, kong.Bind(&settings{}))
	require.NoError(t, err)
	seen := 0
	for _, path := range levels(parser.Model.Node, nil) {
		node := parser.Model.Node
		for _, name := range path {
			node = childNamed(node, name)
		}
		if len(node.Children) > 0 {
			continue
		}
		command := strings.Join(path, " ")
		expected := append(clearable[:len(clearable):len(clearable)], emptyable[command]...)
		for _, group := range node.AllFlags(false) {
			for _, f := range group {
				if f.Name == "help" {
					continue
				}
				seen++
				k, err := kong.Trace(parser, append(path[:len(path):len(path)], "--"+f.Name+"="))
				require.NoError(t, err)
				refused := k.Error
				if refused == nil {
					var given map[string]bool
					given, refused = explicit(k)
					require.True(t, refused != nil || given[f.Name], "%s --%s", command, f.Name)
				}
				if slices.Contains(expected, f.Name) {
					require.NoError(t, refused, "%s --%s clears", command, f.Name)
				} else {
					require.Error(t, refused, "%s --%s is refused", command, f.Name)
				}
			}
		}
	}
	require.Greater(t, seen, 200)
}
