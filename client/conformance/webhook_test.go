package conformance_test

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/text/encoding/charmap"

	"go.storefront.example/client/webhook"
	"go.storefront.example/ent/db/dbtest/need"
	"go.storefront.example/server/conformance/devtest"
)

// vector is a test case. Want is the answer that every verifier of the project must give.
type vector struct {
	Name, Secret, Body, Header, Want, Mistake string
	Now, ToleranceSeconds                     int64
}

func vectors(t *testing.T) []vector {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(devtest.Root(t), "worker", "signature", "testdata", "vectors.json"))
	require.NoError(t, err)
	var all []vector
	require.NoError(t, json.Unmarshal(text, &all))
	require.Greater(t, len(all), 40)
	return all
}

func TestVerifyAnswersTheVectors(t *testing.T) {
	each(t, func(t *testing.T, l language) {
		d := l.start(t)
		events := 0
		for _, v := range vectors(t) {
			// Some frameworks return headers as lists.
			for _, header := range []any{v.Header, []string{v.Header}, strings.SplitAfterN(v.Header, ",", 1)} {
				got := d.verify([]byte(v.Body), header, v.Now, v.ToleranceSeconds, v.Secret)
				switch {
				case v.Want != "ok":
					require.NotNil(t, got.Refused, v.Name)
					require.Equal(t, v.Want, got.Refused.Code, v.Name)
					require.Equal(t, v.Mistake, got.Refused.Mistake, v.Name)
					require.NotContains(t, got.Refused.Message, v.Secret, v.Name)
				case got.Refused != nil: // the signature is valid, but this body is not an event
					require.Equal(t, "payload", got.Refused.Code, v.Name)
				default:
					events++
				}
			}
		}
		require.Greater(t, events, 5)
	})
}

const (
	secret  = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"
	another = "whsec_Hx4dHBsaGRgXFhUUExIREA8ODQwLCgkIBwYFBAMCAQA"
)

// accented is an event with one letter beyond ASCII.
const accented = `{"id":"1","type":"ping","data":{"message":"Ndé"}}`

// latin1 decodes UTF-8 text as Latin-1.
func latin1(text string) string {
	runes := []rune{}
	for _, b := range []byte(text) {
		runes = append(runes, rune(b))
	}
	return string(runes)
}

func windows1252(t *testing.T, text string) string {
	t.Helper()
	decoded, err := charmap.Windows1252.NewDecoder().String(text)
	require.NoError(t, err)
	return decoded
}

// ascii decodes UTF-8 as Node does for "ascii": without each byte's highest bit.
func ascii(text string) string {
	stripped := []byte(text)
	for i := range stripped {
		stripped[i] &= 0x7f
	}
	return string(stripped)
}

func TestWhichMistakeWasMade(t *testing.T) {
	body := []byte(`{"id":"1","type":"ping","createdAt":"2026-11-21T12:00:00.000Z","store":{"id":"2","slug":"demo"},"data":` +
		`{"message":"Écrire / vite 🎉","sentAt":"2026-11-21T12:00:00.000Z"}}`)
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	signed := webhook.Sign(body, secret, noon)
	each(t, func(t *testing.T, l language) {
		d := l.start(t)
		for _, row := range []struct {
			reason  string
			body    string
			header  any
			secrets []string
			late    int64
			mistake string // "" if the client must accept the delivery
			message string
		}{
			{"as sent", string(body), signed, []string{secret}, 0, "", ""},
			{"one of several secrets", string(body), signed, []string{"", another, secret}, 0, "", ""},
			{"all headers, as some servers give them", string(body), map[string]string{"SERVICE-signature": signed, "x": "y"},
				[]string{secret}, 0, "", ""},
			{"no header", string(body), nil, []string{secret}, 0, "no_header", "no Service-Signature header"},
			{"an empty one", string(body), "", []string{secret}, 0, "no_header", ""},
			{"no values", string(body), []string{}, []string{secret}, 0, "no_header", ""},
			{"all headers without it", string(body), map[string]string{"x": "y"}, []string{secret}, 0, "no_header", ""},
			{"twice", string(body), []string{signed, signed}, []string{secret}, 0, "unreadable_header", ""},
			{"a token in its place", string(body), "Bearer x", []string{secret}, 0, "unreadable_header", "t=…,v1=…"},
			{"cut", string(body), signed[:40], []string{secret}, 0, "altered_header", ""},
			{"no secret", string(body), signed, nil, 0, "no_secret", "whsec_…"},
			{"an empty secret", string(body), webhook.Sign(body, "", noon), []string{""}, 0, "no_secret", ""},
			{"another webhook's", string(body), signed, []string{another}, 0, "wrong_secret", "storefront listen"},
			{"an API key", string(body), signed, []string{"svc_live_x"}, 0, "api_key", "API key"},
			{"without its prefix", string(body), signed, []string{secret[6:]}, 0, "secret_form", "whsec_"},
			{"with the end of a line", string(body), signed, []string{secret + "\n"}, 0, "secret_form", "line's end"},
			{"in quotes", string(body), signed, []string{`"` + secret + `"`}, 0, "secret_form", "quotes"},
			{"cut", string(body), signed, []string{secret[:20]}, 0, "secret_form", "all of it"},
			{"too long", string(body), signed, []string{secret + "x"}, 0, "secret_form", ""},
			{"one of storefront listen", string(body), signed, []string{"whsec_" + strings.Repeat("0a", 32)}, 0, "wrong_secret", ""},
			{"no body", "", signed, []string{secret}, 0, "empty_body", "read it before"},
			{"written again with spaces, as by Python", strings.ReplaceAll(string(body), `":`, `": `), signed, []string{secret}, 0,
				"changed_body", "exactly as received"},
			{"written again with escapes, as by PHP", strings.ReplaceAll(string(body), `/`, `\/`), signed, []string{secret}, 0,
				"changed_body", ""},
			{"written again in ASCII", strings.ReplaceAll(string(body), `É`, `\u00c9`), signed, []string{secret}, 0, "changed_body", ""},
			{"written again in another order, as by Go", `{"createdAt":"x","id":"1"}`, signed, []string{secret}, 0, "changed_body", ""},
			{"with the end of a line", string(body) + "\n", signed, []string{secret}, 0, "changed_body", ""},
			{"with a path of Windows, whose escapes are needed", `{"id":"1","type":"C:\\/x"}`, signed, []string{secret}, 0, "wrong_secret",
				""},
			{"decoded as Latin-1", latin1(string(body)), signed, []string{secret}, 0, "decoded_body", "Latin-1"},
			{"decoded as Windows-1252", windows1252(t, string(body)), signed, []string{secret}, 0, "decoded_body", ""},
			{"encoded as Latin-1", strings.ReplaceAll(string(body), "É", "\xc9"), signed, []string{secret}, 0, "decoded_body", ""},
			{"decoded as ASCII, as Node does", ascii(string(body)), signed, []string{secret}, 0, "decoded_body", "ASCII"},
			{"one letter of that", strings.ReplaceAll(accented, "é", "C)"), signed, []string{secret}, 0, "decoded_body", ""},
			{"decoded as ASCII, as Python does", regexp.MustCompile(`[^\x00-\x7f]`).ReplaceAllString(string(body), "\ufffd\ufffd"),
				signed, []string{secret}, 0, "decoded_body", ""},
			{"base64", base64.StdEncoding.EncodeToString(body), signed, []string{secret}, 0, "base64_body", "base64"},
			{"base64 in quotes, for addresses", `"` + base64.RawURLEncoding.EncodeToString(body) + `"`, signed, []string{secret}, 0,
				"base64_body", ""},
			{"letters that look so", strings.ReplaceAll(accented, "é", "«CAFÉ» à 5 € – Ñ 🎉 C: (PC) + ABC"), signed, []string{secret}, 0,
				"wrong_secret", ""},
			{"parsed as a form", "%7B%22id%22=1", signed, []string{secret}, 0, "changed_body", ""},
			{"old", string(body), signed, []string{secret}, 301, "too_old",
				"301 seconds ago by this machine's clock, which reads 2026-11-21T12:05:01Z"},
			{"of the future", string(body), signed, []string{secret}, -3600, "too_new",
				"in 3600 seconds by this machine's clock, which reads 2026-11-21T11:00:00Z"},
		} {
			got := d.verify([]byte(row.body), row.header, noon.Unix()+row.late, 300, row.secrets...)
			if row.mistake == "" {
				require.Nil(t, got.Refused, "%s: %+v", row.reason, got.Refused)
				continue
			}
			require.NotNil(t, got.Refused, row.reason)
			require.Equal(t, row.mistake, got.Refused.Mistake, "%s: %s", row.reason, got.Refused.Message)
			require.Contains(t, got.Refused.Message, row.message, row.reason)
			require.NotContains(t, got.Refused.Message, secret[6:], row.reason)
			// The Go client takes the header as one string, and must refuse the same deliveries with the same message.
			header, isText := row.header.(string)
			if isText || row.header == nil {
				secrets := append(row.secrets, "")
				_, err := webhook.Verify([]byte(row.body), header, secrets[0], webhook.WithNow(func() time.Time {
					return noon.Add(time.Duration(row.late) * time.Second)
				}))
				require.EqualError(t, err, "verify webhook: "+got.Refused.Message, row.reason)
			}
		}
		for _, text := range []string{`[]`, `null`, `{}`, `no JSON`, `{"id":1,"type":"ping"}`, "{\"id\":\"\xff\"}",
			strings.Replace(string(body), "É", "\xc9", 1),
			strings.Replace(string(body), "2026-11-21T12:00:00.000Z", "yesterday", 1), strings.Replace(string(body), `"data":`, `"dato":`,
				1),
			strings.Replace(string(body), `{"message"`, `["message"`, 1)} {
			got := d.verify([]byte(text), webhook.Sign([]byte(text), secret, noon), noon.Unix(), 300, secret)
			require.NotNil(t, got.Refused, text)
			require.Equal(t, "no_event", got.Refused.Mistake, text)
			_, err := webhook.Verify([]byte(text), webhook.Sign([]byte(text), secret, noon), secret,
				webhook.WithNow(func() time.Time { return noon }))
			require.ErrorIs(t, err, webhook.ErrPayload, text)
		}
		sign := d.ask(map[string]any{"do": "sign", "body": base64.StdEncoding.EncodeToString(body), "secret": secret,
			"now": noon.Unix()})
		require.JSONEq(t, `"`+signed+`"`, string(sign.Answer))
	})
}

// Events of unknown types, and with unknown fields.
func TestNewerEventsAreRead(t *testing.T) {
	each(t, func(t *testing.T, l language) {
		d := l.start(t)
		read := func(kind, data string) map[string]any {
			t.Helper()
			body := []byte(`{"id":"1","type":"` + kind +
				`","createdAt":"2026-11-21T12:00:00.000Z","store":{"id":"2","slug":"demo","x":1},"data":` +
				data + `,"more":[null]}`)
			now := time.Now()
			got := d.verify(body, webhook.Sign(body, secret, now), now.Unix(), 300, secret)
			require.Nil(t, got.Refused, "%+v", got.Refused)
			var event map[string]any
			require.NoError(t, json.Unmarshal(got.Answer, &event))
			return event
		}
		for _, data := range []string{`{"name":"x"}`, `[1,2]`, `null`, `12345678901234567890`} {
			event := read("coupon.used", data)
			require.Equal(t, "UnknownEvent", event["class"])
			require.Equal(t, "coupon.used", event["type"])
		}
		event := read("customer.created", strings.TrimSuffix(customer, "}")+`,"mood":{"deep":[1.5]}}`)
		require.Equal(t, "CustomerCreatedEvent", event["class"])
		require.InEpsilon(t, 9007199254740991, event["data"].(map[string]any)["ordersCount"], 0)
	})
}

// The worker delivers each type of event, and every client reads it.
func TestEveryTypeOfEventIsRead(t *testing.T) {
	need.Heavy(t, "it drives the clients in other languages")
	storefront := devtest.Build(t)
	dev := storefront.Start(t)
	type delivery struct {
		body   []byte
		header string
	}
	arrived := make(chan delivery, 100)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			arrived <- delivery{body, r.Header.Get(webhook.SignatureHeader)}
		}
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(receiver.Close)
	types := map[string]string{
		"order.paid": "OrderPaidEvent", "order.failed": "OrderFailedEvent", "customer.created": "CustomerCreatedEvent",
		"product.published": "ProductPublishedEvent", "product.archived": "ProductArchivedEvent",
		"payment_link.paid": "PaymentLinkPaidEvent",
	}
	var all []string
	for kind := range types {
		all = append(all, kind)
	}
	made := dev.Register(t, receiver.URL, all...)
	for kind := range types {
		dev.RunCommand(t, &map[string]any{}, "trigger", kind, "--yes")
	}
	dev.RunCommand(t, &map[string]any{}, "webhook", "ping", made.ID)
	types["ping"] = "PingEvent"
	got := map[string]delivery{}
	late := time.After(devtest.Timeout)
	for len(got) < len(types) {
		select {
		case arrival := <-arrived:
			var event struct{ Type string }
			require.NoError(t, json.Unmarshal(arrival.body, &event))
			got[event.Type] = arrival
		case <-late:
			require.FailNow(t, "not every event arrived", "%v", got)
		}
	}
	each(t, func(t *testing.T, l language) {
		d := l.start(t)
		for kind, arrival := range got {
			want, err := webhook.Verify(arrival.body, arrival.header, made.Secret)
			require.NoError(t, err)
			read := d.verify(arrival.body, arrival.header, time.Now().Unix(), 300, made.Secret)
			require.Nil(t, read.Refused, "%s: %+v", kind, read.Refused)
			var event struct {
				Class, ID, Type, CreatedAt string
				Data                       json.RawMessage
				Store                      webhook.Store
			}
			require.NoError(t, json.Unmarshal(read.Answer, &event))
			require.Equal(t, types[kind], event.Class)
			require.Equal(t, want.ID, event.ID)
			require.Equal(t, string(want.Type), event.Type)
			require.Equal(t, want.Store, event.Store)
			require.Equal(t, want.CreatedAt.Format("2006-01-02T15:04:05.000Z"), event.CreatedAt)
			require.JSONEq(t, string(want.Raw), string(event.Data), kind)
		}
	})
}
