package db

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTheSystemReportsWritesToTheLog(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("Windows reports writes late, so the listener asks more often")
	}
	file, link := filepath.Join(t.TempDir(), "x.db"), filepath.Join(t.TempDir(), "link.db")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.NoError(t, os.Symlink(file, link))
	for name, path := range map[string]string{"by its name": file, "by a link": link} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, os.RemoveAll(file+"-wal"))
			reportsWrites(t, &watcher{path: path}, file+"-wal")
		})
	}
}

// reportsWrites requires that a watcher learns of a write to a log that is yet to be made.
func reportsWrites(t *testing.T, w *watcher, path string) {
	t.Helper()
	written, failed, longest, stop := w.writes()
	require.Nil(t, written, "there is no log yet")
	require.Nil(t, failed)
	require.Equal(t, watchBlind, longest)
	stop()

	log, err := os.Create(path)
	require.NoError(t, err)
	defer log.Close()
	written, failed, longest, stop = w.writes()
	defer stop()
	require.Equal(t, watchIdle, longest)
	_, err = log.WriteString("a page")
	require.NoError(t, err)
	select {
	case <-written:
	case err := <-failed:
		require.NoError(t, err)
	case <-time.After(time.Minute):
		t.Fatal("the write was not reported")
	}
}
