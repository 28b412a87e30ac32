package move

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
)

// SQLite looks rows up by their ids: reading a store's by another index, it would read all of them for each batch.
func TestRowsAreFoundByTheirIDs(t *testing.T) {
	t.Parallel()
	s := dbtest.New(t, dbtest.SQLite, db.Config{})
	for _, table := range Tables {
		condition, ids := table.among(s, []uuid.UUID{uuid.New()})
		var id, parent, unused int
		var first string
		require.NoError(t, s.Reader().QueryRow("EXPLAIN QUERY PLAN SELECT * FROM "+table.Name+" WHERE "+condition+" ORDER BY id",
			uuid.New(), ids).Scan(&id, &parent, &unused, &first))
		require.Regexp(t, `^SEARCH `+table.Name+` USING INDEX \S+ \(id=\?\)`, first)
	}
}
