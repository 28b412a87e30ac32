package dashboard

import (
	"net/http"
	"strings"

	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/auth"
	"go.storefront.example/server/shop"
)

// keysBody is the page of a store's keys: active ones, and the newest of those that were revoked or have
// expired. Most is how many of these are shown.
type keysBody struct {
	Active, Over []*adminv1.Key
	Limit, Most  int
}

// keys lists the keys.
func (d *dashboard) keys(v *visit) error {
	active, over, err := d.Operator.RecentKeys(v)
	if err != nil {
		return err
	}
	body := keysBody{active, over, shop.MaxActiveKeys, admin.MaxOver}
	d.show(v, http.StatusOK, view{Title: "API keys", Section: "keys", Template: "keys", Body: body})
	return nil
}

// lifetime is a choice of when a key expires.
type lifetime struct {
	Value, Name string
	lifetime    adminv1.Key_Lifetime
}

// lifetimes are the choices (specification, Authentication).
var lifetimes = []lifetime{
	{"30d", "After 30 days", adminv1.Key_DAYS_30}, {"90d", "After 90 days", adminv1.Key_DAYS_90},
	{"1y", "After 1 year", adminv1.Key_YEAR_1}, {"never", "Never", adminv1.Key_NEVER},
}

// lifetimeOf is the choice with this value, none for another one.
func lifetimeOf(value string) adminv1.Key_Lifetime {
	for _, l := range lifetimes {
		if l.Value == value {
			return l.lifetime
		}
	}
	return adminv1.Key_LIFETIME_UNSPECIFIED
}

// keyForm is the form of a new key.
type keyForm struct {
	Name      string
	Scopes    []string
	Chosen    map[string]bool
	Lifetime  string
	Lifetimes []lifetime
	Problems  problems
}

func (d *dashboard) showKeyForm(v *visit, status int, f keyForm) error {
	f.Scopes, f.Lifetimes = auth.Scopes(), lifetimes
	d.show(v, status, view{Title: "Create an API key", Section: "keys", Template: "key_new", Body: f})
	return nil
}

// newKey shows the form of a new key.
func (d *dashboard) newKey(v *visit) error {
	return d.showKeyForm(v, http.StatusOK, keyForm{Lifetime: "90d"})
}

// createKey creates a key and shows it once. The page is the form's own answer, so that the key is in no
// address and is stored nowhere. The same form again creates no second key.
func (d *dashboard) createKey(v *visit) error {
	once, err := onceKey(v)
	if err != nil {
		return err
	}
	form := v.r.PostForm
	made, err := d.Operator.CreateKey(v, &adminv1.CreateKeyRequest{
		Name: form.Get("name"), Scopes: form["scopes"], Lifetime: lifetimeOf(form.Get("lifetime")), IdempotencyKey: once,
	})
	if isRepeated(err) {
		return d.showRepeated(v, "This key was created already", "keys", repeated{
			Text: []string{
				"You sent the same form twice. It created one key, which was shown the first time and cannot be shown again.",
				"If you did not copy it, revoke it in the list and create another.",
			},
			To: "/keys", Button: "To the API keys",
		})
	}
	if err != nil {
		wrong, err := problemsOf(err, map[apierr.Code]string{apierr.APIKeyLimit: ""})
		if err != nil {
			return err
		}
		if wrong["scopes"] != "" && len(form["scopes"]) == 0 {
			wrong["scopes"] = "Choose at least one."
		}
		return d.showKeyForm(v, http.StatusUnprocessableEntity, keyForm{
			Name: form.Get("name"), Chosen: set(form["scopes"]), Lifetime: form.Get("lifetime"), Problems: wrong,
		})
	}
	d.show(v, http.StatusOK, view{Title: "Your new API key", Section: "keys", Template: "key_created", Body: made})
	return nil
}

// question asks for confirmation before an action.
type question struct {
	// Text describes what will happen, in paragraphs.
	Text []string
	// What is the thing that it happens to.
	What string
	// Action is where the form leads, Button the label of its button, and Back where to go instead.
	Action, Button, Back string
	// Grave marks what cannot be undone.
	Grave bool
}

// ask shows a question on a page of its own; the script shows the same in a dialog.
func (d *dashboard) ask(v *visit, title, section string, q question) error {
	d.show(v, http.StatusOK, view{Title: title, Section: section, Template: "ask", Body: q})
	return nil
}

func (d *dashboard) askRevoke(v *visit) error {
	k, err := d.Operator.GetKey(v, &adminv1.GetKeyRequest{Id: v.r.PathValue("id")})
	if err != nil {
		return err
	}
	return d.ask(v, "Revoke this key?", "keys", question{
		What: k.GetName() + " · " + strings.ReplaceAll(k.GetHint(), "...", "…"),
		Text: []string{
			"The next request with this key is refused, on every server. This cannot be undone.",
			"To replace a key without a gap, create the new one and deploy it first.",
		},
		Action: "/keys/" + k.GetId() + "/revoke", Button: "Revoke key", Back: "/keys", Grave: true,
	})
}

func (d *dashboard) revokeKey(v *visit) error {
	if _, err := d.Operator.RevokeKey(v, &adminv1.RevokeKeyRequest{Id: v.r.PathValue("id")}); err != nil {
		return err
	}
	return v.to("/keys", "key-revoked")
}
