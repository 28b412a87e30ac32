package worker

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"entgo.io/ent/dialect"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/seal"
	"go.storefront.example/gen/ent"
)

// A signing secret, an API key and the operator's secret key appear in no output.
func TestSecretsAreFoundNowhere(t *testing.T) {
	t.Parallel()
	for _, database := range dbtest.Databases() {
		t.Run(database, func(t *testing.T) {
			t.Parallel()
			address := dbtest.URL(t, database)
			in := newInstallationAt(t, address)
			operator := seal.NewKey()
			key, err := seal.ParseKey(operator)
			require.NoError(t, err)
			in.ring = seal.NewKeyring(key)
			var log lines
			m := in.newMerchant("atelier")
			apiKey := "svc_live_" + strings.Repeat("Canary", 7)
			m.change(func(c *hook.Change) error {
				sum := sha256.Sum256([]byte(apiKey))
				return c.Tx.ApiKey.Create().SetStoreID(m.id).SetName("till").SetFingerprint(sum[:]).SetHint("svc_live_…nary").
					SetScopes([]string{"store:read"}).SetCreatedAt(c.Time()).Exec(c)
			})
			good, bad, slow, broken := m.newWebhook(), m.newWebhook(), m.newWebhook(), m.newWebhook()
			in.receiver.answers(func(r request) int {
				switch r.webhook {
				case bad:
					return http.StatusInternalServerError
				case slow:
					return hang
				}
				return http.StatusOK
			})
			m.edit(broken, func(u *ent.WebhookUpdateOne) { u.SetSecret([]byte("changed")) })
			w := in.worker(func(c *Config) { c.Logger, c.Timeout = log.logger(), 300*time.Millisecond })
			event := m.emit(hook.OrderPaid, 1)[0]
			m.enqueue(good, "ping")
			w.pass()
			for _, delay := range DefaultRetryDelays() {
				in.clock.advance(delay + delay/10)
				w.pass()
			}
			in.clock.advance(DefaultDisableAfter)
			m.emit(hook.OrderPaid, 1)
			w.pass()
			// Each delivery was attempted, so its secrets could get into the outputs below.
			for webhook, want := range map[uuid.UUID]string{good: "succeeded", bad: "failed", slow: "failed", broken: "failed"} {
				status, _ := in.journal(webhook, event)
				require.Equal(t, want, status)
			}
			require.False(t, m.webhook(bad).Enabled)

			// On Citus a dump of the coordinator lacks the rows on the data nodes.
			places := map[string]string{"the log": log.String(), "the tables": in.tables()}
			if database == dbtest.SQLite {
				places["the file"] = in.file()
			} else if dump, err := exec.LookPath("pg_dump"); err == nil && len(dbtest.Citus()) == 0 {
				text, err := exec.Command(dump, "--inserts", address).Output()
				require.NoError(t, err)
				places["the dump"] = string(text)
			}
			for place, text := range places {
				require.Contains(t, text, bad.String(), "%s records what was done", place)
				for _, secret := range []string{
					apiKey, operator, in.secrets[good], in.secrets[bad], in.secrets[slow], in.secrets[broken],
				} {
					for _, form := range forms(secret) {
						require.NotContains(t, text, form, place)
					}
				}
			}
		})
	}
}

// forms are how a secret could be written: unchanged, without its prefix, and in the encodings of a log or a dump.
func forms(secret string) []string {
	bare := strings.TrimPrefix(strings.TrimPrefix(secret, "whsec_"), "svc_live_")
	found := []string{secret, bare, hex.EncodeToString([]byte(secret)), base64.StdEncoding.EncodeToString([]byte(secret))}
	for _, encoding := range []*base64.Encoding{base64.RawURLEncoding, base64.StdEncoding} {
		if raw, err := encoding.DecodeString(bare); err == nil {
			found = append(found, string(raw), hex.EncodeToString(raw), base64.StdEncoding.EncodeToString(raw))
		}
	}
	return found
}

func (in *installation) tables() string {
	in.t.Helper()
	names := `SELECT name FROM sqlite_schema WHERE type = 'table'`
	if in.Dialect() == dialect.Postgres {
		names = `SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')`
	}
	var text strings.Builder
	for _, name := range in.column(names) {
		rows, err := in.Reader().Query("SELECT * FROM " + name)
		require.NoError(in.t, err)
		columns, err := rows.Columns()
		require.NoError(in.t, err)
		for rows.Next() {
			values := make([]any, len(columns))
			for i := range values {
				values[i] = new([]byte)
			}
			require.NoError(in.t, rows.Scan(values...))
			for _, value := range values {
				text.Write(*value.(*[]byte))
				text.WriteByte(' ')
			}
			text.WriteByte('\n')
		}
		require.NoError(in.t, rows.Err())
		require.NoError(in.t, rows.Close())
	}
	return text.String()
}

func (in *installation) column(query string) []string {
	in.t.Helper()
	rows, err := in.Reader().Query(query)
	require.NoError(in.t, err)
	defer rows.Close()
	var found []string
	for rows.Next() {
		var value string
		require.NoError(in.t, rows.Scan(&value))
		found = append(found, value)
	}
	require.NoError(in.t, rows.Err())
	return found
}

// file has deleted rows and the write-ahead log, too.
func (in *installation) file() string {
	in.t.Helper()
	path := in.column("SELECT file FROM pragma_database_list WHERE name = 'main'")[0]
	content, err := os.ReadFile(path)
	require.NoError(in.t, err)
	ahead, err := os.ReadFile(path + "-wal")
	require.NoError(in.t, err)
	return string(content) + string(ahead)
}
