package server

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/server/limit"
)

func TestStoresAndOperatorShareSlots(t *testing.T) {
	t.Parallel()
	dbtest.OnePostgres(t, "stores on Citus use the connections of their node")
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		slots := newSlots(d)
		for range slotsPerConn * d.Conns() {
			_, err := slots.Acquire(t.Context(), uuid.New(), false)
			require.NoError(t, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		_, err := slots.Acquire(ctx, limit.Operator, false)
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
}
