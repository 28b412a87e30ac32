package docs

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"html"
	"html/template"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	goldmarkhtml "github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/util"

	storefront "go.storefront.example"
)

// Readers are the people for whom a site is.
type Readers int

const (
	// Callers read the pages about calling the API.
	Callers Readers = iota
	// Everybody reads all pages.
	Everybody
)

// front is the name of the page at Path. It is a file of the repository, whose links are the first pages of the navigation.
const front = "guide"

// part is a part of the navigation: the files of the repository that begin it, each followed by the pages to which it links.
type part struct {
	title string
	files []string
	// grouped says that the headings in these files are titles of groups of pages.
	grouped bool
}

var parts = []part{
	{"Call the API", []string{"cmd/openapi/guide.md", "gen/docs/reference.md"}, true},
	{"Run it", []string{"cmd/storefront/README.md", "CHANGELOG.md"}, false},
	{"Change it", []string{"CONTRIBUTING.md", "RELEASING.md", "SECURITY.md"}, false},
}

// navigation is a part of the site's navigation, and group is a list of pages in it.
type (
	navigation struct {
		Title  string
		Groups []*group
	}
	group struct {
		Title string
		Pages []*Page
	}
)

// Page is a page of the site.
type Page struct {
	// Name is the page's path below Path. A file with this name and .md has the page's Markdown.
	Name, Title string
	// Markdown is the text of a file of the repository, with the addresses of the site in its links.
	Markdown string
	// Part is the index of the page's part of the navigation.
	Part int
	file string
}

// Path returns the path at which a server has the page.
func (p *Page) Path() string { return pathOf(p.Name) }

func pathOf(name string) string {
	if name == front {
		return Path
	}
	return Path + "/" + name
}

// site is all pages for some readers.
type site struct {
	names map[string]string // of the pages, by file
	pages []*Page
	parts []navigation
}

// sites has the site for each kind of readers, made when a process first needs it.
var sites = [...]func() *site{
	Callers:   sync.OnceValue(func() *site { return newSite(parts[:1]) }),
	Everybody: sync.OnceValue(func() *site { return newSite(parts) }),
}

// Pages returns the pages of a site, in the order of its navigation.
func Pages(readers Readers) []*Page { return sites[readers]().pages }

var (
	title = regexp.MustCompile(`(?m)^# (.+)$`)
	// mention matches a heading of the second level, or the target of a link without its fragment.
	mention = regexp.MustCompile(`(?m)^## (.+)$|\[[^\[\]]+\]\(([^()\s#]+)(?:#[^()\s]*)?\)`)
	link    = regexp.MustCompile(`\[([^\[\]]+)\]\(([^()\s#]*)(#[^()\s]*)?\)`)
	fence   = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	folders = strings.NewReplacer("cmd/storefront/README.md", "manual.md", "cmd/storefront/", "", "cmd/openapi/", "", "gen/docs/", "", "proto/", "",
		"client/README.md", "clients.md", "client/", "", "/README.md", ".md")
)

// nameOf returns the name of the page that a file of the repository becomes.
func nameOf(file string) string {
	name := strings.TrimSuffix(folders.Replace(file), ".md")
	if strings.ToUpper(name) == name {
		return strings.ToLower(name)
	}
	return name
}

// read returns the text of a page's file, or "" if target is no page. A folder stands for its README.md.
func read(target string) (file, text string) {
	for _, file := range []string{target, path.Join(target, "README.md")} {
		if found, err := storefront.Pages.ReadFile(file); err == nil && strings.HasSuffix(file, ".md") {
			return file, string(found)
		}
	}
	return "", ""
}

func newSite(parts []part) *site {
	s := &site{names: map[string]string{}}
	for i, one := range parts {
		var groups []*group
		add := func(heading, target string) {
			file, text := read(target)
			if text == "" || s.names[file] != "" {
				return
			}
			p := &Page{Name: nameOf(file), Title: strings.Trim(title.FindStringSubmatch(text)[1], "`"), Markdown: text, Part: i, file: file}
			s.names[file], s.pages = p.Name, append(s.pages, p)
			if len(groups) == 0 || one.grouped && groups[len(groups)-1].Title != heading {
				groups = append(groups, &group{Title: heading})
			}
			last := groups[len(groups)-1]
			last.Pages = append(last.Pages, p)
		}
		for _, file := range one.files {
			heading := ""
			_, text := read(file)
			add(heading, file)
			for _, found := range mention.FindAllStringSubmatch(text, -1) {
				if found[1] != "" {
					heading = found[1]
					continue
				}
				add(heading, path.Join(path.Dir(file), found[2]))
			}
		}
		s.parts = append(s.parts, navigation{one.title, groups})
	}
	for _, p := range s.pages {
		p.Markdown = s.relinked(p)
	}
	return s
}

// relinked returns the Markdown of a page with the site's addresses in its links. A link to a file that the site does not have becomes
// its text.
func (s *site) relinked(p *Page) string {
	prose := func(text string) string {
		return link.ReplaceAllStringFunc(text, func(all string) string {
			found := link.FindStringSubmatch(all)
			if found[2] == "" || strings.Contains(found[2], ":") {
				return all
			}
			target := path.Join(path.Dir(p.file), found[2])
			if target == documentFile {
				return "[" + found[1] + "](" + DocumentPath + ")"
			}
			file, _ := read(target)
			if s.names[file] == "" {
				return found[1]
			}
			return "[" + found[1] + "](" + Path + "/" + s.names[file] + ".md" + found[3] + ")"
		})
	}
	var out strings.Builder
	text, end := p.Markdown, 0
	for _, at := range fence.FindAllStringIndex(text, -1) {
		out.WriteString(prose(text[end:at[0]]) + text[at[0]:at[1]])
		end = at[1]
	}
	return out.String() + prose(text[end:])
}

// index returns llms.txt, the list of all pages for programs.
func (s *site) index() string {
	var out strings.Builder
	_, about, _ := strings.Cut(s.pages[0].Markdown, "\n\n")
	about, _, _ = strings.Cut(about, "\n\n")
	out.WriteString("# " + s.pages[0].Title + "\n\n> " + strings.ReplaceAll(about, "\n", "\n> ") + "\n\nIts URL is " + Address + ".\n")
	for _, one := range s.parts {
		out.WriteString("\n## " + one.Title + "\n")
		for _, g := range one.Groups {
			out.WriteString("\n")
			for _, p := range g.Pages {
				out.WriteString("- [" + p.Title + "](" + Path + "/" + p.Name + ".md)\n")
			}
		}
	}
	out.WriteString("- [OpenAPI document](" + DocumentPath + ")\n")
	return out.String()
}

var (
	//go:embed page.html
	layout string
	//go:embed page.css
	styles string
	//go:embed page.js
	script string

	pageTemplate = template.Must(template.New("page").Parse(layout))
	markdown     = goldmark.New(
		goldmark.WithExtensions(extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute))),
		goldmark.WithParserOptions(parser.WithAutoHeadingID()),
		// The pages are files of the repository, so they may have HTML such as an anchor.
		goldmark.WithRendererOptions(goldmarkhtml.WithUnsafe(), renderer.WithNodeRenderers(util.Prioritized(codeBlocks{}, 100))),
	)
	notInFragment = regexp.MustCompile(`[^a-z0-9_ -]`)
)

// pagePolicy is the Content-Security-Policy of the pages: they run only the script in them, and load only the index of the search.
var pagePolicy = "default-src 'none'; script-src " + hash(script) + "; style-src " + hash(styles) +
	"; img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// fragments gives headings the ids that a forge gives them, so that links lead to them in the repository and on the site.
type fragments map[string]bool

// Generate returns the id of a heading.
func (f fragments) Generate(text []byte, _ ast.NodeKind) []byte {
	id := strings.ReplaceAll(notInFragment.ReplaceAllString(strings.ToLower(string(text)), ""), " ", "-")
	for f[id] {
		id += "-1"
	}
	f[id] = true
	return []byte(id)
}

// Put notes an id that is on the page already.
func (f fragments) Put(id []byte) { f[string(id)] = true }

var (
	toPage = regexp.MustCompile(`href="` + Path + `/([^"#]+)\.md(#[^"]*)?"`)
	// emptyHeader matches the heading of a column without one, which screen readers would announce.
	emptyHeader = regexp.MustCompile(`<th[^>]*></th>`)
	field       = regexp.MustCompile(`<li><code>([\w-]+)</code> \((.*?)\)`)
)

// body returns the content of a page as HTML. The reference's fields get ids; its examples stand beside the rest.
func body(p *Page) string {
	var out bytes.Buffer
	ids := fragments{}
	if err := markdown.Convert([]byte(p.Markdown), &out, parser.WithContext(parser.NewContext(parser.WithIDs(ids)))); err != nil {
		panic(err) // a buffer and the renderers above return no error
	}
	text := toPage.ReplaceAllStringFunc(out.String(), func(href string) string {
		found := toPage.FindStringSubmatch(href)
		return `href="` + pathOf(found[1]) + found[2] + `"`
	})
	text = emptyHeader.ReplaceAllString(text, "<td></td>")
	text = strings.ReplaceAll(text, "<table>", `<div class="scrolled" tabindex="0" role="group" aria-label="Table"><table>`)
	text = tabbed(strings.ReplaceAll(text, "</table>", "</table></div>"))
	if !strings.HasPrefix(p.file, "gen/docs/o") {
		return text
	}
	text = field.ReplaceAllStringFunc(text, func(item string) string {
		found, id := field.FindStringSubmatch(item), ""
		if !ids[found[1]] {
			ids[found[1]] = true
			id = ` id="` + found[1] + `"`
		}
		return `<li class="field"` + id + `><code>` + found[1] + `</code> <span class="facts">` + found[2] + `</span>`
	})
	if before, example, ok := strings.Cut(text, `<h2 id="example">`); ok {
		text = `<div class="text">` + before + `</div><div class="beside"><h2 id="example">` + example + `</div>`
	}
	return `<div class="reference">` + text + `</div>`
}

// render returns a page of the site, and what the search finds in it.
func (s *site) render(p *Page) (string, []hit) {
	shown := body(p)
	if p.Name == front {
		shown = strings.Replace(shown, "</h1>", "</h1>\n<p class=\"address\">Its URL is <code>"+Address+"</code>.</p>", 1)
	}
	var out strings.Builder
	if err := pageTemplate.Execute(&out, map[string]any{
		"Page": p, "Nav": s.parts, "Front": p.Name == front,
		// These texts are the project's own, and not a client's.
		"Body": template.HTML(shown), "Style": template.HTML("<style>" + styles + "</style>"), //nolint:gosec // See above.
		"Script": template.HTML("<script>" + script + "</script>"), //nolint:gosec // See above.
	}); err != nil {
		panic(err) // the template has no part that can fail
	}
	return out.String(), hits(p, shown)
}

// hit is a place on a page that the search can find.
type hit struct {
	URL   string `json:"url"`
	Name  string `json:"name"`
	Where string `json:"where"`
	Words string `json:"words"`
}

var (
	place  = regexp.MustCompile(`<(?:h[1-6]|li class="field") id="([^"]+)">`)
	markup = regexp.MustCompile(`<[^>]*>`)
)

// hits returns the headings and fields of a page, each with the words up to the next.
func hits(p *Page, shown string) (all []hit) {
	words := func(text string) string {
		return strings.Join(strings.Fields(html.UnescapeString(markup.ReplaceAllString(text, " "))), " ")
	}
	end := len(shown)
	for _, at := range slices.Backward(place.FindAllStringSubmatchIndex(shown, -1)) {
		name, _, _ := strings.Cut(shown[at[1]:end], "</")
		all = append(all, hit{p.Path() + "#" + shown[at[2]:at[3]], words(name), p.Title, words(shown[at[1]:end])})
		end = at[0]
	}
	slices.Reverse(all)
	all[0].URL, all[0].Where = p.Path(), ""
	return all
}

// files returns the texts of all files of the site by their paths, except the OpenAPI document.
func (s *site) files() map[string]content {
	all := map[string]content{Path + "/llms.txt": {"text/plain; charset=utf-8", closedPolicy, s.index()}}
	var found []hit
	for _, p := range s.pages {
		rendered, places := s.render(p)
		all[p.Path()] = content{"text/html; charset=utf-8", pagePolicy, rendered}
		all[Path+"/"+p.Name+".md"] = content{"text/markdown; charset=utf-8", closedPolicy, p.Markdown}
		found = append(found, places...)
	}
	words, err := json.Marshal(found)
	if err != nil {
		panic(err) // texts can be written as JSON
	}
	all[Path+"/search.json"] = content{"application/json", closedPolicy, string(words)}
	return all
}

// content is a file of the site.
type content struct{ mediaType, policy, text string }
