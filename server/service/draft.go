package service

import (
	"context"

	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent/product"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
)

// ProductChange is what to change of a product; a nil field stays as it is. The outer pointer of
// a field that can be null tells whether it is named, the inner one its value.
type ProductChange struct {
	Title, Summary, Description *string
	PriceAmount                 *int64
	CompareAtAmount             **int64
	Status                      *product.Status
	CoverURL                    **string
	ContentReady                *bool
}

// ProductDraft is a product to create.
type ProductDraft struct {
	ProductChange
	Type product.Type
	Slug string
}

// StoreChange is what to change of a store; a nil field stays as it is.
type StoreChange struct {
	Name, URL, Description, SupportEmail, Phone, WhatsappPhone *string
	SocialLinks                                                map[string]string
	Status                                                     *string
	PaymentLinksOpen                                           *bool
	UnavailableTypes                                           *[]string
	PlatformFeePercent                                         *float64
}

// StoreDraft is a store to create.
type StoreDraft struct {
	StoreChange
	Slug, Currency, Country string
}

// ChangeProduct is UpdateProduct.
func (s *Shop) ChangeProduct(ctx context.Context, id string, c ProductChange) (*storefrontv1.Product, error) {
	in := &adminv1.UpdateProductRequest{Id: id, Title: c.Title, Summary: c.Summary, Description: c.Description, PriceAmount: c.PriceAmount, ContentReady: c.ContentReady}
	in.UpdateMask = &fieldmaskpb.FieldMask{}
	name := func(is bool, path string) {
		if is {
			in.UpdateMask.Paths = append(in.UpdateMask.Paths, path)
		}
	}
	if c.CompareAtAmount != nil {
		in.CompareAtAmount = *c.CompareAtAmount
	}
	if c.CoverURL != nil {
		in.CoverUrl = *c.CoverURL
	}
	in.Status = productStatus(c.Status)
	name(c.Title != nil, "title")
	name(c.Summary != nil, "summary")
	name(c.Description != nil, "description")
	name(c.PriceAmount != nil, "price_amount")
	name(c.CompareAtAmount != nil, "compare_at_amount")
	name(c.CoverURL != nil, "cover_url")
	name(c.ContentReady != nil, "content_ready")
	name(c.Status != nil, "status")
	return s.changeProduct(ctx, in)
}

func productStatus(s *product.Status) *storefrontv1.Product_Status {
	if s == nil {
		return nil
	}
	return storefrontv1.Product_Status(storefrontv1.Product_Status_value[s.String()]).Enum()
}

func storeStatus(s *string) *storefrontv1.Store_Status {
	if s == nil {
		return nil
	}
	if n, ok := storefrontv1.Store_Status_value[*s]; ok {
		return storefrontv1.Store_Status(n).Enum()
	}
	return storefrontv1.Store_Status(-1).Enum()
}

// CreateProduct is createProduct.
func (s *Shop) CreateProduct(ctx context.Context, d ProductDraft) (*storefrontv1.Product, error) {
	in := &adminv1.CreateProductRequest{Summary: d.Summary, Description: d.Description, PriceAmount: d.PriceAmount, ContentReady: d.ContentReady, Slug: d.Slug}
	if d.Title != nil {
		in.Title = *d.Title
	}
	if d.CompareAtAmount != nil {
		in.CompareAtAmount = *d.CompareAtAmount
	}
	if d.CoverURL != nil {
		in.CoverUrl = *d.CoverURL
	}
	in.Status = productStatus(d.Status)
	in.Type = storefrontv1.Product_Type(storefrontv1.Product_Type_value[d.Type.String()])
	return s.createProduct(ctx, in)
}

// CreateStore is createStore.
func (s *Shop) CreateStore(ctx context.Context, actor tenant.Actor, d StoreDraft) (*storefrontv1.Store, error) {
	in := &adminv1.CreateStoreRequest{
		Url: d.URL, Description: d.Description, SupportEmail: d.SupportEmail, Phone: d.Phone, WhatsappPhone: d.WhatsappPhone,
		SocialLinks: d.SocialLinks, PaymentLinksOpen: d.PaymentLinksOpen, PlatformFeePercent: d.PlatformFeePercent,
		Slug: d.Slug, Currency: d.Currency, Country: d.Country, Status: storeStatus(d.Status),
	}
	if d.Name != nil {
		in.Name = *d.Name
	}
	if d.UnavailableTypes != nil {
		in.UnavailableTypes = *d.UnavailableTypes
	}
	return s.createStore(ctx, actor, in)
}

// UpdateStore is updateStore.
func (s *Shop) UpdateStore(ctx context.Context, c StoreChange) (*storefrontv1.Store, error) {
	in := &adminv1.UpdateStoreRequest{
		Name: c.Name, Url: c.URL, Description: c.Description, SupportEmail: c.SupportEmail, Phone: c.Phone, WhatsappPhone: c.WhatsappPhone,
		SocialLinks: c.SocialLinks, PaymentLinksOpen: c.PaymentLinksOpen, PlatformFeePercent: c.PlatformFeePercent, Status: storeStatus(c.Status),
	}
	in.UpdateMask = &fieldmaskpb.FieldMask{}
	if c.UnavailableTypes != nil {
		in.UnavailableTypes = *c.UnavailableTypes
		in.UpdateMask.Paths = append(in.UpdateMask.Paths, "unavailable_types")
	}
	if c.SocialLinks != nil {
		in.UpdateMask.Paths = append(in.UpdateMask.Paths, "social_links")
	}
	m := in.ProtoReflect()
	for _, name := range []string{"name", "url", "description", "support_email", "phone", "whatsapp_phone", "payment_links_open", "platform_fee_percent", "status"} {
		if m.Has(m.Descriptor().Fields().ByTextName(name)) {
			in.UpdateMask.Paths = append(in.UpdateMask.Paths, name)
		}
	}
	return s.updateStore(ctx, in)
}
