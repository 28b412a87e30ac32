package rpc

import (
	"context"

	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/service"
)

// CreateStore serves StoreService.CreateStore.
func (s handlers) CreateStore(ctx context.Context, in *adminv1.CreateStoreRequest) (*storefrontv1.Store, error) {
	var f fields
	f.known("status", in.GetStatus())
	if err := f.err(); err != nil {
		return nil, err
	}
	d := service.StoreDraft{
		StoreChange: service.StoreChange{
			Name: &in.Name, URL: in.Url, Description: in.Description, SupportEmail: in.SupportEmail,
			Phone: in.Phone, WhatsappPhone: in.WhatsappPhone, SocialLinks: in.GetSocialLinks(),
			PaymentLinksOpen: in.PaymentLinksOpen, PlatformFeePercent: in.PlatformFeePercent,
		},
		Slug: in.GetSlug(), Currency: in.GetCurrency(), Country: in.GetCountry(),
	}
	if in.GetStatus() != 0 {
		d.Status = spelt[string](in.Status)
	}
	if len(in.GetUnavailableTypes()) > 0 {
		d.UnavailableTypes = &in.UnavailableTypes
	}
	return s.operator.CreateStore(ctx, d)
}

// ListStores serves StoreService.ListStores.
func (s handlers) ListStores(ctx context.Context, in *adminv1.ListStoresRequest) (*adminv1.ListStoresResponse, error) {
	var f fields
	limit := f.limit(in.Limit)
	if err := f.err(); err != nil {
		return nil, err
	}
	stores, err := s.operator.ListStores(ctx, limit)
	if err != nil {
		return nil, err
	}
	return &adminv1.ListStoresResponse{Stores: stores}, nil
}

// GetStore serves StoreService.GetStore.
func (s handlers) GetStore(ctx context.Context, in *adminv1.GetStoreRequest) (*storefrontv1.Store, error) {
	return s.operator.GetStore(ctx, in.GetStore())
}

// UpdateStore serves StoreService.UpdateStore.
func (s handlers) UpdateStore(ctx context.Context, in *adminv1.UpdateStoreRequest) (*storefrontv1.Store, error) {
	c := changesOf(in, "store")
	change := service.StoreChange{
		Name: value(c, "name", in.Name), URL: value(c, "url", in.Url), Description: value(c, "description", in.Description),
		SupportEmail: value(c, "support_email", in.SupportEmail), Phone: value(c, "phone", in.Phone),
		WhatsappPhone: value(c, "whatsapp_phone", in.WhatsappPhone), Status: word[string](c, "status", in.Status),
		PaymentLinksOpen:   value(c, "payment_links_open", in.PaymentLinksOpen),
		PlatformFeePercent: value(c, "platform_fee_percent", in.PlatformFeePercent),
	}
	if c.names("social_links") {
		change.SocialLinks = in.GetSocialLinks()
		if change.SocialLinks == nil {
			change.SocialLinks = map[string]string{}
		}
	}
	if c.names("unavailable_types") {
		types := append([]string{}, in.GetUnavailableTypes()...)
		change.UnavailableTypes = &types
	}
	if err := c.err(); err != nil {
		return nil, err
	}
	return s.operator.UpdateStore(ctx, in.GetStore(), change)
}

// CreateStore is admin.Operator's.
func (c *Client) CreateStore(ctx context.Context, d service.StoreDraft) (*storefrontv1.Store, error) {
	in := &adminv1.CreateStoreRequest{
		Slug: d.Slug, Currency: d.Currency, Country: d.Country, Url: d.URL, Description: d.Description, SupportEmail: d.SupportEmail,
		Phone: d.Phone, WhatsappPhone: d.WhatsappPhone, SocialLinks: d.SocialLinks,
		PaymentLinksOpen: d.PaymentLinksOpen, PlatformFeePercent: d.PlatformFeePercent,
	}
	if d.Name != nil {
		in.Name = *d.Name
	}
	if d.Status != nil {
		in.Status = enum[storefrontv1.Store_Status](*d.Status).Enum()
	}
	if d.UnavailableTypes != nil {
		in.UnavailableTypes = *d.UnavailableTypes
	}
	out, err := c.stores.CreateStore(ctx, in)
	return read(c, out, err, same)
}

// ListStores is admin.Operator's.
func (c *Client) ListStores(ctx context.Context, limit int) ([]*storefrontv1.Store, error) {
	out, err := c.stores.ListStores(ctx, &adminv1.ListStoresRequest{Limit: limitOf(limit)})
	return read(c, out.GetStores(), err, same)
}

// GetStore is admin.Operator's.
func (c *Client) GetStore(ctx context.Context, name string) (*storefrontv1.Store, error) {
	out, err := c.stores.GetStore(ctx, &adminv1.GetStoreRequest{Store: name})
	return read(c, out, err, same)
}

// UpdateStore is admin.Operator's.
func (c *Client) UpdateStore(ctx context.Context, name string, change service.StoreChange) (*storefrontv1.Store, error) {
	in := &adminv1.UpdateStoreRequest{
		Store: name, Name: change.Name, Url: change.URL, Description: change.Description, SupportEmail: change.SupportEmail,
		Phone: change.Phone, WhatsappPhone: change.WhatsappPhone, SocialLinks: change.SocialLinks,
		PaymentLinksOpen: change.PaymentLinksOpen, PlatformFeePercent: change.PlatformFeePercent,
	}
	if change.Status != nil {
		in.Status = enum[storefrontv1.Store_Status](*change.Status).Enum()
	}
	if change.UnavailableTypes != nil {
		in.UnavailableTypes = *change.UnavailableTypes
	}
	in.UpdateMask = mask(
		named{"name", change.Name != nil}, named{"url", change.URL != nil}, named{"description", change.Description != nil},
		named{"support_email", change.SupportEmail != nil}, named{"phone", change.Phone != nil},
		named{"whatsapp_phone", change.WhatsappPhone != nil}, named{"social_links", change.SocialLinks != nil},
		named{"status", change.Status != nil}, named{"payment_links_open", change.PaymentLinksOpen != nil},
		named{"unavailable_types", change.UnavailableTypes != nil}, named{"platform_fee_percent", change.PlatformFeePercent != nil},
	)
	out, err := c.stores.UpdateStore(ctx, in)
	return read(c, out, err, same)
}
