package dashboard

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"

	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/dashboard/signin"
	"go.storefront.example/server/limit"
)

// secureCookie, with the prefix __Host-, is accepted only over HTTPS and only for this host (RFC 6265bis, section 4.1.3.2).
// plainCookie is for http on this machine.
const (
	plainCookie  = "storefront_session"
	secureCookie = "__Host-" + plainCookie
)

// cookie returns the session's cookie without its value. secure comes from the sign-in link, because behind a proxy a request
// does not show whether the browser used HTTPS.
//
// With SameSite=Lax, browsers send the cookie if the member follows a link from another site, but not with another site's form.
// In a frame of another site the cookie needs SameSite=None, and browsers keep one for each site around the frame (CHIPS). Then
// only the form token and the headers show that a form came from another site.
func (d *dashboard) cookie(secure bool) *http.Cookie {
	if secure {
		c := &http.Cookie{Name: secureCookie, Path: "/", Secure: true, HttpOnly: true, SameSite: http.SameSiteLaxMode}
		if len(d.Platform.FrameAncestors) > 0 {
			c.SameSite, c.Partitioned = http.SameSiteNoneMode, true
		}
		return c
	}
	// Without HTTPS, a cookie cannot be bound to a port: other servers on this machine get this one too.
	return &http.Cookie{Name: plainCookie, Path: Path, HttpOnly: true, SameSite: http.SameSiteLaxMode}
}

func cookieValue(r *http.Request, secure bool) string {
	name := plainCookie
	if secure {
		name = secureCookie
	}
	c, err := r.Cookie(name)
	if err != nil {
		return ""
	}
	return c.Value
}

// session returns a context with the session's store and member, and the cookie's secret, or signin.ErrNoSession.
func (d *dashboard) session(r *http.Request) (context.Context, signin.Member, string, error) {
	if cookieValue(r, true) == "" && cookieValue(r, false) == "" {
		return nil, signin.Member{}, "", signin.ErrNoSession
	}
	release, err := d.Slots.Acquire(r.Context(), limit.Unauthenticated, false)
	if err != nil {
		return nil, signin.Member{}, "", err
	}
	defer release()
	for _, secure := range []bool{true, false} {
		secret := cookieValue(r, secure)
		if secret == "" {
			continue
		}
		ctx, member, err := d.Sessions.Authenticate(r.Context(), secret, secure)
		if !errors.Is(err, signin.ErrNoSession) {
			return ctx, member, secret, err
		}
	}
	return nil, signin.Member{}, "", signin.ErrNoSession
}

var crossOrigin = http.NewCrossOriginProtection()

// isCrossOrigin adds to the standard check for a browser from before 2023, which sends no Sec-Fetch-Site, behind a proxy that
// replaces Host: Origin must be the sign-in link's.
func isCrossOrigin(r *http.Request, origin string) bool {
	if crossOrigin.Check(r) == nil {
		return false
	}
	return r.Header.Get("Sec-Fetch-Site") != "" || origin == "" || r.Header.Get("Origin") != origin
}

// formToken computes from the session's secret, without revealing it, the token in every form of a session.
func formToken(session string) string {
	mac := hmac.New(sha256.New, []byte(session))
	mac.Write([]byte("form"))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

func validCSRF(session, token string) bool {
	return hmac.Equal([]byte(token), []byte(formToken(session)))
}

type signInBody struct {
	Member signin.Member
	Token  string
}

// signInPage does not use up the link, because chat programs and mail scanners fetch pages, but send no forms.
func (d *dashboard) signInPage(w http.ResponseWriter, r *http.Request) {
	token := r.URL.Query().Get("token")
	if token == "" {
		switch r.URL.Query().Get("done") {
		case "signed-out":
			d.writeMessage(w, r, http.StatusOK, "You are signed out", "To come back, use a new sign-in link.")
			return
		case "signed-out-everywhere":
			d.writeMessage(w, r, http.StatusOK, "You are signed out everywhere",
				"All your sessions in this store have ended. To come back, use a new sign-in link.")
			return
		}
		d.writeMessage(w, r, http.StatusOK, "Please sign in", "Open the sign-in link that you were given. "+d.newLink())
		return
	}
	release, err := d.Slots.Acquire(r.Context(), limit.Unauthenticated, false)
	if err != nil {
		d.fail(w, r, err)
		return
	}
	defer release()
	member, err := d.Sessions.LinkMember(r.Context(), token)
	switch {
	case errors.Is(err, signin.ErrLink):
		d.linkExpired(w, r)
	case err != nil:
		d.fail(w, r, err)
	default:
		d.write(w, r, http.StatusOK, view{Title: "Sign in", Template: "sign_in", Body: signInBody{member, token}})
	}
}

func (d *dashboard) linkExpired(w http.ResponseWriter, r *http.Request) {
	d.writeMessage(w, r, http.StatusGone, "This link no longer works",
		"A sign-in link works once and for a short time. "+d.newLink())
}

// signIn also ends the browser's earlier session, of which nobody could sign out once its cookie is replaced.
func (d *dashboard) signIn(w http.ResponseWriter, r *http.Request) {
	if err := parseForm(r); err != nil {
		status, title := unreadable(err)
		d.writeMessage(w, r, status, title, "Open the sign-in link again.")
		return
	}
	release, err := d.Slots.Acquire(r.Context(), limit.Unauthenticated, false)
	if err != nil {
		d.fail(w, r, err)
		return
	}
	defer release()
	token := r.PostFormValue("token")
	member, err := d.Sessions.LinkMember(r.Context(), token)
	if err == nil && isCrossOrigin(r, member.Origin) {
		d.refuseForeign(w, r)
		return
	}
	var secret string
	if err == nil {
		secret, err = d.Sessions.SignIn(r.Context(), token, cookieValue(r, true), cookieValue(r, false))
	}
	if errors.Is(err, signin.ErrLink) {
		d.linkExpired(w, r)
		return
	}
	if err != nil {
		d.fail(w, r, err)
		return
	}
	c := d.cookie(member.Secure())
	c.Value, c.MaxAge = secret, int(signin.SessionLength.Seconds())
	http.SetCookie(w, c)
	if cookieValue(r, !member.Secure()) != "" {
		d.clearCookie(w, !member.Secure())
	}
	d.Logger.InfoContext(r.Context(), "a member signed in to the dashboard")
	http.Redirect(w, r, Path+"/", http.StatusSeeOther)
}

func (d *dashboard) clearCookie(w http.ResponseWriter, secure bool) {
	c := d.cookie(secure)
	c.MaxAge = -1
	http.SetCookie(w, c)
}

func (d *dashboard) newLink() string {
	if d.Platform.SignInURL != "" {
		return "You can get a new link here:"
	}
	return "Ask the platform's operator for a new sign-in link."
}

// keepAlive prolongs the session. A script in the frame calls it while the page around it has an active reader.
func (d *dashboard) keepAlive(v *visit) error {
	if len(d.Platform.FrameAncestors) == 0 {
		return noPage()
	}
	if err := d.Sessions.KeepAlive(v, v.session); err != nil {
		return err
	}
	c := d.cookie(v.member.Secure())
	c.Value, c.MaxAge = v.session, int(signin.SessionLength.Seconds())
	http.SetCookie(v.w, c)
	v.w.WriteHeader(http.StatusNoContent)
	return nil
}

func (d *dashboard) signOut(v *visit) error {
	if err := d.Sessions.SignOut(v, v.session); err != nil {
		return err
	}
	d.clearCookie(v.w, v.member.Secure())
	d.Logger.InfoContext(v, "a member signed out of the dashboard", "store_id", v.store.ID)
	return v.redirect("/sign-in", "signed-out")
}

func (d *dashboard) askSignOutEverywhere(v *visit) error {
	return d.ask(v, "Sign out everywhere?", "", "sign-out-everywhere", v.member.Name+" · "+v.member.StoreName, "/")
}

func (d *dashboard) signOutEverywhere(v *visit) error {
	ended, err := d.Operator.RevokeSessions(v, &adminv1.RevokeSessionsRequest{Member: v.member.Name})
	if err != nil {
		return err
	}
	d.clearCookie(v.w, v.member.Secure())
	d.Logger.InfoContext(v, "a member signed out of the dashboard everywhere", "store_id", v.store.ID, "sessions",
		ended.GetSessions(), "links", ended.GetLinks())
	return v.redirect("/sign-in", "signed-out-everywhere")
}
