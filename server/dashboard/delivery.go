package dashboard

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/types/known/timestamppb"

	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/queue"
	"go.storefront.example/ent/wire"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/operator"
	"go.storefront.example/worker/signature"
)

// maxTextRunes bounds a text to look for.
const maxTextRunes = 200

// pageSize is how many entries of a journal a page shows.
const pageSize = 25

// listed is a delivery in a list; URL is its webhook's, empty when that was deleted.
type listed struct {
	*adminv1.Delivery
	URL string
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
		Types: append(hook.EventTypes(), hook.Ping), Statuses: queue.Statuses(),
	}
	search := operator.DeliverySearch{Text: body.Text}
	var err error
	for _, bound := range []struct {
		name  string
		at    *time.Time
		shown *string
	}{{"since", &search.Since, &body.Since}, {"until", &search.Until, &body.Until}} {
		if *bound.at, err = timeOf(bound.name, asked.Get(bound.name)); err != nil {
			return err
		}
		if !bound.at.IsZero() {
			*bound.shown = bound.at.Format(inputTime)
		}
	}
	body.Filtered = cmp.Or(body.Text, body.Webhook, body.Type, body.Status, body.Since, body.Until) != ""
	body.Live = body.Text == "" && body.Until == "" && !body.Later
	if utf8.RuneCountInString(body.Text) > maxTextRunes {
		return apierr.Invalid("The text is too long.", wire.Field{Name: "q", Message: "must have at most " + strconv.Itoa(maxTextRunes) + " characters"})
	}
	if body.Status != "" && !slices.Contains(body.Statuses, body.Status) {
		return apierr.Invalid("There is no such status.", wire.Field{Name: "status", Message: "must be one of " + strings.Join(body.Statuses, ", ")})
	}
	search.ListDeliveriesRequest = &adminv1.ListDeliveriesRequest{
		WebhookId: body.Webhook, EventType: body.Type, Status: adminv1.Delivery_Status(adminv1.Delivery_Status_value[body.Status]).Enum(),
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
	body.Webhooks, body.LookedBackTo = hooks.GetWebhooks(), wire.OptionalTimestamp(found.LookedBackTo)
	if token := found.GetNextPageToken(); token != "" {
		next := url.Values{"before": {token}}
		for name, value := range map[string]string{
			"q": body.Text, "webhook": body.Webhook, "type": body.Type, "status": body.Status, "since": body.Since, "until": body.Until,
		} {
			if value != "" {
				next.Set(name, value)
			}
		}
		body.Older = Path + "/deliveries?" + next.Encode()
	}
	urls := map[string]string{}
	for _, w := range body.Webhooks {
		urls[w.GetId()] = w.GetUrl()
	}
	for _, e := range found.GetDeliveries() {
		body.Deliveries = append(body.Deliveries, listed{e, urls[e.GetWebhookId()]})
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
	*adminv1.Delivery
	// Webhook is nil when it was deleted.
	Webhook *adminv1.Webhook
	// Waits reports that the next attempt is near: the page shows it by itself.
	Waits bool
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
	all, err := d.Operator.ListWebhooks(v, &adminv1.ListWebhooksRequest{})
	if err != nil {
		return err
	}
	for _, w := range all.GetWebhooks() {
		if w.GetId() == body.GetWebhookId() {
			body.Webhook = w
		}
	}
	if newest := last(body.Delivery); newest != nil {
		body.Headers = headersOf(body.Delivery, newest)
	}
	body.About, body.Payload = operator.About([]byte(body.Raw)), indented([]byte(body.Raw))
	page := view{Title: body.GetEventType(), Section: "deliveries", Template: "delivery"}
	next := body.GetNextAttemptAt()
	if body.GetStatus() == adminv1.Delivery_pending && (next == nil || next.AsTime().Sub(v.now) < soon) {
		body.Waits, page.Refresh = true, refreshSeconds
	}
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

// resendDelivery sends one event again and shows the new delivery.
func (d *dashboard) resendDelivery(v *visit) error {
	again, err := d.Operator.ResendDelivery(v, &adminv1.ResendDeliveryRequest{Id: v.r.PathValue("id")})
	if err != nil {
		return err
	}
	return v.to("/deliveries/"+again.GetId(), "resent")
}
