package dashboard

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net"
	"net/http"
	"strings"

	"go.storefront.example/server/admin"
)

// The session's cookie. The prefix makes browsers take it over HTTPS only, for this host alone
// (RFC 6265bis, section 4.1.3.2); on a loopback address without TLS it cannot be used.
const (
	plainCookie  = "storefront_session"
	secureCookie = "__Host-" + plainCookie
)

// secure tells whether the browser is to send the cookie over HTTPS only: always, but for a plain
// connection of this machine with itself.
func secure(r *http.Request) bool {
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.Trim(host, "[]")
	ip := net.ParseIP(host)
	loopback := host == "localhost" || strings.HasSuffix(host, ".localhost") || ip != nil && ip.IsLoopback()
	return !loopback || r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https"
}

// cookie is the session's cookie without a value; SameSite is Lax, so that a link to a page from
// elsewhere opens it, while forms from elsewhere come without the cookie.
func cookie(r *http.Request) *http.Cookie {
	c := &http.Cookie{Name: plainCookie, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode}
	if secure(r) {
		c.Name, c.Secure = secureCookie, true
	}
	return c
}

// sessionOf is the secret of a request's session, "" without one.
func sessionOf(r *http.Request) string {
	c, err := r.Cookie(cookie(r).Name)
	if err != nil {
		return ""
	}
	return c.Value
}

// formToken is what every form of a session carries: it can be made of the session's secret only,
// which no other site knows, and does not tell it.
func formToken(session string) string {
	mac := hmac.New(sha256.New, []byte(session))
	mac.Write([]byte("form"))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

func tokenFits(session, token string) bool {
	return hmac.Equal([]byte(token), []byte(formToken(session)))
}

// signInBody is the page of a sign-in link.
type signInBody struct {
	Member admin.Member
	Token  string
}

// signInPage asks whoever has a link to use it. It uses up nothing itself: what previews links in
// a chat or looks for viruses in a mail fetches pages and sends no forms.
func (d *dashboard) signInPage(w http.ResponseWriter, r *http.Request) {
	token := r.URL.Query().Get("token")
	if token == "" {
		if r.URL.Query().Get("done") == "signed-out" {
			d.say(w, r, http.StatusOK, "You are signed out", "To come back, use a new sign-in link.")
			return
		}
		d.say(w, r, http.StatusOK, "Please sign in", "Open the sign-in link that you were given. Whoever runs the platform can make one for you.")
		return
	}
	member, err := d.Operator.LookAtSignInLink(r.Context(), token)
	switch {
	case errors.Is(err, admin.ErrSignInLink):
		d.sayLinkIsOver(w, r)
	case err != nil:
		d.fail(w, r, err)
	default:
		d.write(w, r, http.StatusOK, view{Title: "Sign in", Template: "sign_in", Body: signInBody{member, token}})
	}
}

func (d *dashboard) sayLinkIsOver(w http.ResponseWriter, r *http.Request) {
	d.say(w, r, http.StatusGone, "This link no longer works", "A sign-in link works once and for a short time. Ask whoever runs the platform for a new one.")
}

// signIn uses a link up and begins a session.
func (d *dashboard) signIn(w http.ResponseWriter, r *http.Request) {
	secret, err := d.Operator.SignIn(r.Context(), r.PostFormValue("token"))
	if errors.Is(err, admin.ErrSignInLink) {
		d.sayLinkIsOver(w, r)
		return
	}
	if err != nil {
		d.fail(w, r, err)
		return
	}
	c := cookie(r)
	c.Value, c.MaxAge = secret, int(admin.SessionLength.Seconds())
	http.SetCookie(w, c)
	d.Logger.InfoContext(r.Context(), "a member signed in to the dashboard")
	http.Redirect(w, r, Path+"/keys", http.StatusSeeOther)
}

// signOut ends the session.
func (d *dashboard) signOut(v *visit) error {
	if err := d.Operator.SignOut(v, v.session); err != nil {
		return err
	}
	c := cookie(v.r)
	c.MaxAge = -1
	http.SetCookie(v.w, c)
	d.Logger.InfoContext(v, "a member signed out of the dashboard", "store_id", v.store.ID)
	return v.to("/sign-in", "signed-out")
}
