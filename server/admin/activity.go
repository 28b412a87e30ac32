package admin

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"go.storefront.example/ent/apijson"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/activityentry"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
)

// activityEntry is an entry of an activity journal.
func activityEntry(row *ent.ActivityEntry) *adminv1.ActivityEntry {
	m := &adminv1.ActivityEntry{
		Id: row.ID.String(), Action: row.Action, Changes: string(row.Changes), CreatedAt: apijson.Timestamp(row.CreatedAt),
		Actor:    &adminv1.ActivityEntry_Actor{Type: enum[adminv1.ActivityEntry_Actor_Type](row.ActorType), Name: row.ActorName},
		Resource: &adminv1.ActivityEntry_Resource{Type: row.ResourceType, Id: row.ResourceID.String()},
	}
	if row.ActorID != "" {
		m.Actor.Id = &row.ActorID
	}
	return m
}

// ActivitySearch is what ListActivity can look for, and more that only the dashboard asks for.
type ActivitySearch struct {
	*adminv1.ListActivityRequest
	// Kind is the kind of resource that was changed, such as product, and By the kind of actor that changed it; empty and
	// zero mean any.
	Kind string
	By   adminv1.ActivityEntry_Actor_Type
	// Who is a part of the actor's name; empty means any.
	Who string
	// Until is a time before which the changes were made; zero means any.
	Until time.Time
}

// ListActivity returns a page of a store's activity journal. It refuses with store_not_found or
// validation_failed.
func (o *Operator) ListActivity(ctx context.Context, in *adminv1.ListActivityRequest) (*adminv1.ListActivityResponse, error) {
	return o.SearchActivity(ctx, ActivitySearch{ListActivityRequest: in})
}

// SearchActivity returns a page of the changes in a store's journal that match. It refuses as ListActivity does.
func (o *Operator) SearchActivity(ctx context.Context, in ActivitySearch) (*adminv1.ListActivityResponse, error) {
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
	if !in.Until.IsZero() {
		query.Where(activityentry.CreatedAtLT(in.Until))
	}
	if in.Kind != "" {
		query.Where(activityentry.ResourceType(in.Kind))
	}
	if in.By != 0 {
		query.Where(activityentry.ActorType(in.By.String()))
	}
	if in.Who != "" {
		query.Where(activityentry.ActorNameContainsFold(in.Who))
	}
	rows, err := query.Order(newest).Limit(p.size + 1).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the activity journal: %w", err)
	}
	rows, next := cut(p, rows, func(row *ent.ActivityEntry) (time.Time, uuid.UUID) { return row.CreatedAt, row.ID })
	return &adminv1.ListActivityResponse{Entries: each(rows, activityEntry), NextPageToken: next}, nil
}
