package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/notice"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/shop/shoptest"
)

type serving struct {
	said string // what the command printed on standard output until it was ready
	logs *bytes.Buffer
	stop func() int // ends the command and returns its exit status; read logs only afterwards
}

func startCommand(t *testing.T, ready string, args ...string) serving {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	out, in := io.Pipe()
	s := serving{logs: &bytes.Buffer{}}
	ended := make(chan int, 1)
	go func() {
		status := run(ctx, args, func(string) (string, bool) { return "", false }, strings.NewReader(""), in, s.logs)
		_ = in.Close()
		ended <- status
	}()
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		s.said += lines.Text() + "\n"
		if strings.Contains(lines.Text(), ready) {
			go func() { _, _ = io.Copy(io.Discard, out) }()
			s.stop = func() int { cancel(); return <-ended }
			return s
		}
	}
	cancel()
	require.FailNow(t, "the command ended", "status %d, output %q, logs %q", <-ended, s.said, s.logs)
	return s
}

var curlLine = regexp.MustCompile(`curl -H "Authorization: (Bearer svc_live_[0-9A-Za-z]{42})" "(http://[^"]+)"`)

func get(t *testing.T, url, authorization string) (int, map[string]any) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	r.Header.Set("Authorization", authorization)
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer answer.Body.Close()
	var body map[string]any
	require.NoError(t, json.NewDecoder(answer.Body).Decode(&body))
	return answer.StatusCode, body
}

const (
	demoProducts  = 12
	demoCustomers = 42
)

func devArgs(data string, more ...string) []string {
	return append([]string{"dev", "--addr", "127.0.0.1:0", "--admin-addr", "127.0.0.1:0", "--data", data}, more...)
}

func TestDevShowsNoticesAndEvents(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	s := &invocation{out: &out}
	for kind, data := range map[string]string{notice.WebhookFailing: `{"storeName":"A","hours":1}`, hook.CustomerCreated: `{"name":"A"}`} {
		showReceived(s, received{Attempt: "1", Verified: true, About: "A", Type: kind, Data: []byte(data)})
		require.Equal(t, "\n← "+kind+", attempt 1, signature verified: A\n  "+data+"\n", out.String())
		out.Reset()
	}
}

func TestDevSaysItAllInJSON(t *testing.T) {
	t.Parallel()
	dev := startCommand(t, "}", devArgs(t.TempDir(), "-o", "json")...)
	var said struct {
		Store                                     struct{ Slug string }
		Key, URL, AdminURL, Curl, Dashboard, Docs string
	}
	require.NoError(t, json.Unmarshal([]byte(dev.said), &said))
	require.Equal(t, demoSlug, said.Store.Slug)
	require.Contains(t, said.Curl, said.Key)
	status, body := get(t, said.AdminURL+"/readyz", "")
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "ready", body["status"])
	require.Regexp(t, "^"+regexp.QuoteMeta(said.AdminURL)+`/dashboard/sign-in\?token=[\w-]{43}$`, said.Dashboard)
	require.Equal(t, http.StatusOK, statusOf(t, said.Dashboard))
	require.Equal(t, said.URL+"/docs", said.Docs)
	require.Equal(t, http.StatusOK, statusOf(t, said.Docs))
	require.Equal(t, http.StatusOK, statusOf(t, said.AdminURL+"/docs/openapi.json"))
	require.Equal(t, 0, dev.stop())
}

var exportLine = regexp.MustCompile(`(?m)^  export SHOP_URL=(http://\S+) SHOP_KEY=(svc_live_\w+)$`)

func TestDevsRateLimitCanBeChangedAndItsVariablesPasted(t *testing.T) {
	t.Parallel()
	for limit, headers := range map[string][2]string{"2": {"2", "1"}, "off": {"2147483647", "2147483646"}} {
		dev := startCommand(t, "Ctrl-C", devArgs(t.TempDir(), "--rate-limit", limit)...)
		set := exportLine.FindStringSubmatch(dev.said)
		require.NotNil(t, set, dev.said)
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, set[1]+"/v1/payment-links", nil)
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer "+set[2])
		answer, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		var list struct{ Data []struct{ URL string } }
		require.NoError(t, json.NewDecoder(answer.Body).Decode(&list))
		require.NoError(t, answer.Body.Close())
		require.Equal(t, headers[0], answer.Header.Get("X-RateLimit-Limit"))
		require.Equal(t, headers[1], answer.Header.Get("X-RateLimit-Remaining"))
		require.NotEmpty(t, list.Data)
		for _, link := range list.Data {
			require.Regexp(t, `^https://[a-z.-]+\.example/pay/`, link.URL, "no address of this machine, where a receiver may listen")
		}
		if limit == "2" {
			_, _ = get(t, set[1]+"/v1/store", "Bearer "+set[2])
			status, body := get(t, set[1]+"/v1/store", "Bearer "+set[2])
			if status == http.StatusOK {
				_, _ = get(t, set[1]+"/v1/store", "Bearer "+set[2])
				status, body = get(t, set[1]+"/v1/store", "Bearer "+set[2])
			}
			require.Equal(t, http.StatusTooManyRequests, status)
			require.Contains(t, body["message"], "more than 2 requests")
		}
		require.Equal(t, 0, dev.stop())
	}
	for _, wrong := range []string{"0", "-1", "none", "1.5", "4294967296"} {
		require.Equal(t, 2, run(t.Context(), devArgs(t.TempDir(), "--rate-limit", wrong), func(string) (string, bool) { return "", false },
			strings.NewReader(""), io.Discard, io.Discard), wrong)
	}
}

// Unless there is a token, if other machines can reach --admin-addr.
func TestDevKeepsTheOperatorsSideToThisMachine(t *testing.T) {
	t.Parallel()
	dev := startCommand(t, "}", "dev", "--addr", "127.0.0.1:0", "--admin-addr", "0.0.0.0:0", "--data", t.TempDir(), "-o", "json")
	var said struct{ AdminURL, Dashboard string }
	require.NoError(t, json.Unmarshal([]byte(dev.said), &said))
	require.Empty(t, said.Dashboard)
	require.Equal(t, http.StatusNotFound, statusOf(t, said.AdminURL+"/dashboard"))
	require.Equal(t, http.StatusOK, statusOf(t, said.AdminURL+"/healthz"))
	require.Equal(t, 0, dev.stop())
}

func TestDevSaysThatCommandsNeedItsTokenAndShowsItNot(t *testing.T) {
	t.Parallel()
	dev := startCommand(t, "Ctrl-C", devArgs(t.TempDir(), "--admin-token", remoteToken)...)
	require.Contains(t, dev.said, " and with STOREFRONT_ADMIN_TOKEN set to the --admin-token, forward events")
	require.NotContains(t, dev.said, remoteToken)
	require.Equal(t, 0, dev.stop())
}

func statusOf(t *testing.T, url string) int {
	t.Helper()
	answer, err := http.Get(url)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	return answer.StatusCode
}

func TestASecondDevIsRefusedAndRevokesNoKey(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	first := startCommand(t, "Ctrl-C", devArgs(data)...)
	curl := curlLine.FindStringSubmatch(first.said)
	require.NotNil(t, curl)
	taken := strings.TrimPrefix(strings.Split(curl[2], "/v1")[0], "http://")
	database := filepath.Join(data, "storefront.db")
	for why, args := range map[string][]string{
		"another server works on it":             devArgs(data),
		"listen on .*" + regexp.QuoteMeta(taken): {"dev", "--addr", taken, "--admin-addr", "127.0.0.1:0", "--data", t.TempDir()},
		"storefront.db: another server works on it": {"server", "--addr", "127.0.0.1:0", "--admin-addr", "127.0.0.1:0", "--migrate",
			"--database-url", "sqlite:" + database},
	} {
		var out, errs bytes.Buffer
		require.Equal(t, 1, run(t.Context(), args, os.LookupEnv, strings.NewReader(""), &out, &errs), why)
		require.Empty(t, out.String())
		require.Regexp(t, `(?m)^storefront: .*`+why+`.*$`, errs.String())
		require.Equal(t, 1, strings.Count(errs.String(), "\n"))
	}
	storefront(t, "store", "list", "--database-url", "sqlite:"+database) // commands work on the database while dev runs
	answer, _ := get(t, curl[2], curl[1])
	require.Equal(t, http.StatusOK, answer, "the key of the dev that runs still works")
	require.Equal(t, 0, first.stop())
	again := startCommand(t, "Ctrl-C", devArgs(data)...)
	require.Equal(t, 0, again.stop(), "the folder is free again")
}

func TestDemoStoreHasEveryKind(t *testing.T) {
	t.Parallel()
	dev := startCommand(t, "Ctrl-C", devArgs(t.TempDir())...)
	curl := curlLine.FindStringSubmatch(dev.said)
	require.NotNil(t, curl)
	base := strings.Split(curl[2], "/products")[0]
	seen := func(path, field string) []string {
		status, body := get(t, base+path+"?pageSize=100", curl[1])
		require.Equal(t, http.StatusOK, status)
		var values []string
		for _, row := range body["data"].([]any) {
			row := row.(map[string]any)
			values = append(values, row[field].(string))
			created, err := time.Parse(time.RFC3339, row["createdAt"].(string))
			require.NoError(t, err)
			require.False(t, created.After(time.Now()), "nothing is from the future")
		}
		return values
	}
	require.Subset(t, seen("/products", "type"), []string{"FILE", "COURSE", "LICENSE", "MEETING", "EVENT"})
	require.Subset(t, seen("/products", "status"), []string{"DRAFT", "PUBLISHED", "ARCHIVED"})
	require.Subset(t, seen("/orders", "status"), []string{"PENDING", "PAID", "FAILED", "CANCELLED", "REFUNDED"})
	require.Subset(t, seen("/payment-links", "availability"), []string{"ACTIVE", "DISABLED", "EXPIRED", "EXHAUSTED"})
	require.Len(t, seen("/customers", "name"), demoCustomers)
	require.Equal(t, 0, dev.stop())
}

func TestBaseURLIsOneThatThisMachineReaches(t *testing.T) {
	t.Parallel()
	for bound, url := range map[string]string{
		"127.0.0.1:8080": "http://127.0.0.1:8080",
		"[::]:8080":      "http://127.0.0.1:8080",
		"0.0.0.0:80":     "http://127.0.0.1:80",
		"[::1]:80":       "http://[::1]:80",
	} {
		address, err := net.ResolveTCPAddr("tcp", bound)
		require.NoError(t, err)
		require.Equal(t, url, baseURL(address))
	}
}

func TestTheCommandsOfTheGreetingWorkWhereItSays(t *testing.T) {
	t.Parallel()
	const made, url = "/tmp/go-build2748/b001/exe/storefront", "http://127.0.0.1:8081"
	for _, row := range []struct{ program, data, where, called, listens, triggers string }{
		{"storefront", devData, "this folder or below", "storefront", "", ""},
		{"./storefront", "/tmp/d", "/tmp/d or below", "./storefront", "", ""},
		{made, devData, "this folder", "go run ./cmd/storefront", "", ""},
		{made, "/tmp/d", "this folder", "go run ./cmd/storefront", " --admin-url " + url, " --yes --admin-url " + url},
	} {
		where, called, listens, triggers := greeting{Data: row.data, AdminURL: url}.commands(row.program)
		require.Equal(t, []string{row.where, row.called, row.listens, row.triggers}, []string{where, called, listens, triggers})
	}
}

func TestFindDev(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	folder, deep := filepath.Join(top, devData), filepath.Join(top, "a", "b")
	require.NoError(t, os.MkdirAll(folder, 0o700))
	require.NoError(t, os.MkdirAll(deep, 0o700))
	t.Chdir(deep)
	require.Nil(t, findDev(), "the folder of no dev")
	require.NoError(t, (&devFolder{path: folder, AdminURL: "http://127.0.0.1:1"}).write())
	require.Nil(t, findDev(), "without a database")
	file := filepath.Join(folder, devDatabase)
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	found := findDev()
	require.NotNil(t, found)
	require.Equal(t, "sqlite:"+file, found.databaseURL())
	require.False(t, found.isRunning)
	require.NoError(t, withClaim(found.databaseURL(), func() error {
		require.True(t, findDev().acceptsToken(""))
		return nil
	}))
	require.True(t, (database{DatabaseURL: found.databaseURL()}).isDevDatabase())
	require.False(t, (database{DatabaseURL: "sqlite:" + filepath.Join(deep, devDatabase)}).isDevDatabase())

	require.NoError(t, os.WriteFile(devDatabase, nil, 0o600))
	require.Nil(t, findDev(), "a database of this folder comes first")
	t.Chdir(folder)
	require.NotNil(t, findDev(), "in the folder itself")

	if runtime.GOOS != "windows" && os.Geteuid() == 0 {
		const nobody = 65534
		require.NoError(t, os.Chown(filepath.Join(folder, devFile), nobody, nobody))
		require.Nil(t, findDev(), "what another user put there is passed over")
		require.NoError(t, os.Rename(filepath.Join(folder, devFile), filepath.Join(deep, devFile)))
		require.NoError(t, os.Chown(filepath.Join(deep, devFile), 0, 0))
		require.NoError(t, os.Symlink(filepath.Join(deep, devFile), filepath.Join(folder, devFile)))
		require.NotNil(t, findDev(), "a link of one's own")
		require.NoError(t, os.Chown(file, nobody, nobody))
		require.Nil(t, findDev(), "another user's database")
		require.NoError(t, os.Chown(file, 0, 0))
		require.NoError(t, os.Lchown(filepath.Join(folder, devFile), nobody, nobody))
		require.Nil(t, findDev(), "another user's link to a file of one's own")
	}
}

func TestTriggerMakesEveryTypeOfEventAndNothingForAnother(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		ctx, o := t.Context(), admin.New(d, admin.Options{})
		_, err := o.CreateStore(ctx, &adminv1.CreateStoreRequest{Name: "Demo", Slug: "demo", Currency: "XAF", Country: "CM"})
		require.NoError(t, err)
		in := shoptest.In(t, ctx, o, "demo")
		for _, kind := range hook.EventTypes() {
			event, err := newTriggerData(kind).make(in, o)
			require.NoError(t, err, kind)
			require.Equal(t, kind, event.GetType())
		}
		events := d.Client().Event.Query().CountX(ctx)
		orders := d.Client().Order.Query().CountX(ctx)
		_, err = newTriggerData("order.refunded").make(in, o)
		require.ErrorContains(t, err, "order.refunded")
		require.Equal(t, orders, d.Client().Order.Query().CountX(ctx))
		require.Equal(t, events, d.Client().Event.Query().CountX(ctx))
	})
}

func TestTriggerWithAnotherNameOfTheBuyerShowsItWheneverItIsGiven(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, s *db.DB) {
		ctx, o := t.Context(), admin.New(s, admin.Options{})
		_, err := o.CreateStore(ctx, &adminv1.CreateStoreRequest{Name: "Demo", Slug: "demo", Currency: "XAF", Country: "CM"})
		require.NoError(t, err)
		in := shoptest.In(t, ctx, o, "demo")
		paid := func(overrides ...string) string {
			d := newTriggerData(hook.OrderPaid)
			for _, text := range overrides {
				require.NoError(t, d.override(text))
			}
			event, err := d.make(in, o)
			require.NoError(t, err)
			return event.GetPayload()
		}
		require.Contains(t, paid(), `"name":"Test Buyer","email":"buyer@example.com"`)
		require.Contains(t, paid("customer.name=Awa"), `"name":"Awa"`)
		require.Contains(t, paid("customer.name=Bea"), `"name":"Bea"`)
		require.Contains(t, paid("customer.phone=+237670000009"), `"phone":"+237670000009"`)
		require.Contains(t, paid("customer.email=c@example.com", "customer.name=Cam"), `"name":"Cam","email":"c@example.com"`)
		require.Contains(t, paid("customer.name=Dia", "customer.email=d@example.com"), `"name":"Dia","email":"d@example.com"`)
		require.Contains(t, paid(), `"name":"Test Buyer","email":"buyer@example.com"`)
	})
}
