package worker

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db/dbtest"
)

// Whatever the worker does beside deliveries, it gives up statements that are never answered.
func TestWhatWaitsForASilentDatabaseGoesOn(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		does func(*Worker, context.Context)
		logs []string
	}{
		"cancel":   {(*Worker).cancel, []string{"cancel deliveries"}},
		"resend":   {(*Worker).resend, []string{"look for resends"}},
		"a resend": {func(w *Worker, ctx context.Context) { _ = w.resendOne(ctx, uuid.New()) }, nil},
		"sweep":    {(*Worker).sweep, []string{"msg=sweep "}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			way := dbtest.NewWay(t, dbtest.URL(t, dbtest.Postgres))
			in := newInstallationAt(t, way.URL)
			var log lines
			w := in.worker(func(c *Config) { c.Logger = log.logger() }).Worker
			w.config.Timeout, w.sweepTimeout = time.Millisecond, time.Millisecond
			// Idle connections, one for each statement that is to fail.
			first, err := in.Reader().Conn(t.Context())
			require.NoError(t, err)
			second, err := in.Reader().Conn(t.Context())
			require.NoError(t, err)
			require.NoError(t, first.Close())
			require.NoError(t, second.Close())
			way.Freeze()
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			ended := make(chan struct{})
			go func() {
				row.does(w, ctx)
				close(ended)
			}()
			for _, message := range row.logs {
				log.waitFor(t, message)
			}
			if row.logs != nil {
				stop()
			}
			select {
			case <-ended:
			case <-time.After(hangGuard):
				require.FailNow(t, "it waits for what never comes")
			}
		})
	}
}
