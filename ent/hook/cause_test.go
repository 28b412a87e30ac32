package hook_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/ent/tracing"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/product"
)

func TestAnEventTellsWhatCausedIt(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		ctx, id := inStore(t, d)
		archive := func(ctx context.Context, status product.Status) error {
			return hook.Run(ctx, d, func(c *hook.Change) error {
				row, err := c.Tx.Product.Get(c, id)
				if err != nil {
					return err
				}
				if err := c.MarkLocked(row); err != nil {
					return err
				}
				return row.Update().SetStatus(status).Exec(c)
			})
		}
		newest := func() *ent.Event { return d.Client().Event.Query().Order(ent.Desc("id")).FirstX(ctx) }

		require.NoError(t, archive(ctx, product.StatusARCHIVED))
		require.Nil(t, newest().RequestID, "a command on this machine is no request")
		require.Nil(t, newest().Trace, "traces are off")

		request := &tenant.Request{ID: uuid.New()}
		inRequest, root := tracing.Tracer(sdktrace.NewTracerProvider()).Start(tenant.WithRequest(ctx, request), "request")
		require.NoError(t, archive(inRequest, product.StatusPUBLISHED))
		event := newest()
		require.Equal(t, &request.ID, event.RequestID)
		require.Contains(t, *event.Trace, root.SpanContext().TraceID().String())
		require.NotContains(t, *event.Trace, root.SpanContext().SpanID().String(), "the span of the events is the parent")
		require.Equal(t, []uuid.UUID{event.ID}, request.Events)

		// The events of a transaction that is rolled back do not count as caused by the request.
		require.Error(t, hook.Run(inRequest, d, func(c *hook.Change) error {
			row, err := c.Tx.Product.Get(c, id)
			require.NoError(t, err)
			require.NoError(t, c.MarkLocked(row))
			require.NoError(t, row.Update().SetStatus(product.StatusARCHIVED).Exec(c))
			return errors.New("after all not")
		}))
		require.Len(t, request.Events, 1)
	})
}

func TestARequestNotesAFewOfItsEvents(t *testing.T) {
	t.Parallel()
	many := make([]uuid.UUID, 15)
	for i := range many {
		many[i] = uuid.New()
	}
	var request tenant.Request
	request.AddEvents(many[:4]...)
	request.AddEvents(many[4:]...)
	require.Equal(t, many[:10], request.Events)
	tenant.CallOf(t.Context()).Request.AddEvents(many...) // there is no request, so AddEvents does nothing
}
