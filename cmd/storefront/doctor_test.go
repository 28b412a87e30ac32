package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"go.storefront.example/cmd/storefront/doctor"
	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/id"
	"go.storefront.example/ent/seal"
	ratelimit "go.storefront.example/server/limit"
)

// findingIs is the script command "finding CHECK STATUS MESSAGE REMEDY"; message and remedy are regular expressions.
func findingIs(ts *testscript.TestScript, _ bool, args []string) {
	var found []doctor.Finding
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &found))
	i := slices.IndexFunc(found, func(f doctor.Finding) bool { return f.Check == args[0] })
	if i < 0 {
		ts.Fatalf("there is no check %s in %v", args[0], found)
	}
	f := found[i]
	if string(f.Status) != args[1] || !regexp.MustCompile(args[2]).MatchString(f.Message) ||
		!regexp.MustCompile(args[3]).MatchString(f.Remedy) {
		ts.Fatalf("%+v is not %q", f, args[1:])
	}
	if (f.Status == doctor.OK) != (f.Remedy == "") {
		ts.Fatalf("%+v: what is well needs no remedy, and what is not one", f)
	}
}

func (i installation) examine(args ...string) map[string]doctor.Finding {
	i.t.Helper()
	c := i.command("storefront", append([]string{"doctor", "-o", "json"}, args...)...)
	out, _ := c.Output()
	var found []doctor.Finding
	require.NoError(i.t, json.Unmarshal(out, &found), "%s", out)
	by := map[string]doctor.Finding{}
	for _, f := range found {
		by[f.Check] = f
	}
	return by
}

func TestDoctorTellsServersOfOursFromOthers(t *testing.T) {
	t.Parallel()
	i := installation{t, map[string]string{"STOREFRONT_DATABASE_URL": dbtest.URL(t, dbtest.SQLite)}}
	server := i.server("storefront")
	found := i.examine("--addr", server.Addr, "--admin-addr", server.AdminAddr)
	require.Regexp(t, "taken by a server that runs", found["addr"].Message)
	require.Regexp(t, "taken by a server that runs", found["admin-addr"].Message)

	// Without --trusted-proxies, all unknown keys that come through a proxy count against the proxy, here this machine.
	for range ratelimit.UnknownKeysPerMinute + 1 {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+server.Addr+"/v1/store", nil)
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer nobody's")
		answer, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
	}
	require.Regexp(t, "taken by a server that runs", i.examine("--addr", server.Addr)["addr"].Message)

	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	taken := strings.TrimPrefix(other.URL, "http://")
	for _, check := range []string{"addr", "admin-addr"} {
		f := i.examine("--"+check, taken)[check]
		require.Equal(t, doctor.Fail, f.Status)
		require.Contains(t, f.Remedy, "--"+check)
	}
	found = i.examine("--addr", server.AdminAddr, "--admin-addr", server.Addr)
	require.Equal(t, doctor.Fail, found["addr"].Status)
	require.Equal(t, doctor.Fail, found["admin-addr"].Status)
	server.stop()
	require.Equal(t, server.Addr+" is free", i.examine("--addr", server.Addr)["addr"].Message)
}

func TestDoctorSeesThatNoWorkerRuns(t *testing.T) {
	t.Parallel()
	for _, name := range dbtest.Databases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := newInbox(t)
			url := dbtest.URL(t, name)
			i := newInstallation(t, url, in).with("STOREFRONT_SECRET_KEY", seal.NewKey())
			var shop struct{ ID string }
			i.run(&shop, "store", "create", "--name", "S", "--slug", "s", "--currency", "XAF", "--country", "CM")
			var webhook struct{ ID, Secret string }
			i.run(&webhook, "webhook", "create", "--store", "s", "--url", in.url)
			in.verifyWith(webhook.Secret)

			handle, err := hook.Open(t.Context(), db.Config{URL: url, MaxConns: 2})
			require.NoError(t, err)
			happened := handle.Now().Add(-2 * doctor.MaxLag)
			event := id.At(happened)
			_, err = handle.Writer().Exec(
				`INSERT INTO events (id, store_id, type, payload, created_at) VALUES ($1, $2, 'order.paid', $3, $4)`,
				event, shop.ID, []byte(`{"id":"`+event.String()+`","type":"order.paid"}`), happened)
			require.NoError(t, err)
			_, err = handle.Writer().Exec(`INSERT INTO deliveries (id, store_id, webhook_id, event_id, event_type, due_at, attempts, created_at, epoch)
 VALUES ($1, $2, $3, $1, 'order.paid', $4, $5, $4, 1)`, event, shop.ID, webhook.ID, happened, []byte("[]"))
			require.NoError(t, err)

			// Right after a restore no process is connected, so a waiting delivery is only a warning.
			require.NoError(t, handle.Close())
			f := i.examine()["deliveries"]
			require.Equal(t, doctor.Warn, f.Status)
			require.Regexp(t, `^1 delivery due for more than 1m0s, and no attempt is under way: nothing runs on this database`, f.Message)
			i.run(nil, "doctor", "--check-url", "none", "--addr", "127.0.0.1:0", "--admin-addr", "127.0.0.1:0")

			server := i.server("storefront")
			f = i.examine()["deliveries"]
			require.Equal(t, doctor.Fail, f.Status)
			require.Regexp(t, `^1 delivery due for more than 1m0s, and no attempt is under way: no worker takes them$`, f.Message)
			require.Contains(t, f.Remedy, "start `storefront worker`")
			server.stop()
			worker := i.worker()
			require.Equal(t, event.String(), in.next().ID)
			require.Equal(t, doctor.OK, i.examine()["deliveries"].Status)
			worker.stop()
		})
	}
}

func TestDoctorTriesTheWayOut(t *testing.T) {
	t.Parallel()
	in := newInbox(t)
	i := newInstallation(t, dbtest.URL(t, dbtest.SQLite), in)
	require.Equal(t, doctor.OK, i.examine("--check-url", in.url)["outbound-https"].Status, "the receiver's authority is trusted")
	untrusting := i.with("SSL_CERT_FILE", t.TempDir()+"/none.pem")
	for target, want := range map[string]struct{ message, remedy string }{
		in.url:                          {"certificate is not trusted", "ca-certificates"},
		"https://127.0.0.1:1":           {"connection refused", "firewall"},
		"https://nowhere.invalid":       {"cannot be looked up", "offline"},
		"http://127.0.0.1":              {"no https address", "--check-url"},
		"https://ada:hunter2@127.0.0.1": {"no https address", "--check-url"},
	} {
		f := untrusting.examine("--check-url", target)["outbound-https"]
		require.NotEqual(t, doctor.OK, f.Status, target)
		require.Contains(t, f.Message, want.message, target)
		require.Contains(t, f.Remedy, want.remedy, target)
		require.NotContains(t, f.Message+f.Remedy, "hunter2")
	}
	require.Equal(t, doctor.OK, untrusting.examine("--check-url", "none")["outbound-https"].Status)
}

func TestDoctorRefusesWhatServerAndWorkerRefuse(t *testing.T) {
	t.Parallel()
	i := installation{t, map[string]string{"STOREFRONT_DATABASE_URL": dbtest.URL(t, dbtest.SQLite)}}
	notSVG := filepath.Join(t.TempDir(), "logo.txt")
	require.NoError(t, os.WriteFile(notSVG, []byte("no picture"), 0o600))
	for setting, refusing := range map[string][]string{
		"STOREFRONT_NOTICES_URL=https://mailer.example.com": {"server", "worker"},
		"STOREFRONT_NOTICES_SECRET=whsec_x":                 {"server", "worker"},
		"STOREFRONT_BRAND_LOGO=/nowhere.png":                {"server"},
		"STOREFRONT_BRAND_LOGO=" + notSVG:                   {"server"},
		"STOREFRONT_BRAND_COLOR=green":                      {"server"},
		"STOREFRONT_BUCKETS=zz-00":                          {"server"},
		"STOREFRONT_FRAME_ANCESTORS=https://a.example/path": {"server"},
		"STOREFRONT_SIGN_IN_URL=http://a.example":           {"server"},
		"STOREFRONT_EGRESS_PROXY=ftp://a.example":           {"server", "worker"},
		"STOREFRONT_OLD_ADMIN_TOKEN=short":                  {"server"},
		"STOREFRONT_SECRET_KEY=short":                       {"server", "worker"},
		"STOREFRONT_OLD_SECRET_KEYS=short":                  {"server", "worker"},
		"STOREFRONT_TRUSTED_PROXIES=10.0.0.0/99":            {"server"},
		"STOREFRONT_API_URL=https://api.example.com/path":   {"server"},
		"STOREFRONT_CONCURRENCY=0":                          {"server", "worker"},
		"STOREFRONT_RETRY_DELAYS=soon":                      {"server", "worker"},
	} {
		name, value, _ := strings.Cut(setting, "=")
		set := i.with(name, value)
		found := set.examine("--check-url", "none", "--addr", "127.0.0.1:0", "--admin-addr", "127.0.0.1:0")
		for _, command := range []string{"server", "worker"} {
			f := found[command+"-settings"]
			if !slices.Contains(refusing, command) {
				require.Equal(t, doctor.OK, f.Status, "%s: %+v", setting, f)
				continue
			}
			require.Equal(t, doctor.Fail, f.Status, setting)
			c := set.command("storefront", command)
			out, _ := c.CombinedOutput()
			require.Equal(t, 2, c.ProcessState.ExitCode(), "%s: %s", setting, out)
			_, reason, _ := strings.Cut(f.Message, "does not start: ")
			require.Contains(t, string(out), reason)
		}
	}
}
