package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/admin"
)

type deliveryCmd struct {
	List   deliveryListCmd   `cmd:"" help:"List deliveries of a store or a webhook, newest first."`
	Show   deliveryShowCmd   `cmd:"" help:"Show a delivery with its attempts and what it delivers."`
	Resend deliveryResendCmd `cmd:"" help:"Send a delivery now or again, or all since a time that never succeeded."`
}

// deliveryMembers are what -o json prints of a delivery.
var deliveryMembers = []string{
	"id", "eventId", "eventType", "webhookId", "status", "attemptCount", "nextAttemptAt", "lastStatusCode", "lastError", "createdAt",
}

func deliveryObject(d *adminv1.Delivery) []byte { return selectFields(d, nil, deliveryMembers...) }

// lastOf is the result of a delivery's newest attempt, for a reader.
func lastOf(d *adminv1.Delivery) string {
	switch {
	case d.LastError != nil:
		return d.GetLastError()
	case d.LastStatusCode != nil:
		return "status " + strconv.Itoa(int(d.GetLastStatusCode()))
	}
	return "-"
}

type deliveryListCmd struct {
	place
	Store   string   `placeholder:"SLUG" help:"The store, by slug or id (default: the only one there is); deliveries to its deleted webhooks are shown too. Not needed with a webhook's id."`
	Webhook string   `placeholder:"NAME" help:"Only deliveries to this webhook, by id or URL; to a deleted one by its id with --store."`
	Since   *instant `placeholder:"TIME" help:"Only deliveries made at this time or later; also how long ago, such as 1h or 7d."`
	Status  *string  `enum:"pending,succeeded,failed,cancelled" placeholder:"STATUS" help:"pending, succeeded, failed or cancelled."`
	limit
}

// Run lists the deliveries.
func (c *deliveryListCmd) Run(s *session) error {
	in := &adminv1.ListDeliveriesRequest{
		Store: c.Store, WebhookId: c.Webhook, Status: enumOf[adminv1.Delivery_Status](adminv1.Delivery_Status_value, c.Status),
	}
	urls := map[string]string{}
	return list(s, c.place, c.limit, deliveryTable(urls), func(ctx context.Context, o admin.API, size *int32, token string) (
		_ []*adminv1.Delivery, _ string, err error) {
		if in.Since, err = c.Since.message(ctx, o); err != nil {
			return nil, "", err
		}
		from := storeScoped{c.place, in.GetStore()}
		if in.GetStore() == "" && !isID(in.GetWebhookId()) {
			if in.Store, err = from.storeOf(ctx, o); err != nil {
				return nil, "", err
			}
			from.Store = in.GetStore()
		}
		if in.GetWebhookId() != "" {
			if in.WebhookId, err = idOf(ctx, o, from, in.GetWebhookId(), findWebhook); err != nil {
				return nil, "", err
			}
		}
		if !s.json && !s.csv && in.GetStore() != "" && len(urls) == 0 {
			all, err := webhooksOf(ctx, o, in.GetStore())
			if err != nil {
				return nil, "", err
			}
			for _, w := range all {
				_, urls[w.GetId()], _ = strings.Cut(w.GetUrl(), "://")
			}
		}
		in.PageSize, in.PageToken = size, token
		out, err := o.ListDeliveries(ctx, in)
		return out.GetDeliveries(), out.GetNextPageToken(), err
	})
}

// deliveryTable names webhooks by their addresses, those that are gone by their ids.
func deliveryTable(urls map[string]string) table[*adminv1.Delivery] {
	return table[*adminv1.Delivery]{"ID#,CREATED@,EVENT~,STATUS,WEBHOOK~,LAST~?,NEXT ATTEMPT@?,ATTEMPTS?,WEBHOOK ID?",
		func(d *adminv1.Delivery) []string {
			return []string{
				d.GetId(), when(d.GetCreatedAt()), d.GetEventType(), d.GetStatus().String(), cmp.Or(urls[d.GetWebhookId()], d.GetWebhookId()),
				lastOf(d),
				when(d.GetNextAttemptAt()), strconv.Itoa(int(d.GetAttemptCount())), d.GetWebhookId(),
			}
		}, deliveryObject}
}

type deliveryShowCmd struct {
	storeScoped
	ID string `arg:"" help:"The delivery's id, or its beginning."`
}

// findDelivery returns the delivery whose id begins so. The journal is sorted by ids, and the token of a page is one.
func findDelivery(ctx context.Context, o admin.API, store, beginning string) (*adminv1.Delivery, error) {
	var found []*adminv1.Delivery
	if last := beginning + uuid.Max.String()[min(len(beginning), len(uuid.Max.String())):]; isID(last) {
		out, err := o.ListDeliveries(ctx, &adminv1.ListDeliveriesRequest{Store: store, PageSize: new(int32(2)), PageToken: last})
		if err != nil {
			return nil, err
		}
		found = out.GetDeliveries()
	}
	return exactlyOne("delivery", "id", store, beginning, found, func(d *adminv1.Delivery) bool {
		return begins(d.GetId(),
			beginning)
	})
}

// Run shows the delivery.
func (c *deliveryShowCmd) Run(s *session) error {
	return s.operate(c.place, func(ctx context.Context, o admin.API) error {
		id, err := idOf(ctx, o, c.storeScoped, c.ID, findDelivery)
		if err != nil {
			return err
		}
		found, err := o.GetDelivery(ctx, &adminv1.GetDeliveryRequest{Id: id})
		if err != nil {
			return err
		}
		payload := json.RawMessage("null") // the event's retention has ended
		if found.Payload != nil {
			payload = json.RawMessage(found.GetPayload())
		}
		members := append(slices.Clone(deliveryMembers), "attempts")
		if s.json {
			return s.print(selectFields(found.GetDelivery(), map[string]json.RawMessage{"payload": payload},
				append(members, "payload")...))
		}
		if err := s.print(selectFields(found.GetDelivery(), nil, members...)); err != nil {
			return err
		}
		_, err = fmt.Fprintf(s.out, "payload:\n%s\n", indented(payload))
		return err
	})
}

type deliveryResendCmd struct {
	storeScoped
	ID      string   `arg:"" optional:"" help:"The delivery: the next attempt of one that waits is made now; of one that has ended, its event is sent again."`
	Webhook string   `placeholder:"NAME" help:"The webhook to send to again, by id or URL, with --since."`
	Since   *instant `placeholder:"TIME" help:"Send every event since this time, or since so long ago, such as 1h or 7d, that the webhook subscribes to and that never succeeded there, also those that came while it was disabled or wait for another attempt."`
}

// Run sends again.
func (c *deliveryResendCmd) Run(s *session) error {
	switch {
	case c.ID != "" && (c.Webhook != "" || c.Since != nil):
		return usage("a delivery's id cannot be used with --webhook or --since")
	case c.ID != "":
		return callNamed(s, c.storeScoped, c.ID, findDelivery, deliveryObject,
			func(ctx context.Context, o admin.API, id string) (*adminv1.Delivery, error) {
				return o.ResendDelivery(ctx, &adminv1.ResendDeliveryRequest{Id: id})
			})
	case c.Webhook == "" || c.Since == nil:
		return usage("name what to send again: a delivery's id, or --webhook and --since")
	}
	return s.operate(c.place, func(ctx context.Context, o admin.API) error {
		id, err := idOf(ctx, o, c.storeScoped, c.Webhook, findWebhook)
		if err != nil {
			return err
		}
		since, err := c.Since.message(ctx, o)
		if err != nil {
			return err
		}
		bar := newProgress(s.errs, "resend", -1)
		in := &adminv1.StartResendRequest{WebhookId: id, Since: since}
		done, err := admin.Resend(ctx, o, in, func(so *adminv1.Resend) {
			bar.draw(fmt.Sprintf("resend %d deliveries", so.GetResent()))
		})
		bar.end()
		if err != nil {
			return err
		}
		if done.GetState() == adminv1.Resend_stopped {
			return fmt.Errorf("the webhook was disabled or deleted meanwhile; of the %d deliveries that were made, those not yet sent "+
				"are cancelled", done.GetResent())
		}
		if s.json {
			return s.print(selectFields(done, nil, "webhookId", "since", "resent"))
		}
		_, err = fmt.Fprintf(s.out, "%d deliveries to webhook %s, of events since %s\n", done.GetResent(), done.GetWebhookId(),
			when(done.GetSince()))
		return err
	})
}
