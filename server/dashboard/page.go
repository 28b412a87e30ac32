package dashboard

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"html/template"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"

	"go.storefront.example/ent/tenant"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/dashboard/signin"
)

//go:embed page/*.html
var pageFiles embed.FS

//go:embed static
var staticFiles embed.FS

// view is a page to show.
type view struct {
	// Title names the page, in its heading and in the browser's tab.
	Title string
	// Section is the part of the dashboard that the page belongs to, as it is in its address.
	Section string
	// Template is the page's file, without .html.
	Template string
	// Refresh makes the browser load the page again after some seconds, where no script does.
	Refresh int
	Body    any
}

// notice is the body of a page with a message and nothing else.
type notice struct {
	Text   string
	Fields []string
}

func message(title, text string) view {
	return view{Title: title, Template: "notice", Body: &notice{Text: text}}
}

// frame is what every page's template gets.
type frame struct {
	view
	// Member is nil on the pages of readers who are not signed in.
	Member *signin.Member
	Store  tenant.Store
	// Token is for the forms.
	Token string
	// Done is the word for what the form before this page did, and Resent how many deliveries it sent (part.html).
	Done   string
	Resent int
	Now    time.Time
	// Failing is how many webhooks fail or were disabled by their failures.
	Failing int
	// Platform is what the operator says of the platform.
	Platform Platform
	files    map[string]asset
}

// Path is where the dashboard's addresses begin.
func (frame) Path() string { return Path }

// show answers a member with a page.
func (d *dashboard) show(v *visit, status int, page view) {
	asked := v.r.URL.Query()
	resent, _ := strconv.Atoi(asked.Get("resent"))
	d.render(v.w, v.r, status, frame{
		view: page, Member: &v.member, Store: v.store, Token: formToken(v.session), Done: asked.Get("done"), Resent: max(resent, 0),
		Now: v.now, Failing: d.failing(v),
	})
}

// page answers a member with the page that was asked for. It returns nil, as handlers do that have answered.
func (d *dashboard) page(v *visit, page view) error {
	d.show(v, http.StatusOK, page)
	return nil
}

// failing counts the webhooks that fail or were disabled by their failures, for the tab.
func (d *dashboard) failing(v *visit) (n int) {
	all, _ := d.Operator.ListWebhooks(v, &adminv1.ListWebhooksRequest{}) // an error here would hide the page itself
	for _, w := range all.GetWebhooks() {
		if w.GetState() == adminv1.Webhook_failing || w.GetDisabledAutomatically() {
			n++
		}
	}
	return n
}

// write answers a reader who is not signed in with a page.
func (d *dashboard) write(w http.ResponseWriter, r *http.Request, status int, page view) {
	d.render(w, r, status, frame{view: page, Now: d.Now()})
}

func (d *dashboard) render(w http.ResponseWriter, r *http.Request, status int, f frame) {
	f.Platform, f.files = d.Platform, d.files
	// Into memory first: half a page with status 200 would look whole to a browser.
	var page bytes.Buffer
	if err := pages[f.Template].Execute(&page, f); err != nil {
		d.Logger.ErrorContext(r.Context(), "a page of the dashboard cannot be made", "page", f.Template, "error", err)
		http.Error(w, "This page cannot be shown.", http.StatusInternalServerError)
		return
	}
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = page.WriteTo(w)
}

// pages are the templates by their files' names. Each has the layout and the parts that pages
// share beside it.
var pages = func() map[string]*template.Template {
	layout := template.Must(template.New("layout.html").Funcs(functions).ParseFS(pageFiles, "page/layout.html", "page/part.html"))
	all := map[string]*template.Template{}
	files, err := pageFiles.ReadDir("page")
	if err != nil {
		panic(err) // what is embedded can be read
	}
	for _, f := range files {
		name := strings.TrimSuffix(f.Name(), ".html")
		if name != "layout" && name != "part" {
			all[name] = template.Must(template.Must(layout.Clone()).ParseFS(pageFiles, path.Join("page", f.Name())))
		}
	}
	return all
}()

// asset is a file that pages load.
type asset struct {
	content []byte
	kind    string
	// version changes with the content, so that a browser may keep the file for good.
	version string
}

func newAsset(content []byte, kind string) asset {
	sum := sha256.Sum256(content)
	return asset{content, kind, hex.EncodeToString(sum[:6])}
}

var mediaTypes = map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
	".svg": "image/svg+xml"}

var assets = func() map[string]asset {
	all := map[string]asset{}
	files, err := staticFiles.ReadDir("static")
	if err != nil {
		panic(err) // what is embedded can be read
	}
	for _, f := range files {
		content, err := staticFiles.ReadFile(path.Join("static", f.Name()))
		if err != nil {
			panic(err)
		}
		all[f.Name()] = newAsset(content, mediaTypes[path.Ext(f.Name())])
	}
	return all
}()

// Asset is where a file is, with its version, "" for one that there is not.
func (f frame) Asset(name string) string {
	a, known := f.files[name]
	if !known {
		return ""
	}
	return Path + "/static/" + name + "?v=" + a.version
}

func (d *dashboard) serveAsset(w http.ResponseWriter, r *http.Request) {
	a, known := d.files[r.PathValue("name")]
	if !known {
		http.NotFound(w, r)
		return
	}
	if r.URL.Query().Get("v") == a.version {
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	w.Header().Set("Content-Type", a.kind)
	_, _ = w.Write(a.content)
}
