package dashboard

import (
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"go.storefront.example/ent/usage"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
)

// requestDays includes today.
const requestDays = 7

type keyDays struct {
	*adminv1.Key
	// Days has the order of requestsBody.Days.
	Days []keyDay
}

type keyDay struct{ Succeeded, Refused int64 }

type refusedRequest struct {
	usage.Refused
	At *timestamppb.Timestamp
}

type requestsBody struct {
	Days []time.Time
	Keys []keyDays
	// Key is the one whose refused requests are listed; nil if the store has no key.
	Key     *adminv1.Key
	Refused []refusedRequest
	// Most is how many refused requests are stored for each key.
	Most int
}

func (d *dashboard) requests(v *visit) error {
	active, ended, err := d.Operator.RecentKeys(v)
	if err != nil {
		return err
	}
	keys, keyID := append(active, ended...), strings.ToLower(v.r.URL.Query().Get("key"))
	if keyID != "" && !slices.ContainsFunc(keys, func(k *adminv1.Key) bool { return k.GetId() == keyID }) {
		k, err := d.Operator.GetKey(v, &adminv1.GetKeyRequest{Id: keyID})
		if err != nil {
			return err
		}
		keys = append(keys, k)
	}
	first := v.now.UTC().Truncate(usage.Day).AddDate(0, 0, 1-requestDays)
	body := requestsBody{Most: usage.MaxRefusedPerKey}
	for i := range requestDays {
		body.Days = append(body.Days, first.AddDate(0, 0, i))
	}
	tallies, err := d.Operator.Tallies(v, idsOf(keys, (*adminv1.Key).GetId), first)
	if err != nil {
		return err
	}
	for _, k := range keys {
		days := keyDays{k, make([]keyDay, requestDays)}
		for _, t := range tallies[k.GetId()] {
			if i := int(t.BeganAt.Sub(first) / usage.Day); i < requestDays {
				days.Days[i] = keyDay{t.Succeeded, t.Failed}
			}
		}
		if k.GetStatus() == adminv1.Key_active || len(tallies[k.GetId()]) > 0 || keyID == k.GetId() {
			body.Keys = append(body.Keys, days)
		}
		if keyID == k.GetId() {
			body.Key = k
		}
	}
	if body.Key == nil && len(body.Keys) > 0 {
		body.Key = maxRefused(body.Keys)
	}
	if body.Key != nil {
		refused, err := d.Operator.RefusedRequests(v, body.Key.GetId())
		if err != nil {
			return err
		}
		for _, r := range refused {
			body.Refused = append(body.Refused, refusedRequest{r, timestamppb.New(r.At)})
		}
	}
	return d.page(v, view{Title: "Requests", Section: "requests", Template: "requests", Body: body})
}

func maxRefused(keys []keyDays) *adminv1.Key {
	most, found := int64(-1), keys[0].Key
	for _, k := range keys {
		sum := int64(0)
		for _, day := range k.Days {
			sum += day.Refused
		}
		if sum > most {
			most, found = sum, k.Key
		}
	}
	return found
}
