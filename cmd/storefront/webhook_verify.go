package main

import (
	"fmt"
	"io"
	"time"

	"go.storefront.example/client/webhook"
)

type webhookVerifyCmd struct {
	Secret    string        `secret:"" required:"" placeholder:"SECRET" help:"The webhook's signing secret, whsec_…."`
	Header    string        `placeholder:"TEXT" help:"The value of the delivery's Service-Signature header: t=…,v1=…."`
	Tolerance time.Duration `default:"5m" placeholder:"TIME" help:"Maximum age of the signature, or distance in the future (default: 5m)."`
}

// Run reads the delivery from standard input. It needs neither a database nor a server.
func (c *webhookVerifyCmd) Run(s *invocation) error {
	body, err := io.ReadAll(io.LimitReader(s.in, webhook.MaxBodyBytes+1))
	if err != nil {
		return fmt.Errorf("read the body: %w", err)
	}
	if len(body) > webhook.MaxBodyBytes {
		return webhook.ErrTooLarge
	}
	event, err := webhook.Verify(body, c.Header, c.Secret, webhook.WithTolerance(c.Tolerance))
	if err != nil {
		return err
	}
	if s.json {
		return s.printValue(map[string]any{"id": event.ID, "type": event.Type, "createdAt": event.CreatedAt, "storeId": event.Store.ID})
	}
	_, err = fmt.Fprintf(s.out, "the signature matches: %s, event %s of %s\n", event.Type, event.ID,
		event.CreatedAt.Format("2006-01-02T15:04:05.000Z"))
	return err
}
