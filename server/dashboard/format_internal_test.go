package dashboard

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/queue"
	"go.storefront.example/ent/usage"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/auth"
	"go.storefront.example/worker/signature"
)

func TestSharesAreRoundedAndOnlyAllIsAHundred(t *testing.T) {
	t.Parallel()
	for want, tally := range map[string]usage.Tally{
		"88.9 %": {Succeeded: 8, Failed: 1}, "99.9 %": {Succeeded: 9999, Failed: 1}, "100 %": {Succeeded: 3}, "0 %": {Failed: 3},
	} {
		require.Equal(t, want, shareOf(tally))
	}
}

func TestSpansNameTheirTwoLargestUnits(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		-time.Hour: "0 s", 0: "0 s", 59 * time.Second: "59 s", time.Minute: "1 min", 61 * time.Minute: "1 h 1 min",
		2 * time.Hour:  "2 h",
		72 * time.Hour: "3 d", 71*time.Hour + 59*time.Minute: "2 d 23 h", 24*time.Hour + time.Minute: "1 d",
	} {
		require.Equal(t, want, length(d))
	}
	now := time.Now()
	require.Equal(t, "now", timeLeft(now, now))
	require.Equal(t, "now", timeLeft(now, now.Add(999*time.Millisecond)), "not in 0 s")
	require.Equal(t, "in 1 h", timeLeft(now, now.Add(time.Hour)))
	require.Equal(t, "just now", ago(now, now.Add(-time.Millisecond)))
	require.Equal(t, "1 min ago", ago(now, now.Add(-time.Minute)))
}

func TestWaitingDeliveriesAreCounted(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for want, retries := range map[string]queue.Retries{
		"": {},
		"1 delivery waits for another attempt, the next in 5 min.":           {Count: 1, Next: new(now.Add(5 * time.Minute))},
		"1,000 deliveries wait for another attempt, the next in 1 s.":        {Count: 1000, Next: new(now.Add(time.Second))},
		"More than 1,000 deliveries wait for another attempt, the next now.": {Count: 1001, Next: new(now.Add(time.Millisecond))},
	} {
		require.Equal(t, want, waiting(now, retries))
	}
}

func TestAttemptsShowWhatTheyWereAnsweredWith(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		attempt *adminv1.Delivery_Attempt
		want    string
	}{
		{&adminv1.Delivery_Attempt{StatusCode: new(int32(204))}, "204"},
		{&adminv1.Delivery_Attempt{StatusCode: new(int32(500)), Error: new("status 500")}, "500"},
		{&adminv1.Delivery_Attempt{StatusCode: new(int32(302)), Error: new("redirects are not followed")},
			"302, redirects are not followed"},
		{&adminv1.Delivery_Attempt{Error: new("connection refused")}, "connection refused"},
	} {
		require.Equal(t, row.want, attemptResult(row.attempt))
	}
	require.Equal(t, "under 1 ms", formatMilliseconds(0))
	require.Equal(t, "999 ms", formatMilliseconds(999))
	require.Equal(t, "10.0 s", formatMilliseconds(10_000))
}

func TestHeadersAreThoseOfTheAttempt(t *testing.T) {
	t.Parallel()
	d := &adminv1.Delivery{EventId: uuid.NewString(), EventType: "order.paid"}
	at := time.Date(2026, 11, 21, 9, 30, 0, 999e6, time.UTC)
	shown := map[string]string{}
	for _, h := range headersOf(d, &adminv1.Delivery_Attempt{Number: 3, StartedAt: timestamppb.New(at)}) {
		shown[h.Name] = h.Value
	}
	seconds, _, _ := strings.Cut(signature.Sign("whsec_x", at, nil), ",")
	require.Equal(t, map[string]string{
		"Content-Type": "application/json", "User-Agent": "Service-Webhooks/1.0", "Service-Event-Id": d.EventId,
		"Service-Event-Type": "order.paid", "Service-Delivery-Attempt": "3", "Service-Signature": seconds + ",v1=…",
	}, shown)
}

func TestPayloadIsIndentedAndNothingElse(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ payload, indented, because string }{
		{
			`{"type":"order.paid","data":{"reference":"A-1","amount":1500,"currency":"XAF","customer":{"name":"Awa"},"a":1.0}}`,
			"{\n  \"type\": \"order.paid\",\n  \"data\": {\n    \"reference\": \"A-1\",\n    \"amount\": 1500,\n    \"currency\": " +
				"\"XAF\",\n    \"customer\": {\n      \"name\": \"Awa\"\n    },\n    \"a\": 1.0\n  }\n}",
			"numbers stay as they are spelt",
		},
		{`no JSON`, "no JSON", "whatever it is, it is shown"},
	} {
		t.Run(row.because, func(t *testing.T) {
			require.Equal(t, row.indented, indented([]byte(row.payload)))
		})
	}
}

func TestChangesAreShownToReaders(t *testing.T) {
	t.Parallel()
	changes, err := changesOf(
		[]byte(`{"priceAmount":{"from":1000,"to":1250},"expiresAt":{"from":null,"to":"2026-11-21T09:30:00.000Z"},`+
			`"enabled":{"from":true,"to":false},"events":{"from":["a","b"],"to":[]},"title":{"from":"","to":"`+strings.Repeat("é", 201)+
			`"},`+
			`"platformFeePercent":{"from":2.5,"to":3},"socialLinks":{"from":null,"to":{"x":"y"}}}`), "EUR")
	require.NoError(t, err)
	at := time.Date(2026, 11, 21, 9, 30, 0, 0, time.UTC)
	require.Equal(t, []change{
		{"priceAmount", value{Text: "10.00 EUR"}, value{Text: "12.50 EUR"}, false},
		{"expiresAt", value{}, value{At: timestamppb.New(at)}, true},
		{"enabled", value{Text: "yes"}, value{Text: "no"}, false},
		{"events", value{Text: "a, b"}, value{}, false},
		{"title", value{}, value{Text: strings.Repeat("é", 200) + "…"}, false},
		{"platformFeePercent", value{Text: "2.5"}, value{Text: "3"}, false},
		{"socialLinks", value{}, value{Text: `{"x":"y"}`}, true},
	}, changes)
	require.Equal(t, "API key created", spaced("api_key.created"))
	require.Equal(t, "Payment link enabled", spaced("payment_link.enabled"))
}

func TestEveryScopeAndEventHasAMeaning(t *testing.T) {
	t.Parallel()
	for _, name := range append(append(auth.Scopes(), hook.EventTypes()...), hook.Ping) {
		require.NotEmpty(t, meanings[name], name)
	}
}

func FuzzChangesOf(f *testing.F) {
	for _, seed := range []string{`{}`, `{"a":{"from":null,"to":1}}`, `{"amount":{"from":1e3,"to":-5}}`,
		`{"x":{"from":[1,[2]],"to":{"y":null}}}`, `[`, `{"a":5}`, ``} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, column string) {
		changes, _ := changesOf([]byte(column), "XAF")
		for _, c := range changes {
			require.LessOrEqual(t, utf8.RuneCountInString(c.To.Text), maxShownRunes+1, "a journal's page stays readable")
		}
	})
}
