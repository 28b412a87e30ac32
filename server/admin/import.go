package admin

import (
	"context"
	"io"

	"go.storefront.example/server/shop"
)

// Import loads existing data into a store. It refuses with store_not_found and as shop.Import
// does; what it answers with is stored even then.
func (o *Operator) Import(ctx context.Context, storeName string, lines io.Reader, i shop.Import) (shop.Imported, error) {
	ctx, err := o.In(ctx, storeName)
	if err != nil {
		return shop.Imported{}, err
	}
	return o.shop.Import(ctx, lines, i)
}
