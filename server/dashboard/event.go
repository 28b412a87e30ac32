package dashboard

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"go.storefront.example/ent/hook"
	"go.storefront.example/gen/openapi"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/admin"
)

type eventRow struct {
	*adminv1.Event
	// Text is the payload indented.
	About, Text string
	Deliveries  []deliveryRow
}

type eventsBody struct {
	filter
	Events []eventRow
	Types  []string
}

func (d *dashboard) events(v *visit) error {
	f, err := filterOf(v, "type")
	if err != nil {
		return err
	}
	found, err := d.Operator.ListEvents(v, &adminv1.ListEventsRequest{Type: f.Get("type"), PageToken: f.Get("before"),
		PageSize: new(int32(pageSize))})
	if err != nil {
		return err
	}
	f.next(v, found.GetNextPageToken())
	body := eventsBody{filter: f, Types: append(hook.EventTypes(), hook.Ping)}
	deliveries, err := d.Operator.DeliveriesOf(v, idsOf(found.GetEvents(), (*adminv1.Event).GetId))
	if err != nil {
		return err
	}
	all, err := d.Operator.ListWebhooks(v, &adminv1.ListWebhooksRequest{})
	if err != nil {
		return err
	}
	hooks := byID(all.GetWebhooks())
	for _, e := range found.GetEvents() {
		h := eventRow{Event: e, About: admin.EventSummary([]byte(e.GetPayload())), Text: indented([]byte(e.GetPayload()))}
		for _, delivery := range deliveries[e.GetId()] {
			h.Deliveries = append(h.Deliveries, deliveryRow{Delivery: delivery, Webhook: hooks[delivery.GetWebhookId()]})
		}
		body.Events = append(body.Events, h)
	}
	return d.page(v, view{Title: "Events", Section: "events", Template: "events", Body: body})
}

type eventType struct {
	Type string
	// Meaning is in the words of the reference. Payload is an example of the envelope.
	Meaning, Payload string
	// Reference is the address of the event type in the reference.
	Reference string
	Webhooks  []*adminv1.Webhook
}

// catalogue has the event types of the OpenAPI document, ping last.
var catalogue = sync.OnceValues(func() ([]eventType, error) {
	var document struct {
		Webhooks map[string]struct {
			Post struct {
				OperationID, Description string
				RequestBody              struct {
					Content map[string]struct {
						Examples map[string]struct{ Value json.RawMessage }
					}
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(openapi.Document), &document); err != nil {
		return nil, fmt.Errorf("read the API's document: %w", err)
	}
	var all []eventType
	for _, name := range append(hook.EventTypes(), hook.Ping) {
		webhook, ok := document.Webhooks[name]
		example := webhook.Post.RequestBody.Content["application/json"].Examples[name].Value
		if !ok || example == nil {
			return nil, fmt.Errorf("the API's document has no example of %s", name)
		}
		all = append(all, eventType{
			Type: name, Meaning: webhook.Post.Description, Payload: indented(example), Reference: "/docs/operations/" + webhook.Post.OperationID,
		})
	}
	return all, nil
})

func (d *dashboard) eventTypes(v *visit) error {
	types, err := catalogue()
	if err != nil {
		return err
	}
	all, err := d.Operator.ListWebhooks(v, &adminv1.ListWebhooksRequest{})
	if err != nil {
		return err
	}
	types = slices.Clone(types)
	for _, w := range all.GetWebhooks() {
		for i := range types {
			if slices.Contains(w.GetEvents(), types[i].Type) {
				types[i].Webhooks = append(types[i].Webhooks, w)
			}
		}
	}
	return d.page(v, view{Title: "Event types", Section: "events", Template: "event_types", Body: types})
}
