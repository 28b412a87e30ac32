package dashboard

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/queue"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/webhooks"
)

type webhooksBody struct {
	Webhooks []*adminv1.Webhook
	Limit    int
}

func (b webhooksBody) Full() bool { return len(b.Webhooks) >= b.Limit }

func (d *dashboard) webhooks(v *visit) error {
	all, err := d.Operator.ListWebhooks(v, &adminv1.ListWebhooksRequest{})
	if err != nil {
		return err
	}
	body := webhooksBody{all.GetWebhooks(), webhooks.Max}
	return d.page(v, view{Title: "Webhooks", Section: "webhooks", Template: "webhooks", Body: body})
}

const recentDeliveries = 5

type webhookBody struct {
	*adminv1.Webhook
	Retries queue.Retries
	Recent  []deliveryRow
	// Charts show the last day and the last week.
	Charts []chart
	// Resend is the form that sends undelivered events again.
	Resend form
}

func (d *dashboard) webhook(v *visit) error {
	return d.showWebhook(v, http.StatusOK, form{Values: url.Values{"window": {"24h"}}})
}

func (d *dashboard) showWebhook(v *visit, status int, resend form) error {
	w, err := d.Operator.GetWebhook(v, &adminv1.GetWebhookRequest{Id: v.r.PathValue("id")})
	if err != nil {
		return err
	}
	recent, err := d.Operator.ListDeliveries(v, &adminv1.ListDeliveriesRequest{WebhookId: w.GetId(),
		PageSize: new(int32(recentDeliveries))})
	if err != nil {
		return err
	}
	body := webhookBody{Webhook: w, Resend: resend}
	tallies, err := d.Operator.Tallies(v, []string{w.GetId()}, lastWeek.start(v.now))
	if err != nil {
		return err
	}
	for _, s := range []span{lastDay, lastWeek} {
		body.Charts = append(body.Charts, s.attempts(tallies[w.GetId()], v.now), s.durations(tallies[w.GetId()], v.now))
	}
	if body.Retries, err = d.Operator.Retries(v, w.GetId()); err != nil {
		return err
	}
	if body.Recent, err = d.list(v, recent.GetDeliveries(), []*adminv1.Webhook{w}); err != nil {
		return err
	}
	d.show(v, status, view{Title: "Webhook", Section: "webhooks", Template: "webhook", Body: body})
	return nil
}

func (d *dashboard) showWebhookForm(v *visit, status int, f form) error {
	title := "Add a webhook"
	if f.ID != "" {
		title = "Edit the webhook"
	}
	f.Choices = hook.EventTypes()
	d.show(v, status, view{Title: title, Section: "webhooks", Template: "webhook_form", Body: f})
	return nil
}

// newWebhook offers a form with all events chosen (specification, Webhook registration).
func (d *dashboard) newWebhook(v *visit) error {
	all, err := d.Operator.ListWebhooks(v, &adminv1.ListWebhooksRequest{})
	if err != nil {
		return err
	}
	if len(all.GetWebhooks()) >= webhooks.Max {
		return d.webhooks(v) // the list of webhooks, which says to delete a webhook before creating another
	}
	return d.showWebhookForm(v, http.StatusOK, form{Values: url.Values{"events": hook.EventTypes()}})
}

func (d *dashboard) editWebhook(v *visit) error {
	w, err := d.Operator.GetWebhook(v, &adminv1.GetWebhookRequest{Id: v.r.PathValue("id")})
	if err != nil {
		return err
	}
	return d.showWebhookForm(v, http.StatusOK, form{ID: w.GetId(), Values: formValues(w), Was: formValues(w)})
}

// createWebhook shows the secret once, in the answer to the form. The same form creates no second webhook.
func (d *dashboard) createWebhook(v *visit) error {
	key, err := idempotencyKey(v)
	if err != nil {
		return err
	}
	sent := v.r.PostForm
	if len(sent["events"]) == 0 {
		// The API takes an empty list as all events, which a member who unticks all boxes does not mean.
		return d.showWebhookForm(v, http.StatusUnprocessableEntity, form{Values: sent, Problems: fieldProblems{"events": chooseOne}})
	}
	created, err := d.Operator.CreateWebhook(v, &adminv1.CreateWebhookRequest{
		Url: sent.Get("url"), Description: sent.Get("description"), Events: sent["events"], IdempotencyKey: key,
	})
	if isRepeated(err) {
		return d.showRepeated(v, "This webhook was registered already", "webhooks", repeatedForm{"webhook", "/webhooks"})
	}
	if err != nil {
		return d.webhookRefused(v, "", nil, err)
	}
	return d.showSecret(v, "Your webhook is registered", created)
}

func formValues(w *adminv1.Webhook) url.Values {
	return url.Values{"url": {w.GetUrl()}, "description": {w.GetDescription()}, "events": w.GetEvents()}
}

// updateWebhook saves the changed fields, or none if another member has changed one since the form was opened.
func (d *dashboard) updateWebhook(v *visit) error {
	sent, id := v.r.PostForm, v.r.PathValue("id")
	current, err := d.Operator.GetWebhook(v, &adminv1.GetWebhookRequest{Id: id})
	if err != nil {
		return err
	}
	mask, original, meanwhile := &fieldmaskpb.FieldMask{}, url.Values{}, fieldProblems{}
	for name, stored := range formValues(current) {
		original[name] = sent["was_"+name]
		switch typed := sent[name]; {
		case slices.Equal(typed, stored), original[name] != nil && slices.Equal(typed, original[name]):
		case original[name] == nil, slices.Equal(original[name], stored):
			mask.Paths = append(mask.Paths, name)
		default:
			original[name] = stored
			meanwhile[name] = fmt.Sprintf("Somebody else has changed this to “%s” meanwhile. If you save again, yours replaces it.",
				strings.Join(stored, ", "))
		}
	}
	if len(meanwhile) > 0 {
		return d.showWebhookForm(v, http.StatusConflict, form{ID: id, Values: sent, Was: original, Problems: meanwhile})
	}
	_, err = d.Operator.UpdateWebhook(v, &adminv1.UpdateWebhookRequest{
		Id: id, Url: new(sent.Get("url")), Description: new(sent.Get("description")), Events: sent["events"], UpdateMask: mask,
	})
	if err != nil {
		return d.webhookRefused(v, id, original, err)
	}
	return v.redirect("/webhooks/"+id, "webhook-saved")
}

func (d *dashboard) webhookRefused(v *visit, id string, original url.Values, err error) error {
	wrong, err := problemsOf(err, v.r.PostForm, map[apierr.Code]string{
		apierr.WebhookURLInvalid: "url", apierr.WebhookLimit: "", apierr.SecretKeyMissing: "",
	})
	if err != nil {
		return err
	}
	return d.showWebhookForm(v, http.StatusUnprocessableEntity, form{ID: id, Values: v.r.PostForm, Was: original, Problems: wrong})
}

type secretResponse interface {
	GetWebhook() *adminv1.Webhook
	GetSecret() string
}

func (d *dashboard) showSecret(v *visit, title string, response secretResponse) error {
	return d.page(v, view{Title: title, Section: "webhooks", Template: "webhook_secret", Body: response})
}

func (d *dashboard) askWebhook(v *visit) error {
	action := v.r.PathValue("ask")
	title, ok := map[string]string{
		"disable": "Disable this webhook?", "delete": "Delete this webhook?", "rotate": "Make a new signing secret?",
	}[action]
	if !ok {
		return noPage()
	}
	w, err := d.Operator.GetWebhook(v, &adminv1.GetWebhookRequest{Id: v.r.PathValue("id")})
	if err != nil {
		return err
	}
	return d.ask(v, title, "webhooks", action, w.GetUrl(), "/webhooks/"+w.GetId())
}

func (d *dashboard) webhookAction(v *visit) error {
	id := v.r.PathValue("id")
	switch v.r.PathValue("move") {
	case "enable":
		if _, err := d.Operator.EnableWebhook(v, &adminv1.EnableWebhookRequest{Id: id}); err != nil {
			return err
		}
		return v.redirect("/webhooks/"+id, "webhook-enabled")
	case "disable":
		if _, err := d.Operator.DisableWebhook(v, &adminv1.DisableWebhookRequest{Id: id}); err != nil {
			return err
		}
		return v.redirect("/webhooks/"+id, "webhook-disabled")
	case "delete":
		if _, err := d.Operator.DeleteWebhook(v, &adminv1.DeleteWebhookRequest{Id: id}); err != nil {
			return err
		}
		return v.redirect("/webhooks", "webhook-deleted")
	case "rotate":
		return d.rotateSecret(v, id)
	case "ping":
		e, err := d.Operator.PingWebhook(v, &adminv1.PingWebhookRequest{Id: id})
		if err != nil {
			return err
		}
		return v.redirect("/deliveries/"+e.GetId(), "")
	case "resend":
		return d.resendSince(v, id)
	case "send-waiting":
		return d.sendWaiting(v, id)
	}
	return noPage()
}

// rotateSecret shows the new secret once. The same form keeps it, because the member may already use it.
func (d *dashboard) rotateSecret(v *visit, id string) error {
	key, err := idempotencyKey(v)
	if err != nil {
		return err
	}
	rotated, err := d.Operator.RotateSecret(v, &adminv1.RotateSecretRequest{Id: id, IdempotencyKey: key})
	if isRepeated(err) {
		return d.showRepeated(v, "The new secret was made already", "webhooks", repeatedForm{"secret", "/webhooks/" + id})
	}
	if err != nil {
		return err
	}
	return d.showSecret(v, "Your new signing secret", rotated)
}
