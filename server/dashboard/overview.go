package dashboard

import (
	"net/url"
	"slices"
	"time"

	"go.storefront.example/ent/queue"
	"go.storefront.example/ent/usage"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
)

// expirySoon is how long before and after its expiry the overview shows a key.
const expirySoon = 14 * 24 * time.Hour

type health struct {
	*adminv1.Webhook
	Retries queue.Retries
	Day     usage.Tally
}

func (h health) Share() string { return shareOf(h.Day) }

func (h health) Total() int64 { return h.Day.Succeeded + h.Day.Failed }

type refusals struct {
	*adminv1.Key
	Count int64
}

type overviewBody struct {
	Webhooks []health
	// Failing are webhooks that fail, or were disabled for it. Expiring are active keys that expire within expirySoon; Expired
	// did so within it, unless an active key has the same name. Unused are active keys that were never used. Refused have
	// refused requests today or yesterday.
	Failing                   []health
	Expiring, Expired, Unused []*adminv1.Key
	Refused                   []refusals
	HasKeys                   bool
	Day                       chart
	// DayDeliveries is the address of the last day's deliveries.
	DayDeliveries string
	API           string
}

// Calm is true if nothing needs attention.
func (b overviewBody) Calm() bool {
	return len(b.Failing)+len(b.Expiring)+len(b.Expired)+len(b.Unused)+len(b.Refused) == 0
}

func (d *dashboard) overview(v *visit) error {
	all, err := d.Operator.ListWebhooks(v, &adminv1.ListWebhooksRequest{})
	if err != nil {
		return err
	}
	keys, ended, err := d.Operator.RecentKeys(v)
	if err != nil {
		return err
	}
	ids := append(idsOf(all.GetWebhooks(), (*adminv1.Webhook).GetId), idsOf(keys, (*adminv1.Key).GetId)...)
	yesterday := v.now.UTC().Truncate(usage.Day).Add(-usage.Day)
	tallies, err := d.Operator.Tallies(v, ids, yesterday)
	if err != nil {
		return err
	}
	body := overviewBody{
		HasKeys: len(keys) > 0, API: d.API,
		DayDeliveries: Path + "/deliveries?" + url.Values{"since": {v.now.Add(-24 * time.Hour).UTC().Format(time.RFC3339)}}.Encode(),
	}
	var day []usage.Tally
	for _, w := range all.GetWebhooks() {
		h := health{Webhook: w}
		if h.Retries, err = d.Operator.Retries(v, w.GetId()); err != nil {
			return err
		}
		_, h.Day = lastDay.counts(tallies[w.GetId()], v.now)
		day = append(day, tallies[w.GetId()]...)
		body.Webhooks = append(body.Webhooks, h)
		if w.GetState() == adminv1.Webhook_failing || w.GetDisabledAutomatically() {
			body.Failing = append(body.Failing, h)
		}
	}
	body.Day = lastDay.attempts(day, v.now)
	for _, k := range ended {
		succeeded := slices.ContainsFunc(keys, func(other *adminv1.Key) bool { return other.GetName() == k.GetName() })
		if k.GetStatus() == adminv1.Key_expired && v.now.Sub(k.GetExpiresAt().AsTime()) < expirySoon && !succeeded {
			body.Expired = append(body.Expired, k)
		}
	}
	for _, k := range keys {
		if at := k.GetExpiresAt(); at != nil && at.AsTime().Sub(v.now) < expirySoon {
			body.Expiring = append(body.Expiring, k)
		}
		if k.GetLastUsedAt() == nil {
			body.Unused = append(body.Unused, k)
		}
		refused := refusals{Key: k}
		for _, t := range tallies[k.GetId()] {
			refused.Count += t.Failed
		}
		if refused.Count > 0 {
			body.Refused = append(body.Refused, refused)
		}
	}
	return d.page(v, view{Title: "Overview", Section: "overview", Template: "overview", Body: body})
}
