package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/db/dbtest/need"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/notice"
	"go.storefront.example/ent/seal"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/conformance/devtest"
	"go.storefront.example/worker"
	"go.storefront.example/worker/egress"
	"go.storefront.example/worker/signature"
)

// Each notice is caused as in practice, written once, and arrives signed and in order. Only times in the database replace
// waiting.
func TestNoticesOfWhatHappens(t *testing.T) {
	t.Parallel()
	need.Heavy(t, "it runs servers and workers until each notice arrives")
	for _, name := range dbtest.Databases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := newInbox(t)
			secret := "whsec_" + strings.Repeat("0a", 32)
			in.verifyWith(secret)
			url := dbtest.URL(t, name)
			i := newInstallation(t, url, in).with("STOREFRONT_SECRET_KEY", seal.NewKey()).
				with("STOREFRONT_NOTICES_URL", in.url+"/notices").with("STOREFRONT_NOTICES_SECRET", secret).
				with("STOREFRONT_DASHBOARD_URL", "https://dashboard.example").with("STOREFRONT_LOG_LEVEL", "debug")
			handle, err := hook.Open(t.Context(), db.Config{URL: url, MaxConns: 2})
			require.NoError(t, err)
			t.Cleanup(func() { _ = handle.Close() })
			set := func(query string, args ...any) {
				t.Helper()
				_, err := handle.Writer().ExecContext(t.Context(), query, args...)
				require.NoError(t, err)
			}
			var healthy atomic.Bool
			receiver := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if !healthy.Load() {
					w.WriteHeader(http.StatusInternalServerError)
				}
			}))
			t.Cleanup(receiver.Close)
			expect := func(kind, text string) {
				t.Helper()
				got := in.next()
				require.Equal(t, kind, got.Type, "%s", got.Data)
				require.Contains(t, string(got.Data), text)
				require.Contains(t, string(got.Data), `"supportEmail":"help@s.example"`)
				require.Contains(t, string(got.Data), `"page":"https://dashboard.example/dashboard`)
			}

			i.run(nil, "store", "create", "--name", "S", "--slug", "s", "--currency", "KWD", "--country", "KW", "--support-email",
				"help@s.example")
			w := i.worker()
			var key struct{ ID string }
			i.run(&key, "key", "create", "--store", "s", "--name", "crm", "--scopes", "orders:read", "--expires", "30d")
			expect(notice.KeyCreated, `The API key \"crm\"`)
			csv := filepath.Join(t.TempDir(), "products.csv")
			require.NoError(t, os.WriteFile(csv, []byte("title,price\nA,1\nB,2\n"), 0o600))
			for range 2 { // the second import stores nothing and sends no notice
				i.run(nil, "import", "--store", "s", "products", csv)
			}
			expect(notice.ImportFinished, `"stored":2`)
			if name == dbtest.SQLite {
				i.run(nil, "backup", "--to", filepath.Join(t.TempDir(), "b.db"))
				got := in.next()
				require.Equal(t, notice.BackupFinished, got.Type)
				require.Contains(t, string(got.Data), "The backup b.db is finished")
			}

			var webhook struct{ ID string }
			i.run(&webhook, "webhook", "create", "--store", "s", "--url", receiver.URL, "--events", "product.published")
			var products []struct{ ID string }
			i.run(&products, "product", "list", "--store", "s")
			publish := func() {
				for _, p := range products {
					for _, status := range []string{"DRAFT", "PUBLISHED"} {
						i.run(nil, "product", "update", p.ID, "--store", "s", "--status", status, "--description", "D", "--content-ready")
					}
				}
			}
			publish()
			expect(notice.WebhookFailing, "has not accepted an event since")

			// If a worker is killed and started again, each notice of a timer is written once.
			since := func(age time.Duration) {
				set("UPDATE webhooks SET failing_since = $1 WHERE id = $2", time.Now().UTC().Add(-age).Truncate(time.Millisecond), webhook.ID)
			}
			restart := func() {
				t.Helper()
				// The next notice would otherwise wait until the killed worker's lease ends.
				require.Eventually(t, func() bool {
					return dbtest.Count(t, handle, "deliveries WHERE store_id = $1", notice.Platform) == 0
				}, time.Minute, 10*time.Millisecond)
				require.NoError(t, w.Process.Kill())
				_ = w.Wait()
				w = i.worker()
				i.worker().stop()
			}
			since(25 * time.Hour)
			restart()
			expect(notice.WebhookFailing, `"hours":24`)
			since(49 * time.Hour)
			restart()
			expect(notice.WebhookFailing, `"hours":48`)
			since(73 * time.Hour)
			i.run(nil, "delivery", "resend", "--store", "s", "--webhook", webhook.ID, "--since", "1h")
			expect(notice.WebhookDisabled, "was disabled")

			i.run(nil, "webhook", "enable", webhook.ID)
			set("UPDATE webhooks SET notice_id = NULL WHERE id = $1", webhook.ID)
			publish()
			expect(notice.WebhookFailing, "has not accepted an event since")
			healthy.Store(true)
			publish()
			expect(notice.WebhookRecovered, "accepts events again")

			for _, row := range []struct {
				left       time.Duration
				kind, text string
			}{
				{13 * 24 * time.Hour, notice.KeyExpiring, `"days":13`}, {2 * 24 * time.Hour, notice.KeyExpiring, `"days":2`},
				{-time.Minute, notice.KeyExpired, "expired on"},
			} {
				set("UPDATE api_keys SET expires_at = $1 WHERE id = $2", time.Now().UTC().Add(row.left).Truncate(time.Millisecond), key.ID)
				restart()
				expect(row.kind, row.text)
			}
			restart()
			const buyer = "zephyrine@example.com"
			i.run(nil, "customer", "create", "--store", "s", "--name", "Zephyrine", "--email", buyer)
			i.run(nil, "customer", "forget", buyer, "--store", "s", "--yes")
			expect(notice.CustomerForgotten, "A customer was forgotten")
			i.run(nil, "export", "--store", "s", filepath.Join(t.TempDir(), "export"))
			expect(notice.StoreExported, `"exportedAt"`)
			require.NotContains(t, strings.ToLower(w.log()), "zephyrine")

			// The operator can list the deliveries of notices, and the store has none of them.
			var sent, own []struct{ EventType, Status string }
			i.run(&sent, "delivery", "list", "--store", admin.Notices)
			require.GreaterOrEqual(t, len(sent), 10)
			i.run(&own, "delivery", "list", "--store", "s")
			for _, d := range own {
				require.Equal(t, "product.published", d.EventType)
			}
			w.stop()
			require.Empty(t, in.arrived, "nothing came twice")

			// A private address or plain http is refused. "none" removes the address.
			for flag, want := range map[string]string{
				"http://mailer.example": "--notices-url: must start with https://", "https://10.0.0.1/": "",
			} {
				c := i.with("STOREFRONT_ALLOW_PRIVATE_TARGETS", "false").command("storefront", "worker", "--notices-url", flag)
				said, err := c.CombinedOutput()
				require.Error(t, err)
				require.Contains(t, string(said), "--notices-url")
				require.Contains(t, string(said), want)
			}
			off := i.with("STOREFRONT_NOTICES_URL", "none")
			off.worker().stop()
			off.run(nil, "key", "create", "--store", "s", "--name", "quiet", "--scopes", "orders:read", "--expires", "30d")
			off.worker().stop()
			require.Empty(t, in.arrived)

			i.run(nil, "store", "delete", "s", "--now", "s")
			w = i.worker()
			expect(notice.StoreDeleted, "It cannot be restored")
			w.stop()
			require.Empty(t, in.arrived)
		})
	}
}

func mailServer(t *testing.T) (address string, mails chan string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	mails = make(chan string, 10)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close() }()
				_, _ = io.WriteString(conn, "220 ready\r\n")
				var mail strings.Builder
				for lines, inData := bufio.NewScanner(conn), false; lines.Scan(); {
					line := lines.Text()
					mail.WriteString(line + "\n")
					answer := "250 ok"
					switch {
					case inData && line == ".":
						inData = false
						mails <- mail.String()
					case inData:
						continue
					case strings.EqualFold(line, "DATA"):
						inData, answer = true, "354 go on"
					case strings.EqualFold(line, "QUIT"):
						answer = "221 bye"
					}
					_, _ = io.WriteString(conn, answer+"\r\n")
				}
			}()
		}
	}()
	return l.Addr().String(), mails
}

// The manual's programs, unchanged, send mails about the notices that a worker posts.
func TestTheManualsReceiversMailNotices(t *testing.T) {
	t.Parallel()
	need.Heavy(t, "it builds the manual's receivers")
	if runtime.GOOS == "windows" {
		t.Skip("Python and its path are named as on Unix")
	}
	section := manualSection(t, "webhooks.md", "Notices")
	for _, row := range []struct {
		language string
		command  func(t *testing.T, file string) *exec.Cmd
	}{
		{"go", func(t *testing.T, file string) *exec.Cmd {
			t.Helper()
			binary := filepath.Join(t.TempDir(), "receiver")
			said, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, file).CombinedOutput()
			require.NoError(t, err, "%s", said)
			return exec.CommandContext(t.Context(), binary)
		}},
		{"python", func(t *testing.T, file string) *exec.Cmd {
			t.Helper()
			folder := t.TempDir()
			if err := exec.CommandContext(t.Context(), "python3", "-c",
				"import sys; assert sys.version_info >= (3, 10)").Run(); err != nil {
				need.Missing(t, "this needs Python 3.10 or later")
			}
			build := exec.CommandContext(t.Context(), "python3", "build.py", folder)
			build.Dir = filepath.Join("..", "..", "client", "python")
			said, err := build.CombinedOutput()
			require.NoError(t, err, "%s", said)
			c := exec.CommandContext(t.Context(), "python3", file)
			c.Env = append(os.Environ(), "PYTHONPATH="+folder)
			return c
		}},
	} {
		t.Run(row.language, func(t *testing.T) {
			t.Parallel()
			code := regexp.MustCompile("(?s)```" + row.language + "\n(.*?)```").FindStringSubmatch(section)
			require.NotNil(t, code)
			file := filepath.Join(t.TempDir(), "main."+map[string]string{"go": "go", "python": "py"}[row.language])
			require.NoError(t, os.WriteFile(file, []byte(code[1]), 0o600))
			address := devtest.FreeAddress(t)
			server, mails := mailServer(t)
			secret := signature.NewSecret()
			c := row.command(t, file)
			c.Env = append(append(c.Environ(), c.Env...), "ADDR="+address, "SMTP="+server, "NOTICES_SECRET="+secret)
			require.NoError(t, c.Start())
			t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
			forged := func() int {
				answer, err := http.Post("http://"+address+"/", "application/json", strings.NewReader("{}")) //nolint:noctx // a local request
				if err != nil {
					return 0
				}
				_ = answer.Body.Close()
				return answer.StatusCode
			}
			require.Eventually(t, func() bool { return forged() >= 400 }, time.Minute, 100*time.Millisecond,
				"what is not signed is refused")

			handle := dbtest.New(t, dbtest.SQLite, db.Config{})
			key, err := seal.ParseKey(seal.NewKey())
			require.NoError(t, err)
			ring := seal.NewKeyring(key)
			require.NoError(t, notice.SetSink(t.Context(), handle, ring, notice.Sink{URL: "http://" + address + "/notices", Secret: secret,
				Dashboard: "https://dashboard.example"}))
			o := admin.New(handle, admin.Options{})
			_, err = o.CreateStore(t.Context(), &adminv1.CreateStoreRequest{Name: "Épicerie", Slug: "s", Currency: "EUR", Country: "FR",
				SupportEmail: new("help@s.example")})
			require.NoError(t, err)
			store, err := handle.Client().Store.Query().Only(t.Context())
			require.NoError(t, err)
			require.NoError(t, hook.Run(t.Context(), handle, func(c *hook.Change) error {
				_, err := notice.Write(c, handle, c.Tx, c.Time(), notice.Notice{Type: notice.StoreExported, StoreID: store.ID,
					Text: "All is exported."})
				return err
			}))
			posting, err := worker.New(t.Context(), worker.Config{DB: handle, Secrets: ring,
				Targets: egress.Policy{AllowPrivate: true, AllowHTTP: true}})
			require.NoError(t, err)
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan struct{})
			go func() { posting.Run(ctx); close(ended) }()
			defer func() { stop(); <-ended }()
			select {
			case mail := <-mails:
				require.Contains(t, strings.ToLower(mail), "rcpt to:<help@s.example>", mail)
				require.Regexp(t, `Subject: .*=\?utf-8\?q\?.*=C3=89picerie`, mail)
				require.Contains(t, mail, "All is exported. The page: https://dashboard.example/dashboard")
			case <-time.After(time.Minute):
				require.FailNow(t, "no mail arrives", fmt.Sprint(forged()))
			}
		})
	}
}
