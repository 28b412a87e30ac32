package resource

import (
	"context"
	"fmt"

	"entgo.io/ent/dialect/sql"

	"go.storefront.example/ent/tenant"
	"go.storefront.example/ent/wire"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/product"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
)

// Product is the Product of a row; currency is the store's. The message shares the row's texts.
func Product(row *ent.Product, currency string) *storefrontv1.Product {
	return &storefrontv1.Product{
		Id:              row.ID.String(),
		Title:           row.Title,
		Slug:            row.Slug,
		Type:            storefrontv1.Product_Type(storefrontv1.Product_Type_value[string(row.Type)]),
		Status:          storefrontv1.Product_Status(storefrontv1.Product_Status_value[string(row.Status)]),
		Summary:         row.Summary,
		Description:     row.Description,
		PriceAmount:     row.PriceAmount,
		CompareAtAmount: row.CompareAtAmount,
		Currency:        currency,
		Url:             row.URL,
		CoverUrl:        row.CoverURL,
		PublishedAt:     wire.OptionalTimestamp(row.PublishedAt),
		CreatedAt:       wire.Timestamp(row.CreatedAt),
		UpdatedAt:       wire.Timestamp(row.UpdatedAt),
	}
}

// ProductFilter chooses the products of a list; zero fields filter nothing.
type ProductFilter struct {
	// Title is text that occurs in the title, in any case.
	Title  string
	Status storefrontv1.Product_Status
	Type   storefrontv1.Product_Type
}

// Products reads a page of the matching products, newest first, and counts all that match. Without
// a search, counting costs the matching entries of an index in the list's order, one for each set
// of filters, and the page costs the entries up to its end. A search looks the text's trigrams up on
// PostgreSQL (three characters or more), else it compares the titles along the store's part of an
// index.
func Products(ctx context.Context, c *ent.Client, store tenant.Store, which ProductFilter, page Page) (products []*storefrontv1.Product, total int64, err error) {
	query := c.Product.Query().Where(product.StoreID(store.ID))
	if which.Title != "" {
		query.Where(product.TitleFoldedContains(Fold(which.Title)))
	}
	if which.Status != 0 {
		query.Where(product.StatusEQ(product.Status(which.Status.String())))
	}
	if which.Type != 0 {
		query.Where(product.TypeEQ(product.Type(which.Type.String())))
	}
	n, err := query.Clone().Count(ctx)
	if err != nil {
		return nil, 0, fmt.Errorf("count products: %w", err)
	}
	if page.Offset >= int64(n) {
		return nil, int64(n), nil
	}
	rows, err := query.
		Order(product.ByCreatedAt(sql.OrderDesc()), product.ByID(sql.OrderDesc())).
		Limit(page.Size).Offset(int(page.Offset)).
		All(ctx)
	if err != nil {
		return nil, 0, fmt.Errorf("list products: %w", err)
	}
	products = make([]*storefrontv1.Product, len(rows))
	for i, row := range rows {
		products[i] = Product(row, store.Currency)
	}
	return products, int64(n), nil
}
