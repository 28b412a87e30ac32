package shop

import (
	"context"

	"google.golang.org/protobuf/proto"

	"go.storefront.example/ent/apijson"
	"go.storefront.example/ent/tenant"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/validate"
)

// Check returns the refusal of a request whose JSON could not be decoded entirely. m has the decoded fields, and invalid has
// the others. The refusal lists the fields in invalid and the fields of m that a rule refuses, so that one answer names
// everything that is wrong. Check applies the rules that need only the request and its store. It is not called for requests
// that were decoded, because the methods of Shop apply the same rules.
//
// It refuses with validation_failed, phone_invalid, payment_link_expiry_invalid, customer_identifier_required or
// feature_disabled.
func (s *Shop) Check(ctx context.Context, m proto.Message, invalid *apijson.Invalid) error {
	t, err := tenant.StoreOf(ctx)
	if err != nil {
		return err
	}
	p := &problems{*validate.NewProblems(invalid)}
	switch in := m.(type) {
	case *storefrontv1.ListProductsRequest:
		_, err = p.listProducts(in)
	case *storefrontv1.UpdateProductRequest:
		_, err = p.productChange(in)
	case *storefrontv1.ListOrdersRequest:
		_, err = p.listOrders(in)
	case *storefrontv1.ListCustomersRequest:
		_, err = p.listCustomers(in)
	case *storefrontv1.CreateCustomerRequest:
		_, err = p.newCustomer(in, t.Country)
	case *storefrontv1.UpdateCustomerRequest:
		_, err = p.customerChange(in, t.Country)
	case *storefrontv1.ListPaymentLinksRequest:
		_, err = p.listPaymentLinks(in)
	case *storefrontv1.CreatePaymentLinkRequest:
		if err := s.checkPaymentLinksOpen(t); err != nil {
			return err
		}
		_, err = p.newPaymentLink(in)
	case *storefrontv1.UpdatePaymentLinkRequest:
		_, err = p.paymentLinkChange(in)
	default:
		err = p.Err()
	}
	return err
}
