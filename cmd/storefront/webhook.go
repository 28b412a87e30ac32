package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/admin"
	"go.storefront.example/worker/egress"
)

type webhookCmd struct {
	Create  webhookCreateCmd  `cmd:"" help:"Register a webhook, and show its signing secret only this once."`
	List    webhookListCmd    `cmd:"" help:"List a store's webhooks, newest first."`
	Show    webhookShowCmd    `cmd:"" help:"Show a webhook, without its secret."`
	Update  webhookUpdateCmd  `cmd:"" help:"Change a webhook's URL, description or events."`
	Enable  webhookEnableCmd  `cmd:"" help:"Send events to a disabled webhook again."`
	Disable webhookDisableCmd `cmd:"" help:"Stop events to a webhook, and cancel its waiting deliveries."`
	Delete  webhookDeleteCmd  `cmd:"" help:"Delete a webhook permanently, and cancel its waiting deliveries."`
	Rotate  webhookRotateCmd  `cmd:"" help:"Give a webhook a new signing secret, and show it only this once."`
	Ping    webhookPingCmd    `cmd:"" help:"Send a webhook a test event."`
	Verify  webhookVerifyCmd  `cmd:"" help:"Verify a delivery from standard input, and name the likely mistake."`
}

type targets struct {
	AllowPrivateTargets bool `help:"Accept private IP addresses too, for tests and development; the URL still needs https."`
}

func (t targets) policy() egress.Policy { return egress.Policy{AllowPrivate: t.AllowPrivateTargets} }

var webhookFields = []string{"id", "url", "description", "events", "enabled", "state", "failingSince", "disablesAt", "disabledAt",
	"disabledAutomatically", "createdAt", "updatedAt"}

func webhookObject(w *adminv1.Webhook) []byte { return selectWebhook(w, "", webhookFields...) }

// selectWebhook returns the named members. names may also have "enabled" and "secret", the parameter's value.
func selectWebhook(w *adminv1.Webhook, secret string, names ...string) []byte {
	return selectFields(w, map[string]json.RawMessage{
		"enabled": strconv.AppendBool(nil, w.GetState() != adminv1.Webhook_disabled), "secret": quoted(secret),
	}, names...)
}

type webhookCreateCmd struct {
	inStore
	secretKey
	targets
	URL         string   `name:"url" api:"url" required:"" placeholder:"URL" help:"Where events are sent: https, without a user name, to no private or local IP address."`
	Events      []string `api:"events" complete:"events" placeholder:"TYPE" help:"The event types that it receives: ${events} (default: all of them)."`
	Description string   `api:"description" clears:"" placeholder:"TEXT" help:"Description of the webhook."`
}

func (c *webhookCreateCmd) Run(s *invocation) error {
	s.options.Webhooks.Targets = c.policy()
	if err := s.seal(c.target, c.secretKey); err != nil {
		return err
	}
	register := func(o admin.API, ctx context.Context, in *adminv1.CreateWebhookRequest) (*adminv1.CreateWebhookResponse, error) {
		made, err := o.CreateWebhook(ctx, in)
		if err == nil {
			s.warnOfDuplicates(ctx, o, made.GetWebhook())
		}
		return made, err
	}
	return create(s, c.inStore, &adminv1.CreateWebhookRequest{}, register, func(made *adminv1.CreateWebhookResponse) []byte {
		return selectWebhook(made.GetWebhook(), made.GetSecret(), "id", "url", "description", "events", "enabled", "secret",
			"createdAt")
	})
}

// seal opens the keys for encrypting secrets, unless a server at --admin-url does the work.
func (s *invocation) seal(t target, k secretKey) (err error) {
	if t.AdminURL == "" {
		s.options.Webhooks.Secrets, err = k.ring(t.database)
	}
	return err
}

type webhookListCmd struct {
	inStore
	DisableAfter time.Duration `placeholder:"TIME" help:"How long a webhook may fail before the worker disables it, as set for the worker (default: 72h, or the server's)."`
	listSize
}

func (c *webhookListCmd) Run(s *invocation) error {
	in := &adminv1.ListWebhooksRequest{}
	return listOf(s, c.inStore, c.listSize, webhookTable, in,
		func(size *int32, token string) { in.PageSize, in.PageToken = size, token }, admin.API.ListWebhooks,
		func(out *adminv1.ListWebhooksResponse) []*adminv1.Webhook {
			for _, w := range out.GetWebhooks() {
				if c.DisableAfter > 0 && w.GetFailingSince() != nil {
					w.DisablesAt = timestamppb.New(w.GetFailingSince().AsTime().Add(c.DisableAfter))
				}
			}
			return out.GetWebhooks()
		})
}

var webhookTable = table[*adminv1.Webhook]{[]column[*adminv1.Webhook]{
	{name: "ID", id: (*adminv1.Webhook).GetId},
	{name: "URL", value: (*adminv1.Webhook).GetUrl, cut: true, room: 40},
	{name: "STATE", value: stateOf},
	{name: "SINCE", at: func(w *adminv1.Webhook) *timestamppb.Timestamp {
		if w.GetState() == adminv1.Webhook_failing {
			return w.GetFailingSince()
		}
		return w.GetDisabledAt()
	}, optional: true},
	{name: "DISABLED AT", at: (*adminv1.Webhook).GetDisablesAt, optional: true},
	{name: "DESCRIPTION", value: (*adminv1.Webhook).GetDescription, cut: true, optional: true},
	{name: "EVENTS", value: func(w *adminv1.Webhook) string { return strings.Join(w.GetEvents(), ",") }, cut: true, optional: true},
	{name: "CREATED", at: (*adminv1.Webhook).GetCreatedAt, optional: true},
}, webhookObject}

func stateOf(w *adminv1.Webhook) string {
	switch {
	case w.GetState() == adminv1.Webhook_failing:
		return "FAILING"
	case w.GetDisabledAutomatically():
		return "disabled (failed)"
	}
	return w.GetState().String()
}

// warnOfDuplicates warns if other webhooks of the store have made's URL, which then gets each event several times.
func (s *invocation) warnOfDuplicates(ctx context.Context, o admin.API, made *adminv1.Webhook) {
	all, err := webhooksOf(ctx, o, "")
	if err != nil {
		return
	}
	for _, w := range all {
		if w.GetUrl() == made.GetUrl() && w.GetId() != made.GetId() {
			s.printMessage(fmt.Sprintf("warning: the webhook %s has this URL too, which gets an event from each of them", w.GetId()))
		}
	}
}

type webhookNamed struct {
	storeScoped
	Name string `arg:"" help:"The webhook's id or URL."`
}

type webhookUpdateCmd struct {
	webhookNamed
	targets
	URL         string   `name:"url" api:"url" placeholder:"URL" help:"Where events are sent from now on, including waiting ones."`
	Events      []string `api:"events" complete:"events" placeholder:"TYPE" help:"The event types that it receives from now on; replaces all."`
	Description string   `api:"description" clears:"" placeholder:"TEXT" help:"Description of the webhook."`
}

func (c *webhookUpdateCmd) Run(s *invocation) error {
	s.options.Webhooks.Targets = c.policy()
	in := &adminv1.UpdateWebhookRequest{}
	return change(s, c.storeScoped, c.Name, webhookName,
		func(ctx context.Context, o admin.API, id string) (*adminv1.Webhook, error) {
			in.Id = id
			changed, err := o.UpdateWebhook(ctx, in)
			if err == nil && c.URL != "" {
				s.warnOfDuplicates(ctx, o, changed)
			}
			return changed, err
		}, webhookObject, in)
}

type (
	webhookShowCmd    struct{ webhookNamed }
	webhookEnableCmd  struct{ webhookNamed }
	webhookDisableCmd struct{ webhookNamed }
	webhookDeleteCmd  struct{ webhookNamed }
	webhookPingCmd    struct{ webhookNamed }
)

func (c *webhookShowCmd) Run(s *invocation) error {
	return act(s, c.storeScoped, c.Name, webhookName, func(ctx context.Context, o admin.API, id string) (*adminv1.Webhook, error) {
		return o.GetWebhook(ctx, &adminv1.GetWebhookRequest{Id: id})
	}, webhookObject)
}

func (c *webhookEnableCmd) Run(s *invocation) error {
	return act(s, c.storeScoped, c.Name, webhookName, func(ctx context.Context, o admin.API, id string) (*adminv1.Webhook, error) {
		return o.EnableWebhook(ctx, &adminv1.EnableWebhookRequest{Id: id})
	}, webhookObject)
}

func (c *webhookDisableCmd) Run(s *invocation) error {
	return act(s, c.storeScoped, c.Name, webhookName, func(ctx context.Context, o admin.API, id string) (*adminv1.Webhook, error) {
		return o.DisableWebhook(ctx, &adminv1.DisableWebhookRequest{Id: id})
	}, webhookObject)
}

func (c *webhookDeleteCmd) Run(s *invocation) error {
	return s.operate(c.target, func(ctx context.Context, o admin.API) error {
		ctx, id, err := c.resolve(ctx, o, c.Name, webhookName)
		if err != nil {
			return err
		}
		deleted, err := o.DeleteWebhook(ctx, &adminv1.DeleteWebhookRequest{Id: id})
		switch {
		case err != nil:
			return err
		case s.json:
			return s.print(webhookObject(deleted))
		}
		_, err = fmt.Fprintf(s.out, "deleted webhook %s, %s\n", deleted.GetId(), visible(deleted.GetUrl()))
		return err
	})
}

func (c *webhookPingCmd) Run(s *invocation) error {
	return act(s, c.storeScoped, c.Name, webhookName, func(ctx context.Context, o admin.API, id string) (*adminv1.Delivery, error) {
		return o.PingWebhook(ctx, &adminv1.PingWebhookRequest{Id: id})
	}, deliveryObject)
}

type webhookRotateCmd struct {
	webhookNamed
	secretKey
}

func (c *webhookRotateCmd) Run(s *invocation) error {
	if err := s.seal(c.target, c.secretKey); err != nil {
		return err
	}
	secret := func(made *adminv1.RotateSecretResponse) []byte {
		return selectWebhook(made.GetWebhook(), made.GetSecret(), "id", "secret")
	}
	return act(s, c.storeScoped, c.Name, webhookName, func(ctx context.Context, o admin.API, id string) (*adminv1.RotateSecretResponse, error) {
		return o.RotateSecret(ctx, &adminv1.RotateSecretRequest{Id: id})
	}, secret)
}
