package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"go.storefront.example/cmd/storefront/doctor"
	"go.storefront.example/ent/db"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/notice"
	"go.storefront.example/ent/queue"
)

type backupCmd struct {
	Create backupCreateCmd `cmd:"" default:"withargs" help:"Copy the database (default)."`
	Verify backupVerifyCmd `cmd:"" help:"Check a backup, without changing it."`
}

type backupCreateCmd struct {
	database
	secretKey
	To       string `required:"" placeholder:"DIR|FILE" help:"Folder that gets a file named after the time, or a file to write, which must not be there yet."`
	Keep     int    `placeholder:"N" help:"Keep the new backup and the N-1 before it, and remove the older ones in the folder."`
	quietEnd bool
}

type backupResult struct {
	File       string `json:"file"`
	Bytes      int64  `json:"bytes"`
	DurationMS int64  `json:"durationMs"`
	// SecretKeyFile has the key that decrypts the secrets in the backup; null if there is no such file.
	SecretKeyFile *string `json:"secretKeyFile"`
	// Removed are the paths of the older backups that this backup removed.
	Removed []string `json:"removed"`
}

// useOneProcessor spares the service, which runs on the same machine as a SQLite file.
func useOneProcessor(databaseURL string) (restore func()) {
	if !strings.HasPrefix(databaseURL, "sqlite:") {
		return func() {}
	}
	before := runtime.GOMAXPROCS(1)
	return func() { runtime.GOMAXPROCS(before) }
}

func (c *backupCreateCmd) Run(s *invocation) error {
	defer useOneProcessor(c.DatabaseURL)()
	if s.given["keep"] && c.Keep < 1 {
		return usage("--keep: must be 1 or more; without it every backup stays")
	}
	path, embedded := strings.CutPrefix(c.DatabaseURL, "sqlite:")
	if strings.HasPrefix(c.DatabaseURL, "postgres") {
		return fmt.Errorf("%w; for PostgreSQL run: pg_dump --format=custom --no-owner --file=%s \"$STOREFRONT_DATABASE_URL\"",
			db.ErrNotEmbedded, c.To)
	}
	if _, err := os.Stat(path); embedded && err != nil {
		// Check first that the file exists, because hook.Open would create an empty one.
		return fmt.Errorf("back up: %w", err)
	}
	// Accept also an older schema: a backup matters most before an upgrade.
	handle, err := hook.Open(s.ctx, c.config(db.Config{MaxConns: 1}))
	if err != nil {
		return err
	}
	done, err := c.backUp(s.ctx, handle)
	if err = errors.Join(err, handle.Close()); err != nil {
		return err
	}
	if s.json {
		return s.printValue(done)
	}
	_, err = fmt.Fprintf(s.out, "%s: %s bytes\n", done.File, grouped(done.Bytes))
	for _, file := range done.Removed {
		_, _ = fmt.Fprintf(s.out, "removed %s\n", file)
	}
	if err == nil && done.SecretKeyFile != nil {
		_, err = fmt.Fprintf(s.out, "its secrets are encrypted with the key in %s: keep a copy of that too, in another place\n",
			*done.SecretKeyFile)
	}
	return err
}

// backUp makes a verified backup, removes older ones as --keep says, and writes a notice.
func (c *backupCreateCmd) backUp(ctx context.Context, handle *db.DB) (done backupResult, err error) {
	began, at := time.Now(), handle.Now()
	done.Removed = []string{}
	folder, err := c.copy(ctx, handle, at, &done)
	if err != nil && (ctx.Err() == nil || !c.quietEnd) {
		// This context outlives an interrupt. The notice's error is ignored, because the database itself may have failed.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), noticeTimeout)
		defer cancel()
		_ = writeBackupNotice(ctx, handle, time.Time{}, notice.Notice{
			Type: notice.BackupFailed, Data: map[string]any{"to": c.To, "error": err.Error()},
		})
	}
	var removing error
	if c.Keep > 0 && folder.id != 0 {
		done.Removed, removing = folder.prune(filepath.Base(done.File), c.Keep, err == nil)
	}
	if err != nil {
		return done, err
	}
	done.DurationMS = time.Since(began).Milliseconds()
	if key, _ := keyFile(c.DatabaseURL); exists(key) {
		done.SecretKeyFile = &key
	}
	err = writeBackupNotice(ctx, handle, at, notice.Notice{
		Type: notice.BackupFinished, Data: map[string]any{"file": done.File, "bytes": done.Bytes, "durationMs": done.DurationMS},
	})
	if removing != nil {
		err = errors.Join(err, fmt.Errorf("the backup %s is whole, but older ones are not removed: %w", done.File, removing))
	}
	return done, err
}

func (c *backupCreateCmd) copy(ctx context.Context, handle *db.DB, at time.Time, done *backupResult) (
	folder backupFolder, err error) {
	var sum string
	check := func(temporary string) (err error) {
		if err := failedChecks(doctor.Backup(ctx, temporary, c.keys(c.DatabaseURL))); err != nil {
			return err
		}
		sum, err = doctor.Checksum(ctx, temporary)
		return err
	}
	back := func() (err error) {
		if done.Bytes, err = handle.Backup(ctx, done.File, check); err != nil {
			return err
		}
		if err := doctor.WriteChecksum(ctx, done.File, sum); err != nil {
			return fmt.Errorf("back up: the checksum of %s: %v", done.File, err) //nolint:errorlint // It is no fs.ErrExist of the backup.
		}
		return nil
	}
	info, statErr := os.Stat(c.To)
	if statErr != nil || !info.IsDir() {
		if c.Keep > 0 {
			return folder, fmt.Errorf("--keep removes older backups in a folder, but there is no folder %s: make it, unless its disk is not mounted",
				c.To)
		}
		done.File = c.To
		return folder, back()
	}
	id, err := handle.FileID(ctx)
	if err != nil {
		return folder, fmt.Errorf("back up: mark the database: %w", err)
	}
	folder = backupFolder{c.To, id}
	for {
		done.File = filepath.Join(c.To, folder.name(at))
		err = back()
		if !errors.Is(err, fs.ErrExist) {
			return folder, err
		}
		// Another backup began in the same millisecond.
		at = at.Add(time.Millisecond)
	}
}

// backupFolder has the backups of the database whose db.DB.FileID is id.
type backupFolder struct {
	path string
	id   uint32
}

func (f backupFolder) name(at time.Time) string {
	return fmt.Sprintf("storefront-%s-%08x.db", at.UTC().Format(backupTime), f.id)
}

func (f backupFolder) timeOf(name string) time.Time {
	stamp := strings.TrimSuffix(strings.TrimPrefix(name, "storefront-"), fmt.Sprintf("-%08x.db", f.id))
	at, _ := time.Parse(backupTime, stamp)
	if name != f.name(at) {
		return time.Time{}
	}
	return at
}

// newest returns the zero time if the folder has no backup.
func (f backupFolder) newest() (at time.Time, err error) {
	entries, err := os.ReadDir(f.path)
	for _, entry := range entries {
		if made := f.timeOf(entry.Name()); made.After(at) {
			at = made
		}
	}
	return at, err
}

const backupTime = "2006-01-02T150405.000Z"

// prune removes unverified copies older than newest, the current backup's file name. If that is verified, it also removes older
// verified ones, except the last keep-1. It never removes folders, links or other names.
func (f backupFolder) prune(newest string, keep int, verified bool) (removed []string, err error) {
	removed = []string{}
	entries, err := os.ReadDir(f.path) // sorted by name
	for _, entry := range slices.Backward(entries) {
		name, unverified := strings.CutSuffix(entry.Name(), db.UnverifiedSuffix)
		if f.timeOf(name).IsZero() || name >= newest || !entry.Type().IsRegular() {
			continue
		}
		if !unverified {
			if keep--; keep > 0 || !verified {
				continue
			}
		}
		path := filepath.Join(f.path, entry.Name())
		// Remove the checksum first, because nothing removes one whose backup is gone.
		if removal := os.Remove(path + doctor.ChecksumSuffix); removal != nil && !errors.Is(removal, fs.ErrNotExist) {
			err = errors.Join(err, removal)
		}
		if removal := os.Remove(path); removal != nil && !errors.Is(removal, fs.ErrNotExist) {
			err = errors.Join(err, removal)
			continue
		}
		removed = append(removed, path)
	}
	return removed, err
}

type backupVerifyCmd struct {
	database
	secretKey
	File string `arg:"" placeholder:"FILE" help:"The backup, or another copy of a SQLite database that nothing uses."`
}

func (c *backupVerifyCmd) Run(s *invocation) error {
	keys := c.keys(c.DatabaseURL)
	if keys.Ring == nil && keys.Err == nil {
		keys = c.keys("sqlite:" + c.File) // a restored backup has its key file beside it
	}
	found := doctor.Backup(s.ctx, c.File, keys)
	return errors.Join(s.findings(found), failedChecks(found))
}

func failedChecks(found []doctor.Finding) error {
	for _, f := range found {
		if f.Status == doctor.Fail {
			return fmt.Errorf("the backup is not verified: %s: %s; %s", f.Check, f.Message, f.Remedy)
		}
	}
	return nil
}

const noticeTimeout = 10 * time.Second

// writeBackupNotice also stores the time of a verified backup, unless it is zero. It does nothing on an older schema, which may
// have no notices.
func writeBackupNotice(ctx context.Context, handle *db.DB, verified time.Time, n notice.Notice) error {
	if current, err := handle.Current(ctx); err != nil || !current {
		return err
	}
	err := hook.Run(ctx, handle, func(c *hook.Change) error {
		if !verified.IsZero() {
			if err := queue.MarkBackup(c, c.Tx, verified); err != nil {
				return err
			}
		}
		return notice.Write(c, handle, c.Tx, c.Time(), n)
	})
	if err != nil {
		return fmt.Errorf("the notice of the backup is not written: %w", err)
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
