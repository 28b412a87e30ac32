package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/hook"
)

func TestAServerMakesItsOwnBackups(t *testing.T) {
	t.Parallel()
	i, path := sqliteWithStore(t)
	folder := t.TempDir()
	serve := func() *process {
		return i.start("storefront", "listening", "server", "--addr", "127.0.0.1:0", "--admin-addr", "127.0.0.1:0", "--backup-to", folder,
			"--keep", "1")
	}
	first := serve()
	require.Eventually(t, func() bool { return strings.Contains(first.log(), `"msg":"backed up"`) }, time.Minute, 10*time.Millisecond)
	first.stop()
	made := backups(t, folder)
	require.Len(t, made, 1)
	i.run(nil, "backup", "verify", filepath.Join(folder, made[0]))

	handle, err := hook.Open(t.Context(), db.Config{URL: "sqlite:" + path})
	require.NoError(t, err)
	id, err := handle.FileID(t.Context())
	require.NoError(t, err)
	schedule := backupSchedule{BackupTo: folder, BackupEvery: 24 * time.Hour, Keep: 1}
	wait, err := schedule.wait(t.Context(), handle)
	require.NoError(t, err)
	require.Greater(t, wait, 23*time.Hour, "a start makes no further backup while there is a recent one")
	require.NoError(t, handle.Close())

	old := backupFolder{folder, id}.name(time.Now().Add(-25 * time.Hour))
	require.NoError(t, os.Rename(filepath.Join(folder, made[0]), filepath.Join(folder, old)))
	second := serve()
	require.Eventually(t, func() bool { return strings.Contains(second.log(), `"msg":"backed up"`) }, time.Minute, 10*time.Millisecond)
	second.stop()
	made = backups(t, folder)
	require.Len(t, made, 1)
	require.NotEqual(t, old, made[0])
}

func TestAScheduleThatCouldMakeNoBackupIsRefused(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for _, row := range []struct {
		schedule backupSchedule
		url, err string
	}{
		{backupSchedule{}, "postgres://u@h/d", ""},
		{backupSchedule{BackupTo: folder, Keep: 1}, "sqlite:a.db", ""},
		{backupSchedule{BackupTo: folder, Keep: 1}, "postgres://u@h/d", "PostgreSQL has backups of its own"},
		{backupSchedule{BackupTo: folder}, "sqlite:a.db", "--keep: must be 1 or more"},
		{backupSchedule{BackupTo: filepath.Join(folder, "away"), Keep: 1}, "sqlite:a.db", "there is no folder"},
	} {
		if err := row.schedule.check(row.url); row.err == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, row.err)
		}
	}
}

func TestAFailedBackupDoesNotEndTheServer(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "mounted")
	require.NoError(t, os.Mkdir(folder, 0o700))
	d := dbtest.New(t, dbtest.SQLite, db.Config{})
	var log dbtest.Log
	logger, err := newLogger(&log, "json", "info")
	require.NoError(t, err)
	require.NoError(t, os.Remove(folder))
	done := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer close(done)
		backupSchedule{BackupTo: folder, BackupEvery: time.Hour, Keep: 1}.run(ctx, d, &backupCreateCmd{}, logger)
	}()
	require.Eventually(t, func() bool { return strings.Contains(log.String(), "the backup failed") }, time.Minute, 10*time.Millisecond)
	cancel()
	<-done
}
