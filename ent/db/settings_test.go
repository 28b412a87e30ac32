package db_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/hook"
)

func setDatabase(t *testing.T, d *db.DB, setting, value string) {
	t.Helper()
	_, err := d.Writer().Exec(fmt.Sprintf("DO $$ BEGIN EXECUTE format('ALTER DATABASE %%I SET %s = %%L', current_database(), "+
		"'%s'); END $$", setting, value))
	require.NoError(t, err)
}

func TestADatabasesSettingsChangeNoMeaning(t *testing.T) {
	t.Parallel()
	rows := []struct{ setting, value, truth string }{
		{"array_nulls", "off", `('{NULL}'::text[])[1] IS NULL`},
		{"client_min_messages", "error", `current_setting('client_min_messages') = 'notice'`},
		{"default_transaction_isolation", "serializable", `current_setting('transaction_isolation') = 'read committed'`},
		{"extra_float_digits", "-10", `(10 / 3::float8)::text = '3.3333333333333335'`},
		{"gin_fuzzy_search_limit", "1", `current_setting('gin_fuzzy_search_limit') = '0'`},
		{"standard_conforming_strings", "off", `length('\\') = 2`},
		{"timezone", "Pacific/Chatham", `'2028-02-29'::timestamptz = '2028-02-29Z'`},
	}
	url := dbtest.EmptyURL(t, dbtest.Postgres)
	owner, err := hook.Open(t.Context(), db.Config{URL: url, MaxConns: 1})
	require.NoError(t, err)
	defer func() { require.NoError(t, owner.Close()) }()
	for _, row := range rows {
		setDatabase(t, owner, row.setting, row.value)
	}
	d, err := hook.Open(t.Context(), db.Config{URL: url, MaxConns: 1, AdmissionConns: 1})
	require.NoError(t, err)
	defer func() { require.NoError(t, d.Close()) }()
	for _, row := range rows {
		var effective bool
		require.NoError(t, d.Reader().QueryRow("SELECT "+row.truth).Scan(&effective), row.setting)
		require.True(t, effective, row.setting)
		require.NoError(t, d.Admissions().QueryRow("SELECT "+row.truth).Scan(&effective), row.setting)
		require.True(t, effective, row.setting)
	}
}

// A database's or role's time limit for statements would end a large migration at each try.
func TestMigrationsTakeAsLongAsTheyNeed(t *testing.T) {
	t.Parallel()
	url := dbtest.EmptyURL(t, dbtest.Postgres)
	d, err := hook.Open(t.Context(), db.Config{URL: url, MaxConns: 2, StatementTimeout: time.Hour})
	require.NoError(t, err)
	defer func() { require.NoError(t, d.Close()) }()
	_, err = d.Writer().Exec(`CREATE FUNCTION slowly() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN
			IF EXISTS (SELECT FROM pg_event_trigger_ddl_commands() WHERE object_identity = 'public.stores') THEN
				PERFORM pg_sleep(1.5);
			END IF;
		END $$;
		CREATE EVENT TRIGGER slow ON ddl_command_end WHEN TAG IN ('CREATE TABLE') EXECUTE FUNCTION slowly()`)
	require.NoError(t, err)
	setDatabase(t, d, "statement_timeout", "1s")
	require.NoError(t, d.Migrate(t.Context(), func(db.Migration) {}))
}
