package rpc_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/tenant"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/admin/rpc"
	"go.storefront.example/server/apierr"
)

const token = "correct-horse-battery-staple-0123"

func TestGateOpensToTheTokenAlone(t *testing.T) {
	t.Parallel()
	gate := rpc.NewGate(token, "")
	for name, row := range map[string]struct {
		authorization []string
		code          apierr.Code
	}{
		"the token":                          {[]string{"Bearer " + token}, ""},
		"schemes have no case":               {[]string{"bearer " + token}, ""},
		"more than one space":                {[]string{"Bearer   " + token}, ""},
		"nothing":                            {nil, apierr.AdminTokenMissing},
		"empty":                              {[]string{""}, apierr.AdminTokenMissing},
		"the token alone":                    {[]string{token}, apierr.AdminTokenMissing},
		"another scheme":                     {[]string{"Basic " + token}, apierr.AdminTokenMissing},
		"a scheme alone":                     {[]string{"Bearer "}, apierr.AdminTokenMissing},
		"two headers":                        {[]string{"Bearer " + token, "Bearer " + token}, apierr.AdminTokenMissing},
		"another token":                      {[]string{"Bearer " + strings.Repeat("x", len(token))}, apierr.AdminTokenInvalid},
		"the token with its case changed":    {[]string{"Bearer " + strings.ToUpper(token)}, apierr.AdminTokenInvalid},
		"the beginning of the token":         {[]string{"Bearer " + token[:len(token)-1]}, apierr.AdminTokenInvalid},
		"the token and more":                 {[]string{"Bearer " + token + "0"}, apierr.AdminTokenInvalid},
		"the token twice in the same header": {[]string{"Bearer " + token + " " + token}, apierr.AdminTokenInvalid},
	} {
		r := httptest.NewRequest(http.MethodPost, "http://admin.example/", nil)
		r.Header["Authorization"] = row.authorization
		require.Equal(t, row.code, codeOf(gate.Admit(r)), name)
	}
}

func TestGateOpensToTwoTokensWhileOneReplacesTheOther(t *testing.T) {
	t.Parallel()
	const older = "older-" + token
	for sent, code := range map[string]apierr.Code{token: "", older: "", token + older: apierr.AdminTokenInvalid} {
		r := httptest.NewRequest(http.MethodPost, "http://admin.example/", nil)
		r.Header.Set("Authorization", "Bearer "+sent)
		require.Equal(t, code, codeOf(rpc.NewGate(token, older).Admit(r)), sent)
	}
}

func TestLocalGateAnswersProgramsOfThisMachine(t *testing.T) {
	t.Parallel()
	gate := rpc.NewLocalGate()
	for name, row := range map[string]struct {
		host    string
		headers http.Header
		code    apierr.Code
	}{
		"by address":                    {"127.0.0.1:8081", nil, ""},
		"by any loopback address":       {"127.8.7.6", nil, ""},
		"by IPv6":                       {"[::1]:8081", nil, ""},
		"by name":                       {"localhost:8081", nil, ""},
		"by name, in any case":          {"LOCALHOST", nil, ""},
		"a name that was made to point": {"evil.example:8081", nil, apierr.OriginRefused},
		"a name that looks like one":    {"localhost.evil.example", nil, apierr.OriginRefused},
		"an address that is not ours":   {"192.168.1.2:8081", nil, apierr.OriginRefused},
		"no host":                       {"", nil, apierr.OriginRefused},
		"a page of another origin":      {"127.0.0.1:8081", http.Header{"Origin": {"https://evil.example"}}, apierr.OriginRefused},
		"a page without an origin":      {"127.0.0.1:8081", http.Header{"Origin": {"null"}}, apierr.OriginRefused},
		"an image in a page":            {"localhost:8081", http.Header{"Sec-Fetch-Site": {"cross-site"}}, apierr.OriginRefused},
		"a page of this origin":         {"localhost:8081", http.Header{"Sec-Fetch-Site": {"same-origin"}}, apierr.OriginRefused},
	} {
		r := httptest.NewRequest(http.MethodPost, "http://admin.example/", nil)
		r.Host = row.host
		for header, values := range row.headers {
			r.Header[header] = values
		}
		require.Equal(t, row.code, codeOf(gate.Admit(r)), name)
	}
}

func TestGuardAnswersWhatItRefusesInTheProtocolOfTheRequest(t *testing.T) {
	t.Parallel()
	guarded := rpc.NewGate(token,
		"").Guard(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	for name, row := range map[string]struct {
		method, contentType string
		status              int
		body                string
	}{
		"Connect":     {http.MethodPost, "application/json", http.StatusUnauthorized, `{"code":"unauthenticated","message":`},
		"gRPC":        {http.MethodPost, "application/grpc", http.StatusOK, ""},
		"no protocol": {http.MethodGet, "", http.StatusUnauthorized, `{"code":"unauthenticated","message":`},
	} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(row.method, "http://admin.example/debug", nil)
		r.Header.Set("Content-Type", row.contentType)
		guarded.ServeHTTP(w, r)
		require.Equal(t, row.status, w.Code, name)
		require.True(t, strings.HasPrefix(w.Body.String(), row.body), "%s: %s", name, w.Body)
		require.Equal(t, `Bearer realm="Service operator"`, w.Header().Get("WWW-Authenticate"), name)
		require.NotEmpty(t, w.Header().Get("X-Request-Id"), name)

		r.Header.Set("Authorization", "Bearer "+token)
		w = httptest.NewRecorder()
		guarded.ServeHTTP(w, r)
		require.Equal(t, http.StatusTeapot, w.Code, name)
	}
}

func TestTokensAreLongAndPrintable(t *testing.T) {
	t.Parallel()
	require.NoError(t, rpc.CheckToken(strings.Repeat("~", rpc.MinTokenBytes)))
	for name, bad := range map[string]string{
		"empty":              "",
		"one too short":      strings.Repeat("x", rpc.MinTokenBytes-1),
		"a space":            token + " ",
		"a line feed":        token + "\n",
		"beyond ASCII":       token + "é",
		"short in letters":   "é" + strings.Repeat("x", rpc.MinTokenBytes-2),
		"a delete character": token + "\x7f",
	} {
		err := rpc.CheckToken(bad)
		require.Error(t, err, name)
		if bad != "" {
			require.NotContains(t, err.Error(), bad, "the error does not show it")
		}
	}
}

// Secrets need the token and no member's name. An export without them needs neither.
func TestSecretsNeedTheOperatorsToken(t *testing.T) {
	t.Parallel()
	b := newBench(t, dbtest.SQLite, db.Config{})
	open := http.NewServeMux()
	for path, handler := range rpc.Services(b.operator, rpc.Config{Gate: rpc.NewLocalGate(), Logger: slog.New(slog.DiscardHandler),
		Unreachable: db.IsUnreachable, Now: b.db.Now, Slots: b.slots}) {
		open.Handle(path, handler)
	}
	server := httptest.NewServer(open)
	t.Cleanup(server.Close)
	pass := func(*adminv1.ExportStoreResponse) error { return nil }
	for name, row := range map[string]struct {
		url, token, member string
		want               apierr.Code
	}{
		"the operator":            {b.url, token, "", ""},
		"a member":                {b.url, token, "Awa", apierr.OriginRefused},
		"a listener without one":  {server.URL, "", "", apierr.OriginRefused},
		"a token that none reads": {server.URL, token, "", apierr.OriginRefused},
		"another token":           {b.url, strings.Repeat("x", 40), "", apierr.AdminTokenInvalid},
	} {
		client, err := rpc.NewClient(row.url, row.token)
		require.NoError(t, err)
		ctx := t.Context()
		if row.member != "" {
			ctx = tenant.WithMember(ctx, row.member)
		}
		err = client.Export(ctx, &adminv1.ExportStoreRequest{Store: "s", WithSecrets: true}, pass)
		require.Equal(t, row.want, codeOf(err), name)
		if row.want == apierr.OriginRefused {
			require.NoError(t, client.Export(ctx, &adminv1.ExportStoreRequest{Store: "s"}, pass), name)
		}
	}
}
