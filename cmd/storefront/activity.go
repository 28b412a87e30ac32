package main

import (
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
	Since instant `api:"since" placeholder:"TIME" help:"Only changes made at this time or later; also how long ago, such as 1h or 7d."`
	limit
}

// Run lists the activity.
func (c *activityListCmd) Run(s *invocation) error {
	return listOf(s, c.inStore, c.limit, activityTable, &adminv1.ListActivityRequest{}, admin.API.ListActivity,
		(*adminv1.ListActivityResponse).GetEntries)
}

var activityTable = table[*adminv1.ActivityEntry]{"TIME@,ACTION,CHANGES~30,ACTOR~?,RESOURCE#?",
	func(e *adminv1.ActivityEntry) []string {
		return []string{when(e.GetCreatedAt()), e.GetAction(), changesOf(e.GetChanges()), e.GetActor().GetName(),
			e.GetResource().GetId()}
	}, func(e *adminv1.ActivityEntry) []byte {
		return selectFields(e, map[string]json.RawMessage{"changes": orNull(e.GetChanges())}, "id", "actor", "action", "resource",
			"changes", "createdAt")
	}}

// changesOf are an entry's changes for a reader, each with the old and the new value.
func changesOf(changes string) string {
	fields, err := membersOf([]byte(changes))
	if err != nil {
		return absent // nothing was changed
	}
	said := make([]string, len(fields))
	for i, f := range fields {
		var values struct{ From, To json.RawMessage }
		if err := json.Unmarshal(f.value, &values); err != nil {
			return changes
		}
		said[i] = f.name + ": " + textOf(values.From) + " → " + textOf(values.To)
	}
	return strings.Join(said, "; ")
}
