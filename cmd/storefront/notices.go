package main

import (
	"context"
	"fmt"
	"regexp"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/notice"
	"go.storefront.example/ent/seal"
	"go.storefront.example/worker/egress"
)

type notices struct {
	NoticesURL    string `name:"notices-url" placeholder:"URL" help:"HTTPS URL of yours that gets a notice when a webhook fails, a key expires or an import has ended. none ends notices (default: unchanged, as stored in the database)."`
	NoticesSecret string `secret:"" placeholder:"SECRET" help:"Secret that signs notices, as a webhook's secret signs events: whsec_ and the output of openssl rand -hex 32."`
}

// noticesSecret matches a whole secret, so that a partly copied one is refused.
var noticesSecret = regexp.MustCompile(`^whsec_(?:[0-9A-Za-z_-]{43}|[0-9a-f]{64})$`)

func (n notices) check(targets egress.Policy) error {
	switch {
	case n.NoticesURL == "" && n.NoticesSecret == "", n.NoticesURL == none:
		return nil
	case n.NoticesURL == "":
		return usage("--notices-url: set it too, or leave out --notices-secret")
	case !noticesSecret.MatchString(n.NoticesSecret):
		return usage("--notices-secret: must be whsec_ and 64 hexadecimal digits, such as echo whsec_$(openssl rand -hex 32) prints")
	}
	if err := egress.CheckURL(n.NoticesURL, targets); err != nil {
		return usage("--notices-url: %w", err)
	}
	return nil
}

// set stores the webhook of notices if one of the flags, which have passed check, is set.
func (n notices) set(ctx context.Context, handle *db.DB, ring func() (*seal.Keyring, error)) error {
	switch n.NoticesURL {
	case "":
		return nil
	case none:
		return notice.SetWebhook(ctx, handle, nil, "", "")
	}
	secrets, err := ring()
	if err != nil {
		return fmt.Errorf("--notices-secret is kept encrypted: %w", err)
	}
	return notice.SetWebhook(ctx, handle, secrets, n.NoticesURL, n.NoticesSecret)
}
