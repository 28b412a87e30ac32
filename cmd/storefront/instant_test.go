package main

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/admin/rpc"
	serverlimit "go.storefront.example/server/limit"
)

// A command on a machine whose clock is five hours ahead lists what happened in the last hour.
func TestHowLongAgoIsByTheClockOfTheDatabaseOrServer(t *testing.T) {
	t.Parallel()
	now := func() time.Time { return time.Now().Add(-5 * time.Hour) }
	s := dbtest.New(t, dbtest.SQLite, db.Config{Clock: now})
	o := admin.New(s, admin.Options{})
	_, err := o.CreateStore(t.Context(), &adminv1.CreateStoreRequest{Name: "S", Slug: "s", Currency: "XAF", Country: "CM"})
	require.NoError(t, err)
	_, err = o.CreateCustomer(t.Context(), &adminv1.CreateCustomerRequest{Store: "s", Name: "Awa", Email: new("awa@example.com")})
	require.NoError(t, err)

	var since instant
	require.NoError(t, since.UnmarshalText([]byte("1h")))
	require.NoError(t, since.settle(t.Context(), o, nil))
	require.WithinDuration(t, now().Add(-time.Hour), since.at, 10*time.Minute)
	first := since.at
	require.NoError(t, since.settle(t.Context(), o, nil))
	require.Equal(t, first, since.at, "a list's pages have one beginning")

	mux := http.NewServeMux()
	for path, handler := range rpc.Services(o, rpc.Config{
		Gate: rpc.NewGate(remoteToken, ""), Logger: slog.New(slog.DiscardHandler), Unreachable: db.IsUnreachable, Now: s.Now,
		Slots: serverlimit.NewSlots(4, 2),
	}) {
		mux.Handle(path, handler)
	}
	server := httptest.NewServer(mux)
	defer server.Close()
	var out, errs bytes.Buffer
	noEnv := func(string) (string, bool) { return "", false }
	require.Equal(t, 0, run(t.Context(), []string{
		"activity", "list", "--since", "1h", "--admin-url", server.URL, "--admin-token", remoteToken,
	}, noEnv, strings.NewReader(""), &out, &errs), &errs)
	require.Contains(t, out.String(), "customer.created", "the server's clock decides")
}

func TestTheEarliestTimeIsNotTakenForNow(t *testing.T) {
	t.Parallel()
	var since instant
	require.NoError(t, since.UnmarshalText([]byte("0001-01-01T00:00:00Z")))
	require.NoError(t, since.settle(t.Context(), nil, nil))
	require.Equal(t, time.Time{}, since.at)
}
