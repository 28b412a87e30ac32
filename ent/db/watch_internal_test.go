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
	w := &watcher{path: filepath.Join(t.TempDir(), "x.db")}
	written, failed, longest, stop := w.writes()
	require.Nil(t, written, "there is no log yet")
	require.Nil(t, failed)
	require.Equal(t, watchBlind, longest)
	stop()

	log, err := os.Create(w.path + "-wal")
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
	case <-time.After(20 * time.Second):
		t.Fatal("the write was not reported")
	}
}
