package main

import (
	"context"
	"strings"

	"github.com/google/uuid"

	"go.storefront.example/server/service"
)

type keyCmd struct {
	Create keyCreateCmd `cmd:"" help:"Create an API key; it is shown this once."`
	List   keyListCmd   `cmd:"" help:"List a store's API keys, newest first."`
	Revoke keyRevokeCmd `cmd:"" help:"Revoke an API key for good."`
}

// Help shows an example.
func (keyCmd) Help() string {
	return "Example:\n\n    storefront key create --store douala --name crm --scopes customers:write,orders:read --expires 90d"
}

// newKey is a key as it is shown at its creation.
type newKey struct {
	ID        uuid.UUID `json:"id"`
	Name      string    `json:"name"`
	Key       string    `json:"key"`
	Scopes    []string  `json:"scopes"`
	ExpiresAt moment    `json:"expiresAt"`
	CreatedAt moment    `json:"createdAt"`
}

// keyEntry is a key as it is listed.
type keyEntry struct {
	ID         uuid.UUID `json:"id"`
	Name       string    `json:"name"`
	Hint       string    `json:"hint"`
	Scopes     []string  `json:"scopes"`
	Status     string    `json:"status"`
	ExpiresAt  moment    `json:"expiresAt"`
	LastUsedAt moment    `json:"lastUsedAt"`
	CreatedAt  moment    `json:"createdAt"`
}

func keyEntryOf(k service.Key) keyEntry {
	return keyEntry{k.ID, k.Name, k.Hint, k.Scopes, k.Status, moment{k.ExpiresAt}, moment{k.LastUsedAt}, moment{&k.CreatedAt}}
}

type keyCreateCmd struct {
	place
	Store   string   `required:"" placeholder:"SLUG" help:"The store, by slug or id."`
	Name    string   `required:"" placeholder:"NAME" help:"The tool that uses the key; it appears in the activity journal."`
	Scopes  []string `required:"" placeholder:"SCOPE,…" help:"What the key may do: store:read, products:read, products:write, orders:read, customers:read, customers:write, payment_links:read, payment_links:write. Write implies read."`
	Expires string   `required:"" enum:"30d,90d,1y,never" placeholder:"WHEN" help:"30d, 90d, 1y or never."`
}

// Help shows an example.
func (keyCreateCmd) Help() string {
	return "Prints the key, this once: only its fingerprint is kept. A store has at most ten active keys.\n\nExample:\n\n    storefront key create --store douala --name crm --scopes customers:write,orders:read --expires 90d -o json"
}

// Run creates the key.
func (c *keyCreateCmd) Run(s *session) error {
	return s.operate(c.place, service.Options{}, func(ctx context.Context, o operations) error {
		k, err := o.CreateKey(ctx, c.Store, service.KeyDraft{Name: c.Name, Scopes: c.Scopes, Lifetime: c.Expires})
		if err != nil {
			return err
		}
		return s.value(newKey{k.ID, k.Name, k.Text, k.Scopes, moment{k.ExpiresAt}, moment{&k.CreatedAt}})
	})
}

type keyListCmd struct {
	place
	Store string `required:"" placeholder:"SLUG" help:"The store, by slug or id."`
	limit
}

// Help shows an example.
func (keyListCmd) Help() string { return "Example:\n\n    storefront key list --store douala" }

// Run lists the keys.
func (c *keyListCmd) Run(s *session) error {
	return s.operate(c.place, service.Options{}, func(ctx context.Context, o operations) error {
		keys, err := o.ListKeys(ctx, c.Store, int(c.Limit))
		if err != nil {
			return err
		}
		entries := make([]keyEntry, len(keys))
		rows := make([][]string, len(keys))
		for i, k := range keys {
			e := keyEntryOf(k)
			entries[i] = e
			rows[i] = []string{e.ID.String(), e.Name, e.Hint, e.Status, e.ExpiresAt.String(), e.LastUsedAt.String(), e.CreatedAt.String(), strings.Join(e.Scopes, ",")}
		}
		array, err := plainJSON(entries)
		if err != nil {
			return err
		}
		return s.list(array, strings.Split("ID,NAME,HINT,STATUS,EXPIRES,LAST USED,CREATED,SCOPES", ","), rows)
	})
}

type keyRevokeCmd struct {
	place
	ID string `arg:"" help:"The key's id, as key list shows it."`
}

// Help shows an example.
func (keyRevokeCmd) Help() string {
	return "A revoked key is refused from the next request on, on every server.\n\nExample:\n\n    storefront key revoke 01936d2e-7a10-7c5e-9d0f-3a2b1c4d5e6f"
}

// Run revokes the key.
func (c *keyRevokeCmd) Run(s *session) error {
	return s.operate(c.place, service.Options{}, func(ctx context.Context, o operations) error {
		k, err := o.RevokeKey(ctx, c.ID)
		if err != nil {
			return err
		}
		return s.value(keyEntryOf(k))
	})
}
