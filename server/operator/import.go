package operator

import (
	"context"
	"io"

	"go.storefront.example/server/importing"
)

// Import loads existing data into a store. It refuses with store_not_found and as importing.Import
// does; what it answers with is stored even then.
func (o *Operator) Import(ctx context.Context, storeName string, lines io.Reader, options importing.Options) (importing.Progress, error) {
	ctx, err := o.In(ctx, storeName)
	if err != nil {
		return importing.Progress{}, err
	}
	return importing.New(o.store).Import(ctx, lines, options)
}
