package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"go.storefront.example/ent/apijson"
	"go.storefront.example/ent/db"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/admin"
)

type customerForgetCmd struct {
	storeScoped
	Name string `arg:"" help:"The customer's id, e-mail or phone."`
	Yes  bool   `help:"Skip the confirmation, for scripts."`
}

func (c *customerForgetCmd) Run(s *invocation) error {
	return s.operate(c.target, func(ctx context.Context, o admin.API) error {
		ctx, id, err := c.resolve(ctx, o, c.Name, customerName)
		if err != nil {
			return err
		}
		found, err := getCustomer(ctx, o, id)
		if err != nil {
			return err
		}
		if !c.Yes {
			err := s.confirm(fmt.Sprintf("this replaces name, e-mail and phone of customer %s in the customer, the orders (%s), events, "+
				"deliveries and the activity journal, and removes the orders' notes; what is not yet delivered is not sent; amounts, "+
				"references and dates stay; it cannot be undone", found.GetId(), grouped(found.GetOrdersCount())))
			if err != nil {
				return err
			}
		}
		s.printMessage("forgetting customer " + found.GetId() + "; if this is interrupted, a worker goes on, or the same command " +
			"with this id")
		bar := newProgress(s.errs, "", -1)
		done, err := admin.Forget(ctx, o, found.GetId(), func(f *adminv1.Forgetting) {
			bar.draw(fmt.Sprintf("%s events, %s deliveries, %s activity entries", grouped(f.GetEvents()), grouped(f.GetDeliveries()),
				grouped(f.GetActivityEntries())))
		})
		bar.end()
		if err != nil {
			return err
		}
		if reader := done.GetLogWaitsFor(); reader != "" {
			s.printMessage("no row names the customer any more, but old pages stay in the write-ahead log until " + logReaders[reader] +
				" has ended; then a worker empties it, or the same command with this id")
		}
		return s.print(messageJSON(done))
	})
}

// logReaders are readers that still see the rows from before an erasure, in words for the user.
var logReaders = map[string]string{
	db.ReaderExport: "the export that is under way", db.ReaderBackup: "the backup that is under way",
	db.ReaderOther: "the request or program that reads the database as it was",
}

// confirm asks the person to type yes. Without a terminal it fails, so programs must set --yes.
func (s *invocation) confirm(warning string) error {
	if w, ok := s.in.(io.Writer); !ok || !isTerminal(w) {
		return errors.New(warning + "; nothing was changed: say --yes to do it")
	}
	s.printMessage(warning + "; type yes to go on:")
	var answer string
	if _, err := fmt.Fscanln(s.in, &answer); err != nil || !strings.EqualFold(answer, "yes") {
		return errors.New("nothing was changed")
	}
	return nil
}

type gracePeriod time.Duration

// UnmarshalText reads a duration such as 12h or 30d.
func (d *gracePeriod) UnmarshalText(text []byte) error {
	length, err := lengthOf(string(text))
	if err != nil || length < 0 {
		return fmt.Errorf("must be a time such as 12h or 30d, not %q", text)
	}
	*d = gracePeriod(length)
	return nil
}

type storeDeleteCmd struct {
	namedStore
	Grace gracePeriod `default:"30d" placeholder:"TIME" help:"How long the command store restore can still cancel the deletion, such as 12h or 90d."`
	Now   string      `placeholder:"SLUG" help:"Delete the store at once: its slug, typed once more. Nothing can restore the store."`
}

func (c *storeDeleteCmd) Run(s *invocation) error {
	in := &adminv1.DeleteStoreRequest{Store: c.Store, GraceSeconds: new(int64(time.Duration(c.Grace) / time.Second))}
	switch {
	case c.Now != "" && s.given["grace"]:
		return usage("--now deletes at once and cannot be used with --grace")
	case c.Now != "":
		in.GraceSeconds, in.ConfirmSlug = new(int64(0)), c.Now
	case *in.GraceSeconds == 0:
		return usage("a store without grace is deleted at once: say --now SLUG")
	}
	return s.operate(c.target, func(ctx context.Context, o admin.API) error {
		shown, err := o.GetStoreSettings(ctx, &adminv1.GetStoreSettingsRequest{Store: c.Store})
		if err != nil {
			return err
		}
		found := shown.GetStore()
		if c.Now != "" && c.Now != found.GetSlug() {
			return fmt.Errorf("--now must be the slug of the store, %s; nothing was changed", found.GetSlug())
		}
		set, err := o.DeleteStore(ctx, in)
		if err != nil {
			return err
		}
		if c.Now == "" {
			s.printMessage(fmt.Sprintf("the store is closed, and a worker deletes it from %s on; until then `storefront store restore "+
				"%s` takes it back", formatTime(set.GetDeleteAt()), found.GetSlug()))
		} else {
			s.printMessage("the store is closed, and a worker deletes it now; store show finds it until all is gone")
		}
		found.Status = storefrontv1.Store_closed // show the store as closed, even if a worker has deleted it meanwhile
		return s.printStoreWith(found, set)
	})
}

type storeRestoreCmd struct{ namedStore }

func (c *storeRestoreCmd) Run(s *invocation) error {
	return s.operate(c.target, func(ctx context.Context, o admin.API) error {
		restored, err := o.RestoreStore(ctx, &adminv1.RestoreStoreRequest{Store: c.Store})
		if err != nil {
			return err
		}
		if restored.GetStatus() != storefrontv1.Store_open {
			s.printMessage(fmt.Sprintf("the store was not being deleted, so it stays %s; `storefront store update %s --status open` opens it",
				restored.GetStatus(), restored.GetSlug()))
		}
		return s.printStore(ctx, o, restored.GetId())
	})
}

func storeTable(deletions map[string]*timestamppb.Timestamp) table[*storefrontv1.Store] {
	return table[*storefrontv1.Store]{[]column[*storefrontv1.Store]{
		{name: "SLUG", value: (*storefrontv1.Store).GetSlug},
		{name: "NAME", value: (*storefrontv1.Store).GetName, cut: true},
		{name: "STATUS", value: func(st *storefrontv1.Store) string { return st.GetStatus().String() }},
		{name: "CURRENCY", value: (*storefrontv1.Store).GetCurrency},
		{name: "COUNTRY", value: (*storefrontv1.Store).GetCountry, optional: true},
		{name: "BUCKET", value: bucketOf, optional: true},
		{name: "CREATED", at: (*storefrontv1.Store).GetCreatedAt, optional: true},
		{name: "DELETE", at: func(st *storefrontv1.Store) *timestamppb.Timestamp { return deletions[st.GetId()] }, optional: true},
		{name: "ID", value: (*storefrontv1.Store).GetId, optional: true},
	}, func(st *storefrontv1.Store) []byte {
		at, object := json.RawMessage("null"), messageJSON(st)
		if d := deletions[st.GetId()]; d != nil {
			at = apijson.AppendTime(nil, d.AsTime())
		}
		return withBucket(fmt.Appendf(object[:len(object)-1], `,"deleteAt":%s}`, at), st)
	}}
}

type storeDataCmd struct {
	namedStore
	Customer string `required:"" placeholder:"NAME" help:"The customer's id, e-mail or phone."`
}

// Run prints a customer with the orders and the activity entries about the customer, as JSON.
func (c *storeDataCmd) Run(s *invocation) error {
	return s.operate(c.target, func(ctx context.Context, o admin.API) error {
		ctx, found, err := storeNamed(ctx, o, c.Store)
		if err != nil {
			return err
		}
		_, id, err := customerName(ctx, o, c.Store, c.Customer)
		if err != nil {
			return err
		}
		customer, err := getCustomer(ctx, o, id)
		if err != nil {
			return err
		}
		kept := struct {
			Store    json.RawMessage   `json:"store"`
			Customer json.RawMessage   `json:"customer"`
			Orders   []json.RawMessage `json:"orders"`
			Activity []json.RawMessage `json:"activity"`
		}{messageJSON(found), messageJSON(customer), []json.RawMessage{}, []json.RawMessage{}}
		bought := &adminv1.ListCustomerOrdersRequest{Id: id}
		orders, err := collect(ctx, o, 0, bought, func(size *int32, token string) { bought.PageSize, bought.PageToken = size, token },
			admin.API.ListCustomerOrders, (*adminv1.ListCustomerOrdersResponse).GetOrders)
		if err != nil {
			return err
		}
		for _, order := range orders {
			kept.Orders = append(kept.Orders, messageJSON(order))
		}
		about := &adminv1.ListActivityRequest{ResourceId: id}
		entries, err := collect(ctx, o, 0, about, func(size *int32, token string) { about.PageSize, about.PageToken = size, token },
			admin.API.ListActivity, (*adminv1.ListActivityResponse).GetEntries)
		if err != nil {
			return err
		}
		for _, entry := range entries {
			kept.Activity = append(kept.Activity, activityTable(nil).object(entry))
		}
		text, err := plainJSON(kept)
		if err != nil {
			return err
		}
		_, err = s.out.Write(append(text, '\n'))
		return err
	})
}
