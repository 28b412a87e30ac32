package main

import (
	"cmp"
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
	Since *instant `placeholder:"TIME" help:"Only changes made at this time or later; also how long ago, such as 1h or 7d."`
	limit
}

// Run lists the activity.
func (c *activityListCmd) Run(s *session) error {
	return listOf(s, c.inStore, c.limit, activityTable,
		func(ctx context.Context, o admin.API, store string, size *int32, token string) ([]*adminv1.ActivityEntry, string, error) {
			since, err := c.Since.message(ctx, o)
			if err != nil {
				return nil, "", err
			}
			out, err := o.ListActivity(ctx, &adminv1.ListActivityRequest{Store: store, Since: since, PageSize: size, PageToken: token})
			return out.GetEntries(), out.GetNextPageToken(), err
		})
}

var activityTable = table[*adminv1.ActivityEntry]{"TIME@,ACTOR~,ACTION,CHANGED~,RESOURCE?",
	func(e *adminv1.ActivityEntry) []string {
		return []string{when(e.GetCreatedAt()), e.GetActor().GetName(), e.GetAction(), changedFields(e.GetChanges()),
			e.GetResource().GetId()}
	}, func(e *adminv1.ActivityEntry) []byte {
		return selectFields(e, map[string]json.RawMessage{"changes": json.RawMessage(cmp.Or(e.GetChanges(), "null"))}, "id", "actor",
			"action",
			"resource", "changes", "createdAt")
	}}

// changedFields names the fields of an entry in their order.
func changedFields(changes string) string {
	d := json.NewDecoder(strings.NewReader(changes))
	var names []string
	for depth, name := 0, false; ; {
		token, err := d.Token()
		if err != nil {
			return strings.Join(names, ", ")
		}
		switch token := token.(type) {
		case json.Delim:
			if token == '{' || token == '[' {
				depth++
			} else {
				depth--
			}
			name = depth == 1
		case string:
			if depth == 1 && name {
				names = append(names, token)
			}
		}
	}
}
