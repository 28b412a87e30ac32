package admin

import (
	"context"
	"time"

	"go.storefront.example/ent/tenant"
	"go.storefront.example/ent/usage"
	"go.storefront.example/server/validate"
)

// Tallies counts what succeeded and failed for these keys or webhooks since a time: a Tally for each period, oldest first. The
// context must have their store (see WithStore).
func (o *Operator) Tallies(ctx context.Context, ids []string, since time.Time) (map[string][]usage.Tally, error) {
	t, err := tenant.StoreOf(ctx)
	if err != nil {
		return nil, err
	}
	all, err := usage.Tallies(ctx, o.db, t.ID, parseIDs(ids), since)
	bySubject := map[string][]usage.Tally{}
	for _, tally := range all {
		bySubject[tally.SubjectID.String()] = append(bySubject[tally.SubjectID.String()], tally)
	}
	return bySubject, err
}

// RefusedRequests returns the newest refused requests of an API key, at most usage.MaxRefusedPerKey. The context must have the
// key's store (see WithStore).
func (o *Operator) RefusedRequests(ctx context.Context, keyID string) ([]usage.Refused, error) {
	t, id, err := validate.StoreAndID(ctx, keyID, func() error { return keyKind.notFound(keyID) })
	if err != nil {
		return nil, err
	}
	return usage.RefusedOf(ctx, o.db, t.ID, id, usage.MaxRefusedPerKey)
}
