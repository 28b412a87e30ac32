package dashboard_test

import (
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/usage"
	"go.storefront.example/gen/ent/store"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/admin"
)

func TestRequestsAndAttemptsAreShown(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		p := newPlace(t, d)
		mine, theirs := p.fill("one"), p.fill("two")
		r := p.signedIn("one")
		require.Contains(t, r.get("/requests").text, "None of its requests was refused.")
		require.Contains(t, r.get("/webhooks/"+mine.webhook).text,
			`<strong>Attempts in the last 24 hours</strong> <span class="faint">none</span>`)

		l, now := usage.New(d, slog.Default()), d.Now()
		storeOf := func(slug string) uuid.UUID {
			return d.Client().Store.Query().Where(store.Slug(slug)).OnlyX(t.Context()).ID
		}
		request := uuid.New()
		for slug, o := range map[string]things{"one": mine, "two": theirs} {
			for i := range 1234 {
				l.Count(storeOf(slug), uuid.MustParse(o.key), now, usage.Day, i > 0, time.Millisecond)
				l.Count(storeOf(slug), uuid.MustParse(o.webhook), now.Add(-time.Hour), usage.Hour, i > 0, 250*time.Millisecond)
			}
			l.Refuse(usage.Refused{
				StoreID: storeOf(slug), KeyID: uuid.MustParse(o.key), RequestID: request, Method: "PATCH", Route: "/v1/products/{id}",
				Code: "validation_failed", Status: 400, Fields: []string{"<title> of " + slug}, At: now,
			})
		}
		require.NoError(t, l.Flush(t.Context()))
		for _, path := range []string{"/requests", "/requests?key=" + mine.key} {
			a := r.get(path)
			require.Equal(t, http.StatusOK, a.status, path)
			for _, want := range []string{">1,233 <br>", "1 refused", "PATCH /v1/products/{id}", ">400<", "validation_failed",
				"<span>A parameter or a field of the body is invalid.</span>", "Refused: <code>&lt;title&gt; of one</code>", request.String()} {
				require.Contains(t, a.text, want, path)
			}
			require.NotContains(t, a.text, "of two", path)
			require.NotContains(t, a.text, "details.", "an owner sees no error body")
		}
		require.Equal(t, http.StatusNotFound, r.get("/requests?key="+theirs.key).status)
		require.Equal(t, http.StatusNotFound, r.get("/requests?key=x").status)
		require.Contains(t, r.get("/webhooks/"+mine.webhook).text, `<span class="faint">250 ms on average</span>`)
		for _, path := range []string{"/", "/webhooks/" + mine.webhook} {
			a := r.get(path)
			require.Contains(t, a.text, "99.9 % of 1,234 succeeded", path)
			require.Contains(t, a.text, ">1,234 an hour <", "the axis has its number")
			require.Regexp(t, `<rect class="ko" x="\d+" y="\d+" width="5" height="[1-9]`, a.text, "one failure is seen")
		}
		require.Len(t, regexp.MustCompile("<svg ").FindAllString(r.get("/webhooks/"+mine.webhook).text, -1), 4,
			"two of the last day, two of the last week")
	})
}

// A store can have any number of revoked keys.
func TestOldKeysAreBounded(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		p := newPlace(t, d)
		o := p.fill("one") // o.key is active, and the oldest of all keys
		var revoked []string
		for range admin.MaxEndedKeys + 1 {
			made, err := p.operator.CreateKey(t.Context(), &adminv1.CreateKeyRequest{Store: "one", Name: "old",
				Scopes: []string{"store:read"}, Lifetime: adminv1.Key_NEVER})
			require.NoError(t, err)
			_, err = p.operator.RevokeKey(t.Context(), &adminv1.RevokeKeyRequest{Id: made.GetKey().GetId()})
			require.NoError(t, err)
			revoked = append(revoked, made.GetKey().GetId())
		}
		r := p.signedIn("one")
		keys := r.get("/keys").text
		require.Contains(t, keys, `id="`+o.key+`"`)
		require.Contains(t, keys, "the newest 100<")
		for i, id := range revoked {
			require.Equal(t, i > 0, strings.Contains(keys, `id="`+id+`"`), i)
		}
		require.Contains(t, r.get("/requests").text, o.key)
		require.Contains(t, r.get("/requests?key="+revoked[0]).text, "Refused requests of old")
	})
}
