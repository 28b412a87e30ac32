package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"go.storefront.example/ent/queue"
	"go.storefront.example/ent/wire"
	"go.storefront.example/server/service"
)

type deliveryCmd struct {
	List   deliveryListCmd   `cmd:"" help:"List deliveries of a store or a webhook, newest first."`
	Show   deliveryShowCmd   `cmd:"" help:"Show a delivery with its attempts and what it delivers."`
	Resend deliveryResendCmd `cmd:"" help:"Send an event again, or all since a time that never succeeded."`
}

// Help shows an example.
func (deliveryCmd) Help() string {
	return "The journal of what was sent to webhooks.\n\nExample:\n\n    storefront delivery list --store douala --status failed"
}

// deliveryEntry is a delivery as it is listed.
type deliveryEntry struct {
	ID             uuid.UUID `json:"id"`
	EventID        uuid.UUID `json:"eventId"`
	EventType      string    `json:"eventType"`
	WebhookID      uuid.UUID `json:"webhookId"`
	Status         string    `json:"status"`
	AttemptCount   int       `json:"attemptCount"`
	NextAttemptAt  moment    `json:"nextAttemptAt"`
	LastStatusCode *int      `json:"lastStatusCode"`
	LastError      *string   `json:"lastError"`
	CreatedAt      moment    `json:"createdAt"`
}

func deliveryEntryOf(e queue.Entry) deliveryEntry {
	d := deliveryEntry{
		ID: e.ID, EventID: e.EventID, EventType: e.EventType, WebhookID: e.WebhookID, Status: e.Status,
		AttemptCount: len(e.Attempts), NextAttemptAt: moment{e.NextAttemptAt}, CreatedAt: moment{&e.CreatedAt},
	}
	if last := e.Last(); last != nil {
		if last.StatusCode != 0 {
			d.LastStatusCode = &last.StatusCode
		}
		if last.Error != "" {
			d.LastError = &last.Error
		}
	}
	return d
}

// last says what the newest attempt came to, for a reader.
func (d deliveryEntry) last() string {
	switch {
	case d.LastError != nil:
		return *d.LastError
	case d.LastStatusCode != nil:
		return "status " + strconv.Itoa(*d.LastStatusCode)
	}
	return "-"
}

type deliveryListCmd struct {
	place
	Store   string `placeholder:"SLUG" help:"The store, by slug or id; deliveries to its deleted webhooks are shown too."`
	Webhook string `placeholder:"ID" help:"The webhook's id; of a deleted one only with --store."`
	Status  string `enum:"pending,succeeded,failed,cancelled," default:"" placeholder:"STATUS" help:"pending, succeeded, failed or cancelled."`
	limit
}

// Help shows an example.
func (deliveryListCmd) Help() string {
	return "Example:\n\n    storefront delivery list --store douala --status failed\n    storefront delivery list --webhook 01936d2e-7a10-7c5e-9d0f-3a2b1c4d5e6f --limit 10 -o json"
}

// Run lists the deliveries.
func (c *deliveryListCmd) Run(s *session) error {
	if c.Store == "" && c.Webhook == "" {
		return usage("name whose deliveries to list: --store or --webhook")
	}
	return s.operate(c.place, service.Options{}, func(ctx context.Context, o operations) error {
		which := service.DeliverySearch{WebhookID: c.Webhook, Status: c.Status, Limit: int(c.Limit)}
		list := o.ListDeliveriesTo
		if c.Store != "" {
			list = func(ctx context.Context, which service.DeliverySearch) ([]queue.Entry, error) {
				return o.ListDeliveries(ctx, c.Store, which)
			}
		}
		found, err := list(ctx, which)
		if err != nil {
			return err
		}
		entries := make([]deliveryEntry, len(found))
		rows := make([][]string, len(found))
		for i, one := range found {
			e := deliveryEntryOf(one)
			entries[i] = e
			rows[i] = []string{
				e.ID.String(), e.EventType, e.Status, strconv.Itoa(e.AttemptCount), e.last(), e.NextAttemptAt.String(),
				e.CreatedAt.String(), e.WebhookID.String(),
			}
		}
		array, err := plainJSON(entries)
		if err != nil {
			return err
		}
		return s.list(array, strings.Split("ID,EVENT,STATUS,ATTEMPTS,LAST,NEXT ATTEMPT,CREATED,WEBHOOK", ","), rows)
	})
}

type deliveryShowCmd struct {
	place
	ID string `arg:"" help:"The delivery's id."`
}

// Help shows an example.
func (deliveryShowCmd) Help() string {
	return "Example:\n\n    storefront delivery show 01936d2e-7a12-7c5e-9d0f-3a2b1c4d5e6f -o json"
}

// shownDelivery is a delivery with all that is known of it.
type shownDelivery struct {
	deliveryEntry
	Attempts []queue.Attempt `json:"attempts"`
	Payload  *rawJSON        `json:"payload"` // null when the event is kept no longer
}

// Run shows the delivery.
func (c *deliveryShowCmd) Run(s *session) error {
	return s.operate(c.place, service.Options{}, func(ctx context.Context, o operations) error {
		d, err := o.GetDelivery(ctx, c.ID)
		if err != nil {
			return err
		}
		shown := shownDelivery{deliveryEntry: deliveryEntryOf(d.Entry), Attempts: append([]queue.Attempt{}, d.Attempts...)}
		if d.Payload != nil {
			shown.Payload = (*rawJSON)(&d.Payload)
		}
		return s.value(shown)
	})
}

// instant is a date-time.
type instant time.Time

// UnmarshalText reads an RFC 3339 date-time.
func (i *instant) UnmarshalText(text []byte) error {
	at, err := wire.ParseTime(string(text))
	if err != nil {
		return fmt.Errorf("must be a time such as 2026-10-01T12:00:00Z, not %q", text)
	}
	*i = instant(at)
	return nil
}

type deliveryResendCmd struct {
	place
	ID      string   `arg:"" optional:"" help:"The delivery whose event to send again."`
	Webhook string   `placeholder:"ID" help:"The webhook to send to again, with --since."`
	Since   *instant `placeholder:"TIME" help:"Send every event since this time that the webhook subscribes to and that never succeeded there, also those that came while it was disabled."`
}

// Help shows an example.
func (deliveryResendCmd) Help() string {
	return `Prints the new delivery, which has the event's id and all attempts before it; or, with --since, how many there are.

--since can be said again, interrupted and killed: it sends nothing twice, and a worker ends what it began.

Example:

    storefront delivery resend 01936d2e-7a12-7c5e-9d0f-3a2b1c4d5e6f
    storefront delivery resend --webhook 01936d2e-7a10-7c5e-9d0f-3a2b1c4d5e6f --since 2026-10-01T12:00:00Z`
}

// resendPoll is how often a resend that another process works on is looked at.
const resendPoll = time.Second

// resentSince is what a resend came to.
type resentSince struct {
	WebhookID uuid.UUID `json:"webhookId"`
	Since     moment    `json:"since"`
	Resent    int       `json:"resent"`
}

// Run sends again.
func (c *deliveryResendCmd) Run(s *session) error {
	switch {
	case c.ID != "" && (c.Webhook != "" || c.Since != nil):
		return usage("a delivery's id cannot be used with --webhook or --since")
	case c.ID != "":
		return s.delivery(c.place, c.ID, operations.ResendDelivery)
	case c.Webhook == "" || c.Since == nil:
		return usage("name what to send again: a delivery's id, or --webhook and --since")
	}
	return s.operate(c.place, service.Options{}, func(ctx context.Context, o operations) error {
		bar := newProgress(s.errs, "resend", -1)
		done, err := o.ResendSince(ctx, c.Webhook, time.Time(*c.Since), resendPoll, func(so queue.Resend) {
			bar.tell(fmt.Sprintf("resend %d deliveries", so.Resent))
		})
		bar.end()
		if err != nil {
			return err
		}
		if done.Stopped {
			return fmt.Errorf("the webhook was disabled or deleted meanwhile; of the %d deliveries that were made, those not yet sent are cancelled", done.Resent)
		}
		if s.json {
			return s.value(resentSince{done.WebhookID, moment{&done.Since}, done.Resent})
		}
		_, err = fmt.Fprintf(s.out, "%d deliveries to webhook %s, of events since %s\n", done.Resent, done.WebhookID, moment{&done.Since})
		return err
	})
}
