package dashboard

import (
	"cmp"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/types/known/timestamppb"

	"go.storefront.example/ent/apijson"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/queue"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/apierr"
	"go.storefront.example/worker/signature"
)

// maxTextRunes bounds a text to look for.
const maxTextRunes = 200

// pageSize is how many entries of a journal a page shows.
const pageSize = 25

// retrying is the status by which the pages call a pending delivery of which an attempt has failed.
const retrying = "retrying"

// listed is a delivery in a list.
type listed struct {
	*adminv1.Delivery
	// Webhook is nil when it was deleted.
	Webhook *adminv1.Webhook
	// About describes in words what its event concerns.
	About string
}

// deliveriesBody is a page of the journal of deliveries.
type deliveriesBody struct {
	Deliveries []listed
	Webhooks   []*adminv1.Webhook
	// Text, Webhook, Type and Status are what is looked for, Since and Until, in UTC, between which times; empty
	// means all.
	Text, Webhook, Type, Status, Since, Until string
	Types, Statuses                           []string
	// LookedBackTo is the time of the oldest event whose payload was looked at for the text, if any was.
	LookedBackTo *timestamppb.Timestamp
	// Live reports that the page follows new deliveries.
	Live bool
	// Filtered reports whether anything is looked for, Later whether this is not the first page.
	Filtered, Later bool
	// Older is the address of the next page; empty on the last.
	Older string
}

// deliveries lists the journal, newest first.
func (d *dashboard) deliveries(v *visit) error {
	asked := v.r.URL.Query()
	body := deliveriesBody{
		Text:    strings.TrimSpace(asked.Get("q")),
		Webhook: asked.Get("webhook"), Type: asked.Get("type"), Status: asked.Get("status"), Later: asked.Get("before") != "",
		Types: append(hook.EventTypes(), hook.Ping), Statuses: append([]string{retrying}, queue.Statuses()...),
	}
	search := admin.DeliverySearch{Text: body.Text}
	var err error
	if search.Since, body.Since, err = timeOf("since", asked.Get("since")); err != nil {
		return err
	}
	if search.Until, body.Until, err = timeOf("until", asked.Get("until")); err != nil {
		return err
	}
	body.Filtered = cmp.Or(body.Text, body.Webhook, body.Type, body.Status, body.Since, body.Until) != ""
	body.Live = body.Text == "" && body.Until == "" && !body.Later
	if utf8.RuneCountInString(body.Text) > maxTextRunes {
		return apierr.Invalid("The text is too long.", apijson.Field{Name: "q", Message: "must have at most " +
			strconv.Itoa(maxTextRunes) + " characters"})
	}
	if body.Status != "" && !slices.Contains(body.Statuses, body.Status) {
		return apierr.Invalid("There is no such status.", apijson.Field{Name: "status", Message: "must be one of " +
			strings.Join(body.Statuses, ", ")})
	}
	status := adminv1.Delivery_Status(adminv1.Delivery_Status_value[body.Status])
	if body.Status == retrying {
		status = adminv1.Delivery_pending
	}
	search.ListDeliveriesRequest = &adminv1.ListDeliveriesRequest{
		WebhookId: body.Webhook, EventType: body.Type, Status: status.Enum(), Retrying: body.Status == retrying,
		PageToken: asked.Get("before"), PageSize: new(int32(pageSize)),
	}
	found, err := d.Operator.SearchDeliveries(v, search)
	if err != nil {
		return err
	}
	hooks, err := d.Operator.ListWebhooks(v, &adminv1.ListWebhooksRequest{})
	if err != nil {
		return err
	}
	body.Webhooks, body.LookedBackTo = hooks.GetWebhooks(), apijson.OptionalTimestamp(found.LookedBackTo)
	if token := found.GetNextPageToken(); token != "" {
		body.Older = Path + "/deliveries?" + filled(url.Values{
			"before": {token}, "q": {body.Text}, "webhook": {body.Webhook}, "type": {body.Type}, "status": {body.Status},
			"since": {body.Since}, "until": {body.Until},
		}).Encode()
	}
	if body.Deliveries, err = d.list(v, found.GetDeliveries(), body.Webhooks); err != nil {
		return err
	}
	d.show(v, http.StatusOK, view{Title: "Deliveries", Section: "deliveries", Template: "deliveries", Body: body})
	return nil
}

// filled are the parameters of a filter that are set.
func filled(of url.Values) url.Values {
	maps.DeleteFunc(of, func(_ string, values []string) bool { return values[0] == "" })
	return of
}

// list adds to deliveries what their rows show.
func (d *dashboard) list(v *visit, deliveries []*adminv1.Delivery, hooks []*adminv1.Webhook) ([]listed, error) {
	events := make([]string, len(deliveries))
	for i, one := range deliveries {
		events[i] = one.GetEventId()
	}
	payloads, err := d.Operator.PayloadsOf(v, events)
	if err != nil {
		return nil, err
	}
	rows := make([]listed, len(deliveries))
	for i, one := range deliveries {
		rows[i] = listed{Delivery: one, About: admin.About([]byte(payloads[one.GetEventId()]))}
		if at := slices.IndexFunc(hooks, func(w *adminv1.Webhook) bool { return w.GetId() == one.GetWebhookId() }); at >= 0 {
			rows[i].Webhook = hooks[at]
		}
	}
	return rows, nil
}

// refreshSeconds is how often a page that waits for an attempt is loaded where no script does it.
const refreshSeconds = 3

// sentHeader is one line of what an attempt sent.
type sentHeader struct{ Name, Value string }

// deliveryBody is the page of one delivery.
type deliveryBody struct {
	*adminv1.Delivery
	// Webhook is nil when it was deleted.
	Webhook *adminv1.Webhook
	// CanSend reports that it can be sent now or again.
	CanSend bool
	// Headers are those of the newest attempt.
	Headers []sentHeader
	// About describes in words what the event concerns, Payload is its envelope for a reader, Raw the
	// bytes as they are signed.
	About, Payload, Raw string
}

// delivery shows one delivery with its attempts, headers and payload.
func (d *dashboard) delivery(v *visit) error {
	found, err := d.Operator.GetDelivery(v, &adminv1.GetDeliveryRequest{Id: v.r.PathValue("id")})
	if err != nil {
		return err
	}
	body := deliveryBody{Delivery: found.GetDelivery(), Raw: found.GetPayload()}
	hooks, err := d.webhooksByID(v)
	if err != nil {
		return err
	}
	body.Webhook = hooks[body.GetWebhookId()]
	if newest := last(body.Delivery); newest != nil {
		body.Headers = headersOf(body.Delivery, newest)
	}
	body.About, body.Payload = admin.About([]byte(body.Raw)), indented([]byte(body.Raw))
	page := view{Title: body.GetEventType(), Section: "deliveries", Template: "delivery"}
	now := stateOf(v.now, body.Delivery)
	if now.Live {
		page.Refresh = refreshSeconds
	}
	body.CanSend = body.Webhook != nil && body.Webhook.GetState() != adminv1.Webhook_disabled &&
		(body.GetStatus() != adminv1.Delivery_pending || body.GetNextAttemptAt().AsTime().After(v.now))
	page.Body = body
	d.show(v, http.StatusOK, page)
	return nil
}

// headersOf are the headers of an attempt (specification, Delivery). The signature is not kept:
// whoever has the secret can make it of the time and the payload.
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

// payload answers with the bytes that were signed and sent, as a file.
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

// resendDelivery sends a delivery now that waits, or the event of one that has ended again, and shows the delivery.
func (d *dashboard) resendDelivery(v *visit) error {
	again, err := d.Operator.ResendDelivery(v, &adminv1.ResendDeliveryRequest{Id: v.r.PathValue("id")})
	if err != nil {
		return err
	}
	done := "resent"
	if again.GetId() == v.r.PathValue("id") {
		done = "sent-now"
	}
	return v.to("/deliveries/"+again.GetId(), done)
}
