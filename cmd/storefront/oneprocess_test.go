package main

import (
	"bytes"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/seal"
)

func (i installation) oneProcess(args ...string) *process {
	i.t.Helper()
	return i.start("storefront", "delivering", append([]string{"server", "--migrate", "--worker", "--addr", "127.0.0.1:0", "--admin-addr",
		"127.0.0.1:0"}, args...)...)
}

func TestOneProcessServesAndDelivers(t *testing.T) {
	t.Parallel()
	for _, name := range dbtest.Databases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := newInbox(t)
			i := newInstallation(t, dbtest.EmptyURL(t, name), in).with("STOREFRONT_SECRET_KEY", seal.NewKey())
			one := i.oneProcess()
			i.run(nil, "store", "create", "--name", "S", "--slug", "s", "--currency", "XAF", "--country", "CM")
			var webhook struct{ ID, Secret string }
			i.run(&webhook, "webhook", "create", "--store", "s", "--url", in.url)
			in.verifyWith(webhook.Secret)
			i.run(nil, "webhook", "ping", webhook.ID)
			require.Equal(t, "ping", in.next().Type)
			require.Equal(t, http.StatusOK, status(t, "http://"+one.AdminAddr+"/readyz", ""))
			require.Eventually(t, func() bool {
				metrics := page(t, "http://"+one.AdminAddr+"/metrics")
				return strings.Contains(metrics, "storefront_deliveries_total{result=\"succeeded\"} 1\n") &&
					strings.Contains(metrics, "\nstorefront_requests_running 0\n")
			}, time.Minute, 10*time.Millisecond)
			one.stop()
			require.Contains(t, one.log(), `"msg":"stopped"`)
			again := i.oneProcess()
			require.NotContains(t, again.log(), "migrating", "a second start changes nothing")
			again.stop()
		})
	}
}

// At SIGTERM the listeners close first. A running attempt ends, and its result is written.
func TestOneProcessEndsInOrder(t *testing.T) {
	t.Parallel()
	in := newInbox(t)
	arrived, release := make(chan struct{}), make(chan struct{})
	slow := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		close(arrived)
		<-release
	}))
	t.Cleanup(slow.Close)
	i := newInstallation(t, dbtest.EmptyURL(t, dbtest.SQLite), in)
	one := i.oneProcess("--drain-delay", "0s")
	i.run(nil, "store", "create", "--name", "S", "--slug", "s", "--currency", "XAF", "--country", "CM")
	var webhook struct{ ID string }
	i.run(&webhook, "webhook", "create", "--store", "s", "--url", slow.URL) // its certificate is that of every httptest server
	i.run(nil, "webhook", "ping", webhook.ID)
	<-arrived
	require.NoError(t, one.Process.Signal(syscall.SIGTERM))
	require.Eventually(t, func() bool {
		conn, err := net.Dial("tcp", one.Addr)
		if err == nil {
			_ = conn.Close()
		}
		return err != nil
	}, time.Minute, 10*time.Millisecond)
	close(release)
	one.read.Wait()
	require.NoError(t, one.Wait(), one.log())
	var deliveries []struct{ Status string }
	i.run(&deliveries, "delivery", "list", "--store", "s")
	require.Len(t, deliveries, 1)
	require.Equal(t, "succeeded", deliveries[0].Status)
}

// The server makes the database and its key, and prints the next commands until there is a store.
func TestANewInstallationIsToldWhatToDoNext(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	i := installation{t, map[string]string{"STOREFRONT_ADMIN_TOKEN": "a-token-of-the-operator-for-the-start"}}
	said := func() string {
		c := i.command("storefront", "server", "--migrate", "--worker", "--addr", "127.0.0.1:0", "--admin-addr", "127.0.0.1:0")
		c.Dir = folder
		logs, err := c.StderrPipe()
		require.NoError(t, err)
		var out bytes.Buffer
		c.Stdout = &out
		require.NoError(t, c.Start())
		t.Cleanup(func() { _ = c.Process.Kill() })
		d := json.NewDecoder(logs)
		for line := (struct{ Msg string }{}); line.Msg != "delivering"; {
			require.NoError(t, d.Decode(&line))
		}
		require.NoError(t, c.Process.Signal(syscall.SIGTERM))
		for d.More() {
			require.NoError(t, d.Decode(new(json.RawMessage)))
		}
		require.NoError(t, c.Wait())
		return out.String()
	}
	first := said()
	for _, want := range []string{"storefront store create ", "storefront key create ", "storefront webhook create ", "/v1", "dashboard link"} {
		require.Contains(t, first, want)
	}
	require.NotContains(t, first, "STOREFRONT_DATABASE_URL", "the commands find the database in this folder")
	require.FileExists(t, filepath.Join(folder, "storefront.db"))
	key, err := os.ReadFile(filepath.Join(folder, "storefront.db.key"))
	require.NoError(t, err)
	require.Contains(t, said(), "There is no store yet")

	for line := range strings.Lines(first) {
		if args := strings.Fields(strings.ReplaceAll(line, `"My shop"`, "Shop")); len(args) > 2 && args[0] == "storefront" {
			c := i.command("storefront", args[1:]...)
			if strings.Contains(line, "dashboard link") {
				c.Args = append(c.Args[:len(c.Args)-1], "https://dashboard.example.com")
			}
			c.Dir = folder
			out, err := c.CombinedOutput()
			require.NoError(t, err, "%s: %s", line, out)
		}
	}
	require.Empty(t, said(), "there is a store now")
	kept, err := os.ReadFile(filepath.Join(folder, "storefront.db.key"))
	require.NoError(t, err)
	require.Equal(t, key, kept)
}
