package apijson

import (
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/timestamppb"

	storefrontv1 "go.storefront.example/gen/storefront/v1"
)

var noon = time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)

func id(n byte) uuid.UUID {
	return uuid.UUID{0: 0x01, 1: 0x99, 6: 0x70, 8: 0x80, 15: n}
}

func orderOf(n byte) *storefrontv1.Order {
	return &storefrontv1.Order{
		Id:                 id(n).String(),
		Reference:          "ORD-2026-000042",
		Status:             storefrontv1.Order_PAID,
		Amount:             450000,
		Currency:           "XAF",
		PlatformFeePercent: 2.5,
		Customer: &storefrontv1.Order_Customer{
			Id: id(101).String(), Name: "Awa Ngo", Email: new("awa@example.com"),
		},
		Items: []*storefrontv1.Order_Item{
			{Id: id(102).String(), ProductId: id(103).String(), Type: storefrontv1.Product_COURSE, Title: "Photographie <débutant> & plus",
				UnitAmount: 150000, Quantity: 2},
			{Id: id(104).String(), ProductId: id(105).String(), Type: storefrontv1.Product_FILE, Title: "Un \"guide\"", UnitAmount: 150000,
				Quantity: 1},
		},
		PaymentLink: &storefrontv1.Order_PaymentLink{Id: id(106).String(), Code: "aB3dE", Title: "Atelier"},
		Note:        new("Merci !\nÀ bientôt"),
		PaidAt:      timestamppb.New(noon.Add(90 * time.Second)),
		CreatedAt:   timestamppb.New(noon.Add(123 * time.Millisecond)),
	}
}

func pageOf(orders int) *storefrontv1.ListOrdersResponse {
	page := &storefrontv1.ListOrdersResponse{Page: 1, PageSize: 100, Total: 250}
	for i := range orders {
		page.Data = append(page.Data, orderOf(byte(i)))
	}
	return page
}

func aProduct() *storefrontv1.Product {
	return &storefrontv1.Product{
		Id: id(1).String(), Title: "Cours", Slug: "cours", Type: storefrontv1.Product_COURSE, Status: storefrontv1.Product_PUBLISHED,
		Summary: "Court", Description: "<p>Long</p>", PriceAmount: 1500, CompareAtAmount: new(int64(2000)), Currency: "XAF",
		Url: "https://shop.example.com/cours", CoverUrl: new("https://cdn.example.com/c.png"),
		PublishedAt: timestamppb.New(noon), CreatedAt: timestamppb.New(noon.Add(-time.Hour)), UpdatedAt: timestamppb.New(noon),
	}
}

func aCustomer() *storefrontv1.Customer {
	return &storefrontv1.Customer{
		Id: id(2).String(), Name: "Awa", Email: new("awa@example.com"), Phone: new("+237670000001"),
		OrdersCount: 3, TotalPaid: 9007199254740991, Currency: "XAF", CreatedAt: timestamppb.New(noon),
	}
}

func aStore() *storefrontv1.Store {
	return &storefrontv1.Store{
		Id: id(9).String(), Name: "Boutique", Slug: "boutique", Url: "https://boutique.example.com", Description: "Tout",
		Currency: "XAF",
		Country:  "CM", SupportEmail: "aide@example.com", Phone: "+237670000001", WhatsappPhone: "+237670000002",
		SocialLinks: map[string]string{"x": "https://x.com/b", "facebook": "https://facebook.com/b"},
		Status:      storefrontv1.Store_suspended, CreatedAt: timestamppb.New(noon),
	}
}
