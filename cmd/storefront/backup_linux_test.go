package main

import (
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestABackupOnAFullDiskReplacesNone(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root may mount the small disk that this test fills")
	}
	folder := t.TempDir()
	if err := syscall.Mount("tmpfs", folder, "tmpfs", 0, "size=700k"); err != nil {
		t.Skipf("no disk can be mounted here: %v", err)
	}
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(folder, syscall.MNT_DETACH)) })
	i, _ := sqliteWithStore(t)
	i.run(nil, "backup", "--to", folder, "--keep", "1")
	before := backups(t, folder)
	out, err := i.command("storefront", "backup", "--to", folder, "--keep", "1").CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "full")
	require.Equal(t, before, backups(t, folder))
}
