package main

import (
	"context"
	"fmt"

	"go.storefront.example/ent/apijson"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/shop"
)

type storeCmd struct {
	Create storeCreateCmd `cmd:"" help:"Create a store."`
	List   storeListCmd   `cmd:"" help:"List the stores, newest first."`
	Show   storeShowCmd   `cmd:"" help:"Show a store."`
	Update storeUpdateCmd `cmd:"" help:"Change a store."`
}

// storeFields are the fields that can be set when creating and updating a store.
type storeFields struct {
	URL              *string       `name:"url" placeholder:"URL" help:"Public address of the store."`
	Description      *string       `clears:"" placeholder:"TEXT" help:"What the store is about."`
	SupportEmail     *string       `clears:"" placeholder:"EMAIL" help:"Where buyers find help."`
	Phone            *string       `clears:"" placeholder:"PHONE" help:"In international form, or as dialled in the store's country."`
	WhatsappPhone    *string       `clears:"" placeholder:"PHONE" help:"As --phone."`
	Social           []social      `sep:"none" clears:"" placeholder:"NETWORK=URL" help:"Page of the store in a social network; repeat for more. Replaces all; none clears them."`
	Status           *string       `enum:"open,suspended,closed" placeholder:"STATUS" help:"open, suspended or closed; keys of a store that is not open are refused (default for a new store: open)."`
	PaymentLinks     *onOff        `placeholder:"on|off" help:"Whether payment links may be created (default for a new store: on)."`
	UnavailableTypes []productType `clears:"" placeholder:"TYPE" help:"Product types that may not be published: FILE, COURSE, LICENSE, MEETING, EVENT. Replaces all; none clears them (default for a new store: none)."`
	PlatformFee      *percent      `placeholder:"PERCENT" help:"Fee of the platform in per cent, kept with each order recorded from now on (default for a new store: 0)."`
}

// socialLinks are the links that --social names, nil without any.
func (f *storeFields) socialLinks() map[string]string {
	var links map[string]string
	for _, s := range f.Social {
		if s.network != none {
			if links == nil {
				links = map[string]string{}
			}
			links[s.network] = s.address
		}
	}
	return links
}

// unavailableTypes are the types that --unavailable-types names.
func (f *storeFields) unavailableTypes() []storefrontv1.Product_Type {
	var types []storefrontv1.Product_Type
	for _, t := range f.UnavailableTypes {
		if t != 0 {
			types = append(types, storefrontv1.Product_Type(t))
		}
	}
	return types
}

func (f *storeFields) status() *storefrontv1.Store_Status {
	return enumOf[storefrontv1.Store_Status](storefrontv1.Store_Status_value, f.Status)
}

type storeCreateCmd struct {
	place
	Name     string `required:"" placeholder:"NAME" help:"Name of the store."`
	Slug     string `required:"" placeholder:"SLUG" help:"Short name: lower-case letters, digits and hyphens."`
	Currency string `required:"" placeholder:"CODE" help:"ISO 4217 code, such as XAF; it cannot be changed."`
	Country  string `required:"" placeholder:"CODE" help:"Two-letter country code, such as CM."`
	storeFields
	PublicURL publicURL `name:"public-url" clears:"" placeholder:"URL" help:"Public address setting: the address of a store without --url is this and its slug (default: http://localhost:3000)."`
}

// Run creates the store.
func (c *storeCreateCmd) Run(s *session) error {
	in := &adminv1.CreateStoreRequest{
		Name: c.Name, Slug: c.Slug, Currency: c.Currency, Country: c.Country, Url: c.URL, Description: c.Description,
		SupportEmail: c.SupportEmail, Phone: c.Phone, WhatsappPhone: c.WhatsappPhone, SocialLinks: c.socialLinks(), Status: c.status(),
		PaymentLinksOpen: (*bool)(c.PaymentLinks), UnavailableTypes: c.unavailableTypes(),
		PlatformFeePercent: (*float64)(c.PlatformFee),
	}
	if c.PublicURL != "" && in.Url == nil {
		address := shop.StoreURL(string(c.PublicURL), c.Slug)
		in.Url = &address
	}
	return s.operate(c.place, func(ctx context.Context, o admin.API) error {
		made, err := o.CreateStore(ctx, in)
		if err != nil {
			return err
		}
		if made.GetUrl() == shop.StoreURL(shop.DefaultPublicURL, made.GetSlug()) {
			s.say(fmt.Sprintf("warning: the store's public address is %s, which only this machine reaches; set it with `storefront "+
				"store update %s --url`, or make stores with --public-url", made.GetUrl(), made.GetSlug()))
		}
		return s.print(whole(made))
	})
}

type storeListCmd struct {
	place
	limit
}

// Run lists the stores.
func (c *storeListCmd) Run(s *session) error {
	return list(s, c.place, c.limit, storeTable, func(ctx context.Context, o admin.API, size *int32, token string) (
		[]*storefrontv1.Store, string, error) {
		out, err := o.ListStores(ctx, &adminv1.ListStoresRequest{PageSize: size, PageToken: token})
		return out.GetStores(), out.GetNextPageToken(), err
	})
}

var storeTable = table[*storefrontv1.Store]{"SLUG,NAME~,STATUS,CURRENCY,COUNTRY?,CREATED@?,ID?",
	func(st *storefrontv1.Store) []string {
		return []string{st.GetSlug(), st.GetName(), st.GetStatus().String(), st.GetCurrency(), st.GetCountry(), when(st.GetCreatedAt()),
			st.GetId()}
	}, whole[*storefrontv1.Store]}

type storeShowCmd struct {
	place
	Store string `arg:"" name:"slug" help:"The store's slug or id."`
}

// Run shows the store.
func (c *storeShowCmd) Run(s *session) error {
	return s.operate(c.place, func(ctx context.Context, o admin.API) error {
		found, err := o.GetStore(ctx, &adminv1.GetStoreRequest{Store: c.Store})
		if err != nil {
			return err
		}
		return s.printStore(ctx, o, found)
	})
}

// printStore prints a store, and what the operator sets beside it.
func (s *session) printStore(ctx context.Context, o admin.API, found *storefrontv1.Store) error {
	set, err := o.GetStoreSettings(ctx, &adminv1.GetStoreSettingsRequest{Store: found.GetId()})
	if err != nil {
		return err
	}
	settings := apijson.Marshal(set)
	object := whole(found)
	return s.print(append(append(object[:len(object)-1], ','), settings[1:]...))
}

type storeUpdateCmd struct {
	place
	Store string  `arg:"" name:"slug" help:"The store's slug or id."`
	Name  *string `placeholder:"NAME" help:"Name of the store."`
	storeFields
}

// Run changes the store.
func (c *storeUpdateCmd) Run(s *session) error {
	in := &adminv1.UpdateStoreRequest{
		Store: c.Store, Name: c.Name, Url: c.URL, Description: c.Description, SupportEmail: c.SupportEmail, Phone: c.Phone,
		WhatsappPhone: c.WhatsappPhone, SocialLinks: c.socialLinks(), Status: c.status(), PaymentLinksOpen: (*bool)(c.PaymentLinks),
		UnavailableTypes: c.unavailableTypes(), PlatformFeePercent: (*float64)(c.PlatformFee),
	}
	var cleared []string
	if len(c.Social) > 0 && in.SocialLinks == nil {
		cleared = append(cleared, "social_links")
	}
	if s.given["unavailable-types"] && in.UnavailableTypes == nil {
		cleared = append(cleared, "unavailable_types")
	}
	in.UpdateMask = maskOf(in, "store", cleared...)
	if err := s.changes(in.UpdateMask); err != nil {
		return err
	}
	return s.operate(c.place, func(ctx context.Context, o admin.API) error {
		changed, err := o.UpdateStore(ctx, in)
		if err != nil {
			return err
		}
		return s.printStore(ctx, o, changed)
	})
}
