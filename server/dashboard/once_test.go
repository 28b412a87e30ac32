package dashboard_test

import (
	"html"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
)

var secretText = regexp.MustCompile(`svc_live_[0-9A-Za-z]{42}|whsec_[\w-]{43}`)

// wasField matches a hidden field such as was_url, which has the value of url when the form was opened.
var wasField = regexp.MustCompile(`<input type="hidden" name="(was_\w+)" value="([^"]*)">`)

type onceForm struct {
	name, page, path string
	fields           url.Values
	again            string // the heading of the page if the form is sent again
}

func onceForms(webhook string) []onceForm {
	return []onceForm{
		{"a key", "/keys/new", "/keys", url.Values{"name": {"CRM"}, "scopes": {"store:read"}, "lifetime": {"30d"}},
			"This key was created already"},
		{"a webhook", "/webhooks/new", "/webhooks", url.Values{"url": {"https://shop.example.com/hooks"}, "events": {"order.paid"}},
			"This webhook was registered already"},
		{"a new secret", "/webhooks/" + webhook + "/rotate", "/webhooks/" + webhook + "/rotate", url.Values{},
			"The new secret was made already"},
	}
}

func (r reader) form(page string, typed url.Values) url.Values {
	r.t.Helper()
	text := r.get(page).text
	once, token := onceField.FindStringSubmatch(text), tokenField.FindStringSubmatch(text)
	require.NotNil(r.t, once, page)
	require.NotNil(r.t, token, page)
	all := maps.Clone(typed)
	all.Set("once", once[1])
	all.Set("csrf", token[1])
	for _, field := range wasField.FindAllStringSubmatch(text, -1) {
		all.Add(field[1], html.UnescapeString(field[2]))
	}
	return all
}

func (r reader) insist(path string, form url.Values) answer {
	r.t.Helper()
	for tries := 1; ; tries++ {
		a := r.send(http.MethodPost, path, form)
		if a.status != http.StatusServiceUnavailable || tries == 60 {
			return a
		}
		time.Sleep(time.Second)
	}
}

func (p place) made() (n [3]int) {
	p.t.Helper()
	keys, err := p.operator.ListKeys(p.t.Context(), &adminv1.ListKeysRequest{Store: "one"})
	require.NoError(p.t, err)
	hooks, err := p.operator.ListWebhooks(p.t.Context(), &adminv1.ListWebhooksRequest{Store: "one"})
	require.NoError(p.t, err)
	rotated := 0
	for _, e := range p.activity("one") {
		if e.GetAction() == "webhook.secret_rotated" {
			rotated++
		}
	}
	return [3]int{len(keys.GetKeys()), len(hooks.GetWebhooks()), rotated}
}

// However often the reader reloads, goes back or clicks. Only one answer shows the secret.
func TestFormThatShowsASecretIsCarriedOutOnce(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		p := newPlace(t, d)
		o := p.fill("one")
		r := p.signedIn("one")
		for i, f := range onceForms(o.webhook) {
			before, form := p.made(), r.form(f.page, f.fields)
			answers := make([]answer, 8)
			var all sync.WaitGroup
			for j := range answers {
				all.Go(func() { answers[j] = r.insist(f.path, form) })
			}
			all.Wait()
			answers = append(answers, r.send(http.MethodPost, f.path, form))
			shown := 0
			for _, a := range answers {
				if a.status == http.StatusOK {
					shown++
					require.Len(t, secretText.FindAllString(a.text, -1), 1, f.name)
					continue
				}
				require.Equal(t, http.StatusConflict, a.status, "%s: %s", f.name, a.text)
				require.Contains(t, a.text, "<h1>"+f.again+"</h1>", f.name)
				require.Empty(t, secretText.FindString(a.text), f.name)
			}
			require.Equal(t, 1, shown, f.name)
			want := before
			want[i]++
			require.Equal(t, want, p.made(), f.name)

			typed := maps.Clone(form)
			typed.Set("name", "another name in the form that the browser kept")
			require.Equal(t, http.StatusConflict, r.send(http.MethodPost, f.path, typed).status, f.name)
			require.Equal(t, want, p.made(), f.name)
			require.Equal(t, http.StatusOK, r.send(http.MethodPost, f.path, r.form(f.page, f.fields)).status,
				"%s: a new form is carried out", f.name)
		}
		// Neither the log nor the stored idempotency keys contain a secret.
		require.Empty(t, secretText.FindString(p.logs.String()))
		require.Zero(t, dbtest.Count(t, d, "idempotency_keys WHERE length(answer) > 0"))
	})
}

// A refused form can be corrected. One without a valid hidden field "once" is refused.
func TestFormThatWasRefusedIsSentAgain(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t, dbtest.SQLite, db.Config{})
	p := newPlace(t, d)
	o := p.fill("one")
	r := p.signedIn("one")
	for _, f := range onceForms(o.webhook) {
		before, form := p.made(), r.form(f.page, f.fields)
		for because, bad := range map[string][]string{
			"none": nil, "empty": {""}, "short": {"abc"}, "long": {strings.Repeat("a", 4000)}, "no text": {"\x00\xff"},
		} {
			form["once"] = bad
			a := r.send(http.MethodPost, f.path, form)
			require.Equal(t, http.StatusBadRequest, a.status, "%s: %s", f.name, because)
			require.Contains(t, a.text, "The form is incomplete.", f.name)
		}
		require.Equal(t, before, p.made(), f.name)
	}
	form := r.form("/keys/new", url.Values{"scopes": {"store:read"}, "lifetime": {"30d"}})
	require.Equal(t, http.StatusUnprocessableEntity, r.send(http.MethodPost, "/keys", form).status)
	form.Set("name", "CRM")
	require.Equal(t, http.StatusOK, r.send(http.MethodPost, "/keys", form).status)
}

// Forms of two stores with the same hidden field "once" take effect.
func TestFormsOfStoresAreApart(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t, dbtest.SQLite, db.Config{})
	p := newPlace(t, d)
	key := url.Values{"name": {"CRM"}, "scopes": {"store:read"}, "lifetime": {"30d"}}
	one, two := p.signedIn("one"), p.signedIn("two")
	form := one.form("/keys/new", key)
	require.Equal(t, http.StatusOK, one.send(http.MethodPost, "/keys", form).status)
	form.Set("csrf", two.token())
	require.Equal(t, http.StatusOK, two.send(http.MethodPost, "/keys", form).status)
	require.Equal(t, 2, d.Client().ApiKey.Query().CountX(t.Context()))
}
