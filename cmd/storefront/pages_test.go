package main

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The longest sentence and cell of a table, in words. A piece of code is one word.
const (
	maxSentence = 30
	maxCell     = 60
)

// oneWord maps an expression that pages must not contain to the word that they use.
var oneWord = map[string]string{
	`operator's listener`:           "admin listener",
	`typed (?:protocol|RPC|method)`: "RPC",
	`reference price`:               "compare-at price",
	`(?:web|https?) address`:        "URL",
	`(?:block|count)(?:s|ed|ing)? (?:the |an |by |each )?address`:                   "IP address",
	`(?:an?|the|its|their|each|every|this|that|same|any|all|2xx|error|no) answers?`: "response, or the verb return",
	`Citus workers?`: "worker node",
	`forgettings?`:   "erasure",
	`faults? (?:of|in) (?:Citus|PostgreSQL|Storefront)`: "bug",
	`mended|sinks?|bystanders?|tall(?:y|ies)`:           "the trade's word",
	`is no (?:UUID|problem|success)`:                    "is not a",
	`(?:not|never) (?:tried|run) (?:so far|yet)`:        "a line in cmd/storefront/manual/tested.md",
}

var (
	codeBlock   = regexp.MustCompile("(?ms)^ *```.*?^ *```$|^    [^\n]*$")
	codeSpan    = regexp.MustCompile("`[^`]*`")
	pageLink    = regexp.MustCompile(`!?\[([^]]*)\]\([^)]*\)`)
	htmlTag     = regexp.MustCompile(`(?s)<!--.*?-->|<[^>]*>`)
	blockStart  = regexp.MustCompile(`(?m)^( *(?:[-*]|\d+\.) |#|\||$)`)
	sentenceEnd = regexp.MustCompile(`[.!?][")*]*(?:\s|$)`)
	cellEnd     = regexp.MustCompile(`\|`)
	pageWord    = regexp.MustCompile(`\S*[\pL\d]\S*`)
)

// markdownPages returns the paths of the Markdown pages that people write.
func markdownPages(t *testing.T) (pages []string) {
	t.Helper()
	top := filepath.Join("..", "..")
	err := filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
		name := entry.Name()
		switch {
		case path != top && entry.IsDir() && (name[0] == '.' || slices.Contains([]string{"gen", "node_modules", "testdata"}, name)):
			return fs.SkipDir
		case filepath.Ext(name) == ".md":
			pages = append(pages, path)
		}
		return err
	})
	if err != nil || len(pages) < 25 {
		t.Fatalf("%v: %v", pages, err)
	}
	return pages
}

// Every Markdown page that people write, and the help of every command, has short sentences and cells, and one word for one thing.
func TestPagesHaveShortSentencesAndOneWordForOneThing(t *testing.T) {
	t.Parallel()
	help, err := filepath.Glob("help/*.txt")
	if err != nil || len(help) < 20 {
		t.Fatalf("%v: %v", help, err)
	}
	for _, path := range append(markdownPages(t), help...) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		prose := codeSpan.ReplaceAllString(codeBlock.ReplaceAllString(htmlTag.ReplaceAllString(string(text), ""), ""), "x")
		prose = pageLink.ReplaceAllString(prose, "$1")
		for block := range strings.SplitSeq(blockStart.ReplaceAllString(prose, "\x00$1"), "\x00") {
			ends, most := sentenceEnd, maxSentence
			if strings.HasPrefix(block, "|") {
				ends, most = cellEnd, maxCell
			}
			for _, part := range ends.Split(block, -1) {
				if n := len(pageWord.FindAllString(part, -1)); n > most {
					t.Errorf("%s: %d words: %.100s", path, n, strings.Join(strings.Fields(part), " "))
				}
			}
		}
		prose = strings.Join(strings.Fields(prose), " ")
		for expression, instead := range oneWord {
			for _, found := range regexp.MustCompile(`(?i)\b(?:`+expression+`)\b`).FindAllString(prose, -1) {
				t.Errorf("%s: %q: write %s", path, found, instead)
			}
		}
	}
}

// CONTRIBUTING.md has a command in place of a table, which prints a sentence for every package with code.
func TestCommandOfContributingPrintsWhatEveryPackageOwns(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	command := regexp.MustCompile(`\ngo list -f '(\{\{.ImportPath\}\}: \{\{.Doc\}\})' (\./\.\.\.) `).FindSubmatch(page)
	if command == nil {
		t.Fatal("CONTRIBUTING.md has no such command")
	}
	list := exec.CommandContext(t.Context(), "go", "list", "-f", "{{if .GoFiles}}"+string(command[1])+"{{end}}", string(command[2]))
	list.Dir = filepath.Join("..", "..")
	out, err := list.Output()
	if lines := strings.Fields(string(out)); err != nil || len(lines) < 500 {
		t.Fatalf("%v: %s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		if strings.HasSuffix(line, ": \n") && !strings.Contains(line, "/gen/") {
			t.Errorf("%q: its package comment is missing", line)
		}
	}
}
