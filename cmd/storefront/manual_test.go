package main

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"

	"go.storefront.example/server/edge"
)

var update = flag.Bool("update", false, "write the manual's tables of commands and flags anew")

// sections has the headings of the manual that describe flags in more detail.
var sections = map[string]string{
	"admin-addr": "monitor.md#health", "brand-name": "platform.md#the-dashboard", "buckets": "internet.md#one-url-for-several-installations",
	"drain-delay": "internet.md#restarts-without-a-lost-request", "egress-proxy": "webhooks.md#delivering",
	"frame-ancestors": "platform.md#the-dashboard", "max-connections": "internet.md#what-a-request-may-be", "notices-url": "webhooks.md#notices",
	"old-admin-token": "platform.md#admin-services", "old-secret-keys": "#replacing-the-secret-key", "request-timeout": "monitor.md#overload",
	"tls-domain": "machine.md", "dashboard-domain": "machine.md", "worker": "machine.md", "backup-to": "backup.md",
	"activity-retention": "data.md#keep-less", "docs": "internet.md#the-reference-for-callers", "trusted-proxies": "internet.md#clients-ip-addresses",
}

var (
	ownDefault = regexp.MustCompile(` \(default: (.*?)\)`)
	// literal matches what the manual's Markdown sets as code, such as flags and paths.
	literal = regexp.MustCompile(`--[a-z][a-z-]*|openssl rand -hex 32|storefront secret (?:generate|rotate)|<database file>\.key` +
		`|sqlite:PATH|postgres://[A-Z:@/]+|https?://[a-z.:0-9]*[a-z0-9]|/(?:healthz|readyz|metrics|docs|debug/pprof)\b|X-Forwarded-For|whsec_` +
		`|(?:statement|lock)_timeout|ulimit -n|#[0-9a-f]{6}|8760h`)
	heading   = regexp.MustCompile(`(?m)^#+ (.+)$|<a id="(.+?)">`)
	notAnchor = regexp.MustCompile(`[^a-z0-9 -]`)
)

func manualPage(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("manual", name))
	require.NoError(t, err)
	return string(text)
}

func manualSection(t *testing.T, page, heading string) string {
	t.Helper()
	_, section, found := strings.Cut(manualPage(t, page), "\n## "+heading+"\n")
	require.True(t, found, "%s: %s", page, heading)
	section, _, _ = strings.Cut(section, "\n## ")
	return section
}

// anchors returns the fragments of a page's headings, as a forge makes them.
func anchors(text string) map[string]bool {
	all := map[string]bool{"": true}
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		all[strings.ReplaceAll(notAnchor.ReplaceAllString(strings.ToLower(m[1]+m[2]), ""), " ", "-")] = true
	}
	return all
}

// flagTable has the texts of --help, with links to sections.
func flagTable(t *testing.T, parser *kong.Kong, command string) string {
	t.Helper()
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
		name := "`--" + f.Name + "`"
		if target := sections[f.Name]; target != "" {
			name = "[" + name + "](" + target + ")"
		}
		if byDefault = cmp.Or(byDefault, "none"); byDefault == f.Default {
			byDefault = "`" + byDefault + "`"
		}
		table += fmt.Sprintf("| %s | %s | %s |\n", name, literal.ReplaceAllString(byDefault, "`$0`"), help)
	}
	return strings.ReplaceAll(table, "``", "`")
}

// workerTable names the flags whose row is the server's in a sentence below the table.
func workerTable(t *testing.T, parser *kong.Kong) string {
	t.Helper()
	server, own := flagTable(t, parser, "server"), ""
	var same []string
	for n, row := range strings.SplitAfter(flagTable(t, parser, "worker"), "\n") {
		if n < 2 || !strings.Contains(server, row) {
			own += row
		} else if flag, _, found := strings.Cut(strings.TrimPrefix(row, "| "), " |"); found {
			same = append(same, flag)
		}
	}
	return own + "\nAs for `server`: " + strings.Join(same, ", ") + ".\n"
}

func commandTable(parser *kong.Kong) string {
	table := "| Command | What it does |\n|---|---|\n"
	for _, c := range parser.Model.Children {
		var names []string
		for _, child := range c.Children {
			if child.Type == kong.CommandNode {
				names = append(names, "`"+child.Name+"`")
			}
		}
		name := "`" + c.Name + "`"
		if len(names) > 0 {
			name += ": " + strings.Join(names, ", ")
		}
		table += "| " + name + " | " + strings.ReplaceAll(c.Help, "|", `\|`) + " |\n"
	}
	return table
}

// The tables are made from the help texts: go test ./cmd/storefront -run Manual -update.
func TestManualHasTheWordsOfTheHelp(t *testing.T) {
	t.Parallel()
	parser, err := newParser(&cli{}, kong.Bind(&settings{}))
	require.NoError(t, err)
	for _, row := range []struct{ page, mark, table string }{
		{"commands.md", "commands", commandTable(parser)},
		{"configure.md", "flags of server", flagTable(t, parser, "server")},
		{"configure.md", "flags of worker", workerTable(t, parser)},
	} {
		page := manualPage(t, row.page)
		before, rest, found := strings.Cut(page, "<!-- "+row.mark+" -->\n")
		require.True(t, found, row.mark)
		table, after, found := strings.Cut(rest, "<!-- end -->\n")
		require.True(t, found, row.mark)
		if *update {
			page = before + "<!-- " + row.mark + " -->\n" + row.table + "<!-- end -->\n" + after
			require.NoError(t, os.WriteFile(filepath.Join("manual", row.page), []byte(page), 0o600))
			continue
		}
		require.Equal(t, row.table, table, "%s: run go test ./cmd/storefront -run TestManual -update", row.mark)
	}
}

// The manual names the limits of the public listener as they are in the code.
func TestManualHasTheLimitsOfARequest(t *testing.T) {
	t.Parallel()
	section := manualSection(t, "internet.md", "What a request may be")
	seconds := func(d time.Duration) int { return int(d / time.Second) }
	for _, row := range []string{
		fmt.Sprintf("| Body | %d MiB |", edge.MaxBodyBytes>>20),
		fmt.Sprintf("| Headers | %d KiB, within %d seconds |", edge.MaxHeaderBytes>>10, seconds(edge.DefaultReadHeaderTimeout)),
		fmt.Sprintf("| Time for the body to arrive | `--request-timeout`, %d seconds at most |", seconds(edge.DefaultReadTimeout)),
		fmt.Sprintf("| Time for the response | `--request-timeout` (%d seconds), then 503 |", seconds(edge.DefaultTimeout)),
		fmt.Sprintf("| Time for the client to read the response | %d seconds, or twice", seconds(edge.WriteTimeout)),
		fmt.Sprintf("| Idle connection | %d seconds |", seconds(edge.IdleTimeout)),
	} {
		require.Contains(t, section, "\n"+row)
	}
}

// Every link leads to a file that exists, and to a heading of it.
func TestLinksOfThePages(t *testing.T) {
	t.Parallel()
	for _, page := range markdownPages(t) {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, m := range regexp.MustCompile(`\]\(([^)#: ]*)(?:#([^) ]*))?\)`).FindAllStringSubmatch(codeBlock.ReplaceAllString(string(text), ""), -1) {
			target := string(text)
			if strings.HasPrefix(m[1], "/") { // an address of the service
				continue
			}
			if m[1] != "" {
				path := filepath.Join(filepath.Dir(page), filepath.FromSlash(m[1]))
				info, err := os.Stat(path)
				require.NoError(t, err, "%s: %s", page, m[0])
				if m[2] == "" || info.IsDir() {
					continue
				}
				other, err := os.ReadFile(path)
				require.NoError(t, err)
				target = string(other)
			}
			require.True(t, anchors(target)[m[2]], "%s: %s", page, m[0])
		}
	}
}
