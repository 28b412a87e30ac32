package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"go.storefront.example/ent/db"
)

type backupSchedule struct {
	BackupTo    string        `name:"backup-to" placeholder:"DIR" help:"Folder in which the server makes backups of the SQLite file, verified as by storefront backup."`
	BackupEvery time.Duration `name:"backup-every" default:"24h" least:"1m" placeholder:"TIME" help:"Time between backups in --backup-to."`
	Keep        int           `default:"7" placeholder:"N" help:"Number of backups that stay in --backup-to."`
}

func (b backupSchedule) check(databaseURL string) error {
	switch {
	case b.BackupTo == "":
		return nil
	case !strings.HasPrefix(databaseURL, "sqlite:"):
		return usage("--backup-to: %w; PostgreSQL has backups of its own", db.ErrNotEmbedded)
	case b.Keep < 1:
		return usage("--keep: must be 1 or more")
	}
	if info, err := os.Stat(b.BackupTo); err != nil || !info.IsDir() {
		return usage("--backup-to: there is no folder %s: make it, unless its disk is not mounted", b.BackupTo)
	}
	return nil
}

// retryBackup is the pause after a failed backup, unless --backup-every is shorter.
const retryBackup = time.Hour

// run makes backups until the context ends. A backup that the end interrupts is made at the next start.
func (b backupSchedule) run(ctx context.Context, handle *db.DB, create *backupCreateCmd, logger *slog.Logger) {
	if b.BackupTo == "" {
		return
	}
	create.To, create.Keep, create.quietEnd = b.BackupTo, b.Keep, true
	failed := false
	for {
		wait, err := b.wait(ctx, handle)
		if failed {
			wait = max(wait, min(retryBackup, b.BackupEvery))
		}
		if err == nil {
			select {
			case <-ctx.Done():
				return
			case <-time.After(wait):
			}
			var done backupResult
			if done, err = create.backUp(ctx, handle); err == nil {
				logger.InfoContext(ctx, "backed up", "file", done.File, "bytes", done.Bytes, "duration_ms", done.DurationMS,
					"removed", len(done.Removed))
			}
		}
		if ctx.Err() != nil {
			return
		}
		if failed = err != nil; failed {
			logger.ErrorContext(ctx, "the backup failed", "to", b.BackupTo, "error", err)
		}
	}
}

// wait returns the time until the newest backup in the folder is as old as --backup-every.
func (b backupSchedule) wait(ctx context.Context, handle *db.DB) (time.Duration, error) {
	id, err := handle.FileID(ctx)
	if err != nil {
		return 0, fmt.Errorf("mark the database: %w", err)
	}
	newest, err := backupFolder{b.BackupTo, id}.newest()
	if err != nil || newest.IsZero() {
		return 0, nil //nolint:nilerr // The backup itself reports what is wrong with the folder.
	}
	return min(b.BackupEvery-handle.Now().Sub(newest), b.BackupEvery), nil
}
