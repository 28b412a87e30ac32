package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"go.storefront.example/server/docs"
)

var (
	closedWorld = false
	languages   = []string{"sh", "go", "ts", "php", "python"}
)

var searchTool = &sdk.Tool{
	Name: "searchGuide", Title: "Search the guide",
	Description: "Searches the guide and the reference of the API and its webhooks, and returns the sections that fit best.",
	InputSchema: map[string]any{
		"type": "object", "additionalProperties": false, "required": []string{"query"}, "properties": map[string]any{
			"query": map[string]any{"type": "string", "description": "Words to find, such as: retry payment link 503"},
			"language": map[string]any{
				"type": "string", "enum": languages,
				"description": "The language of the samples; without it there are none.",
			},
		},
	},
	Annotations: &sdk.ToolAnnotations{Title: "Search the guide", ReadOnlyHint: true, IdempotentHint: true,
		OpenWorldHint: &closedWorld},
}

type section struct {
	file, title, text string
	// titleWords is the section's title, and allWords its title and text, both normalized.
	titleWords, allWords string
}

var heading = regexp.MustCompile(`^##+ (.+)$`)

// sections returns the sections of all pages for callers.
var sections = sync.OnceValue(func() (all []*section) {
	for _, p := range docs.Pages(docs.Callers) {
		name := p.Name + ".md"
		page, rest, _ := strings.Cut(strings.TrimPrefix(p.Markdown, "# "), "\n")
		title, code := "", false
		var lines []string
		end := func() {
			if body := strings.TrimSpace(strings.Join(lines, "\n")); body != "" {
				s := &section{file: name, title: strings.TrimSuffix(page+": "+title, ": "), text: body}
				s.titleWords, s.allWords = normalize(s.title), normalize(s.title+" "+body)
				all = append(all, s)
			}
			lines = nil
		}
		for line := range strings.Lines(rest) {
			line = strings.TrimSuffix(line, "\n")
			code = code != strings.HasPrefix(line, "```")
			if found := heading.FindStringSubmatch(line); found != nil && !code {
				end()
				title = found[1]
				continue
			}
			lines = append(lines, line)
		}
		end()
	}
	return all
})

// normalize puts a space before each word, in lower case, so that a search finds the beginnings of words.
func normalize(text string) string {
	return " " + strings.Join(word.FindAllString(strings.ToLower(text), -1), " ")
}

const (
	foundSections     = 4
	foundSectionBytes = 4000
)

var (
	word = regexp.MustCompile(`[\p{L}\p{N}_]+`)
	// sample matches a block of code and the line before it that names its language.
	sample = regexp.MustCompile("(?s)(?:(?:With|The) [^\n]*:\n\n|[A-Za-z]+:\n\n)?```(\\w+)\n.*?\n```\n?")
)

// search counts a word in a title more than a word in the text.
func search(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	var asked struct{ Query, Language string }
	_ = json.Unmarshal(r.Params.Arguments, &asked)
	if strings.TrimSpace(asked.Query) == "" {
		return toolError("query must be a text with the words to find"), nil
	}
	scores := map[*section]float64{}
	for _, w := range word.FindAllString(strings.ToLower(asked.Query), 20) {
		if len(w) < 3 {
			continue
		}
		stem := " " + w[:max(min(len(w), 4), len(w)-3)] // orders and order become " ord", creating and create " creat"
		weights := map[*section]float64{}
		for _, s := range sections() {
			if n := float64(strings.Count(s.allWords, stem)); n > 0 {
				weights[s] = n / (n + float64(len(s.allWords))/1000) // long sections count less, because they contain most words
			}
			if strings.Contains(s.titleWords, stem) {
				weights[s]++
			}
		}
		for s, score := range weights {
			scores[s] += score * math.Log(1+float64(len(sections()))/float64(len(weights)))
		}
	}
	found := slices.SortedFunc(maps.Keys(scores), func(a, b *section) int {
		return cmp.Or(cmp.Compare(scores[b], scores[a]), strings.Compare(a.file+a.title, b.file+b.title))
	})
	if len(found) == 0 {
		return toolError("the guide and the reference have none of these words"), nil
	}
	var out strings.Builder
	for _, s := range found[:min(foundSections, len(found))] {
		text := sample.ReplaceAllStringFunc(s.text, func(block string) string {
			if language := sample.FindStringSubmatch(block)[1]; slices.Contains(languages, language) && language != asked.Language {
				return ""
			}
			return block
		})
		if len(text) > foundSectionBytes {
			text = strings.ToValidUTF8(text[:foundSectionBytes], "") + "…"
		}
		out.WriteString("# " + s.title + "\n(" + s.file + ")\n\n" + strings.TrimSpace(text) + "\n\n")
	}
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: strings.TrimSpace(out.String())}}}, nil
}
