package service

import (
	"context"
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"go.storefront.example/ent/wire"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
)

// Check applies every rule that needs only the request and its store, and joins what the decoder
// refused, so that one answer names everything that is wrong. A nil error lets the request go
// on. The methods of the shop apply the same rules themselves; Check serves a request that
// cannot reach them because it did not decode.
//
// It refuses with validation_failed, phone_invalid, payment_link_expiry_invalid,
// customer_identifier_required or feature_disabled.
func (s *Shop) Check(ctx context.Context, m proto.Message, invalid *wire.Invalid) error {
	t, err := tenantOf(ctx)
	if err != nil {
		return err
	}
	p := problemsOf(invalid)
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
		if err := s.paymentLinksOpen(t); err != nil {
			return err
		}
		_, err = p.newPaymentLink(in)
	case *storefrontv1.UpdatePaymentLinkRequest:
		_, err = p.paymentLinkChange(in)
	default:
		err = p.err()
	}
	return err
}

// update is what every update request has.
type update interface {
	proto.Message
	GetUpdateMask() *fieldmaskpb.FieldMask
}

// named returns which fields an update names, by their proto names: those of its mask, or those
// that are present when it has none. It refuses a mask that names what cannot be changed.
func (p *problems) named(in update) func(path string) bool {
	m := in.ProtoReflect()
	mask := in.GetUpdateMask()
	if mask == nil {
		fields := m.Descriptor().Fields()
		return func(path string) bool {
			f := fields.ByName(protoreflect.Name(path))
			return f != nil && m.Has(f)
		}
	}
	for _, path := range mask.GetPaths() {
		f := m.Descriptor().Fields().ByName(protoreflect.Name(path))
		if f == nil || path == "id" || path == "update_mask" {
			p.invalid("updateMask", "names "+path+", which cannot be changed")
		}
	}
	return func(path string) bool { return slices.Contains(mask.GetPaths(), path) }
}

// required refuses a field that an update names without a value.
func (p *problems) required(field string, named, present bool) {
	if named && !present {
		p.invalid(field, "cannot be null")
	}
}

// known refuses an enum number that has no meaning; only binary requests can carry one.
func (p *problems) known(field string, e protoreflect.Enum) {
	if e.Number() != 0 && e.Descriptor().Values().ByNumber(e.Number()) == nil {
		p.invalid(field, "has an unknown value")
	}
}
