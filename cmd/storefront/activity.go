package main

import (
	"context"
	"encoding/json"
	"strings"

	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/admin"
)

type activityCmd struct {
	List activityListCmd `cmd:"" help:"List a store's activity, newest first."`
}

type activityListCmd struct {
	inStore
	Since instant `api:"since" placeholder:"TIME" help:"Only changes made at this time or later; also how long ago, such as 1h or 7d, or a date, which means 00:00 UTC on it."`
	listSize
}

func (c *activityListCmd) Run(s *invocation) error {
	in, currency := &adminv1.ListActivityRequest{}, ""
	prepare := func(ctx context.Context, o admin.API) (context.Context, error) {
		ctx, err := s.fillIn(ctx, o, c.inStore, in)
		if err == nil {
			currency, err = currencyOf(ctx, o)()
		}
		return ctx, err
	}
	return list(s, c.target, c.listSize, activityTable(&currency), in,
		func(size *int32, token string) { in.PageSize, in.PageToken = size, token }, prepare, admin.API.ListActivity,
		(*adminv1.ListActivityResponse).GetEntries)
}

// activityTable formats amounts in *currency, which the caller sets before it prints the table.
func activityTable(currency *string) table[*adminv1.ActivityEntry] {
	return table[*adminv1.ActivityEntry]{[]column[*adminv1.ActivityEntry]{
		{name: "TIME", at: (*adminv1.ActivityEntry).GetCreatedAt},
		{name: "ACTION", value: (*adminv1.ActivityEntry).GetAction},
		{name: "CHANGES", value: func(e *adminv1.ActivityEntry) string {
			return changesOf(e.GetChanges(), *currency)
		}, cut: true, room: 30},
		{name: "ACTOR", value: func(e *adminv1.ActivityEntry) string { return e.GetActor().GetName() }, cut: true, optional: true},
		{name: "RESOURCE", id: func(e *adminv1.ActivityEntry) string { return e.GetResource().GetId() }, optional: true},
	}, func(e *adminv1.ActivityEntry) []byte {
		return selectFields(e, map[string]json.RawMessage{"changes": orNull(e.GetChanges())}, "id", "actor", "action", "resource",
			"changes", "createdAt")
	}}
}

// changesOf formats a JSON object of a field's name to its old and new value as "field: old → new; …".
func changesOf(changes, currency string) string {
	fields, err := membersOf([]byte(changes))
	if err != nil {
		return absent
	}
	texts := make([]string, len(fields))
	for i, f := range fields {
		var values struct{ From, To json.RawMessage }
		if err := json.Unmarshal(f.value, &values); err != nil {
			return changes
		}
		texts[i] = f.name + ": " + formatValue(f.name, values.From, currency) + " → " + formatValue(f.name, values.To, currency)
	}
	return strings.Join(texts, "; ")
}
