package shop

import (
	"context"

	"go.storefront.example/ent/invisible"
	"go.storefront.example/ent/resource"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent/product"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/validate"
)

func productNotFound() error {
	return apierr.New(apierr.ProductNotFound, "The store has no product with this id.")
}

func (p *problems) listProducts(in *storefrontv1.ListProductsRequest) (l list[resource.ProductFilter], err error) {
	l.number, l.page = p.page(in)
	l.filter = resource.ProductFilter{Title: invisible.Trim(in.GetQ()), Status: in.GetStatus(), Type: in.GetType()}
	return l, p.Err()
}

// ListProducts returns a page of the store's products, newest first; resource.Products documents the cost.
func (s *Shop) ListProducts(
	ctx context.Context, in *storefrontv1.ListProductsRequest,
) (*storefrontv1.ListProductsResponse, error) {
	t, err := tenant.StoreOf(ctx)
	if err != nil {
		return nil, err
	}
	l, err := newProblems(ctx).listProducts(in)
	if err != nil {
		return nil, err
	}
	out := &storefrontv1.ListProductsResponse{Page: l.number, PageSize: int32(l.page.Size)}
	out.Data, out.Total, err = resource.Products(ctx, s.counts.Lists(ctx), t, l.filter, l.page)
	return out, err
}

// GetProduct returns a product of the store.
func (s *Shop) GetProduct(ctx context.Context, in *storefrontv1.GetProductRequest) (*storefrontv1.Product, error) {
	t, id, err := validate.StoreAndID(ctx, in.GetId(), productNotFound)
	if err != nil {
		return nil, err
	}
	row, err := s.db.ForStore(ctx).Client().Product.Query().Where(product.StoreID(t.ID), product.ID(id)).Only(ctx)
	if err := apierr.RowError("product", err, productNotFound); err != nil {
		return nil, err
	}
	return resource.Product(row, t.Currency), nil
}
