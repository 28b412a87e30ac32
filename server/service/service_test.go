package service_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/seal"
	"go.storefront.example/server/keys"
	"go.storefront.example/server/service"
	"go.storefront.example/server/service/servicetest"
	"go.storefront.example/server/webhooks"
)

// rules are what can be done to a store through one server.
type rules struct {
	*service.Shop
	*webhooks.Webhooks
	*keys.Keys
}

func newRules(t *testing.T, s *db.DB, o service.Options) *rules {
	t.Helper()
	key, err := seal.ParseKey(seal.NewKey())
	require.NoError(t, err)
	return &rules{service.New(s, o), webhooks.New(s, webhooks.Options{Secrets: seal.NewRing(key)}), keys.New(s)}
}

// bench is the rules with one open store, whose context is that of a key called "tests".
type bench struct {
	servicetest.Bench
	*webhooks.Webhooks
	*keys.Keys
}

func ptr[T any](v T) *T { return &v }

func newBench(t *testing.T, s *db.DB, o service.Options) bench {
	t.Helper()
	all := newRules(t, s, o)
	return bench{servicetest.New(t, s, o), all.Webhooks, all.Keys}
}
