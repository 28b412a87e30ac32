package main

import (
	"context"
	"fmt"

	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/admin"
)

type eventCmd struct {
	Resend eventResendCmd `cmd:"" help:"Forward an event again, as storefront listen does."`
}

type eventResendCmd struct {
	target
	forwarding
	ID string `arg:"" help:"The event's id."`
}

// resent is what became of an event that was forwarded again.
type resent struct {
	ID         string `json:"id"`
	Type       string `json:"type"`
	ForwardTo  string `json:"forwardTo"`
	Secret     string `json:"secret"`
	StatusCode int    `json:"statusCode"`
	DurationMs int64  `json:"durationMs"`
}

// Run forwards the event.
func (c *eventResendCmd) Run(s *session) error {
	to, err := c.address()
	if err != nil {
		return err
	}
	return s.operate(c.target, func(ctx context.Context, o admin.API) error {
		e, err := o.GetEvent(ctx, &adminv1.GetEventRequest{Id: c.ID})
		if err != nil {
			return err
		}
		secret, err := listenSecret(c.AdminToken, s.dev, e.GetStoreId())
		if err != nil {
			return err
		}
		f := newForwarder(to, secret)
		defer f.client.Close()
		r := f.post(ctx, e)
		if !r.Succeeded() {
			return fmt.Errorf("forward %s to %s: %s", e.GetId(), to, r.Problem)
		}
		if s.json {
			return s.value(resent{e.GetId(), e.GetType(), to, secret, r.Status, r.Duration.Milliseconds()})
		}
		_, err = fmt.Fprintf(s.out, "%s\nsigning secret: %s\n", forwarded(e, r), secret)
		return err
	})
}
