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
	// Title is the page's heading and the title of the browser's tab.
	Title string
	// Section is the page's part of the dashboard, as in its address.
	Section string
	// Template is the name of the page's file, without .html.
	Template string
	// Refresh makes the browser reload the page after so many seconds if scripts are off; 0 means never.
	Refresh int
	Body    any
}

// notice is the body of a page that only has a message.
type notice struct {
	Text   string
	Fields []string
}

func message(title, text string) view {
	return view{Title: title, Template: "notice", Body: &notice{Text: text}}
}

// frame is the data of every page's template.
type frame struct {
	view
	// Member is nil on the pages of readers who are not signed in.
	Member *signin.Member
	Store  tenant.Store
	// Token is the session's token for forms.
	Token string
	// Done names what the form before this page did, and Resent counts the deliveries that it sent (part.html).
	Done   string
	Resent int
	Now    time.Time
	// Failing counts the webhooks that fail or were disabled automatically.
	Failing int
	// Platform is the operator's branding.
	Platform Platform
	files    map[string]asset
}

// Path returns the beginning of the dashboard's addresses.
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

// page sends a page to a member and returns nil, as handlers return after they have answered.
func (d *dashboard) page(v *visit, page view) error {
	d.show(v, http.StatusOK, page)
	return nil
}

// failing counts the webhooks that fail or were disabled automatically, for the tab.
func (d *dashboard) failing(v *visit) (n int) {
	all, _ := d.Operator.ListWebhooks(v, &adminv1.ListWebhooksRequest{}) // an error here would hide the page itself
	for _, w := range all.GetWebhooks() {
		if w.GetState() == adminv1.Webhook_failing || w.GetDisabledAutomatically() {
			n++
		}
	}
	return n
}

// write sends a page to a reader who is not signed in.
func (d *dashboard) write(w http.ResponseWriter, r *http.Request, status int, page view) {
	d.render(w, r, status, frame{view: page, Now: d.Now()})
}

func (d *dashboard) render(w http.ResponseWriter, r *http.Request, status int, f frame) {
	f.Platform, f.files = d.Platform, d.files
	// Render into memory first, because half a page with status 200 would look complete to a browser.
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

// pages are the templates by their files' names, each with the layout and the shared parts.
var pages = func() map[string]*template.Template {
	layout := template.Must(template.New("layout.html").Funcs(functions).ParseFS(pageFiles, "page/layout.html", "page/part.html"))
	all := map[string]*template.Template{}
	files, err := pageFiles.ReadDir("page")
	if err != nil {
		panic(err) // embedded files can be read
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
	// version changes with the content, so that browsers may cache the file for good.
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
		panic(err) // embedded files can be read
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

// Asset returns the address of a file with its version, or "" if there is no such file.
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
