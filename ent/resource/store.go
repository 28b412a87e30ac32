package resource

import (
	"go.storefront.example/ent/invisible"
	"go.storefront.example/gen/ent"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
)

var storeShape = shapeOf[ent.Store, storefrontv1.Store]()

// Store returns the message for a row. The message shares the row's map of social links.
func Store(row *ent.Store) *storefrontv1.Store {
	m := storeShape.fill(&storefrontv1.Store{}, row)
	m.Name = invisible.OneLine(m.Name)
	return m
}
