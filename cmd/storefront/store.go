package main

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/timestamppb"

	"go.storefront.example/ent/apijson"
	"go.storefront.example/ent/tenant"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/shop"
)

type storeCmd struct {
	Create  storeCreateCmd  `cmd:"" help:"Create a store."`
	List    storeListCmd    `cmd:"" help:"List the stores, newest first."`
	Show    storeShowCmd    `cmd:"" help:"Show a store."`
	Update  storeUpdateCmd  `cmd:"" help:"Change a store."`
	Delete  storeDeleteCmd  `cmd:"" help:"Close a store, and delete all its data after a grace."`
	Restore storeRestoreCmd `cmd:"" help:"Cancel the deletion of a store within its grace, and open it."`
	Data    storeDataCmd    `cmd:"" help:"Print all data that a store keeps about a customer, for the customer."`
}

// storeFields are the fields that a user can set both when creating and when changing a store.
type storeFields struct {
	URL              string       `name:"url" api:"url" placeholder:"URL" help:"Public URL of the store."`
	Description      string       `api:"description" clears:"" placeholder:"TEXT" help:"Description of the store."`
	SupportEmail     string       `api:"supportEmail" clears:"" placeholder:"EMAIL" help:"Where buyers find help."`
	Phone            string       `api:"phone" clears:"" placeholder:"PHONE" help:"In international form, or as dialled in the store's country."`
	WhatsappPhone    string       `api:"whatsappPhone" clears:"" placeholder:"PHONE" help:"As --phone."`
	Social           socials      `api:"socialLinks" sep:"none" clears:"" placeholder:"NETWORK=URL" help:"Page of the store in a social network; repeat for more. Replaces all; none clears them."`
	Status           *string      `api:"status" enum:"open,suspended,closed" placeholder:"STATUS" help:"open, suspended or closed; keys of a store that is not open are rejected (default for a new store: open)."`
	PaymentLinks     onOff        `api:"paymentLinksOpen" placeholder:"on|off" help:"Whether payment links may be created (default for a new store: on)."`
	UnavailableTypes productTypes `api:"unavailableTypes" clears:"" placeholder:"TYPE" help:"Product types that may not be published: FILE, COURSE, LICENSE, MEETING, EVENT. Replaces all; none clears them (default for a new store: none)."`
	PlatformFee      percent      `api:"platformFeePercent" placeholder:"PERCENT" help:"Fee of the platform in per cent, stored with each new order (default for a new store: 0)."`
}

type buckets struct {
	Buckets tenant.Buckets `clears:"" placeholder:"RANGES" help:"Buckets of this installation, such as 00-Kz or 00-Kz,Lq, for new and imported stores (default: all)."`
}

type storeCreateCmd struct {
	target
	Name     string `api:"name" required:"" placeholder:"NAME" help:"Name of the store."`
	Slug     string `api:"slug" required:"" placeholder:"SLUG" help:"Short name: lower-case letters, digits and hyphens."`
	Currency string `api:"currency" required:"" placeholder:"CODE" help:"ISO 4217 code, such as XAF; it cannot be changed."`
	Country  string `api:"country" required:"" placeholder:"CODE" help:"Two-letter country code, such as CM."`
	storeFields
	Bucket *string `api:"bucket" placeholder:"XX" help:"The store's bucket, such as 7Q: the proxy sends the store's API keys to the installation that has the bucket (default: any of --buckets)."`
	buckets
	PublicURL publicURL `name:"public-url" clears:"" placeholder:"URL" help:"Base URL of stores without --url; the store's slug follows (default: http://localhost:3000)."`
}

func (c *storeCreateCmd) Run(s *invocation) error {
	in := &adminv1.CreateStoreRequest{}
	s.options.Shop.Buckets = c.Buckets
	if c.PublicURL != "" && c.URL == "" {
		in.Url = new(shop.StoreURL(string(c.PublicURL), c.Slug))
	}
	return s.operate(c.target, func(ctx context.Context, o admin.API) error {
		if err := s.fill(ctx, o, nil, in); err != nil {
			return err
		}
		made, err := o.CreateStore(ctx, in)
		if err != nil {
			return err
		}
		if made.GetUrl() == shop.StoreURL(shop.DefaultPublicURL, made.GetSlug()) {
			s.printMessage(fmt.Sprintf("warning: the store's public address is %s, which only this machine reaches; set it with "+
				"`storefront store update %s --url`, or make stores with --public-url", made.GetUrl(), made.GetSlug()))
		}
		return s.print(messageJSON(made))
	})
}

type storeListCmd struct {
	target
	listSize
}

func (c *storeListCmd) Run(s *invocation) error {
	deletions := map[string]*timestamppb.Timestamp{}
	in := &adminv1.ListStoresRequest{}
	return list(s, c.target, c.listSize, storeTable(deletions), in, func(size *int32, token string) { in.PageSize, in.PageToken = size, token },
		func(ctx context.Context, _ admin.API) (context.Context, error) { return ctx, nil }, admin.API.ListStores,
		func(page *adminv1.ListStoresResponse) []*storefrontv1.Store {
			for _, d := range page.GetDeletions() {
				deletions[d.GetStoreId()] = d.GetDeleteAt()
			}
			return page.GetStores()
		})
}

type namedStore struct {
	target
	Store string `arg:"" name:"slug" help:"The store's slug or id."`
}

type storeShowCmd struct{ namedStore }

func (c *storeShowCmd) Run(s *invocation) error {
	return s.operate(c.target, func(ctx context.Context, o admin.API) error {
		return s.printStore(ctx, o, c.Store)
	})
}

func (s *invocation) printStore(ctx context.Context, o admin.API, name string) error {
	found, err := o.GetStoreSettings(ctx, &adminv1.GetStoreSettingsRequest{Store: name})
	if err != nil {
		return err
	}
	return s.printStoreWith(found.GetStore(), found.GetSettings())
}

func (s *invocation) printStoreWith(found *storefrontv1.Store, set *adminv1.StoreSettings) error {
	settings := apijson.Marshal(set)
	object := messageJSON(found)
	return s.print(withBucket(append(append(object[:len(object)-1], ','), settings[1:]...), found))
}

func bucketOf(st *storefrontv1.Store) string {
	id, err := uuid.Parse(st.GetId())
	if err != nil { // lists make their columns from an empty store, which has no id
		return ""
	}
	return tenant.Bucket(id)
}

func withBucket(object []byte, st *storefrontv1.Store) []byte {
	return fmt.Appendf(object[:len(object)-1], `,"bucket":%s}`, quoted(bucketOf(st)))
}

type storeUpdateCmd struct {
	namedStore
	Name string `api:"name" placeholder:"NAME" help:"Name of the store."`
	storeFields
}

func (c *storeUpdateCmd) Run(s *invocation) error {
	in := &adminv1.UpdateStoreRequest{Store: c.Store}
	if err := s.changesAnything(); err != nil {
		return err
	}
	return s.operate(c.target, func(ctx context.Context, o admin.API) error {
		if err := s.fill(ctx, o, nil, in); err != nil {
			return err
		}
		changed, err := o.UpdateStore(ctx, in)
		if err != nil {
			return err
		}
		return s.printStore(ctx, o, changed.GetId())
	})
}
