package admin

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"go.storefront.example/ent/tenant"
	"go.storefront.example/ent/usage"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/validate"
)

var errNoStore = errors.New("read usage: the context is in no store")

// Tallies returns what succeeded and failed since a time for each of the store's API keys or webhooks with
// these ids, oldest period first. The context must be in the store (In).
func (o *Operator) Tallies(ctx context.Context, ids []string, since time.Time) (map[string][]usage.Tally, error) {
	t, _, ok := tenant.From(ctx)
	if !ok {
		return nil, errNoStore
	}
	all, err := usage.Tallies(ctx, o.db, t.ID, parsed(ids), since)
	of := map[string][]usage.Tally{}
	for _, one := range all {
		of[one.SubjectID.String()] = append(of[one.SubjectID.String()], one)
	}
	return of, err
}

// parsed are the ids among texts.
func parsed(texts []string) []uuid.UUID {
	ids := make([]uuid.UUID, 0, len(texts))
	for _, text := range texts {
		if id, ok := validate.ParseID(text); ok {
			ids = append(ids, id)
		}
	}
	return ids
}

// RefusedRequests returns the newest refused requests of one of the store's API keys, at most usage.MaxKept. It
// refuses with api_key_not_found if the id is not a UUID. The context must be in the store (In).
func (o *Operator) RefusedRequests(ctx context.Context, keyID string) ([]usage.Refused, error) {
	t, _, ok := tenant.From(ctx)
	if !ok {
		return nil, errNoStore
	}
	id, ok := validate.ParseID(keyID)
	if !ok {
		return nil, notFound(apierr.APIKeyNotFound, keyID)
	}
	return usage.RefusedOf(ctx, o.db, t.ID, id, usage.MaxKept)
}
