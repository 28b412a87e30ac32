package client

import (
	"context"
	"iter"

	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/gen/storefront/v1/storefrontv1connect"
)

// Product is what the store sells in its catalogue. Amounts are in minor units of its currency.
type Product = storefrontv1.Product

// ProductPage is one page of products.
type ProductPage = storefrontv1.ListProductsResponse

// ProductStatus is the status of a product.
type ProductStatus = storefrontv1.Product_Status

// The statuses of a product.
const (
	ProductDraft     = storefrontv1.Product_DRAFT
	ProductPublished = storefrontv1.Product_PUBLISHED
	ProductArchived  = storefrontv1.Product_ARCHIVED
)

// ProductType is the kind of a product.
type ProductType = storefrontv1.Product_Type

// The types of a product.
const (
	ProductFile    = storefrontv1.Product_FILE
	ProductCourse  = storefrontv1.Product_COURSE
	ProductLicense = storefrontv1.Product_LICENSE
	ProductMeeting = storefrontv1.Product_MEETING
	ProductEvent   = storefrontv1.Product_EVENT
)

// ProductFilter selects products; a field with its zero value selects all.
type ProductFilter struct {
	// Page is the number of the first page, from 1. PageSize is 1 to 100; 0 means 25.
	Page     int64
	PageSize int32
	// Q is text to find in the title, without regard to case.
	Q      string
	Status ProductStatus
	Type   ProductType
}

// Products has the operations on products, of which the API changes texts, prices and status. Goroutines may share it.
type Products struct {
	caller *caller
	rpc    storefrontv1connect.ProductServiceClient
}

// List returns all products that match, newest first, whatever their status. If a product is created meanwhile, it may return
// an older one twice: compare the ids. Collect the ids before you change what the filter selects. After an error, an *Error,
// the sequence ends. Scope products:read.
func (p *Products) List(ctx context.Context, filter ProductFilter) iter.Seq2[*Product, error] {
	return all(filter.Page, func(number int64) (*ProductPage, error) {
		next := filter
		next.Page = number
		return p.Page(ctx, next)
	})
}

// Page retrieves one page of products. Scope products:read.
func (p *Products) Page(ctx context.Context, filter ProductFilter) (*ProductPage, error) {
	return call(ctx, p.caller, p.rpc.ListProducts, &storefrontv1.ListProductsRequest{
		Page: optional(filter.Page), PageSize: optional(filter.PageSize), Q: optional(filter.Q),
		Status: optional(filter.Status), Type: optional(filter.Type),
	})
}

// Get retrieves a product. Scope products:read.
func (p *Products) Get(ctx context.Context, id string) (*Product, error) {
	return call(ctx, p.caller, p.rpc.GetProduct, &storefrontv1.GetProductRequest{Id: id})
}

// Update changes a product and returns the new state. Scope products:write.
func (p *Products) Update(ctx context.Context, id string, change ProductChange) (*Product, error) {
	return call(ctx, p.caller, p.rpc.UpdateProduct, change.request(id))
}
