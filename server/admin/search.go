package admin

import (
	"context"
	"time"

	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/webhooks"
)

// DeliverySearch is what ListDeliveries can look for, and more that only the dashboard asks for.
type DeliverySearch struct {
	*adminv1.ListDeliveriesRequest
	// Text is the id of an event or of a delivery, or a part of an event's payload; empty means all.
	Text string
	// Since and Until are the times from which on, and before which, deliveries were made or, with a text,
	// events happened; zero means any.
	Since, Until time.Time
}

// FoundDeliveries is a page of what a search found.
type FoundDeliveries struct {
	*adminv1.ListDeliveriesResponse
	// LookedBackTo is the time of the oldest event whose payload was searched; nil if none was. If there
	// is a next page, earlier events may match too.
	LookedBackTo *time.Time
}

// SearchDeliveries returns a page of the deliveries that match. With a text, the page has the deliveries of
// the next events that contain it. One call searches a bounded number of events, so a page may be empty
// although there is a next one. It refuses as ListDeliveries does.
func (o *Operator) SearchDeliveries(ctx context.Context, in DeliverySearch) (*FoundDeliveries, error) {
	var f fields
	f.known("status", in.GetStatus())
	// The id of the last delivery is enough to continue: the journal is sorted by it.
	p := f.page(in.PageSize, "")
	search := webhooks.Search{
		WebhookID: in.GetWebhookId(), EventType: in.GetEventType(), Text: in.Text, Since: in.Since, Until: in.Until,
		Retrying: in.GetRetrying(), Before: in.GetPageToken(), Limit: p.size + 1,
	}
	if in.GetStatus() != 0 {
		search.Status = in.GetStatus().String()
	}
	if in.Text != "" {
		search.Limit, search.Before = p.size, ""
		p = f.page(in.PageSize, in.GetPageToken())
	}
	ctx, err := o.inSearch(ctx, &f, in.ListDeliveriesRequest)
	if err != nil {
		return nil, err
	}
	if in.Text != "" {
		return o.findText(ctx, search, p)
	}
	found, err := o.webhooks.ListDeliveries(ctx, search)
	if err != nil {
		return nil, err
	}
	out := &FoundDeliveries{ListDeliveriesResponse: &adminv1.ListDeliveriesResponse{}}
	if len(found) > p.size {
		found = found[:p.size]
		out.NextPageToken = found[p.size-1].ID.String()
	}
	out.Deliveries = each(found, delivery)
	return out, nil
}

func (o *Operator) findText(ctx context.Context, search webhooks.Search, p page) (*FoundDeliveries, error) {
	found, err := o.webhooks.FindDeliveries(ctx, search, p.at, p.id)
	if err != nil {
		return nil, err
	}
	out := &FoundDeliveries{ListDeliveriesResponse: &adminv1.ListDeliveriesResponse{Deliveries: each(found.Entries, delivery)}}
	if looked := found.Events; looked != nil {
		out.LookedBackTo = &looked.EndAt
		if looked.More {
			out.NextPageToken = tokenOf(looked.EndAt, looked.EndID)
		}
	}
	return out, nil
}
