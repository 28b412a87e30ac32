package importfile

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/google/uuid"

	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/transfer"
	"go.storefront.example/server/validate"
)

// objectID returns fileID if it is a UUID, else one derived from the store, the kind, fileID and the exporting shop.
func (o Options) objectID(kind transfer.Kind, from, fileID string) string {
	if id, ok := validate.ParseID(fileID); ok {
		return id.String()
	}
	store, _ := validate.ParseID(o.Store.GetId())
	return uuid.NewSHA1(store, []byte(string(kind)+"\n"+from+"\n"+fileID)).String()
}

// setIDs sets missing ids and types. Ids are derived from the file's id, a product's title or slug, a customer's e-mail or
// phone, or an order's reference.
func (l *loader) setIDs(e *entry, from string) {
	switch m := e.message.(type) {
	case *storefrontv1.Product:
		e.idFromTitle = m.GetId() == "" && m.GetTitle() != ""
		m.Id = l.objectID(transfer.Products, from, cmp.Or(m.GetId(), m.GetTitle(), m.GetSlug()))
		if m.GetType() == 0 {
			m.Type = l.Type
		}
	case *storefrontv1.Customer:
		e.hasCustomerID = m.GetId() != "" && !strings.EqualFold(m.GetId(), strings.TrimSpace(m.GetEmail()))
		m.Id = l.objectID(transfer.Customers, from, customerKey(m.GetId(), m.GetEmail(), m.GetPhone()))
	case *storefrontv1.Order:
		m.Reference = cmp.Or(m.GetReference(), referenceOf(m.GetId()))
		m.Id = l.objectID(transfer.Orders, from, cmp.Or(m.GetId(), m.GetReference()))
		if c := m.GetCustomer(); c != nil {
			e.hasCustomerID = c.GetId() != "" && !strings.EqualFold(c.GetId(), strings.TrimSpace(c.GetEmail()))
			c.Id = l.objectID(transfer.Customers, from, customerKey(c.GetId(), c.GetEmail(), c.GetPhone()))
		}
		for i, item := range m.GetItems() {
			if item.GetId() == "" {
				item.Id = l.objectID("items", m.GetId(), fmt.Sprint(i))
			}
			sku := ""
			if i < len(e.skus) {
				sku = e.skus[i]
			}
			l.link(e, item, i, sku, from)
			if item.GetType() == 0 {
				item.Type = max(l.Type, storefrontv1.Product_FILE)
			}
		}
	}
}

// referenceOf makes a reference from an id, whose form it must not have.
func referenceOf(id string) string {
	if validate.IsIDForm(id) {
		return "ID-" + id
	}
	return id
}

func customerKey(id, email, phone string) string {
	return cmp.Or(id, strings.ToLower(strings.TrimSpace(email)), phone)
}
