package rpc_test

import (
	"strings"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/apierr"
)

// imports sends a batch of each kind twice: the second time nothing is stored.
func (c *caller) imports() {
	customer := &storefrontv1.Customer{Id: uuid.NewString(), Email: new("moved@example.com")}
	product := &storefrontv1.Product{Id: uuid.NewString(), Title: "Moved", PriceAmount: 5}
	order := &storefrontv1.Order{
		Id: uuid.NewString(), Reference: "M-1", Status: storefrontv1.Order_PAID, Amount: 5,
		Customer: &storefrontv1.Order_Customer{Id: customer.GetId()},
	}
	for i, want := range []int32{1, 0} {
		for method, in := range map[string]any{
			"ImportProducts":  &adminv1.ImportProductsRequest{Store: "s", Products: []*storefrontv1.Product{product}},
			"ImportCustomers": &adminv1.ImportCustomersRequest{Store: "s", Customers: []*storefrontv1.Customer{customer}},
		} {
			out := c.batch(method, in)
			require.Equal(c, want, out.GetStored(), method)
			require.EqualValues(c, i, out.GetSkipped(), method)
		}
		require.Equal(c, want, c.batch("ImportOrders", &adminv1.ImportOrdersRequest{Store: "s",
			Orders: []*storefrontv1.Order{order}}).GetStored())
	}
	got := ask[storefrontv1.Customer](c, "CustomerService/GetCustomer", &storefrontv1.GetCustomerRequest{Id: customer.GetId()})
	require.EqualValues(c, 5, got.GetTotalPaid())

	out := c.batch("ImportProducts", &adminv1.ImportProductsRequest{Store: "s", Products: []*storefrontv1.Product{
		{Id: uuid.NewString(), Title: "Sound"}, {Id: "7", Title: strings.Repeat("x", 201)},
	}})
	require.Zero(c, out.GetStored(), "nothing of the batch")
	require.Len(c, out.GetRefused(), 2)
	require.EqualValues(c, 1, out.GetRefused()[0].GetIndex())
	require.Equal(c, "id", out.GetRefused()[0].GetField())
	_, err := try[adminv1.ImportResponse](c, "ImportService/ImportProducts", &adminv1.ImportProductsRequest{Store: "s"})
	refused, _ := apierr.FromConnect(err)
	require.NotNil(c, refused)
	require.Equal(c, apierr.ValidationFailed, refused.Code, "an empty batch")
}

func (c *caller) batch(method string, in any) *adminv1.ImportResponse {
	switch in := in.(type) {
	case *adminv1.ImportProductsRequest:
		return ask[adminv1.ImportResponse](c, "ImportService/"+method, in)
	case *adminv1.ImportCustomersRequest:
		return ask[adminv1.ImportResponse](c, "ImportService/"+method, in)
	default:
		return ask[adminv1.ImportResponse](c, "ImportService/"+method, in.(*adminv1.ImportOrdersRequest))
	}
}
