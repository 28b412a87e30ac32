package file

import (
	"fmt"
	"strings"

	"github.com/google/uuid"

	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/validate"
)

// id returns one's own id if it is a UUID, and otherwise the UUID that it stands for in the store.
func (l *load) id(kind Kind, from, own string) (id string, derived bool) {
	if _, ok := validate.ParseID(own); ok {
		return own, false
	}
	store, _ := validate.ParseID(l.Store.GetId())
	return uuid.NewSHA1(store, []byte(string(kind)+"\n"+from+"\n"+own)).String(), true
}

// complete gives a row the ids and the type that it lacks. Without an id of one's own a product is known
// by its title, a customer by the e-mail or else the phone, and an order by its reference.
func (l *load) complete(e *entry, from string) {
	switch m := e.message.(type) {
	case *storefrontv1.Product:
		m.Id, _ = l.id(Products, from, first(m.GetId(), m.GetTitle()))
		if m.GetType() == 0 {
			m.Type = l.Type
		}
	case *storefrontv1.Customer:
		m.Id, e.derived = l.id(Customers, from, buyer(m.GetId(), m.GetEmail(), m.GetPhone()))
	case *storefrontv1.Order:
		m.Reference = first(m.GetReference(), m.GetId())
		m.Id, _ = l.id(Orders, from, first(m.GetId(), m.GetReference()))
		if c := m.GetCustomer(); c != nil {
			c.Id, e.derived = l.id(Customers, from, buyer(c.GetId(), c.GetEmail(), c.GetPhone()))
		}
		for i, item := range m.GetItems() {
			if item.GetId() == "" {
				item.Id, _ = l.id("items", m.GetId(), fmt.Sprint(i))
			}
			item.ProductId, _ = l.id(Products, from, first(item.GetProductId(), item.GetTitle()))
			if item.GetType() == 0 {
				item.Type = max(l.Type, storefrontv1.Product_FILE)
			}
		}
	}
}

// buyer returns what a customer is known by.
func buyer(id, email, phone string) string {
	return first(id, strings.ToLower(strings.TrimSpace(email)), phone)
}

// first returns the first text that is not empty.
func first(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}
