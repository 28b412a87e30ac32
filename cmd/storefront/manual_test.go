package main

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the manual's tables of flags anew")

// sections maps flags to the sections of the manual that describe them in more detail.
var sections = map[string]string{
	"admin-addr": "Health and metrics", "brand-name": "The dashboard", "buckets": "Behind a proxy", "dashboard-url": "Notices", "drain-delay": "Health and metrics",
	"egress-proxy": "Delivering webhooks", "frame-ancestors": "The dashboard", "max-connections": "Overload", "notices-url": "Notices",
	"old-admin-token": "Admin services", "old-secret-keys": "Replacing the secret key", "request-timeout": "Overload",
	"tls-domain": "One machine", "dashboard-domain": "One machine", "worker": "One machine", "backup-to": "Backups",
	"activity-retention": "Leaving and forgetting", "docs": "Behind a proxy", "trusted-proxies": "Behind a proxy",
}

var (
	ownDefault = regexp.MustCompile(` \(default: (.*?)\)`)
	// literal matches parts of help texts that the manual's Markdown sets as code, such as flags and paths.
	literal = regexp.MustCompile(`--[a-z][a-z-]*|openssl rand -hex 32|storefront secret (?:generate|rotate)|<database file>\.key` +
		`|sqlite:PATH|postgres://[A-Z:@/]+|https?://[a-z.:0-9]*[a-z0-9]|/(?:healthz|readyz|metrics|docs|debug/pprof)\b|X-Forwarded-For|whsec_` +
		`|(?:statement|lock)_timeout|ulimit -n|#[0-9a-f]{6}|8760h`)
)

// flagTable returns a Markdown table with a command's flags. It has the texts of --help, with links to sections.
func flagTable(t *testing.T, manual, command string) string {
	t.Helper()
	parser, err := newParser(&cli{}, kong.Bind(&settings{}))
	require.NoError(t, err)
	table := "| Flag | Default | What it sets |\n|---|---|---|\n"
	for _, f := range childNamed(parser.Model.Node, command).Flags {
		if f.Name == "help" {
			continue
		}
		help, byDefault := f.Help, f.Default
		if own := ownDefault.FindStringSubmatch(help); own != nil {
			help, byDefault = strings.Replace(help, own[0], "", 1), own[1]
		}
		if f.IsBool() && f.Target.Type() != reflect.TypeFor[onOff]() {
			byDefault = "off"
		}
		help = literal.ReplaceAllString(strings.ReplaceAll(help, "|", `\|`), "`$0`")
		if name := sections[f.Name]; name != "" {
			require.Contains(t, manual, "\n## "+name+"\n")
			help += fmt.Sprintf(" See [%s](#%s).", name, strings.ReplaceAll(strings.ToLower(name), " ", "-"))
		}
		if byDefault = cmp.Or(byDefault, "none"); byDefault == f.Default {
			byDefault = "`" + byDefault + "`"
		}
		table += fmt.Sprintf("| `--%s` | %s | %s |\n", f.Name, literal.ReplaceAllString(byDefault, "`$0`"), help)
	}
	return strings.ReplaceAll(table, "``", "`")
}

// The manual's tables of flags are made from the help texts: go test ./cmd/storefront -run Manual -update.
func TestManualHasTheWordsOfTheHelp(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	manual := string(text)
	for _, command := range []string{"server", "worker"} {
		before, rest, found := strings.Cut(manual, "<!-- flags of "+command+" -->\n")
		require.True(t, found, command)
		table, after, found := strings.Cut(rest, "<!-- end -->\n")
		require.True(t, found, command)
		want := flagTable(t, manual, command)
		if !*update {
			require.Equal(t, want, table, "%s: run go test ./cmd/storefront -run TestManual -update", command)
		}
		manual = before + "<!-- flags of " + command + " -->\n" + want + "<!-- end -->\n" + after
	}
	if *update {
		require.NoError(t, os.WriteFile("README.md", []byte(manual), 0o600))
	}
}
