package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http/httptest"
	"time"

	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"go.storefront.example/client"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
)

// demo is a client of a store with five products.
func demo() (shop *client.Client, stop func()) {
	server := httptest.NewServer(titled("Guide", "Course", "Licence", "Meeting", "Ticket").handler())
	shop, err := client.New(server.URL, key)
	if err != nil {
		log.Fatal(err)
	}
	return shop, server.Close
}

// The address of the service, without /v1, and a key of the store's dashboard. Most programs read
// both from their environment.
func ExampleNew() {
	shop, err := client.New("https://api.example.com", "svc_live_0123456789abcdefghijklmnopqrstuvwxyzABCDEF",
		client.WithUserAgent("crm/1.4"), client.WithMaxRetries(5))
	if err != nil {
		log.Fatal(err)
	}
	_ = shop.Products

	_, err = client.New("http://api.example.com", "svc_live_0123456789abcdefghijklmnopqrstuvwxyzABCDEF")
	fmt.Println(err)
	// Output:
	// client: base URL: must be https, or the key crosses the network readable; where that network is private, use WithPlainHTTP
}

// All products, two a request. Without an error the loop ends after the last one; break ends it
// earlier, and no further page is asked for.
func ExampleProducts_List() {
	shop, stop := demo()
	defer stop()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	request := &storefrontv1.ListProductsRequest{
		PageSize: new(int32(2)),
		Status:   storefrontv1.Product_DRAFT.Enum(),
	}
	for product, err := range shop.Products.List(ctx, request) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(product.GetTitle(), product.GetPriceAmount(), product.GetCurrency())
	}
	// Output:
	// Guide 1500 XAF
	// Course 1500 XAF
	// Licence 1500 XAF
	// Meeting 1500 XAF
	// Ticket 1500 XAF
}

// Fields that are present are changed, and the others stay as they are.
func ExampleProducts_Update() {
	shop, stop := demo()
	defer stop()

	product, err := shop.Products.Update(context.Background(), &storefrontv1.UpdateProductRequest{
		Id:    "0198c1f0-0000-7000-8000-000000000000",
		Title: new("A better guide"),
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(product.GetTitle())
	// Output: A better guide
}

// A mask names what changes; a field that it names and that has no value is cleared.
func ExampleProducts_Update_clear() {
	shop, stop := demo()
	defer stop()

	product, err := shop.Products.Update(context.Background(), &storefrontv1.UpdateProductRequest{
		Id:         "0198c1f0-0000-7000-8000-000000000000",
		UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"compare_at_amount"}},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(product.CompareAtAmount == nil)
	// Output: true
}

// Branch on the code. The rest is in Details, whose getters may be called on nil.
func ExampleError() {
	shop, stop := demo()
	defer stop()

	_, err := shop.Products.Update(context.Background(), &storefrontv1.UpdateProductRequest{
		Id:     "0198c1f0-0000-7000-8000-000000000000",
		Status: storefrontv1.Product_PUBLISHED.Enum(),
	})
	var refused *client.Error
	if !errors.As(err, &refused) {
		log.Fatal(err)
	}
	switch refused.Code {
	case client.ProductIncomplete:
		fmt.Println(refused.Status, "still missing:", refused.Details.GetMissing())
	case client.ProductNotFound:
		fmt.Println("no such product")
	default:
		log.Fatal(err) // with the request's identifier
	}
	// Output: 422 still missing: [description content]
}
