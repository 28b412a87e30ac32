package dashboard

import (
	"fmt"
	"net/http"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"go.storefront.example/ent/apijson"
	"go.storefront.example/ent/queue"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/apierr"
)

type window struct {
	Value, Name string
	length      time.Duration
}

// windows end at how long events are kept (specification, Limits).
var windows = []window{
	{"1h", "The last hour", time.Hour},
	{"6h", "The last 6 hours", 6 * time.Hour},
	{"24h", "The last 24 hours", 24 * time.Hour},
	{"3d", "The last 3 days", 3 * 24 * time.Hour},
	{"7d", "The last 7 days", 7 * 24 * time.Hour},
	{"30d", "The last 30 days", 30 * 24 * time.Hour},
}

// resendTime is how long an answer waits for the resend; a worker continues it.
const resendTime = 5 * time.Second

// resendSince sends the events that the webhook did not get since a time, typed or chosen from windows.
func (d *dashboard) resendSince(v *visit, id string) error {
	var job *adminv1.Resend
	confirmed := v.r.PostForm.Has("confirmed")
	since, err := sinceOf(v.r, v.now)
	if err == nil {
		in := &adminv1.StartResendRequest{WebhookId: id, Since: timestamppb.New(since), DryRun: !confirmed}
		if job, err = d.Operator.StartResend(v, in); err == nil && !confirmed && job.GetEvents() == 0 {
			in.DryRun = false // nothing to ask about, but the member is told how it ended
			job, err = d.Operator.StartResend(v, in)
		}
	}
	if err != nil {
		wrong, err := problemsOf(err, v.r.PostForm, nil)
		if err != nil {
			return err
		}
		return d.showWebhook(v, http.StatusUnprocessableEntity, form{Values: v.r.PostForm, Problems: wrong})
	}
	if job.GetId() == "" {
		return d.askResend(v, job)
	}
	for end := d.Now().Add(resendTime); job.GetState() == adminv1.Resend_running && d.Now().Before(end); {
		if job, err = d.Operator.ContinueResend(v, &adminv1.ContinueResendRequest{Id: job.GetId()}); err != nil {
			return err
		}
	}
	return v.redirect("/webhooks/"+id, fmt.Sprintf("resent-%s&resent=%d", job.GetState(), job.GetResent()))
}

func (d *dashboard) askResend(v *visit, counted *adminv1.Resend) error {
	w, err := d.Operator.GetWebhook(v, &adminv1.GetWebhookRequest{Id: counted.GetWebhookId()})
	if err != nil {
		return err
	}
	return d.page(v, view{Title: "Send these events again?", Section: "webhooks", Template: "ask", Body: question{
		About: "resend", What: w.GetUrl(), Action: v.r.URL.Path, Back: "/webhooks/" + w.GetId(),
		Resend: &undelivered{Resend: counted, Created: w.GetCreatedAt(), Typed: counted.GetSince().AsTime().Format(inputTime)},
	}})
}

type undelivered struct {
	*adminv1.Resend
	// Created is when the webhook was created, and Typed is Since as the form has it.
	Created *timestamppb.Timestamp
	Typed   string
}

func (u undelivered) Count() string {
	if u.GetEvents() > queue.MaxUndelivered {
		return "More than " + grouped(queue.MaxUndelivered) + " events"
	}
	return plural(int(u.GetEvents()), "event", "events")
}

// Older says how many of the events are older than the webhook, or "".
func (u undelivered) Older() string {
	if u.EventsBeforeWebhook == 0 {
		return ""
	}
	return grouped(int64(u.EventsBeforeWebhook))
}

func sinceOf(r *http.Request, now time.Time) (time.Time, error) {
	if text := r.PostForm.Get("since"); text != "" {
		return timeOf("since", text)
	}
	for _, w := range windows {
		if w.Value == r.PostForm.Get("window") {
			return now.Add(-w.length), nil
		}
	}
	return time.Time{}, apierr.Invalid("Choose since when to send again.", apijson.Field{Name: "window", Message: "must be one of the choices"})
}

func (d *dashboard) sendWaiting(v *visit, id string) error {
	sent, err := d.Operator.SendWaiting(v, id)
	if err != nil {
		return err
	}
	return v.redirect("/webhooks/"+id, fmt.Sprintf("sent-waiting&resent=%d", sent))
}
