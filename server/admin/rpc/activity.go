package rpc

import (
	"context"

	"go.storefront.example/ent/wire"
	"go.storefront.example/gen/ent"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
)

// activityMessage is an entry of an activity journal.
func activityMessage(row *ent.ActivityEntry) *adminv1.ActivityEntry {
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

// activityOf is what activityMessage made a message of.
func activityOf(m *adminv1.ActivityEntry) (*ent.ActivityEntry, error) {
	var r ids
	return &ent.ActivityEntry{
		ID: r.read(m.GetId()), ActorType: m.GetActor().GetType().String(), ActorID: m.GetActor().GetId(), ActorName: m.GetActor().GetName(),
		Action: m.GetAction(), ResourceType: m.GetResource().GetType(), ResourceID: r.read(m.GetResource().GetId()),
		Changes: []byte(m.GetChanges()), CreatedAt: m.GetCreatedAt().AsTime(),
	}, r.err
}

// ListActivity serves ActivityService.ListActivity.
func (s handlers) ListActivity(ctx context.Context, in *adminv1.ListActivityRequest) (*adminv1.ListActivityResponse, error) {
	var f fields
	limit := f.limit(in.Limit)
	if err := f.err(); err != nil {
		return nil, err
	}
	entries, err := s.operator.ListActivityBefore(ctx, in.GetStore(), in.GetBefore(), limit)
	if err != nil {
		return nil, err
	}
	out := &adminv1.ListActivityResponse{}
	for _, row := range entries {
		out.Entries = append(out.Entries, activityMessage(row))
	}
	return out, nil
}

// ListActivity is admin.Operator's.
func (c *Client) ListActivity(ctx context.Context, storeName string, limit int) ([]*ent.ActivityEntry, error) {
	out, err := c.activity.ListActivity(ctx, &adminv1.ListActivityRequest{Store: storeName, Limit: limitOf(limit)})
	return read(c, out, err, func(out *adminv1.ListActivityResponse) ([]*ent.ActivityEntry, error) {
		return each(out.GetEntries(), activityOf)
	})
}
