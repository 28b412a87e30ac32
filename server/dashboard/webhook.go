package dashboard

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"go.storefront.example/ent/apijson"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/queue"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/webhooks"
)

// webhooksBody is the page of a store's webhooks.
type webhooksBody struct {
	Webhooks []*adminv1.Webhook
	Limit    int
}

// webhooks lists the webhooks.
func (d *dashboard) webhooks(v *visit) error {
	all, err := d.Operator.ListWebhooks(v, &adminv1.ListWebhooksRequest{})
	if err != nil {
		return err
	}
	body := webhooksBody{all.GetWebhooks(), webhooks.Max}
	d.show(v, http.StatusOK, view{Title: "Webhooks", Section: "webhooks", Template: "webhooks", Body: body})
	return nil
}

// recentDeliveries is how many deliveries a webhook's own page shows.
const recentDeliveries = 5

// webhookBody is the page of one webhook.
type webhookBody struct {
	*adminv1.Webhook
	Retries queue.Retries
	Recent  []listed
	Windows []window
	// Charts are of the last day and of the last week.
	Charts []chart
	// Resent is the result of a resend, if its form led here.
	Resent string
}

// webhook shows one webhook and what it received last.
func (d *dashboard) webhook(v *visit) error {
	w, err := d.Operator.GetWebhook(v, &adminv1.GetWebhookRequest{Id: v.r.PathValue("id")})
	if err != nil {
		return err
	}
	recent, err := d.Operator.ListDeliveries(v, &adminv1.ListDeliveriesRequest{WebhookId: w.GetId(),
		PageSize: new(int32(recentDeliveries))})
	if err != nil {
		return err
	}
	body := webhookBody{Webhook: w, Windows: windows, Resent: resentText(v)}
	tallies, err := d.Operator.Tallies(v, []string{w.GetId()}, lastWeek.since(v.now))
	if err != nil {
		return err
	}
	for _, s := range []span{lastDay, lastWeek} {
		body.Charts = append(body.Charts, s.attempts(tallies[w.GetId()], v.now), s.took(tallies[w.GetId()], v.now))
	}
	if body.Retries, err = d.Operator.Retries(v, w.GetId()); err != nil {
		return err
	}
	if body.Recent, err = d.list(v, recent.GetDeliveries(), []*adminv1.Webhook{w}); err != nil {
		return err
	}
	d.show(v, http.StatusOK, view{Title: "Webhook", Section: "webhooks", Template: "webhook", Body: body})
	return nil
}

// webhookForm is the form of a new webhook, or of one to change.
type webhookForm struct {
	// ID is empty for a new webhook.
	ID               string
	URL, Description string
	Events           []string
	Chosen           map[string]bool
	// Was has the fields as they were when the form was opened; nil for a new webhook.
	Was      map[string][]string
	Problems problems
}

func (d *dashboard) showWebhookForm(v *visit, status int, f webhookForm) error {
	title := "Add a webhook"
	if f.ID != "" {
		title = "Edit the webhook"
	}
	f.Events = hook.EventTypes()
	d.show(v, status, view{Title: title, Section: "webhooks", Template: "webhook_form", Body: f})
	return nil
}

// newWebhook shows the form of a new webhook; all events are chosen at first (specification,
// Webhook registration).
func (d *dashboard) newWebhook(v *visit) error {
	return d.showWebhookForm(v, http.StatusOK, webhookForm{Chosen: set(hook.EventTypes())})
}

// editWebhook shows the form of a webhook to change.
func (d *dashboard) editWebhook(v *visit) error {
	w, err := d.Operator.GetWebhook(v, &adminv1.GetWebhookRequest{Id: v.r.PathValue("id")})
	if err != nil {
		return err
	}
	return d.showWebhookForm(v, http.StatusOK, webhookForm{ID: w.GetId(), URL: w.GetUrl(), Description: w.GetDescription(),
		Chosen: set(w.GetEvents()), Was: editable(w)})
}

// createWebhook registers a webhook and shows its secret, this once. The same form again registers no
// second one.
func (d *dashboard) createWebhook(v *visit) error {
	once, err := onceKey(v)
	if err != nil {
		return err
	}
	form := v.r.PostForm
	if len(form["events"]) == 0 {
		// webhooks.Draft takes no events for all events, but a reader who unticked all boxes means none.
		return d.webhookRefused(v, "", nil, noEvents())
	}
	made, err := d.Operator.CreateWebhook(v, &adminv1.CreateWebhookRequest{
		Url: form.Get("url"), Description: form.Get("description"), Events: form["events"], IdempotencyKey: once,
	})
	if isRepeated(err) {
		return d.showRepeated(v, "This webhook was registered already", "webhooks", repeated{
			Text: []string{
				"You sent the same form twice. It registered one webhook, whose signing secret was shown the first time and cannot be " +
					"shown again.",
				"If you did not copy it, open the webhook and make a new secret.",
			},
			To: "/webhooks", Button: "To the webhooks",
		})
	}
	if err != nil {
		return d.webhookRefused(v, "", nil, err)
	}
	d.showSecret(v, "Your webhook is registered", made)
	return nil
}

// editable has the fields of a webhook that its form changes, by name.
func editable(w *adminv1.Webhook) map[string][]string {
	return map[string][]string{"url": {w.GetUrl()}, "description": {w.GetDescription()}, "events": w.GetEvents()}
}

// updateWebhook changes those fields of a webhook that the reader has changed in the form. If somebody else has
// changed one of them since the form was opened, the form comes again and says so.
func (d *dashboard) updateWebhook(v *visit) error {
	form, id := v.r.PostForm, v.r.PathValue("id")
	now, err := d.Operator.GetWebhook(v, &adminv1.GetWebhookRequest{Id: id})
	if err != nil {
		return err
	}
	mask, was, meanwhile := &fieldmaskpb.FieldMask{}, map[string][]string{}, problems{}
	for name, is := range editable(now) {
		was[name] = form["was_"+name]
		switch typed := form[name]; {
		case slices.Equal(typed, is), was[name] != nil && slices.Equal(typed, was[name]): // it stays, whatever it is now
		case was[name] == nil, slices.Equal(was[name], is):
			mask.Paths = append(mask.Paths, name)
		default:
			was[name] = is
			meanwhile[name] = fmt.Sprintf("Somebody else has changed this to “%s” meanwhile. If you save again, yours replaces it.",
				strings.Join(is, ", "))
		}
	}
	if len(meanwhile) > 0 {
		return d.webhookAgain(v, http.StatusConflict, id, was, meanwhile)
	}
	_, err = d.Operator.UpdateWebhook(v, &adminv1.UpdateWebhookRequest{
		Id: id, Url: new(form.Get("url")), Description: new(form.Get("description")), Events: form["events"], UpdateMask: mask,
	})
	if err != nil {
		return d.webhookRefused(v, id, was, err)
	}
	return v.to("/webhooks/"+id, "webhook-saved")
}

// webhookRefused shows the form again with what is wrong.
func (d *dashboard) webhookRefused(v *visit, id string, was map[string][]string, err error) error {
	wrong, err := problemsOf(err, map[apierr.Code]string{
		apierr.WebhookURLInvalid: "url", apierr.WebhookLimit: "", apierr.SecretKeyMissing: "",
	})
	if err != nil {
		return err
	}
	if wrong["events"] != "" && len(v.r.PostForm["events"]) == 0 {
		wrong["events"] = "Choose at least one."
	}
	return d.webhookAgain(v, http.StatusUnprocessableEntity, id, was, wrong)
}

// webhookAgain shows the form with what was typed.
func (d *dashboard) webhookAgain(v *visit, status int, id string, was map[string][]string, wrong problems) error {
	form := v.r.PostForm
	return d.showWebhookForm(v, status, webhookForm{
		ID: id, URL: form.Get("url"), Description: form.Get("description"), Chosen: set(form["events"]), Was: was, Problems: wrong,
	})
}

func noEvents() error {
	return apierr.Invalid("Choose at least one event.", apijson.Field{Name: "events", Message: "choose at least one"})
}

// withSecret is the answer of a method that makes a webhook's secret.
type withSecret interface {
	GetWebhook() *adminv1.Webhook
	GetSecret() string
}

func (d *dashboard) showSecret(v *visit, title string, made withSecret) {
	d.show(v, http.StatusOK, view{Title: title, Section: "webhooks", Template: "webhook_secret", Body: made})
}

// askWebhook asks before a webhook is disabled or deleted, or its secret made anew.
func (d *dashboard) askWebhook(v *visit) error {
	q, known := map[string]question{
		"disable": {Button: "Disable webhook", Text: []string{
			"It receives nothing until you enable it again. Deliveries that wait are cancelled; you can send their events again later, " +
				"for 30 days.",
		}},
		"delete": {Button: "Delete webhook", Grave: true, Text: []string{
			"It receives nothing from now on, and what waits for it is cancelled. This cannot be undone.",
			"Its deliveries stay in the journal for 30 days.",
		}},
		"rotate": {Button: "Make a new secret", Grave: true, Text: []string{
			"The old secret stops signing at once, including deliveries that are waiting. Until your server has the new one, it " +
				"refuses deliveries; failed ones are retried.",
		}},
	}[v.r.PathValue("ask")]
	if !known {
		return noPage()
	}
	w, err := d.Operator.GetWebhook(v, &adminv1.GetWebhookRequest{Id: v.r.PathValue("id")})
	if err != nil {
		return err
	}
	title := map[string]string{
		"disable": "Disable this webhook?", "delete": "Delete this webhook?", "rotate": "Make a new signing secret?",
	}[v.r.PathValue("ask")]
	q.What, q.Back = w.GetUrl(), "/webhooks/"+w.GetId()
	q.Action = q.Back + "/" + v.r.PathValue("ask")
	return d.ask(v, title, "webhooks", q)
}

// moveWebhook carries out what a button of a webhook's page asks for.
func (d *dashboard) moveWebhook(v *visit) error {
	id := v.r.PathValue("id")
	switch v.r.PathValue("move") {
	case "enable":
		if _, err := d.Operator.EnableWebhook(v, &adminv1.EnableWebhookRequest{Id: id}); err != nil {
			return err
		}
		return v.to("/webhooks/"+id, "webhook-enabled")
	case "disable":
		if _, err := d.Operator.DisableWebhook(v, &adminv1.DisableWebhookRequest{Id: id}); err != nil {
			return err
		}
		return v.to("/webhooks/"+id, "webhook-disabled")
	case "delete":
		if _, err := d.Operator.DeleteWebhook(v, &adminv1.DeleteWebhookRequest{Id: id}); err != nil {
			return err
		}
		return v.to("/webhooks", "webhook-deleted")
	case "rotate":
		return d.rotateSecret(v, id)
	case "ping":
		e, err := d.Operator.PingWebhook(v, &adminv1.PingWebhookRequest{Id: id})
		if err != nil {
			return err
		}
		return v.to("/deliveries/"+e.GetId(), "")
	case "resend":
		return d.resendSince(v, id)
	case "send-waiting":
		return d.sendWaiting(v, id)
	}
	return noPage()
}

// rotateSecret makes a new signing secret and shows it once. The same form again makes no other: the
// reader may have deployed this one meanwhile.
func (d *dashboard) rotateSecret(v *visit, id string) error {
	once, err := onceKey(v)
	if err != nil {
		return err
	}
	made, err := d.Operator.RotateSecret(v, &adminv1.RotateSecretRequest{Id: id, IdempotencyKey: once})
	if isRepeated(err) {
		return d.showRepeated(v, "The new secret was made already", "webhooks", repeated{
			Text: []string{
				"You sent the same form twice. It made one new secret, which was shown the first time and cannot be shown again.",
				"If you did not copy it, make another one.",
			},
			To: "/webhooks/" + id, Button: "To the webhook",
		})
	}
	if err != nil {
		return err
	}
	d.showSecret(v, "Your new signing secret", made)
	return nil
}
