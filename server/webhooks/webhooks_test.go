package webhooks_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/activityentry"
	"go.storefront.example/gen/ent/event"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/service"
	"go.storefront.example/server/webhooks"
)

// bench is the webhooks of one open store, whose context is that of a key called "tests".
type bench struct {
	*webhooks.Webhooks
	store *db.DB
	ctx   context.Context
	t     *testing.T
}

func newBench(t *testing.T, s *db.DB, o webhooks.Options) bench {
	t.Helper()
	b := bench{Webhooks: webhooks.New(s, o), store: s, t: t}
	b.ctx = b.newStore("atelier")
	return b
}

// newStore creates a store and returns a context in which a key acts on it.
func (b bench) newStore(slug string) context.Context {
	b.t.Helper()
	rules := service.New(b.store, service.Options{})
	_, err := rules.CreateStore(context.Background(), tenant.Actor{Type: tenant.ActorOperator, Name: "operator"}, &adminv1.CreateStoreRequest{
		Name: "Atelier", Slug: slug, Currency: "XAF", Country: "CM",
	})
	require.NoError(b.t, err)
	found, err := rules.FindStore(context.Background(), slug)
	require.NoError(b.t, err)
	return tenant.With(context.Background(), found, tenant.Actor{Type: tenant.ActorAPIKey, ID: "key", Name: "tests"})
}

// journal returns the store's journal entries, oldest first.
func (b bench) journal() []*ent.ActivityEntry {
	b.t.Helper()
	entries, err := b.store.Client().ActivityEntry.Query().Order(activityentry.ByID()).All(b.ctx)
	require.NoError(b.t, err)
	return entries
}

func actions(entries []*ent.ActivityEntry) []string {
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Action
	}
	return names
}

// events returns the types of the store's outbox rows, oldest first.
func (b bench) events() []string {
	b.t.Helper()
	types, err := b.store.Client().Event.Query().Order(event.ByID()).Select(event.FieldType).Strings(b.ctx)
	require.NoError(b.t, err)
	return types
}

// refused asserts the code of a refusal and returns it.
func refused(t *testing.T, err error, code apierr.Code) *apierr.Refusal {
	t.Helper()
	var r *apierr.Refusal
	require.True(t, errors.As(err, &r), "want %s, got %v", code, err)
	require.Equal(t, code, r.Code, r.Message)
	return r
}

func refusalCode(err error) apierr.Code {
	var r *apierr.Refusal
	if errors.As(err, &r) {
		return r.Code
	}
	return ""
}
