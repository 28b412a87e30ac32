package seal_test

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/seal"
)

// FAT has no hard links. Processes that start at once get the same key.
func TestAKeyFileWithoutHardLinks(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	path := filepath.Join(folder, "storefront.db.key")
	dbtest.WithoutLinks(t, func() {}) // skips the test if this system cannot refuse links
	const processes = 8
	var (
		keys [processes]seal.Key
		errs [processes]error
		all  sync.WaitGroup
	)
	for i := range processes {
		all.Go(func() {
			dbtest.WithoutLinks(t, func() { keys[i], errs[i] = seal.LoadOrCreateFile(path) })
		})
	}
	all.Wait()
	for i := range processes {
		require.NoError(t, errs[i])
		require.Equal(t, keys[0].ID(), keys[i].ID())
	}
	require.NotEmpty(t, keys[0].ID())
	files, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Len(t, files, 1, "nothing else is left behind")
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.EqualValues(t, 0o600, info.Mode().Perm())
}
