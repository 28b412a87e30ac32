package queue

import (
	"reflect"
	"regexp"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
)

// A worker's statements concern many stores at once, so the tables of the queue stay in one place
// when the others are distributed by store. No statement of the queue reads one of the others across
// stores.
func TestTheQueueReadsNoDistributedTable(t *testing.T) {
	t.Parallel()
	shards := dbtest.NewShards(t, dbtest.New(t, dbtest.Postgres, db.Config{}))
	statement := regexp.MustCompile(`^(WITH|SELECT|INSERT|UPDATE|DELETE) `)
	read := 0
	check := func(query string) {
		if statement.MatchString(query) {
			read++
			require.Empty(t, shards.Crossed(query), query)
		}
	}
	fields := reflect.ValueOf(*postgres)
	for i := range fields.NumField() {
		switch field := fields.Field(i); field.Kind() {
		case reflect.String:
			check(field.String())
		case reflect.Slice:
			for n := range field.Len() {
				check(field.Index(n).String())
			}
		}
	}
	list, _ := Search{StoreID: uuid.New(), Limit: 50}.statement(postgres, nil)
	for _, query := range []string{claimStatement, cancelStatement, nextEventsOf, list, postgres.findEntry(), markClock} {
		check(query)
	}
	require.Greater(t, read, 15)
}
