package dashboard

import (
	"net/http"
	"strconv"
	"time"

	"go.storefront.example/ent/queue"
	"go.storefront.example/ent/wire"
	"go.storefront.example/server/apierr"
)

// window is a choice of since when to send again.
type window struct {
	Value, Name string
	length      time.Duration
}

// windows are the choices, up to as long as events are kept (specification, Limits).
var windows = []window{
	{"1h", "The last hour", time.Hour},
	{"6h", "The last 6 hours", 6 * time.Hour},
	{"24h", "The last 24 hours", 24 * time.Hour},
	{"3d", "The last 3 days", 3 * 24 * time.Hour},
	{"7d", "The last 7 days", 7 * 24 * time.Hour},
	{"30d", "The last 30 days", 30 * 24 * time.Hour},
}

// resendTime bounds how long a form waits for what it ordered; a worker goes on with the rest.
const resendTime = 5 * time.Second

// inputTime is how a browser's field for a date and time spells one, without and with seconds.
var inputTime = []string{"2006-01-02T15:04", "2006-01-02T15:04:05"}

// resendSince sends to a webhook again what never succeeded there since a time: the one that is
// given, else the one that is chosen.
func (d *dashboard) resendSince(v *visit, id string) error {
	since, err := sinceOf(v.r, v.now)
	if err != nil {
		return err
	}
	job, err := d.Shop.ResendSince(v, id, since)
	if err != nil {
		return err
	}
	for end := d.Now().Add(resendTime); !job.Finished && !job.Elsewhere && d.Now().Before(end); {
		if job, err = d.Shop.ContinueResend(v, job); err != nil {
			return err
		}
	}
	http.Redirect(v.w, v.r, Path+"/webhooks/"+id+"?resent="+strconv.Itoa(job.Resent)+"&done="+resentState(job), http.StatusSeeOther)
	return nil
}

func sinceOf(r *http.Request, now time.Time) (time.Time, error) {
	if text := r.PostForm.Get("since"); text != "" {
		for _, form := range inputTime {
			if at, err := time.Parse(form, text); err == nil {
				return at, nil
			}
		}
		return time.Time{}, apierr.Invalid("The time cannot be read.", wire.Field{Name: "since", Message: "must be a date and time such as 2026-10-01T12:00, in UTC"})
	}
	for _, w := range windows {
		if w.Value == r.PostForm.Get("window") {
			return now.Add(-w.length), nil
		}
	}
	return time.Time{}, apierr.Invalid("Choose since when to send again.")
}

// The states of a resend as the address of the page after it spells them.
const (
	resentWhole   = "resent-whole"
	resentPart    = "resent-part"
	resentStopped = "resent-stopped"
)

func resentState(job queue.Resend) string {
	switch {
	case job.Stopped:
		return resentStopped
	case job.Finished:
		return resentWhole
	}
	return resentPart
}

// resentSaid says what a resend came to, on the page that follows its form.
func resentSaid(v *visit) string {
	asked := v.r.URL.Query()
	n, err := strconv.Atoi(asked.Get("resent"))
	if err != nil || n < 0 {
		return ""
	}
	switch asked.Get("done") {
	case resentWhole:
		if n == 0 {
			return "There was nothing to send again: everything since then has succeeded, is on its way, or is not among the webhook's events."
		}
		return plural(n, "event is", "events are") + " on the way again."
	case resentStopped:
		return "The webhook was disabled meanwhile. What was on the way again is cancelled."
	case resentPart:
		return plural(n, "event is", "events are") + " on the way again so far; the rest follows by itself."
	}
	return ""
}
