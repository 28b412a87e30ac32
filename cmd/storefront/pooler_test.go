package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"go.storefront.example/cmd/storefront/doctor"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/db/dbtest/need"
	"go.storefront.example/ent/seal"
)

func TestNothingStartsBehindAPoolerInTransactionMode(t *testing.T) {
	t.Parallel()
	url := dbtest.Pooler(t, dbtest.URL(t, dbtest.Postgres), "pool_mode = transaction")
	i := installation{t, map[string]string{"STOREFRONT_DATABASE_URL": url, "STOREFRONT_SECRET_KEY": seal.NewKey()}}
	for _, args := range [][]string{
		{"server", "--addr", "127.0.0.1:0", "--admin-addr", "127.0.0.1:0"}, {"worker"}, {"migrate", "up"}, {"migrate", "status"},
		{"store", "list"},
	} {
		c := i.command("storefront", args...)
		var said bytes.Buffer
		c.Stderr = &said
		var ended *exec.ExitError
		require.True(t, errors.As(c.Run(), &ended), "%v", args)
		require.Equal(t, 1, ended.ExitCode(), "%v", args)
		require.Regexp(t, `^storefront: .*connect to PostgreSQL directly, or set pool_mode = session[^\n]*\n$`, said.String(), "%v",
			args)
	}
	f := i.examine("--check-url", "none")["database"]
	require.Equal(t, doctor.Fail, f.Status)
	require.Contains(t, f.Message, "transaction or statement mode")
	require.Contains(t, f.Remedy, "pool_mode = session")
}

func TestServersAndAWorkerBehindAPoolerInSessionMode(t *testing.T) {
	t.Parallel()
	need.Heavy(t, "it runs servers and a worker behind PgBouncer")
	const (
		customers = 200
		keys      = 8 // each key may make 120 requests a minute
	)
	in := newInbox(t)
	// Two servers, a worker, which uses LISTEN, and the commands connect through the pooler.
	url := dbtest.Pooler(t, dbtest.URL(t, dbtest.Postgres), "pool_mode = session", "default_pool_size = 60")
	i := newInstallation(t, url, in).with("STOREFRONT_SECRET_KEY", seal.NewKey())
	i.run(nil, "store", "create", "--name", "S", "--slug", "s", "--currency", "XAF", "--country", "CM")
	var webhook struct{ Secret string }
	i.run(&webhook, "webhook", "create", "--store", "s", "--url", in.url)
	in.verifyWith(webhook.Secret)
	one, other, worker := i.server("storefront"), i.server("storefront"), i.worker()
	var group errgroup.Group
	for n := range keys {
		var key struct{ Key string }
		i.run(&key, "key", "create", "--store", "s", "--name", fmt.Sprint(n), "--scopes", "customers:write", "--expires", "30d")
		group.Go(func() error {
			for c := range customers / keys {
				body := fmt.Sprintf(`{"name":"N","email":"c%d-%d@example.com"}`, n, c)
				var made, read struct{ ID string }
				if err := exchange(http.MethodPost, "http://"+one.Addr+"/v1/customers", key.Key, body, http.StatusCreated,
					&made); err != nil {
					return err
				}
				if err := exchange(http.MethodGet, "http://"+other.Addr+"/v1/customers/"+made.ID, key.Key, "", http.StatusOK,
					&read); err != nil {
					return err
				}
				if read != made {
					return fmt.Errorf("%v is not %v", read, made)
				}
			}
			return nil
		})
	}
	require.NoError(t, group.Wait())
	require.Len(t, in.collect(customers), customers, "the worker delivers what happened")
	for _, p := range []*process{worker, one, other} {
		p.stop()
		require.NotContains(t, p.log(), `"level":"ERROR"`)
	}
	require.Equal(t, doctor.OK, i.examine("--check-url", "none")["database"].Status)
}

func exchange(method, url, key, body string, want int, into any) error {
	r, err := http.NewRequest(method, url, bytes.NewReader([]byte(body)))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+key)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	var said bytes.Buffer
	if _, err := said.ReadFrom(answer.Body); err != nil {
		return err
	}
	if answer.StatusCode != want {
		return fmt.Errorf("%s %s: %d %s", method, url, answer.StatusCode, &said)
	}
	return json.Unmarshal(said.Bytes(), into)
}
