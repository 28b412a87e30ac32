package db_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
)

func TestRowsEndWithTheErrorOfTheirQuery(t *testing.T) {
	t.Parallel()
	dbtest.RunWith(t, db.Config{MaxConns: 1}, func(t *testing.T, d *db.DB) {
		read := func(query string) (read []int, err error) {
			for row := range db.Rows(t.Context(), d.Writer(), query) {
				var n int
				if err = row.Scan(&n); err == nil {
					read = append(read, n)
				}
			}
			return read, err
		}
		rows, err := read("SELECT 1 UNION ALL SELECT 2")
		require.NoError(t, err)
		require.Equal(t, []int{1, 2}, rows)
		rows, err = read("SELECT 1 FROM nowhere")
		require.ErrorContains(t, err, "nowhere")
		require.Empty(t, rows)
		failing := "SELECT CASE WHEN n = 3 THEN 1 / (n - 3) ELSE n END FROM generate_series(1, 4) n"
		if d.Dialect() == "sqlite3" {
			failing = "SELECT CASE WHEN n = 3 THEN abs(-9223372036854775808) ELSE n END FROM (SELECT 1 AS n UNION ALL SELECT 2 UNION " +
				"ALL SELECT 3)"
		}
		rows, err = read(failing)
		require.Error(t, err, "half-way")
		require.Subset(t, []int{1, 2}, rows)
		for row := range db.Rows(t.Context(), d.Writer(), "SELECT 1 UNION ALL SELECT 2") {
			require.NoError(t, row.Scan(new(int)))
			break
		}
		_, err = read("SELECT 1")
		require.NoError(t, err, "the one connection is free again")
	})
}
