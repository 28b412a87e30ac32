package dashboard_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
)

func TestLogNamesThePage(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t, dbtest.SQLite, db.Config{})
	p := newPlace(t, d)
	stranger := strings.Repeat("stranger", 500)
	r := p.signedIn("one")
	for _, a := range []answer{
		p.reader().get("/" + stranger), p.reader().get("/keys/" + stranger + "/revoke"), p.reader().get("/static/" + stranger),
		p.reader().get("/keys?" + stranger),
		p.reader().send(strings.ToUpper(stranger), "/keys", nil), p.reader().send(http.MethodPost, "/keys", nil, "Origin",
			"https://"+stranger),
		r.get("/" + stranger), r.get("/keys/" + stranger + "/revoke"), r.post("/webhooks/" + stranger + "/delete"),
	} {
		require.GreaterOrEqual(t, a.status, 400)
	}
	r.get("/keys")
	logs := p.logs.String()
	require.NotContains(t, strings.ToLower(logs), "strangerstranger")
	require.Regexp(t, regexp.MustCompile(`method=OTHER route=unmatched status=404`), logs)
	require.Regexp(t, regexp.MustCompile(`method=GET route=/dashboard/keys/{id}/revoke status=401`), logs)
	require.Regexp(t, regexp.MustCompile(`method=POST route=/dashboard/webhooks/{id}/{move} status=404`), logs)
	require.Regexp(t, regexp.MustCompile(`method=OTHER route=unmatched`), logs)
	require.Regexp(t, regexp.MustCompile(`method=GET route=/dashboard/keys status=200`), logs)
}
