package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http/httptest"
	"time"

	"go.storefront.example/client"
)

// demo has a store with five products. stop stops its server.
func demo() (shop *client.Client, stop func()) {
	server := httptest.NewServer(titled("Guide", "Course", "Licence", "Meeting", "Ticket").handler())
	shop, err := client.New(server.URL, key)
	if err != nil {
		log.Fatal(err)
	}
	return shop, server.Close
}

// New takes the address of the service, without /v1, and an API key from the store's dashboard. Most programs read both from
// their environment.
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

// The loop requests a page only when it needs one, so after break it requests none.
func ExampleProducts_List() {
	shop, stop := demo()
	defer stop()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	for product, err := range shop.Products.List(ctx, client.ProductFilter{Status: client.ProductDraft, PageSize: 2}) {
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

// Set a field to change it; all other fields stay as they are.
func ExampleProducts_Update() {
	shop, stop := demo()
	defer stop()

	product, err := shop.Products.Update(context.Background(), "0198c1f0-0000-7000-8000-000000000000",
		client.ProductChange{Title: client.Set("A better guide")})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(product.GetTitle())
	// Output: A better guide
}

// Clear removes the value of a field that can be null.
func ExampleProducts_Update_clear() {
	shop, stop := demo()
	defer stop()

	product, err := shop.Products.Update(context.Background(), "0198c1f0-0000-7000-8000-000000000000",
		client.ProductChange{CompareAtAmount: client.Clear[int64]()})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(product.CompareAtAmount == nil)
	// Output: true
}

// Branch on the code. Details has more, and its getters may be called on nil.
func ExampleError() {
	shop, stop := demo()
	defer stop()

	_, err := shop.Products.Update(context.Background(), "0198c1f0-0000-7000-8000-000000000000",
		client.ProductChange{Status: client.Set(client.ProductPublished)})
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
		log.Fatal(err) // the text has the request's identifier
	}
	// Output: 422 still missing: [description content]
}
