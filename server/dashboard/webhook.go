package dashboard

import (
	"net/http"

	"go.storefront.example/ent/wire"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/service"
)

// webhooksBody is the page of a store's webhooks.
type webhooksBody struct {
	Webhooks []service.Webhook
	Limit    int
}

// webhooks lists the webhooks.
func (d *dashboard) webhooks(v *visit) error {
	all, err := d.Shop.ListWebhooks(v, service.MaxWebhooks)
	if err != nil {
		return err
	}
	d.show(v, http.StatusOK, view{
		Title: "Webhooks", Section: "webhooks", Template: "webhooks", Body: webhooksBody{all, service.MaxWebhooks},
	})
	return nil
}

// recentDeliveries is how many deliveries a webhook's own page shows.
const recentDeliveries = 5

// webhookBody is the page of one webhook.
type webhookBody struct {
	service.Webhook
	Recent  []listed
	Windows []window
	// Resent is what sending again came to, if that is what led here.
	Resent string
}

// webhook shows one webhook and what it received last.
func (d *dashboard) webhook(v *visit) error {
	w, err := d.Shop.GetWebhook(v, v.r.PathValue("id"))
	if err != nil {
		return err
	}
	recent, err := d.Shop.ListDeliveries(v, service.DeliverySearch{WebhookID: w.ID.String(), Limit: recentDeliveries})
	if err != nil {
		return err
	}
	body := webhookBody{Webhook: w, Windows: windows, Resent: resentSaid(v)}
	for _, e := range recent {
		body.Recent = append(body.Recent, listed{e, w.URL})
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
	Problems         problems
}

func (d *dashboard) showWebhookForm(v *visit, status int, f webhookForm) error {
	title := "Add a webhook"
	if f.ID != "" {
		title = "Edit the webhook"
	}
	f.Events = service.EventTypes()
	d.show(v, status, view{Title: title, Section: "webhooks", Template: "webhook_form", Body: f})
	return nil
}

// newWebhook shows the form of a new webhook; all events are chosen at first (specification,
// Webhook registration).
func (d *dashboard) newWebhook(v *visit) error {
	return d.showWebhookForm(v, http.StatusOK, webhookForm{Chosen: set(service.EventTypes())})
}

// editWebhook shows the form of a webhook to change.
func (d *dashboard) editWebhook(v *visit) error {
	w, err := d.Shop.GetWebhook(v, v.r.PathValue("id"))
	if err != nil {
		return err
	}
	return d.showWebhookForm(v, http.StatusOK, webhookForm{ID: w.ID.String(), URL: w.URL, Description: w.Description, Chosen: set(w.Events)})
}

// createWebhook registers a webhook and shows its secret, this once. The same form again registers no
// second one.
func (d *dashboard) createWebhook(v *visit) error {
	ctx, err := carriedOutOnce(v)
	if err != nil {
		return err
	}
	form := v.r.PostForm
	if len(form["events"]) == 0 {
		// The rules take no choice for all, and a reader who unticked all of them meant none.
		return d.webhookRefused(v, "", noEvents())
	}
	w, err := d.Shop.CreateWebhook(ctx, service.WebhookDraft{URL: form.Get("url"), Description: form.Get("description"), Events: form["events"]})
	if isRepeated(err) {
		return d.showRepeated(v, "This webhook was registered already", "webhooks", repeated{
			Text: []string{
				"You sent the same form twice. It registered one webhook, whose signing secret was shown the first time and cannot be shown again.",
				"If you did not copy it, open the webhook and make a new secret.",
			},
			To: "/webhooks", Button: "To the webhooks",
		})
	}
	if err != nil {
		return d.webhookRefused(v, "", err)
	}
	d.showSecret(v, "Your webhook is registered", w)
	return nil
}

// updateWebhook changes a webhook.
func (d *dashboard) updateWebhook(v *visit) error {
	form, id := v.r.PostForm, v.r.PathValue("id")
	url, description := form.Get("url"), form.Get("description")
	_, err := d.Shop.UpdateWebhook(v, id, service.WebhookChange{URL: &url, Description: &description, Events: append([]string{}, form["events"]...)})
	if err != nil {
		return d.webhookRefused(v, id, err)
	}
	return v.to("/webhooks/"+id, "webhook-saved")
}

// webhookRefused shows the form again with what is wrong.
func (d *dashboard) webhookRefused(v *visit, id string, err error) error {
	wrong, err := problemsOf(err, map[apierr.Code]string{
		apierr.WebhookURLInvalid: "url", apierr.WebhookLimit: "", apierr.SecretKeyMissing: "",
	})
	if err != nil {
		return err
	}
	form := v.r.PostForm
	if wrong["events"] != "" && len(form["events"]) == 0 {
		wrong["events"] = "Choose at least one."
	}
	return d.showWebhookForm(v, http.StatusUnprocessableEntity, webhookForm{
		ID: id, URL: form.Get("url"), Description: form.Get("description"), Chosen: set(form["events"]), Problems: wrong,
	})
}

func noEvents() error {
	return apierr.Invalid("Choose at least one event.", wire.Field{Name: "events", Message: "choose at least one"})
}

// secretBody is a webhook right after its secret was made.
type secretBody struct{ service.Webhook }

func (d *dashboard) showSecret(v *visit, title string, w service.Webhook) {
	d.show(v, http.StatusOK, view{Title: title, Section: "webhooks", Template: "webhook_secret", Body: secretBody{w}})
}

// askWebhook asks before a webhook is disabled or deleted, or its secret made anew.
func (d *dashboard) askWebhook(v *visit) error {
	q, known := map[string]question{
		"disable": {Button: "Disable webhook", Text: []string{
			"It receives nothing until you enable it again. Deliveries that wait are cancelled; you can send their events again later, for 30 days.",
		}},
		"delete": {Button: "Delete webhook", Grave: true, Text: []string{
			"It receives nothing from now on, and what waits for it is cancelled. This cannot be undone.",
			"Its deliveries stay in the journal for 30 days.",
		}},
		"rotate": {Button: "Make a new secret", Grave: true, Text: []string{
			"The old secret stops signing at once, also in deliveries that wait. Until your server knows the new one, it refuses what it gets; failed deliveries are tried again.",
		}},
	}[v.r.PathValue("ask")]
	if !known {
		return noPage()
	}
	w, err := d.Shop.GetWebhook(v, v.r.PathValue("id"))
	if err != nil {
		return err
	}
	title := map[string]string{
		"disable": "Disable this webhook?", "delete": "Delete this webhook?", "rotate": "Make a new signing secret?",
	}[v.r.PathValue("ask")]
	q.What, q.Back = w.URL, "/webhooks/"+w.ID.String()
	q.Action = q.Back + "/" + v.r.PathValue("ask")
	return d.ask(v, title, "webhooks", q)
}

// moveWebhook carries out what a button of a webhook's page asks for.
func (d *dashboard) moveWebhook(v *visit) error {
	id := v.r.PathValue("id")
	switch v.r.PathValue("move") {
	case "enable":
		if _, err := d.Shop.EnableWebhook(v, id); err != nil {
			return err
		}
		return v.to("/webhooks/"+id, "webhook-enabled")
	case "disable":
		if _, err := d.Shop.DisableWebhook(v, id); err != nil {
			return err
		}
		return v.to("/webhooks/"+id, "webhook-disabled")
	case "delete":
		if _, err := d.Shop.DeleteWebhook(v, id); err != nil {
			return err
		}
		return v.to("/webhooks", "webhook-deleted")
	case "rotate":
		return d.rotateSecret(v, id)
	case "ping":
		e, err := d.Shop.PingWebhook(v, id)
		if err != nil {
			return err
		}
		return v.to("/deliveries/"+e.ID.String(), "")
	case "resend":
		return d.resendSince(v, id)
	}
	return noPage()
}

// rotateSecret makes a new signing secret and shows it, this once. The same form again leaves that
// secret as it is: the reader may have deployed it meanwhile.
func (d *dashboard) rotateSecret(v *visit, id string) error {
	ctx, err := carriedOutOnce(v)
	if err != nil {
		return err
	}
	w, err := d.Shop.RotateSecret(ctx, id)
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
	d.showSecret(v, "Your new signing secret", w)
	return nil
}
