package rpc

import (
	"context"

	"go.storefront.example/gen/ent/product"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/service"
)

// CreateProduct serves ProductService.CreateProduct.
func (s handlers) CreateProduct(ctx context.Context, in *adminv1.CreateProductRequest) (*storefrontv1.Product, error) {
	var f fields
	f.known("type", in.GetType())
	f.known("status", in.GetStatus())
	if err := f.err(); err != nil {
		return nil, err
	}
	d := service.ProductDraft{
		ProductChange: service.ProductChange{
			Title: &in.Title, Summary: in.Summary, Description: in.Description, PriceAmount: in.PriceAmount,
			CompareAtAmount: &in.CompareAtAmount, CoverURL: &in.CoverUrl, ContentReady: in.ContentReady,
		},
		Slug: in.GetSlug(), Type: product.Type(in.GetType().String()),
	}
	if in.GetStatus() != 0 {
		d.Status = spelt[product.Status](in.Status)
	}
	return s.operator.CreateProduct(ctx, in.GetStore(), d)
}

// ListProducts serves ProductService.ListProducts.
func (s handlers) ListProducts(ctx context.Context, in *adminv1.ListProductsRequest) (*storefrontv1.ListProductsResponse, error) {
	return s.operator.ListProducts(ctx, in.GetStore(), &storefrontv1.ListProductsRequest{
		Page: in.Page, PageSize: in.PageSize, Q: in.Q, Status: in.Status, Type: in.Type,
	})
}

// GetProduct serves ProductService.GetProduct.
func (s handlers) GetProduct(ctx context.Context, in *storefrontv1.GetProductRequest) (*storefrontv1.Product, error) {
	return s.operator.GetProduct(ctx, in)
}

// UpdateProduct serves ProductService.UpdateProduct.
func (s handlers) UpdateProduct(ctx context.Context, in *adminv1.UpdateProductRequest) (*storefrontv1.Product, error) {
	c := changesOf(in, "id")
	change := service.ProductChange{
		Title: value(c, "title", in.Title), Summary: value(c, "summary", in.Summary),
		Description: value(c, "description", in.Description), PriceAmount: value(c, "price_amount", in.PriceAmount),
		CompareAtAmount: nullable(c, "compare_at_amount", in.CompareAtAmount), Status: word[product.Status](c, "status", in.Status),
		CoverURL: nullable(c, "cover_url", in.CoverUrl), ContentReady: value(c, "content_ready", in.ContentReady),
	}
	if err := c.err(); err != nil {
		return nil, err
	}
	return s.operator.UpdateProduct(ctx, in.GetId(), change)
}

// CreateProduct is admin.Operator's.
func (c *Client) CreateProduct(ctx context.Context, storeName string, d service.ProductDraft) (*storefrontv1.Product, error) {
	in := &adminv1.CreateProductRequest{
		Store: storeName, Type: enum[storefrontv1.Product_Type](string(d.Type)), PriceAmount: d.PriceAmount,
		CompareAtAmount: inner(d.CompareAtAmount), Slug: d.Slug, Summary: d.Summary, Description: d.Description,
		CoverUrl: inner(d.CoverURL), ContentReady: d.ContentReady,
	}
	if d.Title != nil {
		in.Title = *d.Title
	}
	if d.Status != nil {
		in.Status = enum[storefrontv1.Product_Status](string(*d.Status)).Enum()
	}
	out, err := c.products.CreateProduct(ctx, in)
	return read(c, out, err, same)
}

// UpdateProduct is admin.Operator's.
func (c *Client) UpdateProduct(ctx context.Context, id string, change service.ProductChange) (*storefrontv1.Product, error) {
	in := &adminv1.UpdateProductRequest{
		Id: id, Title: change.Title, Summary: change.Summary, Description: change.Description, PriceAmount: change.PriceAmount,
		CompareAtAmount: inner(change.CompareAtAmount), CoverUrl: inner(change.CoverURL), ContentReady: change.ContentReady,
	}
	if change.Status != nil {
		in.Status = enum[storefrontv1.Product_Status](string(*change.Status)).Enum()
	}
	in.UpdateMask = mask(
		named{"title", change.Title != nil}, named{"summary", change.Summary != nil}, named{"description", change.Description != nil},
		named{"price_amount", change.PriceAmount != nil}, named{"compare_at_amount", change.CompareAtAmount != nil},
		named{"status", change.Status != nil}, named{"cover_url", change.CoverURL != nil}, named{"content_ready", change.ContentReady != nil},
	)
	out, err := c.products.UpdateProduct(ctx, in)
	return read(c, out, err, same)
}
