package main

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// Commands look for the folder of dev as git looks for its repository.
func TestFindDev(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	folder, deep := filepath.Join(top, devData), filepath.Join(top, "a", "b")
	require.NoError(t, os.MkdirAll(folder, 0o700))
	require.NoError(t, os.MkdirAll(deep, 0o700))
	t.Chdir(deep)
	require.Nil(t, findDev(), "the folder of no dev")
	require.NoError(t, (&devFolder{path: folder, AdminURL: "http://127.0.0.1:1"}).write())
	require.Nil(t, findDev(), "without a database")
	file := filepath.Join(folder, devDatabase)
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	found := findDev()
	require.NotNil(t, found)
	require.Equal(t, "sqlite:"+file, found.databaseURL())
	require.False(t, found.runs)
	require.NoError(t, claimed(found.databaseURL(), func() error {
		require.True(t, findDev().acceptsToken(""))
		return nil
	}))
	require.True(t, (database{DatabaseURL: found.databaseURL()}).isDevDatabase())
	require.False(t, (database{DatabaseURL: "sqlite:" + filepath.Join(deep, devDatabase)}).isDevDatabase())

	require.NoError(t, os.WriteFile(devDatabase, nil, 0o600))
	require.Nil(t, findDev(), "a database of this folder comes first")
	t.Chdir(folder)
	require.NotNil(t, findDev(), "in the folder itself")

	if runtime.GOOS != "windows" && os.Geteuid() == 0 {
		const nobody = 65534
		require.NoError(t, os.Chown(filepath.Join(folder, devFile), nobody, nobody))
		require.Nil(t, findDev(), "what another user put there is passed over")
		require.NoError(t, os.Rename(filepath.Join(folder, devFile), filepath.Join(deep, devFile)))
		require.NoError(t, os.Chown(filepath.Join(deep, devFile), 0, 0))
		require.NoError(t, os.Symlink(filepath.Join(deep, devFile), filepath.Join(folder, devFile)))
		require.NotNil(t, findDev(), "a link of one's own")
		require.NoError(t, os.Chown(file, nobody, nobody))
		require.Nil(t, findDev(), "another user's database")
		require.NoError(t, os.Chown(file, 0, 0))
		require.NoError(t, os.Lchown(filepath.Join(folder, devFile), nobody, nobody))
		require.Nil(t, findDev(), "another user's link to a file of one's own")
	}
}
