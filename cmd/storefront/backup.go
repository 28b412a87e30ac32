package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"go.storefront.example/ent/db"
)

type backupCmd struct {
	database
	To string `required:"" placeholder:"FILE" help:"File to write; it must not be there yet."`
}

// backedUp is what a backup wrote, as it is shown.
type backedUp struct {
	File  string `json:"file"`
	Bytes int64  `json:"bytes"`
	// SecretKeyFile is the file whose key opens the copy's secrets, null when there is none.
	SecretKeyFile *string `json:"secretKeyFile"`
}

// Run copies the database.
func (c *backupCmd) Run(s *session) error {
	path, embedded := strings.CutPrefix(c.DatabaseURL, "sqlite:")
	if strings.HasPrefix(c.DatabaseURL, "postgres") {
		return fmt.Errorf("%w; for PostgreSQL run: pg_dump --format=custom --no-owner --file=%s \"$STOREFRONT_DATABASE_URL\"",
			db.ErrNotEmbedded, c.To)
	}
	if _, err := os.Stat(path); embedded && err != nil {
		// Opening it would make an empty one.
		return fmt.Errorf("back up: %w", err)
	}
	// Whatever its schema is: before an upgrade is when a backup matters.
	handle, err := db.Open(s.ctx, db.Config{URL: c.DatabaseURL, MaxConns: 1})
	if err != nil {
		return err
	}
	bytes, err := handle.Backup(s.ctx, c.To)
	if err = errors.Join(err, handle.Close()); err != nil {
		return err
	}
	done := backedUp{File: c.To, Bytes: bytes}
	if key, _ := keyFile(c.DatabaseURL); exists(key) {
		done.SecretKeyFile = &key
	}
	if s.json {
		return s.value(done)
	}
	_, err = fmt.Fprintf(s.out, "%s: %d bytes\n", done.File, done.Bytes)
	if err == nil && done.SecretKeyFile != nil {
		_, err = fmt.Fprintf(s.out, "its secrets are encrypted with the key in %s: keep a copy of that too, in another place\n",
			*done.SecretKeyFile)
	}
	return err
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
