package resource

import (
	"go.storefront.example/ent/apijson"
	"go.storefront.example/ent/invisible"
	"go.storefront.example/gen/ent"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
)

// Store returns the message for a row. The message shares the row's map of social links.
func Store(row *ent.Store) *storefrontv1.Store {
	return &storefrontv1.Store{
		Id:            row.ID.String(),
		Name:          invisible.OneLine(row.Name),
		Slug:          row.Slug,
		Url:           row.URL,
		Description:   row.Description,
		Currency:      row.Currency,
		Country:       row.Country,
		SupportEmail:  row.SupportEmail,
		Phone:         row.Phone,
		WhatsappPhone: row.WhatsappPhone,
		SocialLinks:   row.SocialLinks,
		Status:        storefrontv1.Store_Status(storefrontv1.Store_Status_value[string(row.Status)]),
		CreatedAt:     apijson.Timestamp(row.CreatedAt),
	}
}
