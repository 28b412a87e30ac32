package operator

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"go.storefront.example/ent/tenant"
	"go.storefront.example/ent/wire"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/activityentry"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
)

// activityEntry is an entry of an activity journal.
func activityEntry(row *ent.ActivityEntry) *adminv1.ActivityEntry {
	m := &adminv1.ActivityEntry{
		Id: row.ID.String(), Action: row.Action, Changes: string(row.Changes), CreatedAt: wire.Timestamp(row.CreatedAt),
		Actor:    &adminv1.ActivityEntry_Actor{Type: enum[adminv1.ActivityEntry_Actor_Type](row.ActorType), Name: row.ActorName},
		Resource: &adminv1.ActivityEntry_Resource{Type: row.ResourceType, Id: row.ResourceID.String()},
	}
	if row.ActorID != "" {
		m.Actor.Id = &row.ActorID
	}
	return m
}

// ListActivity returns a page of a store's activity journal. It refuses with store_not_found or
// validation_failed.
func (o *Operator) ListActivity(ctx context.Context, in *adminv1.ListActivityRequest) (*adminv1.ListActivityResponse, error) {
	var f fields
	p := f.page(in.PageSize, in.GetPageToken())
	since := f.moment("since", in.GetSince())
	if err := f.err(); err != nil {
		return nil, err
	}
	ctx, err := o.In(ctx, in.GetStore())
	if err != nil {
		return nil, err
	}
	t, _, _ := tenant.From(ctx)
	query := o.db.Client().ActivityEntry.Query().Where(activityentry.StoreID(t.ID), p.older)
	if !since.IsZero() {
		query.Where(activityentry.CreatedAtGTE(since))
	}
	rows, err := query.Order(newest).Limit(p.size + 1).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the activity journal: %w", err)
	}
	rows, next := cut(p, rows, func(row *ent.ActivityEntry) (time.Time, uuid.UUID) { return row.CreatedAt, row.ID })
	return &adminv1.ListActivityResponse{Entries: each(rows, activityEntry), NextPageToken: next}, nil
}
