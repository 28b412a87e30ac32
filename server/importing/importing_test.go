package importing_test

import (
	"testing"

	"go.storefront.example/ent/db"
	"go.storefront.example/server/service"
	"go.storefront.example/server/service/servicetest"
)

func ptr[T any](v T) *T { return &v }

// newBench returns the rules of one open store, whose context is that of a key called "tests".
func newBench(t *testing.T, s *db.DB) bench {
	t.Helper()
	return bench{servicetest.New(t, s, service.Options{})}
}

type bench struct{ servicetest.Bench }
