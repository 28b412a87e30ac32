package main

import (
	"context"
	"fmt"
	"time"

	"go.storefront.example/ent/tenant"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/admin/rpc"
	"go.storefront.example/server/apierr"
)

type storeMoveCmd struct {
	namedStore
	secretKey
	To           string `name:"to" placeholder:"URL" help:"The operator's listener of the installation to move to, such as https://operator.new.example."`
	ToAdminToken string `name:"to-admin-token" placeholder:"TOKEN" help:"The --admin-token of that server. Better set as STOREFRONT_TO_ADMIN_TOKEN."`
	Redirect     apiURL `placeholder:"URL" help:"Public address of the new place, to which the old one then redirects requests (308); without it they are answered 503."`
	Status       bool   `help:"Show where the move stands, and change nothing."`
	Abort        bool   `help:"Take back a move that has not come to its end; the store stays. Without --to whatever is at the new place is left alone: only if that place is lost."`
	Yes          bool   `help:"Do it without asking, for programs."`
}

// movedStore is what a move did, as it is shown.
type movedStore struct {
	Store    string `json:"store"`
	To       string `json:"to"`
	Rows     int    `json:"rows"`
	FrozenMS int64  `json:"frozenMs"`
}

// Run moves the store.
func (c *storeMoveCmd) Run(s *invocation) error {
	var to *rpc.Client
	switch {
	case c.Status && c.Abort:
		return usage("--status and --abort exclude each other")
	case c.To != "":
		var err error
		if to, err = (adminListener{c.To, c.ToAdminToken}).client(); err != nil {
			return fmt.Errorf("--to: %w", err)
		}
	case !c.Status && !c.Abort:
		return usage("say where the store moves to: --to URL --to-admin-token TOKEN")
	}
	if !c.Status && !c.Abort {
		if err := s.seal(c.target, c.secretKey); err != nil {
			return err
		}
	}
	return s.operate(c.target, func(ctx context.Context, o admin.API) error {
		if c.Status {
			return c.status(ctx, s, o, to)
		}
		found, err := o.GetStore(ctx, &adminv1.GetStoreRequest{Store: c.Store})
		if err != nil {
			return err
		}
		bar := newProgress(s.errs, "", -1)
		defer bar.end()
		m := &admin.Mover{From: o, Store: c.Store, ToAddress: c.To, RedirectTo: string(c.Redirect), Report: bar.draw}
		if to != nil {
			m.To = to
		}
		if c.Abort {
			if err := m.Abort(ctx); err != nil {
				return err
			}
			s.say("the store " + found.GetSlug() + " stays; a copy at the new place is being deleted")
			return nil
		}
		if !c.Yes {
			if err := s.confirm(fmt.Sprintf("this copies the store %s to %s while it sells, then stops its changes for a moment and "+
				"opens it there; here its keys are refused from then on", found.GetSlug(), c.To)); err != nil {
				return err
			}
		}
		done, err := m.Run(ctx)
		bar.end()
		if err != nil {
			return fmt.Errorf("%w; run it again to go on, or take it back with --abort", err)
		}
		if s.json {
			return s.value(movedStore{done.Store, c.To, done.Rows, done.Frozen.Milliseconds()})
		}
		if done.Frozen > 0 { // unless the switch was all that was left
			s.say(fmt.Sprintf("%s written; nothing could be changed for %s", plural(done.Rows, "row"),
				done.Frozen.Round(time.Millisecond)))
		}
		_, err = fmt.Fprintf(s.out, "%s answers at %s\nthe copy that stays here can be deleted with `storefront store delete %s`\n",
			found.GetSlug(), c.To, found.GetSlug())
		return err
	})
}

// steps say what each step of a move means.
var steps = map[string]string{
	"":              "does not move",
	tenant.Copying:  "is being copied, and sells",
	tenant.Draining: "is being copied and sells; its events wait",
	tenant.Frozen:   "is frozen: it answers, and nothing of it can be changed",
	tenant.Moved:    "has moved",
	tenant.Arriving: "arrives, and is not open yet",
}

// moveStatus is where a move stands, as it is shown.
type moveStatus struct {
	Store   string `json:"store"`
	Step    string `json:"step"`
	MovedTo string `json:"movedTo"`
	// There is what it does at the new place, if that was named.
	There string `json:"there"`
}

// status shows where a move stands.
func (c *storeMoveCmd) status(ctx context.Context, s *invocation, o admin.API, to *rpc.Client) error {
	at, err := o.GetMove(ctx, &adminv1.GetMoveRequest{Store: c.Store})
	if err != nil {
		return err
	}
	status := moveStatus{at.GetStoreId(), at.GetStep(), at.GetMovedTo(), ""}
	if to != nil {
		found, err := to.GetMove(ctx, &adminv1.GetMoveRequest{Store: at.GetStoreId()})
		switch {
		case apierr.Is(err, apierr.StoreNotFound):
			status.There = "is not there"
		case err != nil:
			return err
		case found.GetStep() == "":
			status.There = "is open"
		default:
			status.There = steps[found.GetStep()]
		}
	}
	if s.json {
		return s.value(status)
	}
	text := at.GetSlug() + " " + steps[status.Step]
	if status.MovedTo != "" {
		text += " to " + status.MovedTo
	}
	if status.There != "" {
		text += "; at " + c.To + " it " + status.There
	}
	_, err = fmt.Fprintln(s.out, text)
	return err
}
