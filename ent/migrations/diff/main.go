//go:build atlas

// Diff writes the migration that turns the tables of the current migrations into the tables of ent/schema, one file for each
// database:
//
//	STOREFRONT_TEST_POSTGRES=postgres://… go run -tags atlas ./ent/migrations/diff add_webhooks
//
// It replays the migrations on scratch databases: a SQLite file, and a new database on the PostgreSQL server in the variable.
// Before you commit its output, review it and add by hand what ent does not model. Diff only adds. Write the drop of a column
// or an index by hand, because an older binary may still use it.
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"net/url"
	"os"
	"path/filepath"
	"regexp"

	"github.com/lib/pq"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/migrations"
	"go.storefront.example/ent/migrations/drift"
)

// scratch is a database that this program creates and drops.
const scratch = "storefront_migrations_diff"

var validName = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 || !validName.MatchString(os.Args[1]) {
		log.Fatal("usage: go run -tags atlas ./ent/migrations/diff NAME, NAME of a-z, 0-9 and _")
	}
	if err := run(context.Background(), os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, name string) error {
	root, err := moduleRoot()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "storefront-diff-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := diff(ctx, root, name, "sqlite:"+filepath.Join(dir, "scratch.db")); err != nil {
		return fmt.Errorf("sqlite: %w", err)
	}

	server := os.Getenv("STOREFRONT_TEST_POSTGRES")
	if server == "" {
		return errors.New("postgres: STOREFRONT_TEST_POSTGRES names no server")
	}
	address, drop, err := createScratch(ctx, server)
	if err != nil {
		return fmt.Errorf("postgres: %w", err)
	}
	defer drop()
	if err := diff(ctx, root, name, address); err != nil {
		return fmt.Errorf("postgres: %w", err)
	}
	return nil
}

// diff writes a migration with everything in ent/schema that the migrated scratch database lacks.
func diff(ctx context.Context, root, name, address string) error {
	d, err := hook.Open(ctx, db.Config{URL: address})
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()
	if err := d.Migrate(ctx, func(db.Migration) {}); err != nil {
		return err
	}
	missing, err := drift.Missing(ctx, d)
	if err != nil {
		return err
	}
	if missing == "" {
		log.Printf("%s: nothing is missing", d.Dialect())
		return nil
	}
	all, err := d.Migrations(ctx)
	if err != nil {
		return err
	}
	path := filepath.Join(root, "ent", "migrations", migrations.Folder(d.Dialect()),
		fmt.Sprintf("%05d_%s.sql", len(all)+1, name))
	log.Print(path)
	return os.WriteFile(path, []byte(migrations.Header+missing), 0o644)
}

// createScratch returns an empty database's URL and a function that drops it.
func createScratch(ctx context.Context, server string) (string, func(), error) {
	cfg, err := pq.NewConfig(server)
	if err != nil {
		return "", nil, err
	}
	connect, err := pq.NewConnectorConfig(cfg)
	if err != nil {
		return "", nil, err
	}
	db := sql.OpenDB(connect)
	drop := func() {
		if _, err := db.ExecContext(ctx, "DROP DATABASE IF EXISTS "+scratch+" WITH (FORCE)"); err != nil {
			log.Printf("drop the scratch database: %v", err)
		}
	}
	drop()
	if _, err := db.ExecContext(ctx, "CREATE DATABASE "+scratch); err != nil {
		return "", nil, err
	}
	u, err := url.Parse(server)
	if err != nil {
		return "", nil, err
	}
	u.Path = "/" + scratch
	return u.String(), drop, nil
}

// moduleRoot returns the nearest folder with a go.mod, from the working folder up.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		_, err := os.Stat(filepath.Join(dir, "go.mod"))
		if err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if !errors.Is(err, fs.ErrNotExist) || parent == dir {
			return "", errors.New("run it inside the module")
		}
		dir = parent
	}
}
