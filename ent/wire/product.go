package wire

import (
	"go.storefront.example/gen/ent"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
)

// Product is the Product of a row; currency is the store's. The message shares the row's texts.
func Product(row *ent.Product, currency string) *storefrontv1.Product {
	return &storefrontv1.Product{
		Id:              row.ID.String(),
		Title:           row.Title,
		Slug:            row.Slug,
		Type:            storefrontv1.Product_Type(storefrontv1.Product_Type_value[string(row.Type)]),
		Status:          storefrontv1.Product_Status(storefrontv1.Product_Status_value[string(row.Status)]),
		Summary:         row.Summary,
		Description:     row.Description,
		PriceAmount:     row.PriceAmount,
		CompareAtAmount: row.CompareAtAmount,
		Currency:        currency,
		Url:             row.URL,
		CoverUrl:        row.CoverURL,
		PublishedAt:     OptionalTimestamp(row.PublishedAt),
		CreatedAt:       Timestamp(row.CreatedAt),
		UpdatedAt:       Timestamp(row.UpdatedAt),
	}
}
