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
	"sync"
	"time"

	"go.storefront.example/ent/tenant"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/dashboard/signin"
)

//go:embed page/*.html
var pageFiles embed.FS

//go:embed static
var staticFiles embed.FS

type view struct {
	Title string
	// Section is the part of the dashboard, as in its address: "keys", for example.
	Section string
	// Template is the page's file, without .html.
	Template string
	// Refresh is after how many seconds a browser without scripts reloads the page; 0 means never.
	Refresh int
	Body    any
}

type notice struct {
	Text   string
	Fields []string
}

func message(title, text string) view {
	return view{Title: title, Template: "notice", Body: &notice{Text: text}}
}

type frame struct {
	view
	// Member is nil for readers who are not signed in.
	Member *signin.Member
	Store  tenant.Store
	// Token is the session's, which the page's forms send.
	Token string
	// Done is the name of the message about the form that led here, in part.html. Resent is how many deliveries that form sent
	// again.
	Done   string
	Resent int
	Now    time.Time
	// Failing counts the webhooks that fail, or that a worker disabled because they failed.
	Failing  int
	Platform Platform
	files    map[string]asset
}

func (frame) Path() string { return Path }

// show answers a signed-in member.
func (d *dashboard) show(v *visit, status int, page view) {
	query := v.r.URL.Query()
	resent, _ := strconv.Atoi(query.Get("resent"))
	d.render(v.w, v.r, status, frame{
		view: page, Member: &v.member, Store: v.store, Token: formToken(v.session), Done: query.Get("done"), Resent: max(resent, 0),
		Now: v.now, Failing: d.failing(v),
	})
}

// page is show with status 200. It returns nil, so that a handler can end with it.
func (d *dashboard) page(v *visit, page view) error {
	d.show(v, http.StatusOK, page)
	return nil
}

// failing is 0 after an error.
func (d *dashboard) failing(v *visit) (n int) {
	all, _ := d.Operator.ListWebhooks(v, &adminv1.ListWebhooksRequest{})
	for _, w := range all.GetWebhooks() {
		if w.GetState() == adminv1.Webhook_failing || w.GetDisabledAutomatically() {
			n++
		}
	}
	return n
}

// write answers a reader who may not be signed in.
func (d *dashboard) write(w http.ResponseWriter, r *http.Request, status int, page view) {
	d.render(w, r, status, frame{view: page, Now: d.Now()})
}

func (d *dashboard) render(w http.ResponseWriter, r *http.Request, status int, f frame) {
	f.Platform, f.files = d.Platform, d.files
	// If rendering fails half-way, the browser must not get the first half with status 200.
	var page bytes.Buffer
	if err := pages()[f.Template].Execute(&page, f); err != nil {
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

// pages has a template for each page file. The first call parses them, because commands need none.
var pages = sync.OnceValue(func() map[string]*template.Template {
	layout := template.Must(template.New("layout.html").Funcs(functions).ParseFS(pageFiles, "page/layout.html", "page/part.html"))
	all := map[string]*template.Template{}
	files, err := pageFiles.ReadDir("page")
	if err != nil {
		panic(err) // the files are embedded in the binary
	}
	for _, f := range files {
		name := strings.TrimSuffix(f.Name(), ".html")
		if name != "layout" && name != "part" {
			all[name] = template.Must(template.Must(layout.Clone()).ParseFS(pageFiles, path.Join("page", f.Name())))
		}
	}
	return all
})

type asset struct {
	content   []byte
	mediaType string
	// version is a part of the address and changes with the content, so that browsers may cache the file.
	version string
}

func newAsset(content []byte, mediaType string) asset {
	sum := sha256.Sum256(content)
	return asset{content, mediaType, hex.EncodeToString(sum[:6])}
}

var mediaTypes = map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
	".svg": "image/svg+xml"}

var assets = func() map[string]asset {
	all := map[string]asset{}
	files, err := staticFiles.ReadDir("static")
	if err != nil {
		panic(err) // the files are embedded in the binary
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

// Asset returns a file's address with its version, or "" if there is no such file.
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
	w.Header().Set("Content-Type", a.mediaType)
	_, _ = w.Write(a.content)
}
