package dashboard

import (
	"fmt"
	"net/http"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"go.storefront.example/ent/apijson"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/apierr"
)

// window is a choice in the form that sends events again: all events of the last hour, for example.
type window struct {
	Value, Name string
	length      time.Duration
}

// windows are the choices that the form offers. The longest is as long as events are kept (specification, Limits).
var windows = []window{
	{"1h", "The last hour", time.Hour},
	{"6h", "The last 6 hours", 6 * time.Hour},
	{"24h", "The last 24 hours", 24 * time.Hour},
	{"3d", "The last 3 days", 3 * 24 * time.Hour},
	{"7d", "The last 7 days", 7 * 24 * time.Hour},
	{"30d", "The last 30 days", 30 * 24 * time.Hour},
}

// resendTime is how long the answer to a form waits for the resend; after that a worker continues it.
const resendTime = 5 * time.Second

// resendSince sends a webhook all events since a time again, except events that were already delivered to the webhook. The
// member types the time, or leaves the field empty and chooses one of windows.
func (d *dashboard) resendSince(v *visit, id string) error {
	var job *adminv1.Resend
	since, err := sinceOf(v.r, v.now)
	if err == nil {
		job, err = d.Operator.StartResend(v, &adminv1.StartResendRequest{WebhookId: id, Since: timestamppb.New(since)})
	}
	if err != nil {
		wrong, err := problemsOf(err, v.r.PostForm, nil)
		if err != nil {
			return err
		}
		return d.showWebhook(v, http.StatusUnprocessableEntity, form{Values: v.r.PostForm, Problems: wrong})
	}
	for end := d.Now().Add(resendTime); job.GetState() == adminv1.Resend_running && d.Now().Before(end); {
		if job, err = d.Operator.ContinueResend(v, &adminv1.ContinueResendRequest{Id: job.GetId()}); err != nil {
			return err
		}
	}
	return v.redirect("/webhooks/"+id, fmt.Sprintf("resent-%s&resent=%d", job.GetState(), job.GetResent()))
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

// sendWaiting makes the next attempts of a webhook's waiting deliveries due now.
func (d *dashboard) sendWaiting(v *visit, id string) error {
	sent, err := d.Operator.SendWaiting(v, id)
	if err != nil {
		return err
	}
	return v.redirect("/webhooks/"+id, fmt.Sprintf("sent-waiting&resent=%d", sent))
}
