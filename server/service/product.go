package service

import (
	"context"
	"fmt"

	"entgo.io/ent/dialect/sql"

	"go.storefront.example/ent/read"
	"go.storefront.example/ent/wire"
	"go.storefront.example/gen/ent/predicate"
	"go.storefront.example/gen/ent/product"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/apierr"
)

func productNotFound() error {
	return apierr.New(apierr.ProductNotFound, "The store has no product with this id.")
}

type productList struct {
	number int64
	page   read.Page
	where  []predicate.Product
}

func (p *problems) listProducts(in *storefrontv1.ListProductsRequest) (productList, error) {
	var l productList
	l.number, l.page = p.page(in.Page, in.PageSize)
	p.known("status", in.GetStatus())
	p.known("type", in.GetType())
	if q := p.query(in.Q); q != "" {
		l.where = append(l.where, product.TitleFoldedContains(read.Fold(q)))
	}
	if in.GetStatus() != 0 {
		l.where = append(l.where, product.StatusEQ(product.Status(in.GetStatus().String())))
	}
	if in.GetType() != 0 {
		l.where = append(l.where, product.TypeEQ(product.Type(in.GetType().String())))
	}
	return l, p.err()
}

// ListProducts returns a page of the store's products, newest first. Without a search, counting
// costs the matching entries of an index in the list's order, one for each set of filters, and
// the page costs the entries up to its end. A search looks the text's trigrams up on PostgreSQL
// (three characters or more), else it compares the titles along the store's part of an index.
//
// It refuses with validation_failed.
func (s *Shop) ListProducts(ctx context.Context, in *storefrontv1.ListProductsRequest) (*storefrontv1.ListProductsResponse, error) {
	t, err := tenantOf(ctx)
	if err != nil {
		return nil, err
	}
	l, err := (&problems{}).listProducts(in)
	if err != nil {
		return nil, err
	}
	query := s.store.Client().Product.Query().Where(product.StoreID(t.ID)).Where(l.where...)
	total, err := query.Clone().Count(ctx)
	if err != nil {
		return nil, fmt.Errorf("count products: %w", err)
	}
	out := &storefrontv1.ListProductsResponse{Page: l.number, PageSize: int32(l.page.Size), Total: int64(total)}
	if l.page.Offset >= out.Total {
		return out, nil
	}
	rows, err := query.
		Order(product.ByCreatedAt(sql.OrderDesc()), product.ByID(sql.OrderDesc())).
		Limit(l.page.Size).Offset(int(l.page.Offset)).
		All(ctx)
	if err != nil {
		return nil, fmt.Errorf("list products: %w", err)
	}
	out.Data = make([]*storefrontv1.Product, len(rows))
	for i, row := range rows {
		out.Data[i] = wire.Product(row, t.Currency)
	}
	return out, nil
}

// GetProduct returns a product of the store. It refuses with product_not_found.
func (s *Shop) GetProduct(ctx context.Context, in *storefrontv1.GetProductRequest) (*storefrontv1.Product, error) {
	t, err := tenantOf(ctx)
	if err != nil {
		return nil, err
	}
	id, ok := parseID(in.GetId())
	if !ok {
		return nil, productNotFound()
	}
	row, err := s.store.Client().Product.Query().Where(product.StoreID(t.ID), product.ID(id)).Only(ctx)
	if err := readError("product", err, productNotFound); err != nil {
		return nil, err
	}
	return wire.Product(row, t.Currency), nil
}
