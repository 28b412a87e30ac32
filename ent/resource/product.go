package resource

import (
	"context"
	"database/sql"
	"fmt"

	"go.storefront.example/ent/invisible"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
)

var productShape = shapeOf[ent.Product, storefrontv1.Product]()

// Product returns the message for a row of a store with this currency. The message shares the row's texts.
func Product(row *ent.Product, currency string) *storefrontv1.Product {
	m := productShape.fill(&storefrontv1.Product{Currency: currency}, row)
	m.Title = invisible.OneLine(m.Title)
	return m
}

// ProductFilter chooses the products of a list; zero fields filter nothing.
type ProductFilter struct {
	// Title is a part of the title; the case of its letters does not matter.
	Title  string
	Status storefrontv1.Product_Status
	Type   storefrontv1.Product_Type
}

var productList = list{table: "products", alias: "p", columns: productShape.selected("p")}

// Products reads a page of the products that match the criteria, newest first. total is the number of all matching products.
// Without a search the cost is the same for every page and size of the store (see statement). With a search, PostgreSQL looks
// up the text's trigrams (three characters of a word) in an index. If the text has no trigram, and always on SQLite, the text
// is compared with the titles of all the store's products in an index.
func Products(ctx context.Context, l Lists, store tenant.Store, criteria ProductFilter, page Page) (
	products []*storefrontv1.Product, total int64, err error) {
	f := &filter{args: []any{store.ID}}
	if criteria.Title != "" {
		column := l.searchColumn("title_folded", FoldCase(criteria.Title))
		f.search(column + " LIKE " + f.args.Add(textPattern(criteria.Title)) + ` ESCAPE '\'`)
	}
	if criteria.Status != 0 {
		f.facet("status", criteria.Status.String())
	}
	if criteria.Type != 0 {
		f.facet("type", criteria.Type.String())
	}
	err = l.read(ctx, productList, f, page, &total, func(rows *sql.Rows) error {
		p := &ent.Product{StoreID: store.ID}
		err := productShape.scan(rows, p, &total)
		products = append(products, Product(p, store.Currency))
		return err
	})
	if err != nil {
		return nil, 0, fmt.Errorf("list products: %w", err)
	}
	return products, total, nil
}
