package dashboard

import (
	"net/http"
	"net/url"
	"strings"

	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/auth"
	"go.storefront.example/server/shop"
)

// keysBody has all active keys, and at most Most of the newest revoked or expired ones.
type keysBody struct {
	Active, Over []*adminv1.Key
	Limit, Most  int
}

func (b keysBody) Full() bool { return len(b.Active) >= b.Limit }

func (d *dashboard) keys(v *visit) error {
	active, ended, err := d.Operator.RecentKeys(v)
	if err != nil {
		return err
	}
	body := keysBody{active, ended, shop.MaxActiveKeys, admin.MaxEndedKeys}
	return d.page(v, view{Title: "API keys", Section: "keys", Template: "keys", Body: body})
}

type lifetime struct {
	Value, Name string
	lifetime    adminv1.Key_Lifetime
}

// lifetimes are those of the specification (Authentication).
var lifetimes = []lifetime{
	{"30d", "After 30 days", adminv1.Key_DAYS_30}, {"90d", "After 90 days", adminv1.Key_DAYS_90},
	{"1y", "After 1 year", adminv1.Key_YEAR_1}, {"never", "Never", adminv1.Key_NEVER},
}

// lifetimeOf returns LIFETIME_UNSPECIFIED for a value that no choice has.
func lifetimeOf(value string) adminv1.Key_Lifetime {
	for _, l := range lifetimes {
		if l.Value == value {
			return l.lifetime
		}
	}
	return adminv1.Key_LIFETIME_UNSPECIFIED
}

func (d *dashboard) showKeyForm(v *visit, status int, f form) error {
	f.Choices = auth.Scopes()
	d.show(v, status, view{Title: "Create an API key", Section: "keys", Template: "key_new", Body: f})
	return nil
}

func (d *dashboard) newKey(v *visit) error {
	active, _, err := d.Operator.RecentKeys(v)
	if err != nil {
		return err
	}
	if len(active) >= shop.MaxActiveKeys {
		return d.keys(v) // the list of keys, which says to revoke a key before creating another
	}
	return d.showKeyForm(v, http.StatusOK, form{Values: url.Values{"lifetime": {"90d"}}})
}

// createKey shows the key's text once, in the answer to the form: a redirect's address would contain it, or the server would
// have to store it. The same form creates no second key.
func (d *dashboard) createKey(v *visit) error {
	key, err := idempotencyKey(v)
	if err != nil {
		return err
	}
	sent := v.r.PostForm
	created, err := d.Operator.CreateKey(v, &adminv1.CreateKeyRequest{
		Name: sent.Get("name"), Scopes: sent["scopes"], Lifetime: lifetimeOf(sent.Get("lifetime")), IdempotencyKey: key,
	})
	if isRepeated(err) {
		return d.showRepeated(v, "This key was created already", "keys", repeatedForm{"key", "/keys"})
	}
	if err != nil {
		wrong, err := problemsOf(err, sent, map[apierr.Code]string{apierr.APIKeyLimit: ""})
		if err != nil {
			return err
		}
		return d.showKeyForm(v, http.StatusUnprocessableEntity, form{Values: sent, Problems: wrong})
	}
	return d.page(v, view{Title: "Your new API key", Section: "keys", Template: "key_created", Body: createdKey{created, d.API,
		d.tryOut(created.GetKey().GetScopes())}})
}

// createdKey has the API's address, and a command that tries the key out; both are empty if the address is unknown.
type createdKey struct {
	*adminv1.CreateKeyResponse
	API, Command string
}

// tryOut returns a command whose request the scopes allow. Every scope allows a GET of its resource.
func (d *dashboard) tryOut(scopes []string) string {
	if d.API == "" || len(scopes) == 0 {
		return ""
	}
	resource, _, _ := strings.Cut(scopes[0], ":")
	return "curl " + d.API + "/v1/" + strings.ReplaceAll(resource, "_", "-") + ` --header "Authorization: Bearer $SHOP_KEY"`
}

// question asks the member to confirm an action; ask.html has the texts.
type question struct {
	// About is the name of the action, and What the object that it changes.
	About, What string
	// Action is the address of the answer, and Back the page to return to.
	Action, Back string
	// Resend is what a resend would send; nil for any other action.
	Resend *undelivered
}

// ask shows a question on a page of its own, whose form is sent to its address; with JavaScript, in a dialog.
func (d *dashboard) ask(v *visit, title, section, action, object, back string) error {
	return d.page(v, view{Title: title, Section: section, Template: "ask", Body: question{action, object, v.r.URL.Path, back, nil}})
}

func (d *dashboard) askRevoke(v *visit) error {
	k, err := d.Operator.GetKey(v, &adminv1.GetKeyRequest{Id: v.r.PathValue("id")})
	if err != nil {
		return err
	}
	return d.ask(v, "Revoke this key?", "keys", "revoke", k.GetName()+" · "+strings.ReplaceAll(k.GetHint(), "...", "…"), "/keys")
}

func (d *dashboard) revokeKey(v *visit) error {
	if _, err := d.Operator.RevokeKey(v, &adminv1.RevokeKeyRequest{Id: v.r.PathValue("id")}); err != nil {
		return err
	}
	return v.redirect("/keys", "key-revoked")
}
