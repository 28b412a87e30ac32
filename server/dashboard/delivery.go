package dashboard

import (
	"slices"
	"strconv"
	"strings"

	"go.storefront.example/ent/apijson"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/queue"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/apierr"
	"go.storefront.example/worker/signature"
)

// retrying is a pending delivery whose last attempt failed.
const retrying = "retrying"

type deliveryRow struct {
	*adminv1.Delivery
	// Webhook is nil if it was deleted.
	Webhook *adminv1.Webhook
	About   string
}

type deliveriesBody struct {
	filter
	Deliveries      []deliveryRow
	Webhooks        []*adminv1.Webhook
	Types, Statuses []string
	// Live is true if the page shows new deliveries without a reload.
	Live bool
}

func (d *dashboard) deliveries(v *visit) error {
	f, err := filterOf(v, "q", "webhook", "type", "status")
	if err != nil {
		return err
	}
	body := deliveriesBody{
		Types: append(hook.EventTypes(), hook.Ping), Statuses: append([]string{retrying}, queue.Statuses()...),
		Live: !f.Has("q") && !f.Has("until") && !f.Later(),
	}
	if f.Has("status") && !slices.Contains(body.Statuses, f.Get("status")) {
		return apierr.Invalid("There is no such status.", apijson.Field{Name: "status", Message: "must be one of " +
			strings.Join(body.Statuses, ", ")})
	}
	status := adminv1.Delivery_Status_value[f.Get("status")]
	if f.Get("status") == retrying {
		status = int32(adminv1.Delivery_pending)
	}
	found, err := d.Operator.ListDeliveries(v, &adminv1.ListDeliveriesRequest{
		Text: f.Get("q"), WebhookId: f.Get("webhook"), EventType: f.Get("type"), Since: f.from, Until: f.until,
		Status: adminv1.Delivery_Status(status).Enum(), Retrying: f.Get("status") == retrying,
		PageToken: f.Get("before"), PageSize: new(int32(pageSize)),
	})
	if err != nil {
		return err
	}
	hooks, err := d.Operator.ListWebhooks(v, &adminv1.ListWebhooksRequest{})
	if err != nil {
		return err
	}
	f.next(v, found.GetNextPageToken())
	f.LookedBackTo = found.GetLookedBackTo()
	body.filter, body.Webhooks = f, hooks.GetWebhooks()
	if body.Deliveries, err = d.list(v, found.GetDeliveries(), body.Webhooks); err != nil {
		return err
	}
	return d.page(v, view{Title: "Deliveries", Section: "deliveries", Template: "deliveries", Body: body})
}

func (d *dashboard) list(v *visit, deliveries []*adminv1.Delivery, hooks []*adminv1.Webhook) ([]deliveryRow, error) {
	payloads, err := d.Operator.PayloadsOf(v, idsOf(deliveries, (*adminv1.Delivery).GetEventId))
	if err != nil {
		return nil, err
	}
	hooksByID, rows := byID(hooks), make([]deliveryRow, len(deliveries))
	for i, delivery := range deliveries {
		rows[i] = deliveryRow{Delivery: delivery, Webhook: hooksByID[delivery.GetWebhookId()],
			About: admin.EventSummary([]byte(payloads[delivery.GetEventId()]))}
	}
	return rows, nil
}

func idsOf[Message any](all []Message, id func(Message) string) []string {
	ids := make([]string, len(all))
	for i, m := range all {
		ids[i] = id(m)
	}
	return ids
}

func byID(all []*adminv1.Webhook) map[string]*adminv1.Webhook {
	hooks := map[string]*adminv1.Webhook{}
	for _, w := range all {
		hooks[w.GetId()] = w
	}
	return hooks
}

// refreshSeconds is for browsers without scripts, while a delivery waits for an attempt.
const refreshSeconds = 3

type sentHeader struct{ Name, Value string }

type deliveryBody struct {
	*adminv1.Delivery
	// Webhook is nil if it was deleted.
	Webhook *adminv1.Webhook
	// CanSend is true if the member may send the delivery now or again.
	CanSend bool
	// Headers are those of the newest attempt.
	Headers []sentHeader
	// Payload is the event's envelope indented, and Raw as it was signed.
	About, Payload, Raw string
}

func (d *dashboard) delivery(v *visit) error {
	found, err := d.Operator.GetDelivery(v, &adminv1.GetDeliveryRequest{Id: v.r.PathValue("id")})
	if err != nil {
		return err
	}
	body := deliveryBody{Delivery: found.GetDelivery(), Raw: found.GetPayload()}
	hooks, err := d.Operator.ListWebhooks(v, &adminv1.ListWebhooksRequest{})
	if err != nil {
		return err
	}
	body.Webhook = byID(hooks.GetWebhooks())[body.GetWebhookId()]
	if newest := lastAttempt(body.Delivery); newest != nil {
		body.Headers = headersOf(body.Delivery, newest)
	}
	body.About, body.Payload = admin.EventSummary([]byte(body.Raw)), indented([]byte(body.Raw))
	page := view{Title: body.GetEventType(), Section: "deliveries", Template: "delivery"}
	now := stateOf(v.now, body.Delivery)
	if now.Live {
		page.Refresh = refreshSeconds
	}
	body.CanSend = body.Webhook != nil && body.Webhook.GetState() != adminv1.Webhook_disabled &&
		(body.GetStatus() != adminv1.Delivery_pending || body.GetNextAttemptAt().AsTime().After(v.now))
	page.Body = body
	return d.page(v, page)
}

// headersOf leaves out the signature (specification, Delivery), which is not stored, because secret, time and payload determine
// it.
func headersOf(d *adminv1.Delivery, a *adminv1.Delivery_Attempt) []sentHeader {
	return []sentHeader{
		{"Content-Type", "application/json"},
		{"User-Agent", signature.UserAgent},
		{signature.EventIDHeader, d.GetEventId()},
		{signature.EventTypeHeader, d.GetEventType()},
		{signature.AttemptHeader, strconv.Itoa(int(a.GetNumber()))},
		{signature.Header, "t=" + strconv.FormatInt(a.GetStartedAt().GetSeconds(), 10) + ",v1=…"},
	}
}

// payload sends the bytes that were signed and sent, as a file.
func (d *dashboard) payload(v *visit) error {
	found, err := d.Operator.GetDelivery(v, &adminv1.GetDeliveryRequest{Id: v.r.PathValue("id")})
	if err != nil {
		return err
	}
	if found.Payload == nil {
		return noPage()
	}
	v.w.Header().Set("Content-Type", "application/json")
	v.w.Header().Set("Content-Disposition", `attachment; filename="event-`+found.GetDelivery().GetEventId()+`.json"`)
	_, _ = v.w.Write([]byte(found.GetPayload()))
	return nil
}

func (d *dashboard) resendDelivery(v *visit) error {
	again, err := d.Operator.ResendDelivery(v, &adminv1.ResendDeliveryRequest{Id: v.r.PathValue("id")})
	if err != nil {
		return err
	}
	done := "resent"
	if again.GetId() == v.r.PathValue("id") {
		done = "sent-now"
	}
	return v.redirect("/deliveries/"+again.GetId(), done)
}
