package signin_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/tenant"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/dashboard/signin"
)

func newStore(t *testing.T, o service, slug string) {
	t.Helper()
	_, err := o.CreateStore(t.Context(), &adminv1.CreateStoreRequest{Name: slug, Slug: slug, Currency: "XAF", Country: "CM"})
	require.NoError(t, err)
}

func listed(t *testing.T, o service, storeName string, limit int32) (all []string) {
	t.Helper()
	found, err := o.ListSessions(t.Context(), &adminv1.ListSessionsRequest{Store: storeName, PageSize: &limit})
	require.NoError(t, err)
	for _, s := range found.GetSessions() {
		all = append(all, fmt.Sprint(s.Kind, " ", s.Store.Slug, " ", s.Member, " ", s.Id))
	}
	return all
}

func bea() *adminv1.CreateSignInLinkRequest {
	return &adminv1.CreateSignInLinkRequest{Store: "atelier", Member: "Bea", Role: adminv1.Session_admin,
		BaseUrl: "https://dashboard.example.com"}
}

func isIn(t *testing.T, o service, session string) bool {
	t.Helper()
	_, _, err := o.Authenticate(t.Context(), session, true)
	if err != nil {
		require.ErrorIs(t, err, signin.ErrNoSession)
	}
	return err == nil
}

func TestWhoIsSignedInIsListed(t *testing.T) {
	t.Parallel()
	signingIn(t, func(t *testing.T, o service, d *db.DB, c *handClock) {
		ctx := t.Context()
		newStore(t, o, "other")
		session, a := signedIn(t, o, "atelier")
		c.advance(time.Second)
		link, err := o.CreateSignInLink(ctx, bea())
		require.NoError(t, err)
		c.advance(time.Second)
		_, x := signedIn(t, o, "other")

		first, second, third := fmt.Sprint("session other Awa ", x), fmt.Sprint("link atelier Bea ", link.GetId()),
			fmt.Sprint("session atelier Awa ", a)
		require.Equal(t, []string{first, second, third}, listed(t, o, "", 50), "newest first")
		require.Equal(t, []string{first, second}, listed(t, o, "", 2))
		require.Equal(t, []string{second, third}, listed(t, o, "atelier", 50))
		require.Equal(t, []string{first}, listed(t, o, "other", 50))
		_, err = o.ListSessions(ctx, &adminv1.ListSessionsRequest{Store: "nowhere"})
		require.Equal(t, apierr.StoreNotFound, codeOf(err))

		all, err := o.ListSessions(ctx, &adminv1.ListSessionsRequest{})
		require.NoError(t, err)
		text := all.String()
		for _, row := range d.Client().Session.Query().AllX(ctx) {
			require.NotContains(t, text, fmt.Sprintf("%x", row.Fingerprint))
		}
		require.NotContains(t, text, secretOf(t, link))

		// The time of the last use is stored with a precision of a minute.
		require.Nil(t, all.GetSessions()[2].LastUsedAt)
		used := func() time.Time {
			found, err := o.ListSessions(ctx, &adminv1.ListSessionsRequest{Store: "atelier"})
			require.NoError(t, err)
			return found.GetSessions()[1].GetLastUsedAt().AsTime()
		}
		begun := c.now().UTC()
		require.True(t, isIn(t, o, session))
		require.Equal(t, begun, used())
		c.advance(time.Minute - time.Millisecond)
		require.True(t, isIn(t, o, session))
		require.Equal(t, begun, used(), "no write for each page")
		c.advance(time.Millisecond)
		require.True(t, isIn(t, o, session))
		require.Equal(t, begun.Add(time.Minute), used())

		c.advance(signin.DefaultExpiry)
		require.Equal(t, []string{third}, listed(t, o, "atelier", 50))
		require.NoError(t, o.SignOut(ctx, session))
		require.Empty(t, listed(t, o, "atelier", 50))
		c.advance(signin.SessionLength)
		require.Empty(t, listed(t, o, "", 50))
	})
}

func TestSessionIsRevokedByItsID(t *testing.T) {
	t.Parallel()
	signingIn(t, func(t *testing.T, o service, d *db.DB, c *handClock) {
		ctx := t.Context()
		newStore(t, o, "other")
		session, id := signedIn(t, o, "atelier")
		stays, _ := signedIn(t, o, "atelier")
		far, _ := signedIn(t, o, "other")
		c.advance(time.Second)
		ended, err := o.RevokeSession(ctx, &adminv1.RevokeSessionRequest{Id: strings.ToUpper(id)})
		require.NoError(t, err)
		at := c.now().UTC()
		require.Equal(t, at, ended.GetEndedAt().AsTime())
		require.Equal(t, "atelier", ended.GetStore().GetSlug())
		require.False(t, isIn(t, o, session))
		require.True(t, isIn(t, o, stays))
		require.True(t, isIn(t, o, far))

		c.advance(time.Second)
		again, err := o.RevokeSession(ctx, &adminv1.RevokeSessionRequest{Id: id})
		require.NoError(t, err)
		require.Equal(t, at, again.GetEndedAt().AsTime(), "what has ended stays as it is")
		entries := activity(ctx, t, o, "atelier", 10)
		require.Equal(t, "session.revoked", entries[0].Action, "and is written down once")
		require.Equal(t, "session.created", entries[1].Action)
		require.Equal(t, adminv1.ActivityEntry_Actor_member, entries[1].GetActor().GetType())
		require.Equal(t, "Awa", entries[1].GetActor().GetName())
		require.Equal(t, "sign_in_link.created", entries[2].Action, "whoever makes a link is seen beside the member's name")
		require.Equal(t, adminv1.ActivityEntry_Actor_operator, entries[2].GetActor().GetType())
		require.Contains(t, entries[2].GetChanges(), `"member":{"from":null,"to":"Awa"},"role":{"from":null,"to":"`)
		require.Equal(t, id, entries[0].GetResource().GetId())
		require.Equal(t, adminv1.ActivityEntry_Actor_operator, entries[0].GetActor().GetType())
		require.JSONEq(t, `{"member":{"from":null,"to":"Awa"},"endedAt":{"from":null,"to":"`+at.Format("2006-01-02T15:04:05.000Z")+
			`"}}`, entries[0].GetChanges())

		// An unused link signs nobody in after RevokeSession.
		link, err := o.CreateSignInLink(ctx, awa("atelier", time.Minute))
		require.NoError(t, err)
		ended, err = o.RevokeSession(ctx, &adminv1.RevokeSessionRequest{Id: link.GetId()})
		require.NoError(t, err)
		require.Equal(t, adminv1.Session_link, ended.GetKind())
		require.NotNil(t, ended.EndedAt)
		_, err = o.LinkMember(ctx, secretOf(t, link))
		require.ErrorIs(t, err, signin.ErrLink)
		_, err = o.SignIn(ctx, secretOf(t, link))
		require.ErrorIs(t, err, signin.ErrLink)
		entries = activity(tenant.WithMember(ctx, "Awa"), t, o, "atelier", 1)
		require.Equal(t, "sign_in_link.revoked", entries[0].Action)

		for _, none := range []string{"", "x", uuid.NewString(), secretOf(t, link), stays} {
			_, err := o.RevokeSession(ctx, &adminv1.RevokeSessionRequest{Id: none})
			require.Equal(t, apierr.SessionNotFound, codeOf(err), none)
		}
		require.True(t, isIn(t, o, stays))
	})
}

func TestAllSessionsOfAMemberOrAStoreAreRevoked(t *testing.T) {
	t.Parallel()
	signingIn(t, func(t *testing.T, o service, _ *db.DB, _ *handClock) {
		ctx := t.Context()
		newStore(t, o, "other")
		one, _ := signedIn(t, o, "atelier")
		two, _ := signedIn(t, o, "atelier")
		far, _ := signedIn(t, o, "other")
		_, err := o.CreateSignInLink(ctx, awa("atelier", time.Minute))
		require.NoError(t, err)
		second, err := o.CreateSignInLink(ctx, bea())
		require.NoError(t, err)

		ended, err := o.RevokeSessions(ctx, &adminv1.RevokeSessionsRequest{Store: "atelier", Member: " Awa "})
		require.NoError(t, err)
		require.Equal(t, []int32{2, 1}, []int32{ended.GetSessions(), ended.GetLinks()})
		require.False(t, isIn(t, o, one) || isIn(t, o, two))
		require.True(t, isIn(t, o, far), "of the same name in another store")
		session, err := o.SignIn(ctx, secretOf(t, second))
		require.NoError(t, err)
		entries := activity(ctx, t, o, "atelier", 2)[1:]
		require.Equal(t, "store.signed_out", entries[0].Action)
		require.Equal(t, `{"member":{"from":null,"to":"Awa"},"sessions":{"from":null,"to":2},"links":{"from":null,"to":1}}`,
			entries[0].GetChanges())

		ended, err = o.RevokeSessions(ctx, &adminv1.RevokeSessionsRequest{Store: "atelier", Member: "Awa"})
		require.NoError(t, err)
		require.Zero(t, ended.GetSessions()+ended.GetLinks())
		again := activity(ctx, t, o, "atelier", 2)[1:]
		require.Equal(t, entries[0].GetId(), again[0].GetId(), "nothing ended, nothing is written down")

		ended, err = o.RevokeSessions(ctx, &adminv1.RevokeSessionsRequest{Store: "atelier", Member: ""})
		require.NoError(t, err)
		require.Equal(t, []int32{1, 0}, []int32{ended.GetSessions(), ended.GetLinks()})
		require.False(t, isIn(t, o, session))
		require.True(t, isIn(t, o, far))
		_, err = o.RevokeSessions(ctx, &adminv1.RevokeSessionsRequest{Store: "", Member: ""})
		require.Equal(t, apierr.StoreNotFound, codeOf(err), "never all stores at once")
		_, err = o.RevokeSessions(ctx, &adminv1.RevokeSessionsRequest{Store: "atelier", Member: "a\x00"})
		require.Equal(t, apierr.ValidationFailed, codeOf(err))
	})
}

// While a request revokes a link, another signs in with it. The sign-in fails, or its session is ended.
func TestNobodySignsInPastARevocation(t *testing.T) {
	t.Parallel()
	signingIn(t, func(t *testing.T, o service, _ *db.DB, _ *handClock) {
		for i := range 30 {
			link, err := o.CreateSignInLink(t.Context(), awa("atelier", time.Minute))
			require.NoError(t, err)
			var session string
			var both sync.WaitGroup
			both.Go(func() { session, err = o.SignIn(t.Context(), secretOf(t, link)) })
			var revoked error
			both.Go(func() {
				if i%2 == 0 {
					_, revoked = o.RevokeSession(t.Context(), &adminv1.RevokeSessionRequest{Id: link.GetId()})
				} else {
					_, revoked = o.RevokeSessions(t.Context(), &adminv1.RevokeSessionsRequest{Store: "atelier", Member: "Awa"})
				}
			})
			both.Wait()
			require.NoError(t, revoked)
			if err == nil {
				require.False(t, isIn(t, o, session))
			} else {
				require.ErrorIs(t, err, signin.ErrLink)
			}
		}
		require.Empty(t, listed(t, o, "", 50))
	})
}
