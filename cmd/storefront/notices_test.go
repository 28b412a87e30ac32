package main

import (
	"bufio"
	"context"
	"encoding/base64"
	"io"
	"maps"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/http"
	"net/http/httptest"
	"net/mail"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/db/dbtest/need"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/invisible"
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
				with("STOREFRONT_LOG_LEVEL", "debug")
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
			}

			i.run(nil, "store", "create", "--name", "S", "--slug", "s", "--currency", "KWD", "--country", "KW", "--support-email",
				"help@s.example")
			w := i.worker()
			var key struct{ ID string }
			i.run(&key, "key", "create", "--store", "s", "--name", "crm", "--scopes", "orders:read", "--expires", "30d")
			expect(notice.KeyCreated, `"name":"crm"`)
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
				require.Contains(t, string(got.Data), `"durationMs":`)
			}

			// Many failures of a webhook cause a notice after an hour.
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
			fail := func() {
				t.Helper()
				publish()
				require.Eventually(t, func() bool {
					return dbtest.Count(t, handle, "webhooks WHERE id = $1 AND failing_since IS NOT NULL", webhook.ID) == 1
				}, time.Minute, 10*time.Millisecond)
			}
			fail()

			// If a worker is killed and started again, each notice of a timer is written once.
			since := func(age time.Duration) {
				set("UPDATE webhooks SET failing_since = $1 WHERE id = $2", time.Now().UTC().Add(-age).Truncate(time.Millisecond), webhook.ID)
			}
			// sweptBefore makes the next sweep that of two hours.
			sweptBefore := func() {
				set("UPDATE clock_marks SET seen_at = $1 WHERE id = 'notices'", time.Now().UTC().Add(-2*time.Hour).Truncate(time.Millisecond))
			}
			restart := func() {
				t.Helper()
				// The next notice would otherwise wait until the killed worker's lease ends.
				require.Eventually(t, func() bool {
					return dbtest.Count(t, handle, "deliveries WHERE store_id = $1", notice.NoStore) == 0
				}, time.Minute, 10*time.Millisecond)
				require.NoError(t, w.Process.Kill())
				_ = w.Wait()
				w = i.worker()
				i.worker().stop()
			}
			for _, row := range []struct {
				hours int
				text  string
			}{{1, `"hours":1`}, {24, `"hours":24`}, {48, `"hours":48`}} {
				since(time.Duration(row.hours)*time.Hour + time.Minute)
				sweptBefore()
				restart()
				expect(notice.WebhookFailing, row.text)
			}
			since(73 * time.Hour)
			i.run(nil, "delivery", "resend", "--store", "s", "--webhook", webhook.ID, "--since", "1h")
			expect(notice.WebhookDisabled, `"failingSince":`)

			i.run(nil, "webhook", "enable", webhook.ID)
			fail()
			since(61 * time.Minute)
			sweptBefore()
			restart()
			expect(notice.WebhookFailing, `"hours":1`)
			healthy.Store(true)
			publish()
			expect(notice.WebhookRecovered, `"failingSince":`)

			for _, row := range []struct {
				left       time.Duration
				kind, text string
			}{
				{14*24*time.Hour - time.Minute, notice.KeyExpiring, `"days":14`}, {3*24*time.Hour - time.Minute, notice.KeyExpiring, `"days":3`},
				{-time.Minute, notice.KeyExpired, `"expiresAt":`},
			} {
				set("UPDATE api_keys SET expires_at = $1 WHERE id = $2", time.Now().UTC().Add(row.left).Truncate(time.Millisecond), key.ID)
				sweptBefore()
				restart()
				expect(row.kind, row.text)
			}
			restart()
			const buyer = "zephyrine@example.com"
			i.run(nil, "customer", "create", "--store", "s", "--name", "Zephyrine", "--email", buyer)
			i.run(nil, "customer", "forget", buyer, "--store", "s", "--yes")
			expect(notice.CustomerForgotten, `"customerId":`)
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
			expect(notice.StoreDeleted, `"storeName":"S"`)
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

// hostileNames are names that no form lets in, but that a database may have.
var hostileNames = []string{
	"Épicerie", "A\r\nBcc: x@example.com\r\n\r\nB", "A\u2028B\u2029C\u0085D", `"A" <a@example.com>, 'B'`, "<script>alert(1)</script> & <b>",
	strings.Repeat("very long ", 1000) + "!", strings.Repeat("é", 3000), "{storeName} %s =?utf-8?q?A?=", "=?utf-8?q?A=0D=0ABcc:_x@example.com?=", "\u202eA\tC",
}

// The manual's program, unchanged, mails the notices that a worker posts. A name is whole in the mail's subject and text, and
// changes nothing else of it.
func TestTheManualsMailer(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("Python and its path are named as on Unix")
	}
	if err := exec.CommandContext(t.Context(), "python3", "-c", "import sys; assert sys.version_info >= (3, 10)").Run(); err != nil {
		need.Missing(t, "this needs Python 3.10 or later")
	}
	folder := t.TempDir()
	build := exec.CommandContext(t.Context(), "python3", "build.py", folder)
	build.Dir = filepath.Join("..", "..", "client", "python")
	said, err := build.CombinedOutput()
	require.NoError(t, err, "%s", said)
	code := regexp.MustCompile("(?s)```python\n(.*?)```").FindStringSubmatch(manualSection(t, "webhooks.md", "Notices"))
	require.NotNil(t, code)
	file := filepath.Join(t.TempDir(), "mailer.py")
	require.NoError(t, os.WriteFile(file, []byte(code[1]), 0o600))
	address, secret := devtest.FreeAddress(t), signature.NewSecret()
	server, mails := mailServer(t)
	c := exec.CommandContext(t.Context(), "python3", file)
	c.Env = append(os.Environ(), "PYTHONPATH="+folder, "ADDR="+address, "SMTP="+server, "NOTICES_SECRET="+secret)
	require.NoError(t, c.Start())
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	require.Eventually(t, func() bool {
		answer, err := http.Post("http://"+address+"/", "application/json", strings.NewReader("{}")) //nolint:noctx // a local request
		if err != nil {
			return false
		}
		_ = answer.Body.Close()
		return answer.StatusCode == http.StatusInternalServerError
	}, time.Minute, 20*time.Millisecond, "what is not signed is refused")

	handle := dbtest.New(t, dbtest.SQLite, db.Config{})
	key, err := seal.ParseKey(seal.NewKey())
	require.NoError(t, err)
	ring := seal.NewKeyring(key)
	require.NoError(t, notice.SetWebhook(t.Context(), handle, ring, "http://"+address+"/notices", secret))
	_, err = admin.New(handle, admin.Options{}).CreateStore(t.Context(), &adminv1.CreateStoreRequest{Name: "S", Slug: "s", Currency: "EUR",
		Country: "FR", SupportEmail: new("help@s.example")})
	require.NoError(t, err)
	store := handle.Client().Store.Query().OnlyX(t.Context())
	posting, err := worker.New(t.Context(), worker.Config{DB: handle, Secrets: ring, Targets: egress.Policy{AllowPrivate: true, AllowHTTP: true}})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { posting.Run(ctx); close(ended) }()
	t.Cleanup(func() { stop(); <-ended })
	for _, name := range hostileNames {
		require.NoError(t, hook.Run(t.Context(), handle, func(c *hook.Change) error {
			if _, err := c.Tx.ExecContext(c, "UPDATE stores SET name = $1", name); err != nil {
				return err
			}
			return notice.Write(c, handle, c.Tx, c.Time(), notice.Notice{Type: notice.KeyExpiring, StoreID: store.ID,
				Data: map[string]any{"name": name, "days": 3}})
		}))
		select {
		case sent := <-mails:
			requireMail(t, sent, invisible.OneLine(name))
		case <-time.After(time.Minute):
			require.FailNow(t, "no mail arrives", "%q", name)
		}
	}
	require.Empty(t, mails)
}

// requireMail reads what an SMTP server got: one mail to one recipient, of plain text, with the name in its subject and text.
func requireMail(t *testing.T, sent, name string) {
	t.Helper()
	commands, text, found := strings.Cut(sent, "\ndata\n")
	require.True(t, found, sent)
	require.Equal(t, 1, strings.Count(strings.ToLower(commands), "rcpt to:"), commands)
	require.Contains(t, strings.ToLower(commands), "rcpt to:<help@s.example>")
	read, err := mail.ReadMessage(strings.NewReader(strings.TrimSuffix(text, ".\n")))
	require.NoError(t, err)
	require.Subset(t, []string{"From", "To", "Subject", "Content-Type", "Content-Transfer-Encoding", "Mime-Version"},
		slices.Collect(maps.Keys(read.Header)))
	for _, values := range read.Header {
		require.Len(t, values, 1)
	}
	require.Equal(t, "help@s.example", read.Header.Get("To"))
	require.Contains(t, read.Header.Get("Content-Type"), "text/plain")
	subject, err := new(mime.WordDecoder).DecodeHeader(read.Header.Get("Subject"))
	require.NoError(t, err)
	require.True(t, subject == "The API key "+name+" of "+name+" expires soon", "%.200q", subject) //nolint:testifylint // the name may be long
	body := read.Body
	switch read.Header.Get("Content-Transfer-Encoding") {
	case "quoted-printable":
		body = quotedprintable.NewReader(body)
	case "base64":
		body = base64.NewDecoder(base64.StdEncoding, body)
	}
	whole, err := io.ReadAll(body)
	require.NoError(t, err, "%.20q: %s", name, read.Header.Get("Content-Transfer-Encoding"))
	require.True(t, strings.Contains(string(whole), "storeName: "+name+"\n"), "%.200q", whole) //nolint:testifylint // as above
}
