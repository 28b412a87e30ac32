package db_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/gen/ent"
)

func TestACheckpointRunsBesideTheWriter(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	s := openAt(t, db.Config{URL: "sqlite:" + path})
	write := func(statement string) {
		_, err := s.Writer().Exec(statement)
		require.NoError(t, err)
	}
	size := func() int64 {
		info, err := os.Stat(path)
		require.NoError(t, err)
		return info.Size()
	}
	write("PRAGMA wal_autocheckpoint = 0")
	write("CREATE TABLE filled (b BLOB)")
	write("INSERT INTO filled VALUES (zeroblob(8000000))")
	before := size()
	require.NoError(t, s.WithTx(t.Context(), func(ctx context.Context, tx *ent.Tx) error {
		if _, err := tx.ExecContext(ctx, "INSERT INTO filled VALUES (1)"); err != nil {
			return err
		}
		for range 3 {
			s.CheckpointBeside()
		}
		require.Equal(t, before, size(), "several transactions share a checkpoint")
		s.CheckpointBeside()
		require.Eventually(t, func() bool { return size() > before+7_000_000 }, time.Minute, time.Millisecond)
		return nil
	}))
}
