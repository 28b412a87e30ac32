package importfile_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/cmd/storefront/importfile"
	"go.storefront.example/ent/db"
	"go.storefront.example/ent/tenant"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/shop"
	"go.storefront.example/server/shop/shoptest"
	"go.storefront.example/server/transfer"
)

type (
	options = importfile.Options
	column  = importfile.Column
	kind    = transfer.Kind
)

const (
	products  = transfer.Products
	customers = transfer.Customers
	orders    = transfer.Orders
)

type store struct {
	*admin.Operator
	*storefrontv1.Store
	t interface {
		require.TestingT
		Helper()
	}
	db *db.DB
}

func newStore(t testing.TB, d *db.DB) store {
	t.Helper()
	return newStoreOf(t, d, "s")
}

func newStoreOf(t testing.TB, d *db.DB, slug string) store {
	t.Helper()
	rules := shop.New(d, shop.Options{})
	made, err := rules.CreateStore(context.Background(), tenant.Actor{Type: tenant.ActorOperator}, &adminv1.CreateStoreRequest{
		Name: "S", Slug: slug, Currency: "XAF", Country: "CM",
	})
	require.NoError(t, err)
	return store{admin.New(d, admin.Options{}), made, t, d}
}

func (s store) try(o options, text []byte) (*importfile.Report, error) {
	o.Store = s.Store
	return importfile.Load(context.Background(), s, bytes.NewReader(text), o)
}

func (s store) load(o options, text []byte) *importfile.Report {
	s.t.Helper()
	done, err := s.try(o, text)
	require.NoError(s.t, err)
	return done
}

func (s store) products() []*storefrontv1.Product {
	s.t.Helper()
	out, err := s.ListProducts(shoptest.In(s.t, context.Background(), s, s.GetSlug()), &storefrontv1.ListProductsRequest{})
	require.NoError(s.t, err)
	return out.GetData()
}

func (s store) customers() []*storefrontv1.Customer {
	s.t.Helper()
	var all []*storefrontv1.Customer
	for page := int64(1); ; page++ {
		out, err := s.ListCustomers(shoptest.In(s.t, context.Background(), s, s.GetSlug()), &storefrontv1.ListCustomersRequest{Page: &page,
			PageSize: new(int32(100))})
		require.NoError(s.t, err)
		if all = append(all, out.GetData()...); len(out.GetData()) == 0 {
			return all
		}
	}
}

func (s store) orders() []*storefrontv1.Order {
	s.t.Helper()
	out, err := s.ListOrders(shoptest.In(s.t, context.Background(), s, s.GetSlug()), &storefrontv1.ListOrdersRequest{})
	require.NoError(s.t, err)
	return out.GetData()
}
