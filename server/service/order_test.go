package service_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/service"
)

func TestListOrdersBetweenTwoMoments(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 9, 1, 12, 0, 0, int(5*time.Millisecond), time.UTC)
	rows := []struct {
		reason   string
		from, to time.Duration // from the moment of the one order
		want     int64
	}{
		{"from is inclusive", 0, time.Hour, 1},
		{"from between two milliseconds is after the first", time.Microsecond, time.Hour, 0},
		{"from a millisecond earlier", -time.Millisecond, time.Hour, 1},
		{"to is exclusive", -time.Hour, 0, 0},
		{"to between two milliseconds is after the first", -time.Hour, time.Nanosecond, 1},
		{"from after to is empty", time.Hour, -time.Hour, 0},
	}
	dbtest.RunWith(t, db.Config{Clock: func() time.Time { return at }}, func(t *testing.T, s *db.DB) {
		b := newBench(t, s, service.Options{})
		b.buy("a@example.com", b.product("Guide", 1000).GetId(), "")
		for _, row := range rows {
			page, err := b.ListOrders(b.ctx, &storefrontv1.ListOrdersRequest{
				From: timestamppb.New(at.Add(row.from)), To: timestamppb.New(at.Add(row.to)),
			})
			require.NoError(t, err)
			require.Equal(t, row.want, page.GetTotal(), row.reason)
			require.Len(t, page.GetData(), int(row.want), row.reason)
		}
	})
}

func TestImportedTimesAreInMilliseconds(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, s *db.DB) {
		b := newBench(t, s, service.Options{})
		line := `{"id":"01990000-0000-7000-8000-000000000001","reference":"R1","status":"PAID","amount":5,"currency":"XAF",` +
			`"platformFeePercent":0,"customer":{"id":"01990000-0000-7000-8000-000000000002","name":"A","email":"a@example.com","phone":null},` +
			`"items":[],"paymentLink":null,"note":null,"paidAt":"2026-09-01T12:00:00.0059Z","createdAt":"2026-09-01T12:00:00.0019Z"}`
		done, err := b.Import(b.ctx, strings.NewReader(line), service.Import{Kind: service.ImportOrders})
		require.NoError(t, err)
		require.Equal(t, 1, done.Stored)
		row := s.Client().Order.Query().OnlyX(b.ctx)
		require.Equal(t, 1*time.Millisecond, time.Duration(row.CreatedAt.Nanosecond()))
		require.Equal(t, 5*time.Millisecond, time.Duration(row.PaidAt.Nanosecond()))
	})
}
