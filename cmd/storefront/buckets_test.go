package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/db/dbtest/need"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/seal"
	"go.storefront.example/ent/tenant"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/gen/storefront/v1/storefrontv1connect"
	"go.storefront.example/server/auth"
)

// mapLine matches a line of nginx.conf's map: a # of a comment, the expression, the upstream, and the --buckets in the comment
// at the end.
var mapLine = regexp.MustCompile(`(?m)^    (#?)(?:default|"~([^"]+)") (storefront\w*); +# --buckets (\S+)$`)

// bucketsOfMap returns each line's --buckets and expression. The first is the default, whose expression is empty.
func bucketsOfMap(t *testing.T) (buckets []tenant.Buckets, expressions []*regexp.Regexp) {
	t.Helper()
	text, err := os.ReadFile("nginx.conf")
	require.NoError(t, err)
	for n, line := range mapLine.FindAllStringSubmatch(string(text), -1) {
		require.Equal(t, []string{"storefront", "storefront_2", "storefront_3"}[n], line[3])
		require.Equal(t, n > 0, line[1] == "#", "with one installation the default has all requests")
		var b tenant.Buckets
		require.NoError(t, b.UnmarshalText([]byte(line[4])))
		buckets, expressions = append(buckets, b), append(expressions, regexp.MustCompile(line[2]))
	}
	require.Len(t, buckets, 3)
	return buckets, expressions
}

// Each line sends exactly the keys with the buckets that its comment gives as --buckets.
func TestTheMapAgreesWithTheBucketsBesideIt(t *testing.T) {
	t.Parallel()
	buckets, expressions := bucketsOfMap(t)
	for _, first := range tenant.Base62 {
		for _, second := range tenant.Base62 {
			bucket := string([]rune{first, second})
			is := 0
			for n := len(expressions) - 1; n > 0; n-- {
				if expressions[n].MatchString("bearer  " + auth.Prefix + bucket + strings.Repeat("x", 40)) {
					is = n
				}
			}
			for n, b := range buckets {
				require.Equal(t, n == is, b.Has(bucket), "bucket %s, installation %d", bucket, n+1)
			}
		}
	}
}

type servedInstallation struct {
	installation
	serving   *process
	slug, key string
	id        uuid.UUID
}

func (s servedInstallation) customers() int {
	s.t.Helper()
	var found []json.RawMessage
	s.run(&found, "customer", "list", "--store", s.slug, "--limit", "1000")
	return len(found)
}

func serveBuckets(t *testing.T, database, slug string, buckets tenant.Buckets) servedInstallation {
	t.Helper()
	s := servedInstallation{slug: slug, installation: installation{t, map[string]string{
		"STOREFRONT_DATABASE_URL": dbtest.URL(t, database), "STOREFRONT_TRUSTED_PROXIES": "127.0.0.1",
		"STOREFRONT_ADMIN_TOKEN": remoteToken, "STOREFRONT_BUCKETS": string(buckets), "STOREFRONT_SECRET_KEY": seal.NewKey(),
	}}}
	s.serving = s.server("storefront")
	remote := s.with("STOREFRONT_ADMIN_URL", "http://"+s.serving.AdminAddr).with("STOREFRONT_BUCKETS", "")
	for _, name := range []string{slug, slug + "-too"} {
		remote.run(nil, "store", "create", "--name", name, "--slug", name, "--currency", "EUR", "--country", "FR")
		var shown struct {
			ID     uuid.UUID
			Bucket string
		}
		remote.run(&shown, "store", "show", name)
		require.True(t, buckets.Has(shown.Bucket), "%s is in bucket %s, beside %s", name, shown.Bucket, buckets)
		if name == slug {
			s.id = shown.ID
		}
	}
	s.key = s.newKey(slug).Key
	require.Equal(t, auth.Prefix+tenant.Bucket(s.id), s.key[:len(auth.Prefix)+2])
	return s
}

func (s servedInstallation) newKey(store string) (key struct {
	ID  uuid.UUID
	Key string
}) {
	s.t.Helper()
	s.run(&key, "key", "create", "--store", store, "--name", "k", "--scopes", "store:read,products:read,customers:write", "--expires", "30d")
	return key
}

// olderKey creates an API key as older releases did, with random letters in place of the bucket.
func (s servedInstallation) olderKey(text string) {
	s.t.Helper()
	require.True(s.t, auth.WellFormed(text))
	handle, err := hook.Open(s.t.Context(), db.Config{URL: s.env["STOREFRONT_DATABASE_URL"], Existing: true})
	require.NoError(s.t, err)
	fingerprint := auth.Fingerprint(text)
	_, err = handle.Writer().ExecContext(s.t.Context(), "UPDATE api_keys SET fingerprint = $1, hint = $2 WHERE id = $3",
		fingerprint[:], auth.Hint(text), s.newKey(s.slug).ID)
	require.NoError(s.t, err)
	require.NoError(s.t, handle.Close())
}

// mapped replaces the addresses of three installations, and adds lines at the beginning of the map.
func mapped(all []servedInstallation, lines ...string) []string {
	return []string{
		"10.0.0.1:8080", all[0].serving.Addr, "10.0.0.2:8080", all[0].serving.Addr, "10.0.2.1:8080", all[1].serving.Addr,
		"10.0.3.1:8080", all[2].serving.Addr, `#"~^`, strings.Join(append(lines, `"~^`), "\n    "),
	}
}

func TestThreeInstallationsBehindNginx(t *testing.T) {
	t.Parallel()
	need.Heavy(t, "it runs three installations behind nginx")
	nginx := nginxProgram(t)
	buckets, _ := bucketsOfMap(t)
	for _, database := range dbtest.Databases() {
		t.Run(database, func(t *testing.T) {
			t.Parallel()
			dbtest.EmptyURL(t, database) // skips the test if there is no such database
			var all []servedInstallation
			for n, b := range buckets {
				all = append(all, serveBuckets(t, database, fmt.Sprintf("store-%d", n+1), b))
			}
			right := newFront(t, nginx, mapped(all)...)
			storeOf := func(f front, key string) (int, string) {
				status, body := f.request(t, http.MethodGet, apiHost, "/v1/store", key, "")
				var store struct{ Slug, Code string }
				require.NoError(t, json.Unmarshal([]byte(body), &store), body)
				return status, store.Slug + store.Code
			}
			answers := func(f front, key string, wantStatus int, want string) {
				t.Helper()
				status, is := storeOf(f, key)
				require.Equal(t, want, is)
				require.Equal(t, wantStatus, status)
			}
			buyer := func(f front, key, email string) int {
				status, _ := f.request(t, http.MethodPost, apiHost, "/v1/customers", key, `{"email":"`+email+`@example.com"}`)
				return status
			}

			for _, s := range all {
				answers(right, s.key, http.StatusOK, s.slug)
				require.Equal(t, http.StatusCreated, buyer(right, s.key, "one"))
				for _, options := range [][]connect.ClientOption{{connect.WithGRPC()}, {connect.WithGRPCWeb()}, {connect.WithProtoJSON()}} {
					stores := storefrontv1connect.NewStoreServiceClient(right.caller, "https://"+right.addr, options...)
					ctx, call := connect.NewClientContext(t.Context())
					call.RequestHeader().Set("Authorization", "bEARER   "+s.key)
					store, err := stores.GetStore(ctx, &storefrontv1.GetStoreRequest{})
					require.NoError(t, err)
					require.Equal(t, s.slug, store.GetSlug())
				}
			}

			// A key that reaches a wrong installation is refused with 401, and nothing is changed or lost.
			wrong := newFront(t, nginx, append(mapped(all), "storefront_2;", "storefront_3;", "storefront_3;", "storefront_2;")...)
			answers(wrong, all[0].key, http.StatusOK, all[0].slug)
			for _, s := range all[1:] {
				answers(wrong, s.key, http.StatusUnauthorized, "api_key_invalid")
				require.Equal(t, http.StatusUnauthorized, buyer(wrong, s.key, "two"))
				answers(right, s.key, http.StatusOK, s.slug)
				require.Equal(t, http.StatusCreated, buyer(right, s.key, "two"))
			}
			require.Equal(t, []int{1, 2, 2}, []int{all[0].customers(), all[1].customers(), all[2].customers()})

			// An older key has random letters in place of the bucket. It works if they happen to be its installation's, if the
			// map has its last four characters, or without nginx.
			const older = "svc_live_0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ2NnVJ7"
			all[2].olderKey(older)
			answers(right, older, http.StatusUnauthorized, "api_key_invalid")
			manual := growPage(t, "Older keys")
			line := strings.TrimSpace(strings.Replace(manual.nginx[0], "x7Qd", older[len(older)-4:], 1))
			answers(newFront(t, nginx, mapped(all, strings.Replace(line, "storefront_2", "storefront_3", 1))...), older, http.StatusOK, all[2].slug)
			direct := send(t, http.StatusOK, http.MethodGet, "http://"+all[2].serving.Addr+"/v1/store", older, "")
			require.Equal(t, all[2].slug, direct["slug"])
			const zeroes = "svc_live_0000000000000000000000000000000000003RmtK1"
			all[0].olderKey(zeroes)
			answers(right, zeroes, http.StatusOK, all[0].slug)

			// The manual's loop lists the keys that were created before a time.
			out := all[2].shell(t, t.TempDir(), strings.Replace(manual.sh[0], "2026-12-01T00:00:00Z", "9999-01-01T00:00:00Z", 1))
			require.Regexp(t, `(?m)^store-3\tk\tsvc_live_\.\.\.nVJ7\t`, out)
			require.Len(t, strings.Split(strings.TrimSpace(out), "\n"), 2)
			require.Empty(t, all[2].shell(t, t.TempDir(), strings.Replace(manual.sh[0], "2026-12-01", "2000-01-01", 1)))

			// A request without a well-formed key reaches the default installation.
			for _, key := range []string{"", "no-key", "svc_live_"} {
				code := map[bool]string{true: "api_key_missing", false: "api_key_invalid"}[key == ""]
				before := strings.Count(all[0].serving.log(), `"status":401`)
				answers(right, key, http.StatusUnauthorized, code)
				require.Eventually(t, func() bool { return strings.Count(all[0].serving.log(), `"status":401`) > before }, awaited,
					10*time.Millisecond)
			}

			// Only the installation that gets a client's unknown keys blocks it. They are counted by the minute, so try up to
			// three times.
			blocked := false
			for try := 0; try < 3 && !blocked; try++ {
				for range 45 {
					if status, _ := storeOf(right, auth.NewKey(all[1].id)); status == http.StatusTooManyRequests {
						break
					}
				}
				status, _ := storeOf(right, all[1].key)
				blocked = status == http.StatusTooManyRequests
			}
			require.True(t, blocked)
			answers(right, all[0].key, http.StatusOK, all[0].slug)
			answers(right, all[2].key, http.StatusOK, all[2].slug)
		})
	}
}

// shellPage is a section of the manual's page Grow: its commands, and its lines for nginx.conf's map.
type shellPage struct{ sh, nginx []string }

func growPage(t *testing.T, section string) shellPage {
	t.Helper()
	_, text, found := strings.Cut(manualPage(t, "grow.md"), "\n### "+section+"\n")
	require.True(t, found)
	text, _, _ = strings.Cut(text, "\n##")
	var p shellPage
	for _, block := range regexp.MustCompile("(?s)\n```(sh|nginx)\n(.*?)\n```\n").FindAllStringSubmatch(text, -1) {
		if block[1] == "sh" {
			p.sh = append(p.sh, block[2])
		} else {
			p.nginx = append(p.nginx, block[2])
		}
	}
	return p
}

func (i installation) shell(t *testing.T, folder, commands string) string {
	t.Helper()
	if _, err := exec.LookPath("jq"); err != nil {
		need.Missing(t, "there is no jq here: %v", err)
	}
	c := i.command("bash", "-euo", "pipefail", "-c", commands)
	c.Dir = folder
	c.Env = append(c.Env, "PATH="+folder+":"+os.Getenv("PATH"))
	var said strings.Builder
	c.Stderr = &said
	out, err := c.Output()
	require.NoError(t, err, "%s\n%s%s", commands, out, &said)
	return string(out)
}

// The commands move all stores of some buckets, with their keys, and no others.
func TestMovingBuckets(t *testing.T) {
	t.Parallel()
	need.Heavy(t, "it moves stores between two installations behind nginx")
	nginx := nginxProgram(t)
	buckets, _ := bucketsOfMap(t)
	for _, way := range [][2]string{{dbtest.SQLite, dbtest.Postgres}, {dbtest.Postgres, dbtest.SQLite}} {
		t.Run(way[0]+" to "+way[1], func(t *testing.T) {
			t.Parallel()
			dbtest.EmptyURL(t, way[0])
			dbtest.EmptyURL(t, way[1])
			all := []servedInstallation{serveBuckets(t, way[0], "stays", buckets[0]), serveBuckets(t, way[1], "other", buckets[1])}
			old, next := all[0], all[1]
			all = append(all, next) // nginx.conf needs three addresses, but the test sends nothing to the third
			keys := map[string]string{}
			for _, slug := range []string{"moved", "shut"} {
				old.run(nil, "store", "create", "--name", slug, "--slug", slug, "--currency", "EUR", "--country", "FR", "--bucket", "7Q")
				keys[slug] = old.newKey(slug).Key
			}
			old.run(nil, "store", "create", "--name", "S", "--slug", "gone", "--currency", "EUR", "--country", "FR", "--bucket", "7Q")
			old.run(nil, "store", "delete", "gone")
			old.run(nil, "store", "create", "--name", "S", "--slug", "near", "--currency", "EUR", "--country", "FR", "--bucket", "7q")
			old.run(nil, "customer", "create", "--store", "moved", "--email", "a@example.com")
			old.run(nil, "store", "update", "shut", "--status", "closed")

			folder, manual := t.TempDir(), growPage(t, "Moving buckets")
			require.Len(t, manual.sh, 3)
			for name, s := range map[string]servedInstallation{"old": old, "new": next} {
				settings := fmt.Sprintf("database-url: %q\nsecret-key: %q\nbuckets: %s,7Q\n", s.env["STOREFRONT_DATABASE_URL"],
					s.env["STOREFRONT_SECRET_KEY"], s.env["STOREFRONT_BUCKETS"])
				require.NoError(t, os.WriteFile(filepath.Join(folder, name+".yaml"), []byte(settings), 0o600))
			}
			front := newFront(t, nginx, mapped(all)...)
			nobody := installation{t, nil}
			for range 2 { // twice, as an operator does after a failure
				nobody.shell(t, folder, manual.sh[0])
				status, body := front.request(t, http.MethodGet, apiHost, "/v1/store", keys["moved"], "")
				require.Equal(t, http.StatusForbidden, status, body)
				_, manual.sh[0], _ = strings.Cut(manual.sh[0], "> moving.ndjson\n")
			}

			line := strings.TrimSpace(manual.nginx[0])
			busy := old.newKey("stays").Key
			answered := make(chan []int)
			reloaded := make(chan struct{})
			go func() {
				var statuses []int
				for {
					status, _ := front.request(t, http.MethodGet, apiHost, "/v1/store", busy, "")
					statuses = append(statuses, status)
					select {
					case <-reloaded:
						answered <- statuses
						return
					default:
					}
				}
			}()
			front.reload(t, mapped(all, line)...)
			reload, open, found := strings.Cut(manual.sh[1], "\n")
			require.True(t, found)
			require.Equal(t, "nginx -t && nginx -s reload", reload)
			nobody.shell(t, folder, open)
			nobody.shell(t, folder, manual.sh[2])

			require.Eventually(t, func() bool {
				status, _ := front.request(t, http.MethodGet, apiHost, "/v1/store", keys["moved"], "")
				return status == http.StatusOK
			}, awaited, 50*time.Millisecond)
			close(reloaded)
			for _, status := range <-answered {
				require.Contains(t, []int{http.StatusOK, http.StatusTooManyRequests}, status)
			}
			status, body := front.request(t, http.MethodPost, apiHost, "/v1/customers", keys["moved"], `{"email":"a@example.com"}`)
			require.Equal(t, http.StatusOK, status, "the customer came along: %s", body)
			status, body = front.request(t, http.MethodGet, apiHost, "/v1/store", keys["shut"], "")
			require.Equal(t, http.StatusForbidden, status, body)
			for _, s := range []servedInstallation{old, next} {
				status, body = front.request(t, http.MethodGet, apiHost, "/v1/store", s.key, "")
				require.Equal(t, http.StatusOK, status, body)
			}
			var stores []struct {
				Slug, Status, Bucket string
				DeleteAt             *time.Time
			}
			is := map[string]string{}
			for name, s := range map[string]servedInstallation{"old": old, "new": next} {
				s.run(&stores, "store", "list")
				for _, store := range stores {
					if strings.EqualFold(store.Bucket, "7Q") {
						is[name+" "+store.Slug] = fmt.Sprint(store.Bucket, " ", store.Status, ", deleted: ", store.DeleteAt != nil)
					}
				}
			}
			require.Equal(t, map[string]string{
				"old near": "7q open, deleted: false", "old gone": "7Q closed, deleted: true", "old shut": "7Q closed, deleted: true",
				"old moved": "7Q closed, deleted: true", "new moved": "7Q open, deleted: false", "new shut": "7Q closed, deleted: false",
			}, is)
			archives, err := filepath.Glob(filepath.Join(folder, "*"+archiveSuffix))
			require.NoError(t, err)
			require.Empty(t, archives, "they have secrets")
		})
	}
}
