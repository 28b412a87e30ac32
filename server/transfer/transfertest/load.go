package transfertest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"go.storefront.example/ent/apijson"
	"go.storefront.example/ent/db"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/transfer"
)

// Customers imports customers into the context's store.
func Customers(ctx context.Context, d *db.DB, o *adminv1.ImportOptions, rows ...Fields) error {
	return stored(transfer.New(d, nil).Customers(ctx,
		&adminv1.ImportCustomersRequest{Customers: messages(rows, func() *storefrontv1.Customer { return &storefrontv1.Customer{} }), Options: o}))
}

// Orders imports orders into the context's store.
func Orders(ctx context.Context, d *db.DB, o *adminv1.ImportOptions, rows ...Fields) error {
	return stored(transfer.New(d, nil).Orders(ctx,
		&adminv1.ImportOrdersRequest{Orders: messages(rows, func() *storefrontv1.Order { return &storefrontv1.Order{} }), Options: o}))
}

// Rows imports lines of an export into a store, in batches as the command does. It returns how many rows were stored.
func Rows(ctx context.Context, api interface {
	ImportRows(context.Context, *adminv1.ImportRowsRequest) (*adminv1.ImportResponse, error)
}, store string, kind transfer.Kind, lines []byte) (count int, err error) {
	for batch := range slices.Chunk(slices.Collect(bytes.Lines(lines)), transfer.BatchRows) {
		out, err := api.ImportRows(ctx, &adminv1.ImportRowsRequest{Store: store, Kind: string(kind), Lines: string(bytes.Join(batch, nil))})
		if err := stored(out, err); err != nil {
			return count, err
		}
		count += int(out.GetStored())
	}
	return count, nil
}

func stored(out *adminv1.ImportResponse, err error) error {
	if err == nil && len(out.GetRefused()) > 0 {
		err = fmt.Errorf("refused: %v", out.GetRefused())
	}
	return err
}

func messages[M proto.Message](rows []Fields, empty func() M) (all []M) {
	for _, row := range rows {
		text, err := json.Marshal(row)
		if err != nil {
			panic(err)
		}
		m := empty()
		if err := apijson.Unmarshal(text, m); err != nil {
			panic(err)
		}
		all = append(all, m)
	}
	return all
}
