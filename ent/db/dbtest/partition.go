package dbtest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
)

// patience bounds how long a change of the partitions is repeated.
const patience = time.Minute

// NotPutOff repeats a change of the partitions while it is put off, and returns its last error. A
// change gives up within a moment, which a busy machine may need for anything.
func NotPutOff(change func() error) error {
	for began := time.Now(); ; {
		if err := change(); !db.IsPutOff(err) || time.Since(began) > patience {
			return err
		}
	}
}

// MakePartitions makes the partitions of the days to come.
func MakePartitions(t testing.TB, s *db.DB) {
	t.Helper()
	require.NoError(t, NotPutOff(func() error { return s.MakePartitions(t.Context()) }))
}
