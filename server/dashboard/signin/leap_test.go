package signin_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db/dbtest"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/dashboard/signin"
)

// A server that has not read the database's clock since its leap ends links and sessions when the others do.
func TestLinksAndSessionsEndByTheDatabasesClock(t *testing.T) {
	t.Parallel()
	address, leap := dbtest.LeapingURL(t)
	d := dbtest.Leaping(t, address)
	o := service{admin.New(d, admin.Options{}), signin.New(d)}
	_, err := o.CreateStore(t.Context(), &adminv1.CreateStoreRequest{Name: "Atelier", Slug: "atelier", Currency: "XAF", Country: "CM"})
	require.NoError(t, err)
	session, _ := signedIn(t, o, "atelier")
	link, err := o.CreateSignInLink(t.Context(), awa("atelier", time.Hour))
	require.NoError(t, err)
	_, _, err = o.Authenticate(t.Context(), session, true)
	require.NoError(t, err)

	leap(13 * time.Hour)
	_, _, err = o.Authenticate(t.Context(), session, true)
	require.ErrorIs(t, err, signin.ErrNoSession)
	_, err = o.LinkMember(t.Context(), secretOf(t, link))
	require.ErrorIs(t, err, signin.ErrLink)
	_, err = o.SignIn(t.Context(), secretOf(t, link))
	require.ErrorIs(t, err, signin.ErrLink)
	require.NoError(t, o.KeepAlive(t.Context(), session))
	_, _, err = o.Authenticate(t.Context(), session, true)
	require.ErrorIs(t, err, signin.ErrNoSession, "an ended session is not revived")
	listed, err := o.ListSessions(t.Context(), &adminv1.ListSessionsRequest{})
	require.NoError(t, err)
	require.Empty(t, listed.GetSessions())
}
