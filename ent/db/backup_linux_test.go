package db_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
)

// withoutLinks makes the kernel refuse f hard links with EPERM, as a file system without them does. The filter is that of one
// thread, which ends with f.
func withoutLinks(t *testing.T, f func()) {
	t.Helper()
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}, // the number of the system call
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: unix.SYS_LINKAT},
		{Code: unix.BPF_RET, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
		{Code: unix.BPF_RET, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	refused := make(chan error, 1)
	go func() {
		defer close(refused)
		runtime.LockOSThread() // for good, so that the thread ends here
		err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
		if err == nil {
			err = unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0)
		}
		if err != nil {
			refused <- err
			return
		}
		f()
	}()
	if err := <-refused; err != nil {
		t.Skipf("no system call can be refused here: %v", err)
	}
}

// FAT and some network shares have no hard links.
func TestBackupWithoutHardLinks(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	path := filepath.Join(folder, "copy.db")
	between := func() {}
	s := dbtest.New(t, dbtest.SQLite, db.Config{Observe: func(query string) {
		if strings.HasPrefix(query, "VACUUM") {
			between()
		}
	}})
	var (
		link, first, second error
		bytes               int64
	)
	withoutLinks(t, func() {
		link = os.Link(folder, path)
		bytes, first = s.Backup(t.Context(), path)
		_ = os.Rename(path, path+".kept")
		between = func() { _ = os.WriteFile(path, []byte("mine"), 0o600) }
		_, second = s.Backup(t.Context(), path)
	})
	require.ErrorIs(t, link, unix.EPERM)
	require.NoError(t, first)
	require.ErrorIs(t, second, fs.ErrExist, "another process made a file of this name meanwhile")
	mine, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "mine", string(mine))
	info, err := os.Stat(path + ".kept")
	require.NoError(t, err)
	require.Equal(t, info.Size(), bytes)
	require.Equal(t, fs.FileMode(0o600), info.Mode().Perm())
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Len(t, entries, 2, "nothing else is left behind")
	copied, err := db.Open(t.Context(), db.Config{URL: "sqlite:" + path + ".kept"})
	require.NoError(t, err)
	defer copied.Close()
	current, err := copied.Current(t.Context())
	require.NoError(t, err)
	require.True(t, current)
}
