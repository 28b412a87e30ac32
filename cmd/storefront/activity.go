package main

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/google/uuid"

	"go.storefront.example/gen/ent"
	"go.storefront.example/server/service"
)

type activityCmd struct {
	List activityListCmd `cmd:"" help:"List a store's activity, newest first."`
}

// Help shows an example.
func (activityCmd) Help() string {
	return "Example:\n\n    storefront activity list --store douala --limit 20"
}

type activityListCmd struct {
	place
	Store string `required:"" placeholder:"SLUG" help:"The store, by slug or id."`
	limit
}

// Help shows an example.
func (activityListCmd) Help() string {
	return "Each entry names who made a change, what it was and the fields that it changed, with their old and new values.\n\nExample:\n\n    storefront activity list --store douala --limit 20 -o json"
}

// activityEntry is a change as it is listed.
type activityEntry struct {
	ID    uuid.UUID `json:"id"`
	Actor struct {
		Type string  `json:"type"`
		ID   *string `json:"id"` // null for the operator
		Name string  `json:"name"`
	} `json:"actor"`
	Action   string `json:"action"`
	Resource struct {
		Type string    `json:"type"`
		ID   uuid.UUID `json:"id"`
	} `json:"resource"`
	Changes   json.RawMessage `json:"changes"`
	CreatedAt moment          `json:"createdAt"`
}

func activityEntryOf(row *ent.ActivityEntry) activityEntry {
	var e activityEntry
	e.ID, e.Action, e.Changes, e.CreatedAt = row.ID, row.Action, row.Changes, moment{&row.CreatedAt}
	e.Actor.Type, e.Actor.Name = row.ActorType, row.ActorName
	if row.ActorID != "" {
		e.Actor.ID = &row.ActorID
	}
	e.Resource.Type, e.Resource.ID = row.ResourceType, row.ResourceID
	return e
}

// Run lists the activity.
func (c *activityListCmd) Run(s *session) error {
	return s.operate(c.place, service.Options{}, func(ctx context.Context, o operations) error {
		found, err := o.ListActivity(ctx, c.Store, int(c.Limit))
		if err != nil {
			return err
		}
		entries := make([]activityEntry, len(found))
		rows := make([][]string, len(found))
		for i, row := range found {
			e := activityEntryOf(row)
			entries[i] = e
			rows[i] = []string{e.CreatedAt.String(), e.Actor.Name, e.Action, e.Resource.ID.String(), changedFields(e.Changes)}
		}
		array, err := plainJSON(entries)
		if err != nil {
			return err
		}
		return s.list(array, strings.Fields("TIME ACTOR ACTION RESOURCE CHANGED"), rows)
	})
}

// changedFields names the fields of an entry in their order.
func changedFields(changes json.RawMessage) string {
	d := json.NewDecoder(strings.NewReader(string(changes)))
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
