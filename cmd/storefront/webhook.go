package main

import (
	"context"
	"strings"
	"time"

	"github.com/google/uuid"

	"go.storefront.example/ent/queue"
	"go.storefront.example/server/service"
	"go.storefront.example/worker/egress"
)

type webhookCmd struct {
	Create  webhookCreateCmd  `cmd:"" help:"Register a webhook; its signing secret is shown this once."`
	List    webhookListCmd    `cmd:"" help:"List a store's webhooks, newest first."`
	Update  webhookUpdateCmd  `cmd:"" help:"Change a webhook's URL, description or events."`
	Enable  webhookEnableCmd  `cmd:"" help:"Make a disabled webhook receive events again."`
	Disable webhookDisableCmd `cmd:"" help:"Make a webhook receive nothing; what waits is cancelled."`
	Delete  webhookDeleteCmd  `cmd:"" help:"Delete a webhook for good; what waits is cancelled."`
	Rotate  webhookRotateCmd  `cmd:"" help:"Give a webhook a new signing secret; it is shown this once."`
	Ping    webhookPingCmd    `cmd:"" help:"Send a webhook a test event."`
}

// Help shows an example.
func (webhookCmd) Help() string {
	return "A store has at most five webhooks, disabled ones included.\n\nExample:\n\n    storefront webhook create --store douala --url https://shop.example.com/webhooks"
}

// targets is the setting of what takes or calls a webhook's URL.
type targets struct {
	AllowPrivateTargets bool `help:"Accept private addresses too, for tests and development."`
}

func (t targets) policy() egress.Policy { return egress.Policy{AllowPrivate: t.AllowPrivateTargets} }

// newWebhook is a webhook as it is shown at its creation.
type newWebhook struct {
	ID          uuid.UUID `json:"id"`
	URL         string    `json:"url"`
	Description string    `json:"description"`
	Events      []string  `json:"events"`
	Enabled     bool      `json:"enabled"`
	Secret      string    `json:"secret"`
	CreatedAt   moment    `json:"createdAt"`
}

// webhookEntry is a webhook as it is listed.
type webhookEntry struct {
	ID                    uuid.UUID `json:"id"`
	URL                   string    `json:"url"`
	Description           string    `json:"description"`
	Events                []string  `json:"events"`
	Enabled               bool      `json:"enabled"`
	State                 string    `json:"state"`
	FailingSince          moment    `json:"failingSince"`
	DisablesAt            moment    `json:"disablesAt"`
	DisabledAt            moment    `json:"disabledAt"`
	DisabledAutomatically bool      `json:"disabledAutomatically"`
	CreatedAt             moment    `json:"createdAt"`
	UpdatedAt             moment    `json:"updatedAt"`
}

func webhookEntryOf(w service.Webhook) webhookEntry {
	return webhookEntry{
		w.ID, w.URL, w.Description, w.Events, w.Enabled, w.State, moment{w.FailingSince}, moment{w.DisablesAt},
		moment{w.DisabledAt}, w.DisabledAutomatically, moment{&w.CreatedAt}, moment{&w.UpdatedAt},
	}
}

// said is the state for a reader, with the warning before it is disabled.
func (e webhookEntry) said() string {
	switch {
	case e.State == service.WebhookFailing:
		return "FAILING since " + e.FailingSince.String() + ", disabled at " + e.DisablesAt.String() + " unless a delivery succeeds"
	case e.DisabledAutomatically:
		return "disabled at " + e.DisabledAt.String() + " by its failures"
	case e.State == service.WebhookDisabled:
		return "disabled at " + e.DisabledAt.String()
	}
	return e.State
}

type webhookCreateCmd struct {
	place
	secretKey
	targets
	Store       string   `required:"" placeholder:"SLUG" help:"The store, by slug or id."`
	URL         string   `name:"url" required:"" placeholder:"URL" help:"Where events are sent: https, no private or local address, no user name."`
	Events      []string `placeholder:"TYPE,…" help:"What it receives: order.paid, order.failed, customer.created, product.published, product.archived, payment_link.paid (default: all six)."`
	Description string   `placeholder:"TEXT" help:"What it is for."`
}

// Help shows an example.
func (webhookCreateCmd) Help() string {
	return "Prints the webhook with its signing secret, this once: it is kept encrypted. Only the URL's text is looked at; the addresses that its host has are checked at every connection.\n\nExample:\n\n    storefront webhook create --store douala --url https://shop.example.com/webhooks --events order.paid,order.failed -o json"
}

// Run registers the webhook.
func (c *webhookCreateCmd) Run(s *session) error {
	return s.seal(c.place, c.secretKey, service.Options{Targets: c.policy()}, func(ctx context.Context, o operations) error {
		w, err := o.CreateWebhook(ctx, c.Store, service.WebhookDraft{URL: c.URL, Description: c.Description, Events: c.Events})
		if err != nil {
			return err
		}
		return s.value(newWebhook{w.ID, w.URL, w.Description, w.Events, w.Enabled, w.Secret, moment{&w.CreatedAt}})
	})
}

// seal is operate for what seals a secret: on the database, the operator's rules have the key.
func (s *session) seal(p place, k secretKey, options service.Options, do func(ctx context.Context, o operations) error) error {
	if p.AdminURL == "" {
		ring, err := k.ring(p.database)
		if err != nil {
			return err
		}
		options.Secrets = ring
	}
	return s.operate(p, options, do)
}

type webhookListCmd struct {
	place
	Store        string    `required:"" placeholder:"SLUG" help:"The store, by slug or id."`
	DisableAfter *positive `placeholder:"TIME" help:"After how long the worker disables a failing webhook, as the worker is told (default: 72h, or what the server was told)."`
	limit
}

// Help shows an example.
func (webhookListCmd) Help() string {
	return "Warns of a webhook that fails and will be disabled unless a delivery succeeds.\n\nExample:\n\n    storefront webhook list --store douala"
}

// Run lists the webhooks.
func (c *webhookListCmd) Run(s *session) error {
	return s.operate(c.place, service.Options{}, func(ctx context.Context, o operations) error {
		webhooks, err := o.ListWebhooks(ctx, c.Store, int(c.Limit))
		if err != nil {
			return err
		}
		entries := make([]webhookEntry, len(webhooks))
		rows := make([][]string, len(webhooks))
		for i, w := range webhooks {
			if c.DisableAfter != nil && w.FailingSince != nil {
				disables := w.FailingSince.Add(time.Duration(*c.DisableAfter))
				w.DisablesAt = &disables
			}
			e := webhookEntryOf(w)
			entries[i] = e
			rows[i] = []string{e.ID.String(), e.URL, e.said(), strings.Join(e.Events, ","), e.CreatedAt.String(), e.Description}
		}
		array, err := plainJSON(entries)
		if err != nil {
			return err
		}
		return s.list(array, strings.Fields("ID URL STATE EVENTS CREATED DESCRIPTION"), rows)
	})
}

type webhookUpdateCmd struct {
	place
	targets
	ID          string   `arg:"" help:"The webhook's id."`
	URL         *string  `name:"url" placeholder:"URL" help:"Where events are sent from now on, those that wait included."`
	Events      []string `placeholder:"TYPE,…" help:"What it receives from now on, in place of what it received."`
	Description *string  `placeholder:"TEXT" help:"What it is for."`
}

// Help shows an example.
func (webhookUpdateCmd) Help() string {
	return "Example:\n\n    storefront webhook update 01936d2e-7a10-7c5e-9d0f-3a2b1c4d5e6f --events order.paid,payment_link.paid"
}

// Run changes the webhook.
func (c *webhookUpdateCmd) Run(s *session) error {
	return s.operate(c.place, service.Options{Targets: c.policy()}, func(ctx context.Context, o operations) error {
		w, err := o.UpdateWebhook(ctx, c.ID, service.WebhookChange{URL: c.URL, Description: c.Description, Events: c.Events})
		if err != nil {
			return err
		}
		return s.value(webhookEntryOf(w))
	})
}

// webhookMove is a command that needs nothing but a webhook.
type webhookMove struct {
	place
	ID string `arg:"" help:"The webhook's id."`
}

func (c *webhookMove) run(s *session, move func(operations, context.Context, string) (service.Webhook, error)) error {
	return s.operate(c.place, service.Options{}, func(ctx context.Context, o operations) error {
		w, err := move(o, ctx, c.ID)
		if err != nil {
			return err
		}
		return s.value(webhookEntryOf(w))
	})
}

type webhookEnableCmd struct{ webhookMove }

// Help shows an example.
func (webhookEnableCmd) Help() string {
	return "What happened while it was disabled is not sent by itself; storefront delivery resend --since sends it.\n\nExample:\n\n    storefront webhook enable 01936d2e-7a10-7c5e-9d0f-3a2b1c4d5e6f"
}

// Run enables the webhook.
func (c *webhookEnableCmd) Run(s *session) error { return c.run(s, operations.EnableWebhook) }

type webhookDisableCmd struct{ webhookMove }

// Help shows an example.
func (webhookDisableCmd) Help() string {
	return "Example:\n\n    storefront webhook disable 01936d2e-7a10-7c5e-9d0f-3a2b1c4d5e6f"
}

// Run disables the webhook.
func (c *webhookDisableCmd) Run(s *session) error { return c.run(s, operations.DisableWebhook) }

type webhookDeleteCmd struct{ webhookMove }

// Help shows an example.
func (webhookDeleteCmd) Help() string {
	return "Prints what it was. Its deliveries stay in the journal for their time; storefront delivery list --store shows them.\n\nExample:\n\n    storefront webhook delete 01936d2e-7a10-7c5e-9d0f-3a2b1c4d5e6f"
}

// Run deletes the webhook.
func (c *webhookDeleteCmd) Run(s *session) error { return c.run(s, operations.DeleteWebhook) }

type webhookRotateCmd struct {
	place
	secretKey
	ID string `arg:"" help:"The webhook's id."`
}

// Help shows an example.
func (webhookRotateCmd) Help() string {
	return "Prints the new secret, this once. The old one signs nothing from the next attempt on.\n\nExample:\n\n    storefront webhook rotate 01936d2e-7a10-7c5e-9d0f-3a2b1c4d5e6f -o json"
}

// newSecret is a signing secret as it is shown when it is made anew.
type newSecret struct {
	ID     uuid.UUID `json:"id"`
	Secret string    `json:"secret"`
}

// Run makes the secret.
func (c *webhookRotateCmd) Run(s *session) error {
	return s.seal(c.place, c.secretKey, service.Options{}, func(ctx context.Context, o operations) error {
		w, err := o.RotateSecret(ctx, c.ID)
		if err != nil {
			return err
		}
		return s.value(newSecret{w.ID, w.Secret})
	})
}

type webhookPingCmd struct {
	place
	ID string `arg:"" help:"The webhook's id."`
}

// Help shows an example.
func (webhookPingCmd) Help() string {
	return "Prints the delivery, which a worker sees to in one attempt; storefront delivery show tells what became of it.\n\nExample:\n\n    storefront webhook ping 01936d2e-7a10-7c5e-9d0f-3a2b1c4d5e6f"
}

// Run sends the ping.
func (c *webhookPingCmd) Run(s *session) error {
	return s.delivery(c.place, c.ID, operations.PingWebhook)
}

// delivery does what makes a delivery and prints it.
func (s *session) delivery(p place, id string, do func(operations, context.Context, string) (queue.Entry, error)) error {
	return s.operate(p, service.Options{}, func(ctx context.Context, o operations) error {
		made, err := do(o, ctx, id)
		if err != nil {
			return err
		}
		return s.value(deliveryEntryOf(made))
	})
}
