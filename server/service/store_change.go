package service

import (
	"context"
	"fmt"
	"maps"
	"net/mail"
	"slices"
	"strings"

	"entgo.io/ent/dialect/sql"
	"github.com/google/uuid"
	"golang.org/x/text/currency"
	"golang.org/x/text/language"

	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/resource"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/product"
	"go.storefront.example/gen/ent/store"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/apierr"
)

func storeNotFound(name string) error {
	return apierr.New(apierr.StoreNotFound, "There is no store "+name+".")
}

// TenantOf brings a store's row into the form that travels in the context.
func TenantOf(row *ent.Store) tenant.Store {
	return tenant.Store{
		ID: row.ID, Slug: row.Slug, Currency: row.Currency, Country: row.Country, Status: row.Status.String(),
		PaymentLinksOpen: row.PaymentLinksOpen, UnavailableTypes: row.UnavailableTypes, PlatformFeePercent: row.PlatformFeePercent,
	}
}

// FindStore returns the store with this slug or id. It refuses with store_not_found.
func (s *Shop) FindStore(ctx context.Context, name string) (tenant.Store, error) {
	where := store.Slug(name)
	if id, ok := parseID(name); ok {
		where = store.ID(id)
	}
	row, err := s.store.Client().Store.Query().Where(where).Only(ctx)
	if err := readError("store", err, func() error { return storeNotFound(name) }); err != nil {
		return tenant.Store{}, err
	}
	return TenantOf(row), nil
}

// ListStores returns the newest stores, at most limit.
func (s *Shop) ListStores(ctx context.Context, limit int) ([]*storefrontv1.Store, error) {
	rows, err := s.store.Client().Store.Query().
		Order(store.ByCreatedAt(sql.OrderDesc()), store.ByID(sql.OrderDesc())).Limit(limit).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("list stores: %w", err)
	}
	stores := make([]*storefrontv1.Store, len(rows))
	for i, row := range rows {
		stores[i] = resource.Store(row)
	}
	return stores, nil
}

// StoreChange is what to change of a store; a nil field stays as it is.
type StoreChange struct {
	Name, URL, Description, SupportEmail, Phone, WhatsappPhone *string
	// SocialLinks replaces the whole map from network name to address.
	SocialLinks map[string]string
	// Status is open, suspended or closed.
	Status *string
	// PaymentLinksOpen tells whether payment links may be created in this store.
	PaymentLinksOpen *bool
	// UnavailableTypes replaces the product types that may not be published; a non-nil pointer
	// to an empty list makes all available.
	UnavailableTypes *[]string
	// PlatformFeePercent is copied to each order recorded from now on, 0 to 100.
	PlatformFeePercent *float64
}

// StoreDraft is a store to create; Name, Slug, Currency and Country are required. Without a URL
// the store's address is the public address setting with its slug.
type StoreDraft struct {
	StoreChange
	Slug, Currency, Country string
}

func (p *problems) storeFields(c *StoreChange, country string) {
	if c.Name != nil {
		name := p.title("name", *c.Name)
		c.Name = &name
	}
	if c.URL != nil {
		if address := p.optionalURL("url", c.URL); address != nil {
			c.URL = address
		} else {
			p.invalid("url", "must be an http or https address")
		}
	}
	if c.Description != nil {
		description := p.text("description", *c.Description, MaxDescriptionRunes)
		c.Description = &description
	}
	if c.SupportEmail != nil && *c.SupportEmail != "" {
		if address, err := mail.ParseAddress(*c.SupportEmail); err != nil || address.Address != *c.SupportEmail {
			p.invalid("supportEmail", "must be an e-mail address such as help@example.com")
		}
	}
	for _, named := range []struct {
		field string
		phone **string
	}{{"phone", &c.Phone}, {"whatsappPhone", &c.WhatsappPhone}} {
		if *named.phone != nil && **named.phone != "" {
			*named.phone = p.phone(named.field, **named.phone, country)
		}
	}
	for _, network := range slices.Sorted(maps.Keys(c.SocialLinks)) {
		address := c.SocialLinks[network]
		if p.optionalURL("socialLinks."+network, &address) == nil || network == "" {
			p.invalid("socialLinks."+network, "must be a network's name and an http or https address")
		}
	}
	if c.Status != nil && store.StatusValidator(store.Status(*c.Status)) != nil {
		p.invalid("status", "must be open, suspended or closed")
	}
	if c.UnavailableTypes != nil {
		for _, t := range *c.UnavailableTypes {
			if product.TypeValidator(product.Type(t)) != nil {
				p.invalid("unavailableTypes", fmt.Sprintf("%q is none of FILE, COURSE, LICENSE, MEETING, EVENT", t))
			}
		}
	}
	if c.PlatformFeePercent != nil && !(*c.PlatformFeePercent >= 0 && *c.PlatformFeePercent <= 100) {
		p.invalid("platformFeePercent", "must be a percentage from 0 to 100")
	}
}

// StoreURL is the address of a store that has none of its own: its slug under the public address
// setting.
func StoreURL(public, slug string) string { return strings.TrimSuffix(public, "/") + "/" + slug }

// CreateStore creates a store under an id of its own; the actor in the context makes it.
//
// It refuses with validation_failed, phone_invalid or slug_taken.
func (s *Shop) CreateStore(ctx context.Context, actor tenant.Actor, d StoreDraft) (*storefrontv1.Store, error) {
	p := &problems{}
	p.required("name", true, d.Name != nil)
	d.Currency, d.Country = strings.ToUpper(d.Currency), strings.ToUpper(d.Country)
	if _, err := currency.ParseISO(d.Currency); err != nil {
		p.invalid("currency", "must be an ISO 4217 code such as XAF")
	}
	if region, err := language.ParseRegion(d.Country); err != nil || len(d.Country) != 2 || !region.IsCountry() {
		p.invalid("country", "must be a two-letter country code such as CM")
	}
	if d.Slug == "" {
		p.invalid("slug", "is required")
	}
	p.slug("slug", d.Slug)
	p.storeFields(&d.StoreChange, d.Country)
	if err := p.err(); err != nil {
		return nil, err
	}
	id := uuid.Must(uuid.NewV7())
	ctx = tenant.With(ctx, tenant.Store{ID: id, Slug: d.Slug, Currency: d.Currency}, actor)
	var row *ent.Store
	err := s.withTx(ctx, func(ctx context.Context, tx *ent.Tx) error {
		taken, err := tx.Store.Query().Where(store.Slug(d.Slug)).Exist(ctx)
		if err != nil {
			return fmt.Errorf("look for the slug: %w", err)
		}
		if taken {
			return apierr.New(apierr.SlugTaken, "The slug "+d.Slug+" is taken; choose another.")
		}
		address := StoreURL(s.options.PublicURL, d.Slug)
		setIfNamed(&address, d.URL)
		create := tx.Store.Create().SetID(id).SetName(*d.Name).SetSlug(d.Slug).SetURL(address).
			SetCurrency(d.Currency).SetCountry(d.Country).
			SetNillableDescription(d.Description).SetNillableSupportEmail(d.SupportEmail).
			SetNillablePhone(d.Phone).SetNillableWhatsappPhone(d.WhatsappPhone).
			SetNillablePaymentLinksOpen(d.PaymentLinksOpen).SetNillablePlatformFeePercent(d.PlatformFeePercent).
			SetCreatedAt(hook.Time(ctx)).SetUpdatedAt(hook.Time(ctx))
		if d.SocialLinks != nil {
			create.SetSocialLinks(d.SocialLinks)
		}
		if d.UnavailableTypes != nil {
			create.SetUnavailableTypes(*d.UnavailableTypes)
		}
		if d.Status != nil {
			create.SetStatus(store.Status(*d.Status))
		}
		row, err = create.Save(ctx)
		if err != nil {
			return fmt.Errorf("create store: %w", err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return resource.Store(row), nil
}

// UpdateStore changes the named fields of the store of the context. It refuses with
// validation_failed or phone_invalid.
func (s *Shop) UpdateStore(ctx context.Context, c StoreChange) (*storefrontv1.Store, error) {
	t, err := tenantOf(ctx)
	if err != nil {
		return nil, err
	}
	p := &problems{}
	p.storeFields(&c, t.Country)
	if err := p.err(); err != nil {
		return nil, err
	}
	var row *ent.Store
	err = s.withTx(ctx, func(ctx context.Context, tx *ent.Tx) error {
		row, err = take(ctx, s, tx.Store.Query().Where(store.ID(t.ID)))
		if err := readError("store", err, func() error { return storeNotFound(t.Slug) }); err != nil {
			return err
		}
		u := row.Update()
		setIfChanged(row.Name, c.Name, u.SetName)
		setIfChanged(row.URL, c.URL, u.SetURL)
		setIfChanged(row.Description, c.Description, u.SetDescription)
		setIfChanged(row.SupportEmail, c.SupportEmail, u.SetSupportEmail)
		setIfChanged(row.Phone, c.Phone, u.SetPhone)
		setIfChanged(row.WhatsappPhone, c.WhatsappPhone, u.SetWhatsappPhone)
		setIfChanged(row.PaymentLinksOpen, c.PaymentLinksOpen, u.SetPaymentLinksOpen)
		setIfChanged(row.PlatformFeePercent, c.PlatformFeePercent, u.SetPlatformFeePercent)
		setIfChanged(row.Status, (*store.Status)(c.Status), u.SetStatus)
		if c.SocialLinks != nil && !maps.Equal(row.SocialLinks, c.SocialLinks) {
			u.SetSocialLinks(c.SocialLinks)
		}
		if c.UnavailableTypes != nil && !slices.Equal(row.UnavailableTypes, *c.UnavailableTypes) {
			u.SetUnavailableTypes(*c.UnavailableTypes)
		}
		if unchanged(u.Mutation()) {
			return nil
		}
		row, err = u.SetUpdatedAt(hook.Time(ctx)).Save(ctx)
		if err != nil {
			return fmt.Errorf("update store: %w", err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return resource.Store(row), nil
}
