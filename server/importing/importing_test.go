package importing_test

import (
	"testing"

	"go.storefront.example/ent/db"
	"go.storefront.example/server/importing"
	"go.storefront.example/server/service"
	"go.storefront.example/server/service/servicetest"
)

// bench is an importer with the rules of one open store, whose context is that of a key called "tests".
type bench struct {
	servicetest.Bench
	*importing.Importer
}

func ptr[T any](v T) *T { return &v }

func newBench(t *testing.T, s *db.DB) bench {
	t.Helper()
	return bench{servicetest.New(t, s, service.Options{}), importing.New(s)}
}
