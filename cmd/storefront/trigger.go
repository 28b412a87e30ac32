package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.storefront.example/ent/hook"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/admin"
)

type triggerCmd struct {
	target
	Type     string   `arg:"" enum:"${events}, ping" help:"${events} or ping."`
	Store    string   `placeholder:"SLUG" help:"The store, by slug or id; not needed if there is only one."`
	Override []string `sep:"none" placeholder:"FIELD=VALUE" help:"Sets a field of the demo data, such as title=Soap or customer.email=awa@example.com; may be repeated."`
	Yes      bool     `help:"Do it in a store that is not of storefront dev too."`
}

// Run makes the event.
func (c *triggerCmd) Run(s *session) error {
	d := newDemoData(c.Type)
	for _, text := range c.Override {
		if err := d.override(text); err != nil {
			return err
		}
	}
	return s.operate(c.target, func(ctx context.Context, o admin.API) error {
		if !c.Yes && !c.isDev(s) {
			return errors.New("trigger makes real data, and this is not the database of `storefront dev`; say --yes to do it all the same")
		}
		store, err := storeNamed(ctx, o, c.Store)
		if err != nil {
			return err
		}
		e, err := d.make(ctx, o, store.GetId())
		if err != nil {
			return err
		}
		if s.json {
			return s.print(selectFields(e, map[string]json.RawMessage{"payload": json.RawMessage(e.GetPayload())}, "id", "type",
				"createdAt",
				"payload"))
		}
		_, err = fmt.Fprintln(s.out, described(e))
		return err
	})
}

// isDev reports whether the stores are those of dev: of the folder that the command works in, or named.
func (c *triggerCmd) isDev(s *session) bool {
	if c.AdminURL == "" {
		return s.dev != nil || c.isDevDatabase()
	}
	d := findDev()
	return d != nil && d.runs && d.AdminURL == strings.TrimSuffix(c.AdminURL, "/")
}

// lookBack is how many of the newest events of a type are searched for the one that was made: others
// may be made at the same time.
const lookBack = 100

// eventOf returns the event of a type that is about an object.
func eventOf(ctx context.Context, o admin.API, store, eventType, object string) (*adminv1.Event, error) {
	out, err := o.ListEvents(ctx, &adminv1.ListEventsRequest{Store: store, Type: eventType, PageSize: new(int32(lookBack))})
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(out.GetEvents(), func(e *adminv1.Event) bool {
		var about struct{ Data struct{ ID string } }
		return json.Unmarshal([]byte(e.GetPayload()), &about) == nil && about.Data.ID == object
	})
	if i < 0 {
		return nil, fmt.Errorf("%s was made, but no event %s of it is found", object, eventType)
	}
	return out.GetEvents()[i], nil
}

// make makes the event in a store.
func (d *demoData) make(ctx context.Context, o admin.API, store string) (*adminv1.Event, error) {
	if d.kind == hook.Ping {
		return o.CreatePing(ctx, &adminv1.CreatePingRequest{Store: store})
	}
	object, err := d.object(ctx, o, store)
	if err != nil {
		return nil, err
	}
	return eventOf(ctx, o, store, d.kind, object)
}
