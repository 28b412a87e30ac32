package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/types/known/timestamppb"

	"go.storefront.example/ent/queue"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/admin"
)

type deliveryCmd struct {
	List   deliveryListCmd   `cmd:"" help:"List deliveries of a store or a webhook, newest first."`
	Show   deliveryShowCmd   `cmd:"" help:"Show a delivery with its attempts and its event."`
	Resend deliveryResendCmd `cmd:"" help:"Send a delivery now or again, or all events since a time that never succeeded."`
}

var deliveryMembers = []string{
	"id", "eventId", "eventType", "webhookId", "status", "attemptCount", "nextAttemptAt", "lastStatusCode", "lastError", "createdAt",
}

func deliveryObject(d *adminv1.Delivery) []byte { return selectFields(d, nil, deliveryMembers...) }

// lastResult is the HTTP status of the newest attempt, or else its error.
func lastResult(d *adminv1.Delivery) string {
	switch {
	case d.LastStatusCode != nil:
		return strconv.Itoa(int(d.GetLastStatusCode()))
	case d.LastError != nil:
		return d.GetLastError()
	}
	return absent
}

type deliveryListCmd struct {
	storeScopedDeliveries
	Webhook string  `placeholder:"NAME" help:"Only deliveries to this webhook, by id or URL. Name a deleted webhook by its id, with --store."`
	Since   instant `api:"since" placeholder:"TIME" help:"Only deliveries made at this time or later; also how long ago, such as 1h or 7d, or a date, which means 00:00 UTC on it."`
	Status  *string `enum:"pending,retrying,succeeded,failed,cancelled" placeholder:"STATUS" help:"pending, retrying (those of the pending ones that wait for another attempt), succeeded, failed or cancelled."`
	listSize
}

type storeScopedDeliveries struct {
	target
	Store string `placeholder:"SLUG" help:"The store, by slug or id (default: the only one there is); deliveries to its deleted webhooks are shown too. Not needed with a webhook's id."`
}

// retrying is the value of --status for pending deliveries whose newest attempt failed.
const retrying = "retrying"

func (c *deliveryListCmd) Run(s *invocation) error {
	in := &adminv1.ListDeliveriesRequest{Store: c.Store}
	if c.Status != nil {
		in.Status, in.Retrying = deliveryStatus(*c.Status), *c.Status == retrying
	}
	names := map[string]string{}
	prepare := func(ctx context.Context, o admin.API) (_ context.Context, err error) {
		if c.Store == "" && !isID(c.Webhook) {
			if in.Store, err = storeScoped(c.storeScopedDeliveries).storeOf(ctx, o); err != nil {
				return nil, err
			}
		}
		if c.Webhook != "" {
			if _, in.WebhookId, err = webhookName(ctx, o, in.GetStore(), c.Webhook); err != nil {
				return nil, err
			}
		}
		if err := s.fill(ctx, o, nil, in); err != nil || s.json || s.csv {
			return ctx, err
		}
		var hooks []*adminv1.Webhook
		if in.GetStore() != "" {
			hooks, err = webhooksOf(ctx, o, in.GetStore())
		} else if only, missing := o.GetWebhook(ctx, &adminv1.GetWebhookRequest{Id: in.GetWebhookId()}); missing == nil {
			hooks = append(hooks, only)
		}
		for _, w := range hooks {
			_, address, _ := strings.Cut(w.GetUrl(), "://")
			names[w.GetId()] = cmp.Or(w.GetDescription(), address)
		}
		return ctx, err
	}
	return list(s, c.target, c.listSize, deliveryTable(names), in,
		func(size *int32, token string) { in.PageSize, in.PageToken = size, token }, prepare, admin.API.ListDeliveries,
		(*adminv1.ListDeliveriesResponse).GetDeliveries)
}

func deliveryStatus(name string) *adminv1.Delivery_Status {
	if name == retrying {
		return adminv1.Delivery_pending.Enum()
	}
	return adminv1.Delivery_Status(adminv1.Delivery_Status_value[name]).Enum()
}

// deliveryTable takes webhooks' names by id, and shows the id of a deleted one.
func deliveryTable(names map[string]string) table[*adminv1.Delivery] {
	return table[*adminv1.Delivery]{[]column[*adminv1.Delivery]{
		{name: "ID", id: (*adminv1.Delivery).GetId},
		{name: "CREATED", at: (*adminv1.Delivery).GetCreatedAt},
		{name: "EVENT", value: (*adminv1.Delivery).GetEventType, cut: true},
		{name: "STATUS", value: func(d *adminv1.Delivery) string { return d.GetStatus().String() }},
		{name: "LAST", value: lastResult, cut: true},
		{name: "NEXT", at: (*adminv1.Delivery).GetNextAttemptAt},
		{name: "WEBHOOK", value: func(d *adminv1.Delivery) string {
			return cmp.Or(names[d.GetWebhookId()], d.GetWebhookId())
		}, cut: true},
		{name: "ATTEMPTS", value: func(d *adminv1.Delivery) string { return strconv.Itoa(int(d.GetAttemptCount())) }, optional: true},
		{name: "WEBHOOK ID", id: (*adminv1.Delivery).GetWebhookId, optional: true},
	}, deliveryObject}
}

type deliveryShowCmd struct {
	storeScoped
	ID string `arg:"" help:"The delivery's id, or a part of it."`
}

// delivery returns the store of a delivery; that of the notices has no context.
func (c storeScoped) delivery(ctx context.Context, o admin.API, name string) (store, id string, err error) {
	if store, err = c.storeOfName(ctx, o, name); err != nil {
		return "", "", err
	}
	return deliveryName(ctx, o, store, name)
}

func (c *deliveryShowCmd) Run(s *invocation) error {
	return s.operate(c.target, func(ctx context.Context, o admin.API) error {
		store, id, err := c.delivery(ctx, o, c.ID)
		if err != nil {
			return err
		}
		found, err := o.GetDelivery(ctx, &adminv1.GetDeliveryRequest{Id: id, Store: store})
		if err != nil {
			return err
		}
		payload := json.RawMessage("null") // stays null if the event has been deleted
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
	ID      string  `arg:"" optional:"" help:"The delivery: if it waits, its next attempt is made now; if it has ended, its event is sent again."`
	Webhook string  `placeholder:"NAME" help:"The webhook to send to again, by id or URL, with --since."`
	Since   instant `placeholder:"TIME" help:"Send every event of this time or later (also how long ago, such as 1h or 7d) that the webhook subscribes to and has never accepted. This includes events from while the webhook was disabled, and events that wait for another attempt. The command prints their number first."`
	DryRun  bool    `help:"Only print how many events --since would send, and how many of them are older than the webhook."`
}

func (c *deliveryResendCmd) Run(s *invocation) error {
	switch {
	case c.ID != "" && (c.Webhook != "" || s.given["since"] || c.DryRun):
		return usage("a delivery's id cannot be used with --webhook, --since or --dry-run")
	case c.ID != "":
		return s.operate(c.target, func(ctx context.Context, o admin.API) error {
			store, id, err := c.delivery(ctx, o, c.ID)
			if err != nil {
				return err
			}
			resent, err := o.ResendDelivery(ctx, &adminv1.ResendDeliveryRequest{Id: id, Store: store})
			if err != nil {
				return err
			}
			return s.print(deliveryObject(resent))
		})
	case c.Webhook == "" || !s.given["since"]:
		return usage("name what to send again: a delivery's id, or --webhook and --since")
	}
	return s.operate(c.target, func(ctx context.Context, o admin.API) error {
		ctx, id, err := c.resolve(ctx, o, c.Webhook, webhookName)
		if err != nil {
			return err
		}
		if err := c.Since.resolve(ctx, o, nil); err != nil {
			return err
		}
		in := &adminv1.StartResendRequest{WebhookId: id, Since: timestamppb.New(c.Since.at), DryRun: true}
		counted, err := o.StartResend(ctx, in)
		if err != nil {
			return err
		}
		if c.DryRun && s.json {
			return s.print(selectFields(counted, nil, "webhookId", "since", "events", "eventsBeforeWebhook"))
		}
		s.printMessage(undelivered(counted))
		if c.DryRun {
			return nil
		}
		in.DryRun = false
		bar := newProgress(s.errs, "resend", -1)
		done, err := admin.Resend(ctx, o, in, func(resend *adminv1.Resend) {
			bar.draw("resend " + grouped(resend.GetResent()) + " deliveries")
		})
		bar.end()
		if err != nil {
			return err
		}
		if done.GetState() == adminv1.Resend_stopped {
			return fmt.Errorf("the webhook was disabled or deleted meanwhile; of the %s deliveries that were made, those not yet sent "+
				"are cancelled", grouped(done.GetResent()))
		}
		if s.json {
			return s.print(selectFields(done, nil, "webhookId", "since", "resent"))
		}
		_, err = fmt.Fprintf(s.out, "%s deliveries to webhook %s, of events since %s\n", grouped(done.GetResent()), done.GetWebhookId(),
			formatTime(done.GetSince()))
		return err
	})
}

func undelivered(counted *adminv1.Resend) string {
	text := plural(int(counted.GetEvents()), "event")
	if counted.GetEvents() > queue.MaxUndelivered {
		text = "more than " + plural(queue.MaxUndelivered, "event")
	}
	text += " since " + formatTime(counted.GetSince()) + " never succeeded there"
	if older := counted.GetEventsBeforeWebhook(); older > 0 {
		text += ", " + grouped(int(older)) + " of them from before the webhook was created"
	}
	return text
}
