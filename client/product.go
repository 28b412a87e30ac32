package client

import (
	"context"
	"iter"

	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/gen/storefront/v1/storefrontv1connect"
)

// Products are the store's products. The API reads them and changes their texts, prices and status.
// Goroutines may share it.
type Products struct {
	caller *caller
	rpc    storefrontv1connect.ProductServiceClient
}

// List returns all products that match the request, newest first, whatever their status; nil
// matches all. PageSize is the number per request, and Page the first page. A product created
// meanwhile moves the others towards the end, so one may come twice: compare ids. After an error,
// an *Error, the sequence ends. It needs the scope products:read.
func (p *Products) List(ctx context.Context, request *storefrontv1.ListProductsRequest) iter.Seq2[*storefrontv1.Product, error] {
	return all(ctx, request, func(r *storefrontv1.ListProductsRequest) **int64 { return &r.Page }, p.Page)
}

// Page retrieves one page of products, for programs that show pages; nil means the first page. It
// needs the scope products:read. The error is an *Error: ValidationFailed for a request out of
// bounds.
func (p *Products) Page(ctx context.Context, request *storefrontv1.ListProductsRequest) (*storefrontv1.ListProductsResponse, error) {
	return call(ctx, p.caller, p.rpc.ListProducts, request)
}

// Get retrieves a product. It needs the scope products:read. The error is an *Error:
// ProductNotFound.
func (p *Products) Get(ctx context.Context, id string) (*storefrontv1.Product, error) {
	return call(ctx, p.caller, p.rpc.GetProduct, &storefrontv1.GetProductRequest{Id: id})
}

// Update changes the fields of a product that are present in the request. With an UpdateMask it
// changes the fields in the mask, and clears those without a value. It needs the scope
// products:write. The error is an *Error: ProductNotFound, CompareAtInvalid,
// ProductTypeUnavailable, ProductIncomplete or ValidationFailed.
func (p *Products) Update(ctx context.Context, request *storefrontv1.UpdateProductRequest) (*storefrontv1.Product, error) {
	return call(ctx, p.caller, p.rpc.UpdateProduct, request)
}
