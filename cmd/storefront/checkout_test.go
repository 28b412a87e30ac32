package main

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db/dbtest"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/gen/storefront/admin/v1/adminv1connect"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/gen/storefront/v1/storefrontv1connect"
	"go.storefront.example/server/admin/rpc"
	"go.storefront.example/server/conformance/devtest"
)

func sell(ctx context.Context, address, token, store string) (*storefrontv1.ListOrdersResponse, error) {
	headers := connect.WithInterceptors(connect.UnaryInterceptorFunc(func(next connect.UnaryFunc) connect.UnaryFunc {
		return func(ctx context.Context, call connect.AnyRequest) (connect.AnyResponse, error) {
			call.Header().Set("Authorization", "Bearer "+token)
			call.Header().Set("Storefront-Store", store)
			return next(ctx, call)
		}
	}))
	products := adminv1connect.NewProductServiceClient(http.DefaultClient, address, headers)
	checkout := adminv1connect.NewOrderServiceClient(http.DefaultClient, address, headers)
	orders := storefrontv1connect.NewOrderServiceClient(http.DefaultClient, address, headers)
	guide, err := products.CreateProduct(ctx, &adminv1.CreateProductRequest{Title: "Guide", Type: storefrontv1.Product_FILE,
		PriceAmount: new(int64(1500)), Description: new("<p>Market guide</p>"), ContentReady: new(true),
		Status: storefrontv1.Product_PUBLISHED.Enum()})
	if err != nil {
		return nil, err
	}
	order, err := checkout.CreateOrder(ctx, &adminv1.CreateOrderRequest{Email: new("awa@example.com"), IdempotencyKey: "cart-4711",
		Items: []*adminv1.CreateOrderRequest_Item{{ProductId: guide.GetId(), Quantity: 1}}})
	if err != nil {
		return nil, err
	}
	if _, err := checkout.PayOrder(ctx, &adminv1.PayOrderRequest{Id: order.GetId(), IdempotencyKey: "psp-4711"}); err != nil {
		return nil, err
	}
	return orders.ListOrders(ctx, &storefrontv1.ListOrdersRequest{Status: storefrontv1.Order_PAID.Enum()})
}

func snippet(t *testing.T, language, with string) string {
	t.Helper()
	for _, block := range strings.Split(manualPage(t, "checkout.md"), "\n```"+language+"\n")[1:] {
		if code, _, _ := strings.Cut(block, "\n```\n"); strings.Contains(code, with) {
			return code + "\n"
		}
	}
	require.Fail(t, "the manual has no such code", with)
	return ""
}

func newPlatform(t *testing.T) (address string) {
	t.Helper()
	address = startServer(t, "--database-url", dbtest.URL(t, dbtest.SQLite), "--admin-token", remoteToken)
	client, err := rpc.NewClient(address, remoteToken)
	require.NoError(t, err)
	_, err = client.CreateStore(t.Context(), &adminv1.CreateStoreRequest{Name: "Douala", Slug: "douala", Currency: "XAF", Country: "CM"})
	require.NoError(t, err)
	return address
}

func TestTheManualsCheckoutInGoSells(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("checkout_test.go")
	require.NoError(t, err)
	code := snippet(t, "go", "func sell(")
	require.Contains(t, string(source), "\n"+code, "the manual's checkout is this file's")
	require.LessOrEqual(t, strings.Count(code, "\n"), 30)
	address := newPlatform(t)
	paid, err := sell(t.Context(), address, remoteToken, "douala")
	require.NoError(t, err)
	require.Len(t, paid.GetData(), 1)
	require.EqualValues(t, 1500, paid.GetData()[0].GetAmount())
}

// The clients are generated from the protos by the manual's command.
func TestTheManualsCheckoutInTypeScriptSells(t *testing.T) {
	t.Parallel()
	modules := devtest.NeedNode(t, "esbuild", "@bufbuild/buf", "@bufbuild/protobuf", "@bufbuild/protoc-gen-es", "@connectrpc/connect",
		"@connectrpc/connect-node")
	folder := t.TempDir()
	require.NoError(t, os.Symlink(modules, filepath.Join(folder, "node_modules")))
	require.NoError(t, os.CopyFS(filepath.Join(folder, "proto"), os.DirFS("../../proto")))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "buf.gen.yaml"), []byte(snippet(t, "yaml", "protoc-gen-es")), 0o600))
	code := snippet(t, "ts", "createConnectTransport")
	require.LessOrEqual(t, strings.Count(code, "\n"), 30)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "sell.ts"), []byte(code), 0o600))
	devtest.Run(t, folder, nil, filepath.Join(modules, ".bin", "buf"), "generate", "proto")
	devtest.Run(t, folder, nil, filepath.Join(modules, "esbuild", "bin", "esbuild"), "sell.ts", "--bundle", "--platform=node",
		"--outfile=sell.cjs")
	address := newPlatform(t)
	said := devtest.Run(t, folder, []string{"STOREFRONT_ADMIN_URL=" + address, "STOREFRONT_ADMIN_TOKEN=" + remoteToken}, "node", "sell.cjs")
	require.Contains(t, said, "1500")
}
