// Package dashboard serves Settings › Developer of a store in a browser: an overview, API keys, webhooks, events, the
// delivery journal, refused requests and the activity journal. The admin listener serves it under Path. All its files
// are in the binary.
//
//	sign-in link ──► page with one button ──► session cookie, 12 hours ──► the store's pages
//
// The button uses up the link. Opening the page does not, because chat programs fetch pages for previews.
//
// The scheme of the sign-in link decides in which of two cookies a session is accepted. After an https link, it is a cookie that
// browsers send only over HTTPS and only to this host. The scheme of a request does not matter, because a proxy may change it.
//
// A member is signed in to one store, and sees only the rows of this store. The dashboard refuses requests without a
// session, and forms that lack the session's token or come from a page of another site. Only pages of FrameAncestors may
// show it in a frame. A key or a secret is shown only once, on the page that answers its creation.
//
// All pages and forms work without JavaScript.
package dashboard

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"go.storefront.example/ent/tenant"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/dashboard/signin"
	"go.storefront.example/server/limit"
)

// Path is the path under which the dashboard is served.
const Path = "/dashboard"

const maxFormBytes = 64 << 10

// Config requires every field but API.
type Config struct {
	Sessions *signin.Sessions
	Operator *admin.Operator
	Now      func() time.Time
	// Unreachable reports whether an error means that the database is unavailable.
	Unreachable func(error) bool
	// Logger gets no secret.
	Logger *slog.Logger
	// Slots bounds how many requests use the database, per store and without a session.
	Slots *limit.Slots
	// Platform has passed Platform.Check.
	Platform Platform
	// API is the API's address, such as https://api.example.com; empty if this process does not know it.
	API string
}

type dashboard struct {
	Config
	files map[string]asset
}

// New returns the handler for Path and below. Goroutines may share it.
func New(c Config) http.Handler {
	d := &dashboard{c, c.Platform.assets()}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+Path+"/static/{name}", d.serveAsset)
	mux.HandleFunc("GET "+Path+"/sign-in", d.signInPage)
	mux.HandleFunc("POST "+Path+"/sign-in", d.signIn)
	for pattern, do := range map[string]func(*visit) error{
		"GET /{$}":         d.overview,
		"POST /sign-out":   d.signOut,
		"POST /keep-alive": d.keepAlive,

		"GET /sign-out-everywhere":  d.askSignOutEverywhere,
		"POST /sign-out-everywhere": d.signOutEverywhere,

		"GET /keys":              d.keys,
		"GET /keys/new":          d.newKey,
		"POST /keys":             d.createKey,
		"GET /keys/{id}/revoke":  d.askRevoke,
		"POST /keys/{id}/revoke": d.revokeKey,

		"GET /webhooks":              d.webhooks,
		"GET /webhooks/new":          d.newWebhook,
		"POST /webhooks":             d.createWebhook,
		"GET /webhooks/{id}":         d.webhook,
		"GET /webhooks/{id}/edit":    d.editWebhook,
		"POST /webhooks/{id}/edit":   d.updateWebhook,
		"GET /webhooks/{id}/{ask}":   d.askWebhook,
		"POST /webhooks/{id}/{move}": d.webhookAction,

		"GET /events":       d.events,
		"GET /events/types": d.eventTypes,

		"GET /deliveries":              d.deliveries,
		"GET /deliveries/{id}":         d.delivery,
		"GET /deliveries/{id}/payload": d.payload,
		"POST /deliveries/{id}/resend": d.resendDelivery,

		"GET /requests": d.requests,
		"GET /activity": d.activity,

		"/": func(v *visit) error { return noPage() },
	} {
		method, path, ok := strings.Cut(pattern, " ")
		if !ok {
			method, path = "", pattern
		}
		mux.Handle(strings.TrimSpace(method+" "+Path+path), d.member(do))
	}
	mux.Handle("GET "+Path, http.RedirectHandler(Path+"/", http.StatusSeeOther))

	return d.logRequests(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxFormBytes)
		mux.ServeHTTP(w, r)
	}))
}

func (d *dashboard) protect(h http.Header) {
	ancestors := "'none'"
	if len(d.Platform.FrameAncestors) > 0 {
		ancestors = strings.Join(d.Platform.FrameAncestors, " ")
	} else {
		h.Set("X-Frame-Options", "DENY") // this header cannot name the sites that may frame a page
	}
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "+
		"connect-src 'self'; form-action 'self'; frame-ancestors "+ancestors+"; base-uri 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	// A page's address may have a sign-in link's token, so other sites may learn only its origin. no-referrer would send the
	// dashboard's own forms with an empty Origin (Fetch standard, "append a request Origin header"), by which browsers without
	// Sec-Fetch-Site show a form's site.
	h.Set("Referrer-Policy", "strict-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
}

// visit is a request of a signed-in member, whose store is in its context.
type visit struct {
	context.Context
	w       http.ResponseWriter
	r       *http.Request
	now     time.Time
	member  signin.Member
	store   tenant.Store
	session string
}

// member calls do for signed-in members. It refuses a form from another site or without the session's token.
func (d *dashboard) member(do func(*visit) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		malformed := parseForm(r)
		ctx, member, secret, err := d.session(r)
		switch {
		case errors.Is(err, signin.ErrNoSession):
			d.writeMessage(w, r, http.StatusUnauthorized, "Please sign in",
				"You are not signed in, or your session has ended. "+d.newLink())
			return
		case err != nil:
			d.fail(w, r, err)
			return
		}
		in, _, _ := tenant.From(ctx)
		release, err := d.Slots.Acquire(r.Context(), in.ID, false)
		if err != nil {
			d.fail(w, r, err)
			return
		}
		defer release()
		v := &visit{Context: ctx, w: w, r: r.WithContext(ctx), now: d.Now(), member: member, store: in, session: secret}
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			if isCrossOrigin(r, member.Origin) {
				d.refuseForeign(w, r)
				return
			}
			if malformed != nil {
				status, title := unreadable(malformed)
				d.show(v, status, message(title, "Go back, reload the page and try again."))
				return
			}
			if !validCSRF(secret, v.r.PostForm.Get("csrf")) {
				_, route := routeOf(r)
				d.Logger.WarnContext(ctx, "refused a form without the session's token", "store_id", in.ID, "route", route)
				d.show(v, http.StatusForbidden, message("This form was not accepted",
					"It does not belong to your session, perhaps because you signed in again meanwhile. Go back, reload the page and "+
						"try again."))
				return
			}
		}
		if err := do(v); err != nil {
			d.refuse(v, err)
		}
	})
}

// parseForm is called before the request takes a slot, so that a slow sender occupies none.
func parseForm(r *http.Request) error {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return nil
	}
	return r.ParseForm()
}

func unreadable(err error) (status int, title string) {
	if large := (*http.MaxBytesError)(nil); errors.As(err, &large) {
		return http.StatusRequestEntityTooLarge, "This form is too large"
	}
	return http.StatusBadRequest, "This form cannot be read"
}

// redirect sends the browser to a page with the message done, such as "webhook-saved", or none.
func (v *visit) redirect(path, done string) error {
	if done != "" {
		path += "?done=" + done
	}
	http.Redirect(v.w, v.r, Path+path, http.StatusSeeOther)
	return nil
}

func (d *dashboard) refuse(v *visit, err error) {
	r := apierr.FromRequest(v.r.Context(), err, d.Unreachable)
	shown := message("This was not done", r.Message)
	switch {
	case r.Code == apierr.Unavailable, r.Code == apierr.InternalError:
		shown = d.failed(v.r, r)
	case r.Status() == http.StatusNotFound:
		shown = message("Not found", r.Message)
	}
	body := shown.Body.(*notice)
	for _, f := range r.Details.GetFields() {
		name := cmp.Or(labels[f.GetField()], f.GetField())
		body.Fields = append(body.Fields, name+": "+f.GetMessage())
	}
	if r.Code == apierr.ValidationFailed && len(body.Fields) > 0 {
		body.Text = "Correct this, then try again:" // not r.Message, which mentions details.fields
	}
	d.show(v, r.Status(), shown)
}

// fail answers any reader, signed in or not.
func (d *dashboard) fail(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, limit.ErrBusy) {
		d.writeMessage(w, r, http.StatusServiceUnavailable, "The dashboard is busy",
			"There are more requests than it can answer in time. Reload the page in a moment.")
		return
	}
	f := apierr.FromRequest(r.Context(), err, d.Unreachable)
	d.write(w, r, f.Status(), d.failed(r, f))
}

func (d *dashboard) failed(r *http.Request, f *apierr.Refusal) view {
	reference := tenant.CallOf(r.Context()).Request.ID.String()
	if !f.CallerGaveUp() {
		d.logFailure(r, f.Cause)
	}
	return message("Something went wrong", f.Message+" If this continues, give the platform's operator this reference: "+reference)
}

func (d *dashboard) logFailure(r *http.Request, cause error) {
	_, route := routeOf(r)
	d.Logger.ErrorContext(r.Context(), "the dashboard failed", "request_id", tenant.CallOf(r.Context()).Request.ID, "route", route,
		"error", cause)
}

func (d *dashboard) refuseForeign(w http.ResponseWriter, r *http.Request) {
	_, route := routeOf(r)
	d.Logger.WarnContext(r.Context(), "refused a form of another site", "route", route,
		"origin", cut(r.Header.Get("Origin"), maxShownRunes))
	d.writeMessage(w, r, http.StatusForbidden, "This form was not accepted",
		"It was not sent by a page of this dashboard. If the address in your browser begins with http://, open the dashboard with "+
			"https:// instead.")
}

// writeMessage answers a reader who is not signed in.
func (d *dashboard) writeMessage(w http.ResponseWriter, r *http.Request, status int, title, text string) {
	// Read the rest of the body, because the connection's next request comes after it.
	_, _ = io.Copy(io.Discard, r.Body)
	d.write(w, r, status, message(title, text))
}

func noPage() error {
	return apierr.New(apierr.NotFound, "There is no such page.")
}
