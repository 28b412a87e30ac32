package worker

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db/dbtest"
)

// Cancelling, continuing resends and sweeping must each give up their statement and return an error.
func TestWhatWaitsForASilentDatabaseGoesOn(t *testing.T) {
	t.Parallel()
	for name, work := range map[string]func(*Worker, context.Context) error{
		"cancel":   (*Worker).cancel,
		"resend":   (*Worker).resend,
		"a resend": func(w *Worker, ctx context.Context) error { return w.resendOne(ctx, uuid.New()) },
		"sweep":    (*Worker).sweep,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			way := dbtest.NewProxy(t, dbtest.URL(t, dbtest.Postgres))
			in := newInstallationAt(t, way.URL)
			w := in.worker(func(*Config) {}).Worker
			w.config.Timeout, w.sweepTimeout = time.Millisecond, time.Millisecond
			// No new connection could be opened to a silent database, so open an idle one for each statement.
			first, err := in.Reader().Conn(t.Context())
			require.NoError(t, err)
			second, err := in.Reader().Conn(t.Context())
			require.NoError(t, err)
			require.NoError(t, first.Close())
			require.NoError(t, second.Close())
			way.Freeze()
			ended := make(chan error, 1)
			go func() { ended <- work(w, t.Context()) }()
			select {
			case err := <-ended:
				require.Error(t, err)
			case <-time.After(hangGuard):
				require.FailNow(t, "it waits for what never comes")
			}
		})
	}
}
