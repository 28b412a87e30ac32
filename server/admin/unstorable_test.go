package admin_test

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/shop/shoptest"
)

// It is refused as invalid, and is no failure of the service.
func TestWhatCannotBeStoredIsRefused(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		o := admin.New(d, admin.Options{})
		ctx := t.Context()
		_, err := o.CreateStore(ctx, &adminv1.CreateStoreRequest{Name: "S", Slug: "s", Currency: "XAF", Country: "CM"})
		require.NoError(t, err)
		refused := func(code apierr.Code, field string, err error) {
			t.Helper()
			var r *apierr.Refusal
			require.True(t, errors.As(err, &r), "%s: %v", field, err)
			require.Equal(t, code, r.Code, field)
		}
		for _, ms := range []int64{math.MaxInt64, math.MinInt64, -1 << 50} {
			id := uuid.New()
			token := base64.RawURLEncoding.EncodeToString(append(binary.BigEndian.AppendUint64(nil, uint64(ms)), id[:]...)) //nolint:gosec // ListEvents converts it back.
			_, err = o.ListEvents(ctx, &adminv1.ListEventsRequest{Store: "s", PageToken: token})
			refused(apierr.ValidationFailed, "a forged token", err)
			_, err = o.ListDeliveries(ctx, &adminv1.ListDeliveriesRequest{Store: "s", PageToken: token, Text: "abc"})
			refused(apierr.ValidationFailed, "a forged token of a search", err)
		}
		for _, at := range []*timestamppb.Timestamp{{Seconds: 1 << 60}, {Seconds: -1 << 60}, {Nanos: -5}} {
			_, err = o.ListActivity(ctx, &adminv1.ListActivityRequest{Store: "s", Since: at})
			refused(apierr.ValidationFailed, "activity since no time", err)
			_, err = o.ListDeliveries(ctx, &adminv1.ListDeliveriesRequest{Store: "s", Since: at})
			refused(apierr.ValidationFailed, "deliveries since no time", err)
		}
		for _, name := range []string{"a\x00b", "\xff"} {
			_, err = o.WithStore(ctx, name)
			refused(apierr.StoreNotFound, name, err)
			for kind, missing := range missingOf {
				_, err = o.ResolveName(ctx, &adminv1.ResolveNameRequest{Kind: kind, Store: "s", Name: name})
				refused(missing, name, err)
			}
			_, err = o.ListActivity(ctx, &adminv1.ListActivityRequest{Store: "s", ActorName: name})
			refused(apierr.ValidationFailed, name, err)
			_, err = o.RevokeSessions(ctx, &adminv1.RevokeSessionsRequest{Store: "s", Member: name})
			refused(apierr.ValidationFailed, name, err)
			_, err = o.CreateKey(ctx, &adminv1.CreateKeyRequest{Store: "s", Name: name, Scopes: []string{"store:read"}})
			refused(apierr.ValidationFailed, name, err)
			_, err = o.ListProducts(shoptest.In(t, ctx, o, "s"), &storefrontv1.ListProductsRequest{Q: &name})
			refused(apierr.ValidationFailed, name, err)
			_, err = o.ListCustomers(shoptest.In(t, ctx, o, "s"), &storefrontv1.ListCustomersRequest{Q: &name})
			refused(apierr.ValidationFailed, name, err)
			_, err = o.UpdateStore(ctx, &adminv1.UpdateStoreRequest{Store: "s",
				SocialLinks: map[string]string{name: "https://x.example/"}})
			refused(apierr.ValidationFailed, name, err)
		}
	})
}

// The service reads some settings at each request with the store's keys.
func TestSettingsOfAStoreAreBounded(t *testing.T) {
	t.Parallel()
	o := admin.New(dbtest.New(t, dbtest.SQLite, db.Config{}), admin.Options{})
	_, err := o.CreateStore(t.Context(), &adminv1.CreateStoreRequest{Name: "S", Slug: "s", Currency: "XAF", Country: "CM"})
	require.NoError(t, err)
	mail := strings.Repeat("b", 251) + ".cm"
	for field, in := range map[string]*adminv1.UpdateStoreRequest{
		"supportEmail": {SupportEmail: new("a@" + mail)},
		"socialLinks":  {SocialLinks: map[string]string{strings.Repeat("n", 101): "https://x.example/"}},
	} {
		in.Store = "s"
		_, err := o.UpdateStore(t.Context(), in)
		var r *apierr.Refusal
		require.ErrorAs(t, err, &r, field)
		require.Len(t, r.Details.GetFields(), 1)
		require.Equal(t, field, r.Details.GetFields()[0].GetField())
	}
	_, err = o.UpdateStore(t.Context(), &adminv1.UpdateStoreRequest{Store: "s",
		SocialLinks: map[string]string{"a\nb": "https://x.example/"}})
	require.Error(t, err, "a name of two lines")
	_, err = o.UpdateStore(t.Context(), &adminv1.UpdateStoreRequest{
		Store: "s", UnavailableTypes: slices.Repeat([]storefrontv1.Product_Type{storefrontv1.Product_FILE, storefrontv1.Product_EVENT},
			1000),
	})
	require.NoError(t, err)
	settings, err := o.GetStoreSettings(t.Context(), &adminv1.GetStoreSettingsRequest{Store: "s"})
	require.NoError(t, err)
	require.Equal(t, []storefrontv1.Product_Type{storefrontv1.Product_FILE, storefrontv1.Product_EVENT},
		settings.GetSettings().GetUnavailableTypes(), "each once")
}
