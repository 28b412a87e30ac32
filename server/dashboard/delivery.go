package dashboard

import (
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/google/uuid"

	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/queue"
	"go.storefront.example/server/service"
	"go.storefront.example/worker/signature"
)

// pageSize is how many entries of a journal a page shows.
const pageSize = 25

// listed is a delivery in a list; URL is its webhook's, empty when that was deleted.
type listed struct {
	queue.Entry
	URL string
}

// deliveriesBody is a page of the journal of deliveries.
type deliveriesBody struct {
	Deliveries []listed
	Webhooks   []service.Webhook
	// Webhook, Type and Status are what is looked for; empty means all.
	Webhook, Type, Status string
	Types, Statuses       []string
	// Filtered tells whether anything is looked for, Later whether this is not the first page.
	Filtered, Later bool
	// Older is the address of the next page; empty on the last.
	Older string
}

// deliveries lists the journal, newest first.
func (d *dashboard) deliveries(v *visit) error {
	asked := v.r.URL.Query()
	body := deliveriesBody{
		Webhook: asked.Get("webhook"), Type: asked.Get("type"), Status: asked.Get("status"), Later: asked.Get("before") != "",
		Types: append(service.EventTypes(), hook.Ping), Statuses: queue.Statuses(),
	}
	body.Filtered = body.Webhook != "" || body.Type != "" || body.Status != ""
	found, err := d.Shop.ListDeliveries(v, service.DeliverySearch{
		WebhookID: body.Webhook, EventType: body.Type, Status: body.Status, Before: asked.Get("before"), Limit: pageSize + 1,
	})
	if err != nil {
		return err
	}
	if body.Webhooks, err = d.Shop.ListWebhooks(v, service.MaxWebhooks); err != nil {
		return err
	}
	if len(found) > pageSize {
		found = found[:pageSize]
		next := url.Values{"before": {found[pageSize-1].ID.String()}}
		for name, value := range map[string]string{"webhook": body.Webhook, "type": body.Type, "status": body.Status} {
			if value != "" {
				next.Set(name, value)
			}
		}
		body.Older = Path + "/deliveries?" + next.Encode()
	}
	urls := map[uuid.UUID]string{}
	for _, w := range body.Webhooks {
		urls[w.ID] = w.URL
	}
	for _, e := range found {
		body.Deliveries = append(body.Deliveries, listed{e, urls[e.WebhookID]})
	}
	d.show(v, http.StatusOK, view{Title: "Deliveries", Section: "deliveries", Template: "deliveries", Body: body})
	return nil
}

// soon is how near an attempt must be for its page to wait for it.
const soon = time.Minute

// refreshSeconds is how often a page that waits for an attempt is loaded where no script does it.
const refreshSeconds = 3

// sentHeader is one line of what an attempt sent.
type sentHeader struct{ Name, Value string }

// deliveryBody is the page of one delivery.
type deliveryBody struct {
	service.Delivery
	// Webhook is nil when it was deleted.
	Webhook *service.Webhook
	// Waits tells that the next attempt is near: the page shows it by itself.
	Waits bool
	// Headers are those of the newest attempt.
	Headers []sentHeader
	// About says in words what the event tells of, Payload is its envelope for a reader, Raw the
	// bytes as they are signed.
	About, Payload, Raw string
}

// delivery shows one delivery with its attempts, headers and payload.
func (d *dashboard) delivery(v *visit) error {
	found, err := d.Shop.GetDelivery(v, v.r.PathValue("id"))
	if err != nil {
		return err
	}
	body := deliveryBody{Delivery: found, Raw: string(found.Payload)}
	all, err := d.Shop.ListWebhooks(v, service.MaxWebhooks)
	if err != nil {
		return err
	}
	for _, w := range all {
		if w.ID == found.WebhookID {
			body.Webhook = &w
		}
	}
	if last := found.Last(); last != nil {
		body.Headers = headersOf(found.Entry, *last)
	}
	body.About, body.Payload = about(found.Payload), indented(found.Payload)
	page := view{Title: found.EventType, Section: "deliveries", Template: "delivery"}
	if found.Status == queue.Pending && (found.NextAttemptAt == nil || found.NextAttemptAt.Sub(v.now) < soon) {
		body.Waits, page.Refresh = true, refreshSeconds
	}
	page.Body = body
	d.show(v, http.StatusOK, page)
	return nil
}

// headersOf are the headers of an attempt (specification, Delivery). The signature is not kept:
// whoever has the secret can make it of the time and the payload.
func headersOf(e queue.Entry, a queue.Attempt) []sentHeader {
	return []sentHeader{
		{"Content-Type", "application/json"},
		{"User-Agent", signature.UserAgent},
		{signature.EventIDHeader, e.EventID.String()},
		{signature.EventTypeHeader, e.EventType},
		{signature.AttemptHeader, strconv.Itoa(a.Number)},
		{signature.Header, "t=" + strconv.FormatInt(a.StartedAt.Unix(), 10) + ",v1=…"},
	}
}

// payload answers with the bytes that were signed and sent, as a file.
func (d *dashboard) payload(v *visit) error {
	found, err := d.Shop.GetDelivery(v, v.r.PathValue("id"))
	if err != nil {
		return err
	}
	if found.Payload == nil {
		return noPage()
	}
	v.w.Header().Set("Content-Type", "application/json")
	v.w.Header().Set("Content-Disposition", `attachment; filename="event-`+found.EventID.String()+`.json"`)
	_, _ = v.w.Write(found.Payload)
	return nil
}

// resendDelivery sends one event again and shows the new delivery.
func (d *dashboard) resendDelivery(v *visit) error {
	again, err := d.Shop.ResendDelivery(v, v.r.PathValue("id"))
	if err != nil {
		return err
	}
	return v.to("/deliveries/"+again.ID.String(), "resent")
}
