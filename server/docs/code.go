package docs

import (
	"fmt"
	"html"
	"regexp"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"
)

// languages has the names of the languages between which a reader chooses.
var languages = map[string]string{"sh": "curl", "ts": "TypeScript", "go": "Go", "php": "PHP", "python": "Python"}

// grammar returns a pattern of the parts of a program that have a colour: comments, texts, keywords and numbers, in this order.
func grammar(comment, keywords string) *regexp.Regexp {
	return regexp.MustCompile(`(` + comment + `)|("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|` + "`[^`]*`" + `)|\b(` + keywords +
		`)\b|\b(\d[\w.]*|true|false|null|None|nil)\b`)
}

// grammars are the patterns of the languages on the pages. Code in another language has no colours.
var grammars = map[string]*regexp.Regexp{
	"sh":     grammar(`(?m:(?:^|\s)#.*$)`, `do|done|export|if|then|fi|for|while`),
	"ts":     grammar(`//.*|(?s:/\*.*?\*/)`, `as|async|await|break|catch|const|else|export|for|from|function|if|import|instanceof|let|new|of|return|throw|try|type|while`),
	"go":     grammar(`//.*`, `break|case|chan|const|continue|defer|else|for|func|go|if|import|map|package|range|return|struct|switch|type|var`),
	"php":    grammar(`//.*|(?s:/\*.*?\*/)`, `array|as|catch|echo|else|elseif|exit|fn|foreach|function|if|instanceof|new|require|return|throw|try|use`),
	"python": grammar(`#.*`, `and|as|case|class|def|except|for|from|if|import|in|is|match|not|or|raise|return|try|while`),
	"json":   grammar(`\z`, `\z`),
	"sql":    grammar(`--.*`, `CREATE|DELETE|DO|FROM|INSERT|INTO|NOTHING|ON|SELECT|SET|UPDATE|VALUES|WHERE`),
}

// coloured returns a program as HTML.
func coloured(program, language string) string {
	pattern := grammars[language]
	if pattern == nil {
		return html.EscapeString(program)
	}
	var out strings.Builder
	end := 0
	for _, at := range pattern.FindAllStringSubmatchIndex(program, -1) {
		for group, class := range []string{"c", "s", "k", "n"} {
			from, to := at[2*group+2], at[2*group+3]
			if from < 0 || from == to {
				continue
			}
			if class == "s" && language == "json" && strings.HasPrefix(program[to:], ":") {
				class = "p"
			}
			out.WriteString(html.EscapeString(program[end:from]) + `<span class="` + class + `">` + html.EscapeString(program[from:to]) + `</span>`)
			end = to
		}
	}
	return out.String() + html.EscapeString(program[end:])
}

// codeBlocks makes goldmark render blocks of code with colours. Readers can scroll a wide block with the keyboard.
type codeBlocks struct{}

func (codeBlocks) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	block := func(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		language := ""
		if fenced, ok := n.(*ast.FencedCodeBlock); ok {
			language = string(fenced.Language(source))
		}
		text := strings.TrimRight(string(n.Lines().Value(source)), "\n")
		_, err := w.WriteString(`<div class="code" data-language="` + html.EscapeString(language) + `"><pre tabindex="0"><code>` + coloured(text, language) +
			"</code></pre></div>\n")
		return ast.WalkSkipChildren, err
	}
	r.Register(ast.KindFencedCodeBlock, block)
	r.Register(ast.KindCodeBlock, block)
}

var (
	adjacent = regexp.MustCompile(`(?s)(?:<div class="code" data-language="(?:sh|ts|go|php|python)">.*?</div>\n)+`)
	oneBlock = regexp.MustCompile(`(?s)<div class="code" data-language="(\w+)">.*?</div>\n`)
)

// tabbed puts a choice of languages above blocks of code that follow each other, each in another language.
func tabbed(page string) string {
	groups := 0
	return adjacent.ReplaceAllStringFunc(page, func(run string) string {
		blocks := oneBlock.FindAllStringSubmatch(run, -1)
		if len(blocks) < 2 || blocks[0][1] == blocks[1][1] {
			return run
		}
		groups++
		choices, checked := "", " checked"
		for _, block := range blocks {
			name := languages[block[1]]
			if name == "curl" && !strings.Contains(run, name) {
				name = "Shell"
			}
			choices += fmt.Sprintf(`<label><input type="radio" name="language-%d" value="%s"%s>%s</label>`, groups, block[1], checked, name)
			checked = ""
		}
		return `<div class="samples"><fieldset><legend class="unseen">Language of the sample</legend>` + choices + "</fieldset>\n" + run + "</div>\n"
	})
}
