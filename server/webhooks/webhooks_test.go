package webhooks_test

import (
	"testing"

	"go.storefront.example/ent/db"
	"go.storefront.example/server/service"
	"go.storefront.example/server/service/servicetest"
	"go.storefront.example/server/webhooks"
)

// bench is the webhooks of one open store, whose context is that of a key called "tests".
type bench struct {
	servicetest.Bench
	*webhooks.Webhooks
}

func newBench(t *testing.T, s *db.DB, o webhooks.Options) bench {
	t.Helper()
	return bench{servicetest.New(t, s, service.Options{}), webhooks.New(s, o)}
}
