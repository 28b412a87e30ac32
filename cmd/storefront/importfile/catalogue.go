package importfile

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/transfer"
)

// catalogue finds a product by a field and its value, such as {"slug", "guide"}, because an item may name an id, slug or title.
// A title of several leads to the newest, and {"shared", title} is in the map.
type catalogue map[[2]string]*storefrontv1.Product

func catalogueOf(ctx context.Context, api API, store string) (catalogue, error) {
	ctx, err := api.WithStore(ctx, store)
	if err != nil {
		return nil, err
	}
	all := catalogue{}
	for page := int64(1); ; page++ {
		out, err := api.ListProducts(ctx, &storefrontv1.ListProductsRequest{Page: &page, PageSize: new(int32(100))})
		if err != nil {
			return nil, err
		}
		for _, p := range out.GetData() {
			if title := p.GetTitle(); all[[2]string{"title", title}] != nil {
				all[[2]string{"shared", title}] = p
			}
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

// link finds the product whose id, slug or title equals item n's product id, SKU or title, and sets a missing title. Without a
// product the report says so, and the SKU becomes the missing title. Without an SKU, either, the order can only update a stored
// one.
func (l *loader) link(e *entry, item *storefrontv1.Order_Item, n int, sku, from string) {
	keys := make([][2]string, 0, 8)
	title := strings.TrimSpace(item.GetTitle())
	for _, name := range []string{item.GetProductId(), sku, title} {
		if name != "" {
			keys = append(keys, [2]string{"id", l.objectID(transfer.Products, from, name)}, [2]string{"slug", name})
		}
	}
	if sku != "" { // a product from a file that is no shop's export may have the SKU as its id
		keys = append(keys, [2]string{"id", l.objectID(transfer.Products, "storefront", sku)})
	}
	for _, name := range []string{title, item.GetProductId(), sku} {
		if name != "" {
			keys = append(keys, [2]string{"title", name})
		}
	}
	if at := strings.LastIndex(title, " - "); at > 0 && l.source.shop { // as in "Guide - PDF", in which the variation comes last
		keys = append(keys, [2]string{"title", title[:at]})
	}
	for _, key := range keys {
		if p := l.products[key]; p != nil {
			if key[0] == "title" && l.products[[2]string{"shared", key[1]}] != nil {
				e.lost = append(e.lost, e.note(fmt.Sprintf("items[%d].title", n),
					"is the title of several products: the item is linked to the newest", nil))
			}
			item.ProductId, item.Title = p.GetId(), cmp.Or(title, p.GetTitle())
			if item.GetType() == 0 {
				item.Type = p.GetType()
			}
			return
		}
	}
	switch {
	case title != "" || sku != "":
		item.Title = cmp.Or(title, sku)
	case l.Update:
		e.message.(*storefrontv1.Order).Customer = nil // without a customer the importer creates no order, but updates a stored one
	default:
		e.refuse(fmt.Sprintf("items[%d].title", n), "is required: the item has no title and no SKU, and is of no product of the store")
	}
	item.ProductId = l.objectID(transfer.Products, from, cmp.Or(item.GetProductId(), sku, title))
	e.unknown = append(e.unknown, item.GetTitle())
}
