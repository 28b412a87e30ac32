package dashboard

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"

	"go.storefront.example/ent/hook"
	"go.storefront.example/gen/openapi"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
)

// described is a type of event in the catalogue.
type described struct {
	Type string
	// Meaning is when it is sent, in the reference's words, and Payload an example of its envelope.
	Meaning, Payload string
	// Reference is where the reference describes it.
	Reference string
	// Webhooks receive it.
	Webhooks []*adminv1.Webhook
}

// catalogue are the types of event as the API's document describes them, ping last.
var catalogue = sync.OnceValues(func() ([]described, error) {
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
	var all []described
	for _, name := range append(hook.EventTypes(), hook.Ping) {
		sent, known := document.Webhooks[name]
		example := sent.Post.RequestBody.Content["application/json"].Examples[name].Value
		if !known || example == nil {
			return nil, fmt.Errorf("the API's document has no example of %s", name)
		}
		all = append(all, described{
			Type: name, Meaning: sent.Post.Description, Payload: indented(example), Reference: "/docs#" + sent.Post.OperationID,
		})
	}
	return all, nil
})

// catalogueBody is the page of the types of event.
type catalogueBody struct {
	Events []described
	// Enabled are the webhooks to which a test event can be sent.
	Enabled []*adminv1.Webhook
}

// events lists the types of event with the store's webhooks that receive them.
func (d *dashboard) events(v *visit) error {
	types, err := catalogue()
	if err != nil {
		return err
	}
	all, err := d.Operator.ListWebhooks(v, &adminv1.ListWebhooksRequest{})
	if err != nil {
		return err
	}
	body := catalogueBody{Events: slices.Clone(types)}
	for _, w := range all.GetWebhooks() {
		if w.GetState() != adminv1.Webhook_disabled {
			body.Enabled = append(body.Enabled, w)
		}
		for i := range body.Events {
			if slices.Contains(w.GetEvents(), body.Events[i].Type) {
				body.Events[i].Webhooks = append(body.Events[i].Webhooks, w)
			}
		}
	}
	d.show(v, http.StatusOK, view{Title: "Event types", Section: "events", Template: "events", Body: body})
	return nil
}

// testEvent sends a ping to the webhook that the form chooses, and shows its delivery.
func (d *dashboard) testEvent(v *visit) error {
	e, err := d.Operator.PingWebhook(v, &adminv1.PingWebhookRequest{Id: v.r.PostForm.Get("webhook")})
	if err != nil {
		return err
	}
	return v.to("/deliveries/"+e.GetId(), "")
}
