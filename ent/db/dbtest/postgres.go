package dbtest

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"sync"
	"testing"

	"entgo.io/ent/dialect"
	"github.com/google/uuid"
	"github.com/lib/pq"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/migrations"
)

const (
	serverVariable  = "STOREFRONT_TEST_POSTGRES"
	requireVariable = "STOREFRONT_TEST_REQUIRE"

	// templateLock is the advisory lock under which test processes create the template, one at a
	// time.
	templateLock = 0x5f0e57a6
)

// createDatabase creates a database on the server, from the template or empty, and drops it when
// the test ends.
func createDatabase(t testing.TB, migrated bool) string {
	t.Helper()
	server := os.Getenv(serverVariable)
	if server == "" {
		if os.Getenv(requireVariable) == "1" {
			t.Fatalf("%s must name a PostgreSQL server, because %s=1", serverVariable, requireVariable)
		}
		t.Skipf("%s names no PostgreSQL server", serverVariable)
	}
	admin, err := adminPool()
	require.NoError(t, err)
	from := "template1"
	if migrated {
		from, err = postgresTemplate()
		require.NoError(t, err)
	}
	id := uuid.New()
	name := "dbtest_" + hex.EncodeToString(id[:])
	_, err = admin.Exec("CREATE DATABASE " + name + " TEMPLATE " + from)
	require.NoError(t, err)
	t.Cleanup(func() {
		_, err := admin.Exec("DROP DATABASE " + name + " WITH (FORCE)")
		require.NoError(t, err)
	})
	address, err := withDatabase(server, name)
	require.NoError(t, err)
	return address
}

// adminPool holds this process's connections to the server itself.
var adminPool = sync.OnceValues(func() (*sql.DB, error) {
	cfg, err := pq.NewConfig(os.Getenv(serverVariable))
	if err != nil {
		return nil, err
	}
	connect, err := pq.NewConnectorConfig(cfg)
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connect)
	db.SetMaxOpenConns(2)
	return db, nil
})

// postgresTemplate is the name of a migrated database. Its name comes from the migrations and it
// stays on the server, so that the many processes of a test run migrate once.
var postgresTemplate = sync.OnceValues(func() (string, error) {
	name, err := templateName()
	if err != nil {
		return "", err
	}
	admin, err := adminPool()
	if err != nil {
		return "", err
	}
	ctx := context.Background()
	conn, err := admin.Conn(ctx)
	if err != nil {
		return "", err
	}
	_, err = conn.ExecContext(ctx, "SELECT pg_advisory_lock($1)", templateLock)
	if err != nil {
		return "", errors.Join(err, conn.Close())
	}
	err = makeTemplate(ctx, conn, name)
	_, unlock := conn.ExecContext(ctx, "SELECT pg_advisory_unlock($1)", templateLock)
	return name, errors.Join(err, unlock, conn.Close())
})

func makeTemplate(ctx context.Context, conn *sql.Conn, name string) error {
	var found int
	err := conn.QueryRowContext(ctx, "SELECT count(*) FROM pg_database WHERE datname = $1", name).Scan(&found)
	if err != nil || found == 1 {
		return err
	}
	// It has another name until it is complete, so that a process that dies half-way leaves no
	// template.
	unfinished := name + "_unfinished"
	for _, statement := range []string{
		"DROP DATABASE IF EXISTS " + unfinished + " WITH (FORCE)",
		"CREATE DATABASE " + unfinished,
	} {
		if _, err := conn.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	address, err := withDatabase(os.Getenv(serverVariable), unfinished)
	if err != nil {
		return err
	}
	if err := migrate(address); err != nil {
		return fmt.Errorf("migrate the template: %w", err)
	}
	_, err = conn.ExecContext(ctx, "ALTER DATABASE "+unfinished+" RENAME TO "+name)
	return err
}

func templateName() (string, error) {
	files, err := migrations.FS(dialect.Postgres)
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	err = fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(files, path)
		fmt.Fprintf(sum, "%s %d\n%s", path, len(content), content)
		return err
	})
	return "dbtest_template_" + hex.EncodeToString(sum.Sum(nil)[:6]), err
}

func withDatabase(server, name string) (string, error) {
	u, err := url.Parse(server)
	if err != nil {
		return "", fmt.Errorf("%s is not a URL", serverVariable)
	}
	u.Path = "/" + name
	// The service gives up a connection after 3 s, which a busy machine may need for one.
	q := u.Query()
	q.Set("connect_timeout", "60")
	u.RawQuery = q.Encode()
	return u.String(), nil
}
