package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/seal"
)

func customerLines(t *testing.T, from, below int) string {
	t.Helper()
	var b strings.Builder
	for n := from; n < below; n++ {
		fmt.Fprintf(&b, `{"id":"01936d2e-0000-7000-8000-%012d","name":"Buyer %d","email":"buyer%d@example.com","phone":null,"ordersCount":0,"totalPaid":0,"currency":"XAF","createdAt":"2026-03-04T05:06:07.000Z"}`+"\n", n, n, n)
	}
	path := filepath.Join(t.TempDir(), "customers.ndjson")
	require.NoError(t, os.WriteFile(path, []byte(b.String()), 0o600))
	return path
}

func TestWorkersSignWhileTheSecretKeyIsReplaced(t *testing.T) {
	t.Parallel()
	for _, name := range dbtest.Databases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := newInbox(t)
			older, newer := seal.NewKey(), seal.NewKey()
			before := newInstallation(t, dbtest.URL(t, name), in).with("STOREFRONT_SECRET_KEY", older)
			after := before.with("STOREFRONT_SECRET_KEY", newer)
			meanwhile := after.with("STOREFRONT_OLD_SECRET_KEYS", older)
			before.run(nil, "store", "create", "--name", "S", "--slug", "s", "--currency", "XAF", "--country", "CM")
			var webhook struct{ ID, Secret string }
			before.run(&webhook, "webhook", "create", "--store", "s", "--url", in.url)
			in.verifyWith(webhook.Secret)

			worker := meanwhile.worker()
			first, second := customerLines(t, 0, 40), customerLines(t, 40, 240)
			meanwhile.run(nil, "import", "--store", "s", "--events", "customers", first)
			in.collect(40)
			imported := make(chan error, 1)
			go func() {
				imported <- meanwhile.command("storefront", "import", "--store", "s", "--events", "customers", second).Run()
			}()
			var done struct{ Webhooks, Resealed int }
			meanwhile.run(&done, "secret", "rotate")
			require.NoError(t, <-imported)
			require.Equal(t, 1, done.Webhooks)
			require.Equal(t, 1, done.Resealed)
			in.collect(200)
			// The running worker decrypts what `storefront secret rotate` has encrypted with the new key.
			meanwhile.run(nil, "webhook", "ping", webhook.ID)
			require.Equal(t, "ping", in.next().Type)
			worker.stop()
			require.NotContains(t, worker.log(), "cannot be opened")

			// All secrets have the new key, so a worker starts without the older one.
			worker = after.worker()
			after.run(nil, "webhook", "ping", webhook.ID)
			require.Equal(t, "ping", in.next().Type)
			worker.stop()
			// The older key opens nothing any more, so nothing is sealed with it.
			for _, args := range [][]string{{"webhook", "create", "--store", "s", "--url", in.url}, {"webhook", "rotate", webhook.ID}} {
				out, err := before.command("storefront", args...).CombinedOutput()
				require.Error(t, err)
				require.Contains(t, string(out), webhook.ID)
			}
			out, err := before.command("storefront", "secret", "rotate").CombinedOutput()
			require.Error(t, err)
			require.Contains(t, string(out), webhook.ID)
			out, err = before.command("storefront", "secret", "rotate", "--replace-lost").CombinedOutput()
			require.NoError(t, err, string(out))
			require.Contains(t, string(out), "webhook "+webhook.ID+" has a new secret, which its owner needs: whsec_")
		})
	}
}
