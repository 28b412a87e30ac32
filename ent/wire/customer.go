package wire

import (
	"go.storefront.example/gen/ent"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
)

// Customer is the Customer of a row; currency is the store's. The message shares the row's texts.
func Customer(row *ent.Customer, currency string) *storefrontv1.Customer {
	return &storefrontv1.Customer{
		Id:          row.ID.String(),
		Name:        row.Name,
		Email:       row.Email,
		Phone:       row.Phone,
		OrdersCount: row.OrdersCount,
		TotalPaid:   row.TotalPaid,
		Currency:    currency,
		CreatedAt:   Timestamp(row.CreatedAt),
	}
}
