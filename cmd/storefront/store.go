package main

import (
	"bytes"
	"context"
	"strings"

	"go.storefront.example/ent/wire"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/service"
)

type storeCmd struct {
	Create storeCreateCmd `cmd:"" help:"Create a store."`
	List   storeListCmd   `cmd:"" help:"List the stores, newest first."`
	Show   storeShowCmd   `cmd:"" help:"Show a store."`
	Update storeUpdateCmd `cmd:"" help:"Change a store."`
}

// Help shows an example.
func (storeCmd) Help() string {
	return "Example:\n\n    storefront store create --name \"Boutique Douala\" --slug douala --currency XAF --country CM"
}

// storeFields are the fields that can be set when creating and updating a store.
type storeFields struct {
	URL              *string  `name:"url" placeholder:"URL" help:"Public address of the store."`
	Description      *string  `placeholder:"TEXT" help:"What the store is about."`
	SupportEmail     *string  `placeholder:"EMAIL" help:"Where buyers find help."`
	Phone            *string  `placeholder:"PHONE" help:"In international form, or as dialled in the store's country."`
	WhatsappPhone    *string  `placeholder:"PHONE" help:"As --phone."`
	Social           []social `sep:"none" placeholder:"NETWORK=URL" help:"Page of the store in a social network; repeat for more. Replaces all; none clears them."`
	Status           *string  `enum:"open,suspended,closed" placeholder:"STATUS" help:"open, suspended or closed; keys of a store that is not open are refused."`
	PaymentLinks     *onOff   `placeholder:"on|off" help:"Whether payment links may be created."`
	UnavailableTypes []string `placeholder:"TYPE,…" help:"Product types that may not be published. Replaces all; none clears them."`
	PlatformFee      *percent `placeholder:"PERCENT" help:"Fee of the platform, kept with each order recorded from now on."`
}

func (f *storeFields) change(name *string) service.StoreChange {
	c := service.StoreChange{
		Name: name, URL: f.URL, Description: f.Description, SupportEmail: f.SupportEmail,
		Phone: f.Phone, WhatsappPhone: f.WhatsappPhone, Status: f.Status,
		PaymentLinksOpen: (*bool)(f.PaymentLinks), PlatformFeePercent: (*float64)(f.PlatformFee),
	}
	if len(f.Social) > 0 {
		c.SocialLinks = map[string]string{}
		for _, s := range f.Social {
			if s.network != none {
				c.SocialLinks[s.network] = s.address
			}
		}
	}
	switch {
	case len(f.UnavailableTypes) == 1 && f.UnavailableTypes[0] == none:
		c.UnavailableTypes = &[]string{}
	case len(f.UnavailableTypes) > 0:
		c.UnavailableTypes = &f.UnavailableTypes
	}
	return c
}

type storeCreateCmd struct {
	place
	Name     string `required:"" placeholder:"NAME" help:"Name of the store."`
	Slug     string `required:"" placeholder:"SLUG" help:"Short name: lower-case letters, digits and hyphens."`
	Currency string `required:"" placeholder:"CODE" help:"ISO 4217 code, such as XAF; it cannot be changed."`
	Country  string `required:"" placeholder:"CODE" help:"Two-letter country code, such as CM."`
	storeFields
	PublicURL string `name:"public-url" placeholder:"URL" help:"Public address setting: the address of a store without --url is this and its slug."`
}

// Help shows an example.
func (storeCreateCmd) Help() string {
	return "Prints the Store as the API returns it.\n\nExample:\n\n    storefront store create --name \"Boutique Douala\" --slug douala --currency XAF --country CM --social facebook=https://facebook.com/douala"
}

// Run creates the store.
func (c *storeCreateCmd) Run(s *session) error {
	draft := service.StoreDraft{StoreChange: c.change(&c.Name), Slug: c.Slug, Currency: c.Currency, Country: c.Country}
	if c.PublicURL != "" && draft.URL == nil {
		address := service.StoreURL(c.PublicURL, c.Slug)
		draft.URL = &address
	}
	return s.operate(c.place, service.Options{}, func(ctx context.Context, o operations) error {
		created, err := o.CreateStore(ctx, draft)
		if err != nil {
			return err
		}
		return s.message(created)
	})
}

type storeListCmd struct {
	place
	limit
}

// Help shows an example.
func (storeListCmd) Help() string {
	return "Example:\n\n    storefront store list --limit 10 -o json"
}

// Run lists the stores.
func (c *storeListCmd) Run(s *session) error {
	return s.operate(c.place, service.Options{}, func(ctx context.Context, o operations) error {
		stores, err := o.ListStores(ctx, int(c.Limit))
		if err != nil {
			return err
		}
		rows := make([][]string, len(stores))
		objects := make([][]byte, len(stores))
		for i, st := range stores {
			objects[i] = wire.Marshal(st)
			rows[i] = storeRow(st)
		}
		array := "[" + string(bytes.Join(objects, []byte(","))) + "]"
		return s.list([]byte(array), strings.Fields("SLUG NAME STATUS CURRENCY COUNTRY CREATED ID"), rows)
	})
}

func storeRow(st *storefrontv1.Store) []string {
	created := st.GetCreatedAt().AsTime()
	return []string{st.GetSlug(), st.GetName(), st.GetStatus().String(), st.GetCurrency(), st.GetCountry(), moment{&created}.String(), st.GetId()}
}

type storeShowCmd struct {
	place
	Store string `arg:"" name:"slug" help:"The store's slug or id."`
}

// Help shows an example.
func (storeShowCmd) Help() string { return "Example:\n\n    storefront store show douala" }

// Run shows the store.
func (c *storeShowCmd) Run(s *session) error {
	return s.operate(c.place, service.Options{}, func(ctx context.Context, o operations) error {
		found, err := o.GetStore(ctx, c.Store)
		if err != nil {
			return err
		}
		return s.message(found)
	})
}

type storeUpdateCmd struct {
	place
	Store string  `arg:"" name:"slug" help:"The store's slug or id."`
	Name  *string `placeholder:"NAME" help:"Name of the store."`
	storeFields
}

// Help shows an example.
func (storeUpdateCmd) Help() string {
	return "Changes what a flag names and leaves the rest; prints the Store.\n\nExample:\n\n    storefront store update douala --status suspended\n    storefront store update douala --unavailable-types MEETING,EVENT --payment-links off"
}

// Run changes the store.
func (c *storeUpdateCmd) Run(s *session) error {
	return s.operate(c.place, service.Options{}, func(ctx context.Context, o operations) error {
		updated, err := o.UpdateStore(ctx, c.Store, c.change(c.Name))
		if err != nil {
			return err
		}
		return s.message(updated)
	})
}
