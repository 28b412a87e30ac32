package main

import (
	"database/sql"
	"encoding/json"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/db/dbtest/need"
	"go.storefront.example/ent/seal"
)

const runbookWebhook = "https://shop.example.com/webhooks"

// notRun has the programs in RUNBOOK.md that a test cannot run, each with the reason.
var notRun = map[string]string{
	"systemctl": "a test has no systemd: it starts and stops servers and workers itself",
	"chown":     "a test has no user storefront",
}

var (
	runbookCase  = regexp.MustCompile(`(?m)^## (.+)\n`)
	runbookBlock = regexp.MustCompile("(?s)\n```sh\n(.*?)\n```\n")
)

// runbookCases returns each case's commands for a kind of database, by title. A block for only one kind begins with a comment
// that names it.
func runbookCases(t *testing.T, database string) map[string]string {
	t.Helper()
	text, err := os.ReadFile("RUNBOOK.md")
	require.NoError(t, err)
	cases, skipped := map[string]string{}, map[string]bool{}
	at := runbookCase.FindAllStringSubmatchIndex(string(text), -1)
	for n, match := range at {
		end := len(text)
		if n+1 < len(at) {
			end = at[n+1][0]
		}
		name, section := string(text[match[2]:match[3]]), string(text[match[1]-1:end])
		require.LessOrEqual(t, strings.Count(section, "\n"), 45, "%s is longer than a screen", name)
		require.True(t, strings.HasPrefix(section, "\n\n```sh\n"), "%s: its commands come first", name)
		for _, block := range runbookBlock.FindAllStringSubmatch(section, -1) {
			for other, named := range map[string]string{dbtest.SQLite: "# SQLite", dbtest.Postgres: "# PostgreSQL"} {
				if strings.HasPrefix(block[1], named) && other != database {
					block[1] = ""
				}
			}
			for line := range strings.Lines(block[1] + "\n") {
				program, _, _ := strings.Cut(line, " ")
				if notRun[program] == "" {
					cases[name] += line
					continue
				}
				skipped[program] = true
			}
		}
	}
	require.Contains(t, skipped, "systemctl")
	return cases
}

// receiverProxy connects every delivery to the receiver at to, or refuses it while down is true.
func receiverProxy(t *testing.T, to string, down *atomic.Bool) string {
	t.Helper()
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if down.Load() {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		receiver, err := net.Dial("tcp", strings.TrimPrefix(to, "https://"))
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer receiver.Close()
		// Take the connection over before answering, because all bytes after the answer belong to the receiver.
		caller, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer caller.Close()
		if _, err := io.WriteString(caller, "HTTP/1.1 200 OK\r\n\r\n"); err != nil {
			return
		}
		go func() { _, _ = io.Copy(receiver, caller) }()
		_, _ = io.Copy(caller, receiver)
	}))
	t.Cleanup(proxy.Close)
	return proxy.URL
}

type scene struct {
	installation
	in       *inbox
	down     *atomic.Bool
	folder   string
	database string
	key      string
	serving  *process // nil if the case needs none
}

func newScene(t *testing.T, database string) *scene {
	t.Helper()
	in, folder, down := newInbox(t), t.TempDir(), new(atomic.Bool)
	url := "sqlite:" + filepath.Join(folder, "storefront.db")
	if database == dbtest.Postgres {
		dbtest.OnePostgres(t, "pg_dump copies no cluster")
		url = dbtest.URL(t, database)
	}
	i := newInstallation(t, url, in)
	for name, value := range map[string]string{
		"STOREFRONT_SECRET_KEY": seal.NewKey(), "STOREFRONT_ADMIN_TOKEN": "the-token-that-has-leaked-0123456789",
		"STOREFRONT_ADDR": "127.0.0.1:0", "STOREFRONT_ADMIN_ADDR": "127.0.0.1:0",
		"STOREFRONT_EGRESS_PROXY": receiverProxy(t, in.url, down), "STOREFRONT_RETRY_DELAYS": "12h",
	} {
		i = i.with(name, value)
	}
	s := &scene{installation: i, in: in, down: down, folder: folder, database: database}
	s.run(nil, "migrate", "up")
	s.run(nil, "store", "create", "--name", "Boutique Douala", "--slug", "douala", "--currency", "XAF", "--country", "CM")
	var key struct{ Key string }
	s.run(&key, "key", "create", "--store", "douala", "--name", "crm", "--scopes", "customers:write,orders:read", "--expires", "90d")
	s.key = key.Key
	var webhook struct{ Secret string }
	s.run(&webhook, "webhook", "create", "--store", "douala", "--url", runbookWebhook)
	in.verifyWith(webhook.Secret)
	return s
}

func (s *scene) buyer(name string) {
	s.t.Helper()
	s.run(nil, "customer", "create", "--store", "douala", "--email", name+"@example.com")
}

func (s *scene) deliveries(status string) int {
	s.t.Helper()
	var found []json.RawMessage
	s.run(&found, "delivery", "list", "--store", "douala", "--status", status)
	return len(found)
}

func (s *scene) eventually(status string, count int) {
	s.t.Helper()
	s.until(func() bool { return s.deliveries(status) == count }, "%d deliveries are %s", count, status)
}

// s.until waits until done() is true, and fails the test after a minute.
func (s *scene) until(done func() bool, what string, args ...any) {
	s.t.Helper()
	for deadline := time.Now().Add(awaited); !done(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			require.FailNowf(s.t, "not within "+awaited.String(), what, args...)
		}
	}
}

func (s *scene) webhooks() (found []struct{ ID, State string }) {
	s.t.Helper()
	s.run(&found, "webhook", "list", "--store", "douala")
	return found
}

// runbookScenes has by a case's title before, which prepares the problem, and after, which checks that the commands, which
// printed said, have solved it.
var runbookScenes = map[string]struct {
	before func(s *scene)
	after  func(s *scene, said string)
}{
	"A receiver was down for two days": {
		func(s *scene) {
			s.down.Store(true)
			s.buyer("one")
			s.buyer("two")
			s.worker()
			s.eventually("retrying", 2)
			s.down.Store(false)
		}, func(s *scene, said string) {
			require.Contains(s.t, said, "FAILING")
			arrived := s.in.collect(3)
			require.Contains(s.t, slices.Collect(maps.Values(arrived)), "ping")
			s.eventually("succeeded", 3)
			require.Zero(s.t, s.deliveries("pending"))
		},
	},
	"A webhook was disabled": {
		func(s *scene) {
			s.buyer("waiting")
			s.down.Store(true)
			w := s.with("STOREFRONT_DISABLE_AFTER", "1ms").with("STOREFRONT_RETRY_DELAYS", "1ms,12h").worker()
			s.until(func() bool { return s.webhooks()[0].State == "disabled" }, "the webhook is disabled")
			s.buyer("afterwards")
			w.stop()
			s.down.Store(false)
			s.worker()
		}, func(s *scene, said string) {
			require.Contains(s.t, said, "disabled (failed)")
			require.Len(s.t, s.in.collect(2), 2)
			require.NotEqual(s.t, "disabled", s.webhooks()[0].State)
		},
	},
	"Deliveries arrive twice": {
		func(s *scene) {
			s.run(nil, "webhook", "create", "--store", "douala", "--url", runbookWebhook)
			s.worker()
			s.buyer("one")
			s.eventually("succeeded", 2)
		}, func(s *scene, said string) {
			require.Len(s.t, s.webhooks(), 1)
			require.Contains(s.t, said, "customer.created")
		},
	},
	"A key leaked": {
		func(s *scene) {
			s.serving = s.server("storefront")
			send(s.t, http.StatusCreated, "POST", "http://"+s.serving.Addr+"/v1/customers", s.key, `{"email":"a@example.com"}`)
		}, func(s *scene, said string) {
			require.Contains(s.t, said, "a@example.com", "the change that the key made")
			next := regexp.MustCompile(`svc_live_[0-9A-Za-z]+`).FindString(said)
			customers := "http://" + s.serving.Addr + "/v1/customers"
			refused := send(s.t, http.StatusUnauthorized, "GET", customers, s.key, "")
			require.Equal(s.t, "api_key_revoked", refused["code"])
			send(s.t, http.StatusOK, "GET", customers, next, "")
		},
	},
	"An owner lost access": {
		func(s *scene) {
			s.run(nil, "dashboard", "link", "--store", "douala", "--member", "Awa Ngo", "--role", "owner", "--url", "https://dashboard.example.com")
		}, func(s *scene, said string) {
			require.Contains(s.t, said, "https://dashboard.example.com/dashboard/sign-in?token=")
			var sessions []json.RawMessage
			s.run(&sessions, "dashboard", "sessions", "list", "--store", "douala")
			require.Len(s.t, sessions, 1, "the new link")
		},
	},
	"The admin token leaked": {
		func(s *scene) {
			s.run(nil, "dashboard", "link", "--store", "douala", "--member", "Mallory", "--role", "owner", "--url", "https://dashboard.example.com")
		}, func(s *scene, said string) {
			var sessions []json.RawMessage
			s.run(&sessions, "dashboard", "sessions", "list", "--store", "douala")
			require.Empty(s.t, sessions)
			require.Regexp(s.t, `(?m)^links: +1$`, said, "one is ended")
		},
	},
	"The disk is full": {
		func(*scene) {},
		func(s *scene, said string) {
			if s.database == dbtest.SQLite {
				require.Regexp(s.t, `(ok|warn) +disk`, said)
				return
			}
			require.Contains(s.t, said, "activity_entries")
			require.Regexp(s.t, `ok +snapshots`, said)
		},
	},
	"A migration will not end": {
		func(s *scene) {
			if s.database == dbtest.SQLite {
				return
			}
			pool, err := sql.Open("postgres", s.env["STOREFRONT_DATABASE_URL"])
			require.NoError(s.t, err)
			s.t.Cleanup(func() { _ = pool.Close() })
			forgotten, err := pool.BeginTx(s.t.Context(), nil)
			require.NoError(s.t, err)
			_, err = forgotten.ExecContext(s.t.Context(), "LOCK TABLE customers IN SHARE MODE")
			require.NoError(s.t, err)
		}, func(s *scene, said string) {
			require.Contains(s.t, said, "the schema is up to date")
			if s.database == dbtest.Postgres {
				require.Regexp(s.t, `idle in transaction.*LOCK TABLE customers`, said)
			}
		},
	},
	"The database is restored": {
		func(s *scene) {
			s.buyer("before")
			if s.database == dbtest.Postgres {
				dump := s.command(postgresTool(s.t, "pg_dump"), "--format=custom", "--no-owner",
					"--file="+filepath.Join(s.folder, "storefront.dump"), s.env["STOREFRONT_DATABASE_URL"])
				out, err := dump.CombinedOutput()
				require.NoError(s.t, err, "%s", out)
				s.installation = s.with("NEW_DATABASE_URL", dbtest.EmptyURL(s.t, dbtest.Postgres))
			} else {
				backups := filepath.Join(s.folder, "backups")
				require.NoError(s.t, os.Mkdir(backups, 0o700))
				s.run(nil, "backup", "--to", filepath.Join(backups, "storefront-2026-11-25T031500.000Z-1f0a93c2.db"))
				require.NoError(s.t, os.WriteFile(filepath.Join(backups, "storefront.db.key"), []byte(seal.NewKey()), 0o600))
			}
			s.buyer("after")
		}, func(s *scene, _ string) {
			if s.database == dbtest.Postgres {
				s.installation = s.with("STOREFRONT_DATABASE_URL", s.env["NEW_DATABASE_URL"])
			}
			var customers []struct{ Email string }
			s.run(&customers, "customer", "list", "--store", "douala")
			require.Len(s.t, customers, 1)
			require.Equal(s.t, "before@example.com", customers[0].Email)
			s.worker()
			require.Contains(s.t, string(s.in.next().Data), "before@example.com")
		},
	},
	"A store leaves": {
		func(*scene) {},
		func(s *scene, _ string) {
			var store struct {
				Status   string
				DeleteAt *string
			}
			s.run(&store, "store", "show", "douala")
			require.NotNil(s.t, store.DeleteAt)
			_, err := readExport(s.t, filepath.Join(s.folder, "douala-2026-11-23.tar.zst"))
			require.NoError(s.t, err)
			require.FileExists(s.t, filepath.Join(s.folder, "douala-for-accounting", "customers.csv"))
		},
	},
}

func TestRunbook(t *testing.T) {
	t.Parallel()
	need.Heavy(t, "it follows the runbook on a running installation")
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no shell here")
	}
	for _, database := range dbtest.Databases() {
		cases := runbookCases(t, database)
		require.Len(t, cases, len(runbookScenes))
		for name, scenery := range runbookScenes {
			require.Contains(t, cases, name)
			t.Run(database+"/"+name, func(t *testing.T) {
				t.Parallel()
				s := newScene(t, database)
				scenery.before(s)
				c := s.command(shell, "-euc", cases[name])
				if database == dbtest.Postgres {
					c.Env = append(c.Env, "PATH="+os.Getenv("PATH")+":"+filepath.Dir(postgresTool(t, "psql")))
				}
				c.Dir = s.folder
				said, err := c.CombinedOutput()
				require.NoError(t, err, "%s\n%s", cases[name], said)
				scenery.after(s, string(said))
			})
		}
	}
}
