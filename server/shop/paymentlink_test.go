package shop_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/tenant"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/shop"
	"go.storefront.example/server/shop/shoptest"
)

const (
	fixed = storefrontv1.PaymentLink_FIXED
	open  = storefrontv1.PaymentLink_OPEN
)

func TestCreatePaymentLinkRules(t *testing.T) {
	t.Parallel()
	clock := &ticker{time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)}
	dbtest.RunWith(t, db.Config{Clock: clock.Now}, func(t *testing.T, s *db.DB) {
		b := newBench(t, s, shop.Options{})
		rows := []struct {
			reason string
			in     *storefrontv1.CreatePaymentLinkRequest
			want   apierr.Code
			fields []string
		}{
			{"nothing at all", &storefrontv1.CreatePaymentLinkRequest{}, apierr.ValidationFailed, []string{"pricing", "title"}},
			{"FIXED without amount", &storefrontv1.CreatePaymentLinkRequest{Title: "A", Pricing: fixed}, apierr.PaymentLinkInvalidPricing,
				nil},
			{"FIXED with a minAmount", &storefrontv1.CreatePaymentLinkRequest{Title: "A", Pricing: fixed, Amount: ptr(int64(5)),
				MinAmount: ptr(int64(5))}, apierr.PaymentLinkInvalidPricing, nil},
			{"OPEN with an amount", &storefrontv1.CreatePaymentLinkRequest{Title: "A", Pricing: open, Amount: ptr(int64(5))},
				apierr.PaymentLinkInvalidPricing, nil},
			{"OPEN without minAmount", &storefrontv1.CreatePaymentLinkRequest{Title: "A", Pricing: open}, apierr.PaymentLinkInvalidPricing,
				nil},
			{"amounts start at 1", &storefrontv1.CreatePaymentLinkRequest{Title: "A", Pricing: fixed, Amount: ptr(int64(0))},
				apierr.ValidationFailed, []string{"amount"}},
			{"a cap of none", &storefrontv1.CreatePaymentLinkRequest{Title: "A", Pricing: fixed, Amount: ptr(int64(1)),
				MaxPayments: ptr(int32(0))}, apierr.ValidationFailed, []string{"maxPayments"}},
			{"a cover that is no web address", &storefrontv1.CreatePaymentLinkRequest{Title: "A", Pricing: fixed, Amount: ptr(int64(1)),
				CoverUrl: ptr("ftp://x.example/a")}, apierr.ValidationFailed, []string{"coverUrl"}},
			{"a cover without a host", &storefrontv1.CreatePaymentLinkRequest{Title: "A", Pricing: fixed, Amount: ptr(int64(1)),
				CoverUrl: ptr("https:///a")}, apierr.ValidationFailed, []string{"coverUrl"}},
			{"a date beyond what a date can be", &storefrontv1.CreatePaymentLinkRequest{Title: "A", Pricing: fixed, Amount: ptr(int64(1)),
				ExpiresAt: &timestamppb.Timestamp{Seconds: 1 << 60}}, apierr.PaymentLinkExpiryInvalid, nil},
			{"an end date that is now", &storefrontv1.CreatePaymentLinkRequest{Title: "A", Pricing: fixed, Amount: ptr(int64(1)),
				ExpiresAt: timestamppb.New(clock.now)}, apierr.PaymentLinkExpiryPast, nil},
			{"pricing is judged before the end date", &storefrontv1.CreatePaymentLinkRequest{Title: "A", Pricing: fixed,
				ExpiresAt: timestamppb.New(clock.now)}, apierr.PaymentLinkInvalidPricing, nil},
		}
		for _, row := range rows {
			t.Log(row.reason)
			_, err := b.CreatePaymentLink(b.Ctx, row.in)
			var fields []string
			for _, f := range shoptest.Refused(t, err, row.want).Details.GetFields() {
				fields = append(fields, f.GetField())
			}
			require.Equal(t, row.fields, fields)
		}
		l, err := b.CreatePaymentLink(b.Ctx, &storefrontv1.CreatePaymentLinkRequest{
			Title: " Dîner ", Pricing: open, MinAmount: ptr(int64(100)), Description: ptr("  "), ThankYouMessage: ptr("Merci"),
			ExpiresAt: timestamppb.New(clock.now.Add(time.Hour + 123456*time.Nanosecond)),
		})
		require.NoError(t, err)
		require.Equal(t, "Dîner", l.GetTitle())
		require.Nil(t, l.Description, "empty text is stored as null")
		require.Equal(t, clock.now.Add(time.Hour), l.GetExpiresAt().AsTime(), "times are kept in milliseconds")
		require.Equal(t, storefrontv1.PaymentLink_ACTIVE, l.GetAvailability())
		require.Contains(t, l.GetUrl(), "/atelier/pay/"+l.GetCode())
	})
}

func TestPaymentLinksCanBeClosed(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, s *db.DB) {
		b := newBench(t, s, shop.Options{})
		_, err := b.UpdateStore(b.Ctx, &adminv1.UpdateStoreRequest{PaymentLinksOpen: ptr(false)})
		require.NoError(t, err)
		found, err := b.FindStore(context.Background(), "atelier")
		require.NoError(t, err)
		_, err = b.CreatePaymentLink(shoptest.As(found), &storefrontv1.CreatePaymentLinkRequest{})
		shoptest.Refused(t, err, apierr.FeatureDisabled)

		everywhere := shop.New(s, shop.Options{PaymentLinksOff: true})
		_, err = everywhere.CreatePaymentLink(b.Ctx, &storefrontv1.CreatePaymentLinkRequest{Title: "A"})
		shoptest.Refused(t, err, apierr.FeatureDisabled)
	})
}

func TestUpdatePaymentLink(t *testing.T) {
	t.Parallel()
	clock := &ticker{time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)}
	dbtest.RunWith(t, db.Config{Clock: clock.Now}, func(t *testing.T, s *db.DB) {
		b := newBench(t, s, shop.Options{})
		l := b.Link(nil)
		patch := func(in *storefrontv1.UpdatePaymentLinkRequest, mask ...string) (*storefrontv1.PaymentLink, error) {
			in.Id = l.GetId()
			if mask != nil {
				in.UpdateMask = &fieldmaskpb.FieldMask{Paths: mask}
			}
			return b.UpdatePaymentLink(b.Ctx, in)
		}
		opened, err := patch(&storefrontv1.UpdatePaymentLinkRequest{Pricing: ptr(open), MinAmount: ptr(int64(50))})
		require.NoError(t, err)
		require.Nil(t, opened.Amount, "changing the pricing clears the other kind's amount")
		_, err = patch(&storefrontv1.UpdatePaymentLinkRequest{Pricing: ptr(fixed)})
		shoptest.Refused(t, err, apierr.PaymentLinkInvalidPricing)
		_, err = patch(&storefrontv1.UpdatePaymentLinkRequest{Pricing: ptr(fixed), Amount: ptr(int64(9)), MinAmount: ptr(int64(9))})
		shoptest.Refused(t, err, apierr.PaymentLinkInvalidPricing)
		_, err = patch(&storefrontv1.UpdatePaymentLinkRequest{}, "min_amount")
		shoptest.Refused(t, err, apierr.PaymentLinkInvalidPricing)
		_, err = patch(&storefrontv1.UpdatePaymentLinkRequest{}, "title")
		shoptest.Refused(t, err, apierr.ValidationFailed)
		_, err = patch(&storefrontv1.UpdatePaymentLinkRequest{ExpiresAt: timestamppb.New(clock.now.Add(-time.Hour))})
		shoptest.Refused(t, err, apierr.PaymentLinkExpiryPast)

		full, err := patch(&storefrontv1.UpdatePaymentLinkRequest{
			Title: ptr("New"), Description: ptr("d"), CoverUrl: ptr("https://img.example/a.png"), ThankYouMessage: ptr("t"),
			ExpiresAt: timestamppb.New(clock.now.Add(time.Hour)), MaxPayments: ptr(int32(3)),
		})
		require.NoError(t, err)
		require.Equal(t, []any{"New", "d", "https://img.example/a.png", "t", int32(3), l.GetCode(), l.GetUrl()},
			[]any{full.GetTitle(), full.GetDescription(), full.GetCoverUrl(), full.GetThankYouMessage(), full.GetMaxPayments(),
				full.GetCode(), full.GetUrl()})
		bare, err := patch(&storefrontv1.UpdatePaymentLinkRequest{}, "description", "cover_url", "thank_you_message", "expires_at",
			"max_payments")
		require.NoError(t, err)
		require.Equal(t, []bool{true, true, true, true, true},
			[]bool{bare.Description == nil, bare.CoverUrl == nil, bare.ThankYouMessage == nil, bare.ExpiresAt == nil,
				bare.MaxPayments == nil})

		entries := len(b.Journal())
		_, err = patch(&storefrontv1.UpdatePaymentLinkRequest{Title: ptr(" New ")})
		require.NoError(t, err)
		require.Len(t, b.Journal(), entries)
		require.Empty(t, b.Events(), "a link's change sends no event")
	})
}

func TestPaymentLinkAvailabilityAndFilter(t *testing.T) {
	t.Parallel()
	for _, database := range dbtest.Databases() {
		t.Run(database, func(t *testing.T) {
			t.Parallel()
			clock := &ticker{time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)}
			b := newBench(t, dbtest.New(t, database, db.Config{Clock: clock.Now}), shop.Options{})
			active, disabled, expiring, capped := b.Link(nil), b.Link(nil), b.Link(nil), b.Link(ptr(int32(1)))
			_, err := b.UpdatePaymentLink(b.Ctx, &storefrontv1.UpdatePaymentLinkRequest{Id: expiring.GetId(),
				ExpiresAt: timestamppb.New(clock.now.Add(time.Minute))})
			require.NoError(t, err)
			_, err = b.DisablePaymentLink(b.Ctx, disabled.GetId())
			require.NoError(t, err)
			_, err = b.PayOrder(b.Ctx, b.Buy("a@example.com", "", capped.GetId()).GetId())
			require.NoError(t, err)
			list := func(status storefrontv1.ListPaymentLinksRequest_Status) (ids []string) {
				page, err := b.ListPaymentLinks(b.Ctx, &storefrontv1.ListPaymentLinksRequest{Status: &status})
				require.NoError(t, err)
				require.EqualValues(t, len(page.GetData()), page.GetTotal())
				for _, l := range page.GetData() {
					ids = append(ids, l.GetId())
				}
				return ids
			}
			availability := func(l *storefrontv1.PaymentLink) string {
				got, err := b.GetPaymentLink(b.Ctx, &storefrontv1.GetPaymentLinkRequest{Id: l.GetId()})
				require.NoError(t, err)
				return got.GetAvailability().String()
			}
			require.ElementsMatch(t, []string{active.GetId(), expiring.GetId()}, list(storefrontv1.ListPaymentLinksRequest_active))
			require.ElementsMatch(t, []string{disabled.GetId(), capped.GetId()}, list(storefrontv1.ListPaymentLinksRequest_inactive))

			clock.now = clock.now.Add(time.Minute)
			require.Equal(t, []string{"ACTIVE", "DISABLED", "EXPIRED", "EXHAUSTED"},
				[]string{availability(active), availability(disabled), availability(expiring), availability(capped)})
			require.Equal(t, []string{active.GetId()}, list(storefrontv1.ListPaymentLinksRequest_active), "a link ends at its end date")
			require.Len(t, list(storefrontv1.ListPaymentLinksRequest_STATUS_UNSPECIFIED), 4)

			_, err = b.DisablePaymentLink(b.Ctx, capped.GetId())
			require.NoError(t, err)
			require.Equal(t, "DISABLED", availability(capped), "the first reason that holds")
			for range 2 {
				enabled, err := b.EnablePaymentLink(b.Ctx, &storefrontv1.EnablePaymentLinkRequest{Id: capped.GetId()})
				require.NoError(t, err)
				require.Nil(t, enabled.GetDisabledAt())
				require.Equal(t, "EXHAUSTED", enabled.GetAvailability().String(), "the cap does not change")
			}
			journal := shoptest.Actions(b.Journal())
			require.Equal(t, []string{"payment_link.disabled", "payment_link.enabled"}, journal[len(journal)-2:],
				"enabling twice is one change")
		})
	}
}

func TestStores(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, s *db.DB) {
		b := newBench(t, s, shop.Options{PublicURL: "https://shops.example/"})
		operator := tenant.Actor{Type: tenant.ActorOperator, Name: "operator"}
		_, err := b.CreateStore(b.Ctx, operator, &adminv1.CreateStoreRequest{Name: "Again", Slug: "atelier", Currency: "XAF",
			Country: "CM"})
		shoptest.Refused(t, err, apierr.SlugTaken)
		_, err = b.CreateStore(b.Ctx, operator, &adminv1.CreateStoreRequest{
			Url: ptr("x"), SupportEmail: ptr("x"), Status: ptr(storefrontv1.Store_Status(9)), PlatformFeePercent: ptr(101.0),
			SocialLinks: map[string]string{"x": "y"},
			Slug:        "Not A Slug", Currency: "XXAF", Country: "ZZZ",
		})
		require.Len(t, shoptest.Refused(t, err, apierr.ValidationFailed).Details.GetFields(), 9)

		got, err := b.UpdateStore(b.Ctx, &adminv1.UpdateStoreRequest{Phone: ptr("670 00 00 01"),
			Status: ptr(storefrontv1.Store_suspended)})
		require.NoError(t, err)
		require.Equal(t, "+237670000001", got.GetPhone())
		require.Equal(t, storefrontv1.Store_suspended, got.GetStatus())
		require.Equal(t, "https://shops.example/atelier", got.GetUrl(), "the public address setting plus slug")
		links := map[string]string{"x": "https://x.example/a"}
		_, err = b.UpdateStore(b.Ctx, &adminv1.UpdateStoreRequest{SocialLinks: links})
		require.NoError(t, err)
		entries, updated := len(b.Journal()), s.Client().Store.Query().OnlyX(b.Ctx).UpdatedAt
		_, err = b.UpdateStore(b.Ctx, &adminv1.UpdateStoreRequest{
			SocialLinks: links, Name: ptr("Atelier"), UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"social_links",
				"unavailable_types", "name"}},
		})
		require.NoError(t, err)
		require.Len(t, b.Journal(), entries, "what changes nothing leaves no entry")
		require.Equal(t, updated, s.Client().Store.Query().OnlyX(b.Ctx).UpdatedAt)

		_, err = b.FindStore(b.Ctx, "nowhere")
		shoptest.Refused(t, err, apierr.StoreNotFound)
	})
}
