package admin

import (
	"context"
	"fmt"

	"entgo.io/ent/dialect/sql"

	"go.storefront.example/ent/apijson"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/activityentry"
	"go.storefront.example/gen/ent/predicate"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/validate"
)

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

// maxScanned bounds the entries that one filtered call reads, because the journal has an index only by time.
const maxScanned = 20_000

// ListActivity returns a page of a store's activity journal.
func (o *Operator) ListActivity(ctx context.Context, in *adminv1.ListActivityRequest) (*adminv1.ListActivityResponse, error) {
	var refused problems
	p := refused.page(in, in.GetPageToken())
	since, until := refused.timeOf("since", in.GetSince()), refused.timeOf("until", in.GetUntil())
	resourceID, ok := validate.ParseID(in.GetResourceId())
	if !ok && in.GetResourceId() != "" {
		refused.Invalid("resourceId", "must be a UUID")
	}
	for name, text := range map[string]string{"resourceType": in.GetResourceType(), "actorName": in.GetActorName()} {
		if !validate.Storable(text) {
			refused.Invalid(name, "must be UTF-8 without control characters")
		}
	}
	ctx, t, err := o.check(ctx, &refused, in.GetStore())
	if err != nil {
		return nil, err
	}
	query := o.db.ForStore(ctx).Client().ActivityEntry.Query().Where(activityentry.StoreID(t.ID), p.older)
	if !since.IsZero() {
		query.Where(activityentry.CreatedAtGTE(since))
	}
	if !until.IsZero() {
		query.Where(activityentry.CreatedAtLT(until))
	}
	var conditions []predicate.ActivityEntry
	if in.GetResourceType() != "" {
		conditions = append(conditions, activityentry.ResourceType(in.GetResourceType()))
	}
	if in.GetResourceId() != "" {
		conditions = append(conditions, activityentry.ResourceID(resourceID))
	}
	if in.GetActorType() != 0 {
		conditions = append(conditions, activityentry.ActorType(in.GetActorType().String()))
	}
	if in.GetActorName() != "" {
		conditions = append(conditions, activityentry.ActorNameContainsFold(in.GetActorName()))
	}
	var ends []*ent.ActivityEntry // the last entry that this call reads and, if there are more, the entry after it
	if len(conditions) > 0 {
		ends, err = query.Clone().Order(newest).Offset(maxScanned-1).Limit(2).
			Select(activityentry.FieldID, activityentry.FieldCreatedAt).All(ctx)
		if err != nil {
			return nil, fmt.Errorf("look back in the activity journal: %w", err)
		}
	}
	bounded := len(ends) == 2
	if bounded {
		query.Where(func(s *sql.Selector) {
			s.Where(sql.CompositeGT([]string{s.C("created_at"), s.C("id")}, ends[1].CreatedAt, ends[1].ID))
		})
	}
	rows, err := query.Where(conditions...).Where(p.rows).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the activity journal: %w", err)
	}
	out := &adminv1.ListActivityResponse{}
	out.Entries, out.NextPageToken = pageOf(p, rows, activityEntry)
	if out.NextPageToken == "" && bounded {
		out.LookedBackTo, out.NextPageToken = apijson.Timestamp(ends[0].CreatedAt), tokenOf(ends[0].CreatedAt, ends[0].ID)
	}
	return out, nil
}
