package importing

import (
	"cmp"
	"context"
	"strings"

	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
)

// catalogue has the store's products by what an order's item may name: id, slug and title. Of two with one
// title it has the newest.
type catalogue map[[2]string]*storefrontv1.Product

// catalogueOf reads the products of a store.
func catalogueOf(ctx context.Context, api API, store string) (catalogue, error) {
	all := catalogue{}
	for page := int64(1); ; page++ {
		out, err := api.ListProducts(ctx, &adminv1.ListProductsRequest{Store: store, Page: &page, PageSize: new(int32(100))})
		if err != nil {
			return nil, err
		}
		for _, p := range out.GetData() {
			for _, key := range [][2]string{{"id", p.GetId()}, {"slug", p.GetSlug()}, {"title", p.GetTitle()}} {
				if all[key] == nil {
					all[key] = p
				}
			}
		}
		if page*100 >= out.GetTotal() {
			return all, nil
		}
	}
}

// link gives an order's item the product of the store that has its id, its SKU, its slug or its title. An item
// of none keeps an id of its own, as one of a product that is gone, and is reported.
func (l *reading) link(e *entry, item *storefrontv1.Order_Item, sku, from string) {
	keys := make([][2]string, 0, 8)
	title := strings.TrimSpace(item.GetTitle())
	for _, name := range []string{item.GetProductId(), sku, title} {
		if name != "" {
			id, _ := l.own(Products, from, name)
			keys = append(keys, [2]string{"id", id}, [2]string{"slug", name})
		}
	}
	keys = append(keys, [2]string{"title", title})
	if at := strings.LastIndex(title, " - "); at > 0 && l.source.shop { // Guide - PDF: the variation follows
		keys = append(keys, [2]string{"title", title[:at]})
	}
	for _, key := range keys {
		if p := l.products[key]; p != nil {
			item.ProductId = p.GetId()
			if item.GetType() == 0 {
				item.Type = p.GetType()
			}
			return
		}
	}
	item.ProductId, _ = l.own(Products, from, cmp.Or(item.GetProductId(), sku, title))
	e.unknown = append(e.unknown, title)
}
