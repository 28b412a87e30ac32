package main

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"go.storefront.example/server/admin"
	"go.storefront.example/server/shop"
)

type dashboardCmd struct {
	Link dashboardLinkCmd `cmd:"" help:"Make a link that signs a member in to a store's dashboard, once."`
}

// Help shows an example.
func (dashboardCmd) Help() string {
	return "The dashboard is served under /dashboard of the operator's listener: a store's API keys, webhooks, deliveries and activity.\n\nExample:\n\n    storefront dashboard link --store douala --member \"Awa Ngo\" --role owner"
}

type dashboardLinkCmd struct {
	place
	Store   string   `required:"" placeholder:"SLUG" help:"The store, by slug or id."`
	Member  string   `required:"" placeholder:"NAME" help:"The member's name, as the activity journal is to show it."`
	Role    string   `required:"" enum:"owner,admin" placeholder:"ROLE" help:"owner or admin; no other role manages keys and webhooks."`
	Expires signInIn `default:"10m" placeholder:"TIME" help:"How long the link can be used: 1s to 24h (default: 10m)."`
	URL     baseAt   `name:"url" default:"http://127.0.0.1:8081" placeholder:"URL" help:"Address under which the member reaches the operator's listener (default: http://127.0.0.1:8081)."`
}

// Help shows an example.
func (dashboardLinkCmd) Help() string {
	return "Prints the link. It works once and for a short time; whoever opens it is signed in for 12 hours. Give it to the member alone.\n\nExample:\n\n    storefront dashboard link --store douala --member \"Awa Ngo\" --role owner --url https://operator.example.com"
}

// shownLink is a sign-in link as it is printed.
type shownLink struct {
	URL       string `json:"url"`
	ExpiresAt moment `json:"expiresAt"`
}

// Run makes the link.
func (c *dashboardLinkCmd) Run(s *session) error {
	return s.operate(c.place, shop.Options{}, func(ctx context.Context, o operations) error {
		link, err := o.CreateSignInLink(ctx, c.Store, c.Member, c.Role, time.Duration(c.Expires))
		if err != nil {
			return err
		}
		shown := shownLink{link.URL(string(c.URL)), moment{&link.ExpiresAt}}
		if s.json {
			return s.value(shown)
		}
		_, err = fmt.Fprintf(s.out, "%s\n\nWorks once, until %s.\n", shown.URL, shown.ExpiresAt)
		return err
	})
}

// signInIn is how long a sign-in link can be used.
type signInIn time.Duration

// UnmarshalText reads a length of time such as 10m.
func (e *signInIn) UnmarshalText(text []byte) error {
	d, err := time.ParseDuration(string(text))
	if err != nil || d < time.Second || d > admin.MaxSignInExpiry {
		return fmt.Errorf("must be a time from 1s to %.0fh, such as 10m, not %q", admin.MaxSignInExpiry.Hours(), text)
	}
	*e = signInIn(d)
	return nil
}

// baseAt is the address that links are made under.
type baseAt string

// UnmarshalText reads an http or https URL without query and fragment.
func (b *baseAt) UnmarshalText(text []byte) error {
	u, err := url.Parse(string(text))
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return fmt.Errorf("must be an address such as https://operator.example.com, not %q", text)
	}
	*b = baseAt(text)
	return nil
}
