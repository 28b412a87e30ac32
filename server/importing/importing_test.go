package importing_test

import (
	"testing"

	"go.storefront.example/ent/db"
	"go.storefront.example/server/shop"
	"go.storefront.example/server/shop/shoptest"
)

func ptr[T any](v T) *T { return &v }

// newBench returns the rules of one open store, whose context is that of a key called "tests".
func newBench(t *testing.T, s *db.DB) bench {
	t.Helper()
	return bench{shoptest.New(t, s, shop.Options{})}
}

type bench struct{ shoptest.Bench }
