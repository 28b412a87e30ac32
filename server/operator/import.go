package operator

import (
	"context"
	"io"

	"go.storefront.example/server/service"
)

// Import loads existing data into a store. It refuses with store_not_found and as service.Import
// does; what it answers with is stored even then.
func (o *Operator) Import(ctx context.Context, storeName string, lines io.Reader, i service.Import) (service.Imported, error) {
	ctx, err := o.In(ctx, storeName)
	if err != nil {
		return service.Imported{}, err
	}
	return o.rules.Import(ctx, lines, i)
}
