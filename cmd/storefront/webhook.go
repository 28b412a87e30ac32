package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/admin"
	"go.storefront.example/worker/egress"
)

type webhookCmd struct {
	Create  webhookCreateCmd  `cmd:"" help:"Register a webhook; its signing secret is shown this once."`
	List    webhookListCmd    `cmd:"" help:"List a store's webhooks, newest first."`
	Show    webhookShowCmd    `cmd:"" help:"Show a webhook, without its secret."`
	Update  webhookUpdateCmd  `cmd:"" help:"Change a webhook's URL, description or events."`
	Enable  webhookEnableCmd  `cmd:"" help:"Make a disabled webhook receive events again."`
	Disable webhookDisableCmd `cmd:"" help:"Make a webhook receive nothing; what waits is cancelled."`
	Delete  webhookDeleteCmd  `cmd:"" help:"Delete a webhook for good; what waits is cancelled."`
	Rotate  webhookRotateCmd  `cmd:"" help:"Give a webhook a new signing secret; it is shown this once."`
	Ping    webhookPingCmd    `cmd:"" help:"Send a webhook a test event."`
}

// targets is the setting of what takes or calls a webhook's URL.
type targets struct {
	AllowPrivateTargets bool `help:"Accept private addresses too, for tests and development."`
}

func (t targets) policy() egress.Policy { return egress.Policy{AllowPrivate: t.AllowPrivateTargets} }

// stateOf is a webhook's state for a reader, with the warning before it is disabled.
func stateOf(w *adminv1.Webhook) string {
	switch {
	case w.GetState() == adminv1.Webhook_failing:
		return "FAILING since " + when(w.GetFailingSince()) + ", disabled at " + when(w.GetDisablesAt()) + " unless a delivery succeeds"
	case w.GetDisabledAutomatically():
		return "disabled at " + when(w.GetDisabledAt()) + " by its failures"
	case w.GetState() == adminv1.Webhook_disabled:
		return "disabled at " + when(w.GetDisabledAt())
	}
	return w.GetState().String()
}

// webhookObject is a webhook as -o json prints it.
func webhookObject(w *adminv1.Webhook) []byte {
	return pickWebhook(w, nil, "id", "url", "description", "events", "enabled", "state", "failingSince", "disablesAt", "disabledAt",
		"disabledAutomatically", "createdAt", "updatedAt")
}

// pickWebhook is pick for a webhook, which has the member enabled too.
func pickWebhook(w *adminv1.Webhook, extra map[string]json.RawMessage, names ...string) []byte {
	all := map[string]json.RawMessage{"enabled": strconv.AppendBool(nil, w.GetState() != adminv1.Webhook_disabled)}
	maps.Copy(all, extra)
	return selectFields(w, all, names...)
}

type webhookCreateCmd struct {
	inStore
	secretKey
	targets
	URL         string   `name:"url" required:"" placeholder:"URL" help:"Where events are sent: https, no private or local address, no user name."`
	Events      []string `placeholder:"TYPE" help:"What it receives: ${events} (default: all of them)."`
	Description string   `clears:"" placeholder:"TEXT" help:"What it is for."`
}

// Run registers the webhook.
func (c *webhookCreateCmd) Run(s *session) error {
	s.options.Webhooks.Targets = c.policy()
	if err := s.seal(c.place, c.secretKey); err != nil {
		return err
	}
	in := &adminv1.CreateWebhookRequest{Url: c.URL, Description: c.Description, Events: c.Events}
	create := func(o admin.API, ctx context.Context, in *adminv1.CreateWebhookRequest) (_ *adminv1.CreateWebhookResponse,
		err error) {
		if in.Store, err = (storeScoped(c.inStore)).storeOf(ctx, o); err != nil {
			return nil, err
		}
		made, err := o.CreateWebhook(ctx, in)
		if err == nil {
			s.warnOfTwins(ctx, o, in.Store, made.GetWebhook())
		}
		return made, err
	}
	return callAndPrint(s, c.place, in, create, func(made *adminv1.CreateWebhookResponse) []byte {
		return pickWebhook(made.GetWebhook(), map[string]json.RawMessage{"secret": quoted(made.GetSecret())},
			"id", "url", "description", "events", "enabled", "secret", "createdAt")
	})
}

// seal gives the operator's rules the key that secrets are sealed with, where they work on the database.
func (s *session) seal(p place, k secretKey) (err error) {
	if p.AdminURL == "" {
		s.options.Webhooks.Secrets, err = k.ring(p.database)
	}
	return err
}

type webhookListCmd struct {
	inStore
	DisableAfter *positive `placeholder:"TIME" help:"After how long the worker disables a failing webhook, as the worker is set (default: 72h, or what the server is set to)."`
	limit
}

// Run lists the webhooks.
func (c *webhookListCmd) Run(s *session) error {
	return listOf(s, c.inStore, c.limit, webhookTable,
		func(ctx context.Context, o admin.API, store string, size *int32, token string) ([]*adminv1.Webhook, string, error) {
			out, err := o.ListWebhooks(ctx, &adminv1.ListWebhooksRequest{Store: store, PageSize: size, PageToken: token})
			for _, w := range out.GetWebhooks() {
				if c.DisableAfter != nil && w.GetFailingSince() != nil {
					w.DisablesAt = timestamppb.New(w.GetFailingSince().AsTime().Add(time.Duration(*c.DisableAfter)))
				}
			}
			return out.GetWebhooks(), out.GetNextPageToken(), err
		})
}

var webhookTable = table[*adminv1.Webhook]{"ID#,URL~,STATE@~,EVENTS~?,CREATED@?,DESCRIPTION~?",
	func(w *adminv1.Webhook) []string {
		return []string{w.GetId(), w.GetUrl(), stateOf(w), strings.Join(w.GetEvents(), ","), when(w.GetCreatedAt()), w.GetDescription()}
	}, webhookObject}

type webhookShowCmd struct{ webhookMove }

// Run shows the webhook.
func (c *webhookShowCmd) Run(s *session) error {
	return callNamed(s, c.storeScoped, c.Name, findWebhook, webhookObject,
		func(ctx context.Context, o admin.API, id string) (*adminv1.Webhook, error) {
			return o.GetWebhook(ctx, &adminv1.GetWebhookRequest{Id: id})
		})
}

// warnOfTwins warns of other webhooks of a store with one's URL: each gets every event.
func (s *session) warnOfTwins(ctx context.Context, o admin.API, store string, made *adminv1.Webhook) {
	all, err := webhooksOf(ctx, o, store)
	if err != nil {
		return // what was asked for is done
	}
	for _, w := range all {
		if w.GetUrl() == made.GetUrl() && w.GetId() != made.GetId() {
			s.say(fmt.Sprintf("warning: the webhook %s has this URL too, which gets an event from each of them", w.GetId()))
		}
	}
}

type webhookUpdateCmd struct {
	storeScoped
	targets
	Name        string   `arg:"" help:"The webhook's id or URL."`
	URL         *string  `name:"url" placeholder:"URL" help:"Where events are sent from now on, those that wait included."`
	Events      []string `placeholder:"TYPE" help:"What it receives from now on, in place of what it received."`
	Description *string  `clears:"" placeholder:"TEXT" help:"What it is for."`
}

// Run changes the webhook.
func (c *webhookUpdateCmd) Run(s *session) error {
	s.options.Webhooks.Targets = c.policy()
	in := &adminv1.UpdateWebhookRequest{Url: c.URL, Description: c.Description, Events: c.Events}
	in.UpdateMask = maskOf(in, "id")
	if err := s.changes(in.UpdateMask); err != nil {
		return err
	}
	return callNamed(s, c.storeScoped, c.Name, findWebhook, webhookObject,
		func(ctx context.Context, o admin.API, id string) (*adminv1.Webhook, error) {
			in.Id = id
			changed, err := o.UpdateWebhook(ctx, in)
			if err == nil && c.URL != nil {
				s.warnOfTwins(ctx, o, c.Store, changed)
			}
			return changed, err
		})
}

// webhookMove is a command that needs nothing but a webhook.
type webhookMove struct {
	storeScoped
	Name string `arg:"" help:"The webhook's id or URL."`
}

type webhookEnableCmd struct{ webhookMove }

// Run enables the webhook.
func (c *webhookEnableCmd) Run(s *session) error {
	return callNamed(s, c.storeScoped, c.Name, findWebhook, webhookObject,
		func(ctx context.Context, o admin.API, id string) (*adminv1.Webhook, error) {
			return o.EnableWebhook(ctx, &adminv1.EnableWebhookRequest{Id: id})
		})
}

type webhookDisableCmd struct{ webhookMove }

// Run disables the webhook.
func (c *webhookDisableCmd) Run(s *session) error {
	return callNamed(s, c.storeScoped, c.Name, findWebhook, webhookObject,
		func(ctx context.Context, o admin.API, id string) (*adminv1.Webhook, error) {
			return o.DisableWebhook(ctx, &adminv1.DisableWebhookRequest{Id: id})
		})
}

type webhookDeleteCmd struct{ webhookMove }

// Run deletes the webhook.
func (c *webhookDeleteCmd) Run(s *session) error {
	return s.operate(c.place, func(ctx context.Context, o admin.API) error {
		id, err := idOf(ctx, o, c.storeScoped, c.Name, findWebhook)
		if err != nil {
			return err
		}
		gone, err := o.DeleteWebhook(ctx, &adminv1.DeleteWebhookRequest{Id: id})
		if err != nil {
			return err
		}
		if s.json {
			return s.print(webhookObject(gone))
		}
		_, err = fmt.Fprintf(s.out, "deleted webhook %s, %s\n", gone.GetId(), visible(gone.GetUrl()))
		return err
	})
}

type webhookRotateCmd struct {
	webhookMove
	secretKey
}

// Run makes the secret.
func (c *webhookRotateCmd) Run(s *session) error {
	if err := s.seal(c.place, c.secretKey); err != nil {
		return err
	}
	secret := func(made *adminv1.RotateSecretResponse) []byte {
		return selectFields(made.GetWebhook(), map[string]json.RawMessage{"secret": quoted(made.GetSecret())}, "id", "secret")
	}
	return callNamed(s, c.storeScoped, c.Name, findWebhook, secret,
		func(ctx context.Context, o admin.API, id string) (*adminv1.RotateSecretResponse, error) {
			return o.RotateSecret(ctx, &adminv1.RotateSecretRequest{Id: id})
		})
}

type webhookPingCmd struct{ webhookMove }

// Run sends the ping.
func (c *webhookPingCmd) Run(s *session) error {
	return callNamed(s, c.storeScoped, c.Name, findWebhook, deliveryObject,
		func(ctx context.Context, o admin.API, id string) (*adminv1.Delivery, error) {
			return o.PingWebhook(ctx, &adminv1.PingWebhookRequest{Id: id})
		})
}
