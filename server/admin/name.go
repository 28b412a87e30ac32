package admin

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent/customer"
	"go.storefront.example/gen/ent/order"
	"go.storefront.example/gen/ent/paymentlink"
	"go.storefront.example/gen/ent/product"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/validate"
)

// named has by which column and value people know a kind's rows; nil if by ids only.
var named = map[adminv1.ResolveNameRequest_Kind]struct {
	kind   kind
	lookup func(t tenant.Store, name string) (column, value string)
}{
	adminv1.ResolveNameRequest_PRODUCT:      {productKind, byColumn(product.FieldSlug)},
	adminv1.ResolveNameRequest_ORDER:        {orderKind, byColumn(order.FieldReference)},
	adminv1.ResolveNameRequest_CUSTOMER:     {customerKind, byContact},
	adminv1.ResolveNameRequest_PAYMENT_LINK: {paymentLinkKind, byColumn(paymentlink.FieldCode)},
	adminv1.ResolveNameRequest_DELIVERY:     {deliveryKind, nil},
}

func byColumn(column string) func(tenant.Store, string) (string, string) {
	return func(_ tenant.Store, name string) (string, string) { return column, name }
}

// byContact takes an e-mail or a phone. A phone without a country code is one of the store's country.
func byContact(t tenant.Store, name string) (column, value string) {
	if email, ok := validate.Address(name); ok {
		return customer.FieldEmail, email
	}
	var p validate.Problems
	if phone := p.Phone("name", name, t.Country); phone != nil {
		return customer.FieldPhone, *phone
	}
	return customer.FieldEmail, "" // finds nobody, because no customer has an empty e-mail
}

var partOfID = regexp.MustCompile(`^[0-9a-f-]{8,35}$`)

// maxAmbiguous is how many ids a refusal lists if a part of an id matches several rows.
const maxAmbiguous = 5

// ResolveName finds a whole id in any store, unless the request names one. Other names it looks up as the object's name and
// then as the beginning or the end of an id.
func (o *Operator) ResolveName(ctx context.Context, in *adminv1.ResolveNameRequest) (*adminv1.ResolveNameResponse, error) {
	var refused problems
	of, known := named[in.GetKind()]
	if !known {
		refused.Invalid("kind", "must be a kind of object that has a name")
	}
	name := in.GetName()
	id, isID := validate.ParseID(name)
	var err error
	if isID && refused.Err() == nil {
		ctx, err = o.withRowStore(ctx, of.kind, in.GetStore(), name)
	} else {
		ctx, _, err = o.check(ctx, &refused, in.GetStore())
	}
	if err != nil {
		return nil, err
	}
	t, err := tenant.StoreOf(ctx)
	if err != nil {
		return nil, err
	}
	var found []string
	switch {
	case isID:
		found, err = o.idsOf(ctx, of.kind, "id = $2", t.ID, id)
	case of.lookup != nil && validate.Storable(name):
		column, value := of.lookup(t, name)
		found, err = o.idsOf(ctx, of.kind, column+" = $2", t.ID, value)
	}
	if part := strings.ToLower(name); err == nil && len(found) == 0 && partOfID.MatchString(part) {
		found, err = o.idsOf(ctx, of.kind, "CAST(id AS text) LIKE $2 OR CAST(id AS text) LIKE $3", t.ID, part+"%", "%"+part)
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("find the %s %s: %w", of.kind.noun, name, err)
	case len(found) == 0 && isID:
		return nil, of.kind.notFound(name)
	case len(found) == 0:
		return nil, apierr.New(of.kind.code, fmt.Sprintf("There is no %s %q in the store %s.", of.kind.noun, name, t.Slug))
	case len(found) > 1:
		return nil, apierr.New(apierr.NameAmbiguous, fmt.Sprintf("The id %s is ambiguous in the store %s: %s.", name, t.Slug,
			strings.Join(found, ", ")))
	}
	return &adminv1.ResolveNameResponse{Id: found[0], Store: t.Slug}, nil
}

// idsOf returns at most maxAmbiguous ids, newest first. In args the store's id comes first.
func (o *Operator) idsOf(ctx context.Context, k kind, condition string, args ...any) ([]string, error) {
	rows := "SELECT CAST(id AS text) AS id FROM " + k.table + " WHERE store_id = $1 AND (" + condition + ")"
	if k.otherTable != "" {
		rows += " UNION SELECT CAST(id AS text) FROM " + k.otherTable + " WHERE store_id = $1 AND (" + condition + ")"
	}
	return selectIDs(ctx, o.db.Reader(), "SELECT id FROM ("+rows+") ids ORDER BY id DESC LIMIT "+strconv.Itoa(maxAmbiguous), args...)
}
