// This program calls the functions of the guide. The other files in its folder are the blocks of the guide.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"

	"go.storefront.example/client"
)

func main() {
	ctx := context.Background()
	shop, err := client.New(os.Getenv("SHOP_URL"), os.Getenv("SHOP_KEY"))
	check(err)
	draft := ""
	for product, err := range shop.Products.List(ctx, client.ProductFilter{Status: client.ProductDraft}) {
		check(err)
		draft = product.GetId()
	}

	product, err := noReference(ctx, shop, draft)
	check(err)
	fmt.Println("no reference price:", product.CompareAtAmount == nil)
	missing, err := publish(ctx, shop, draft)
	check(err)
	fmt.Println("missing:", strings.Join(missing, " "))
	code, err := publishTyped(ctx, draft)
	check(err)
	fmt.Println("typed:", code)
	all, inMonths := int64(0), int64(0)
	for order, err := range shop.Orders.List(ctx, client.OrderFilter{Status: client.OrderPaid}) {
		check(err)
		all += order.GetAmount()
	}
	for _, month := range strings.Fields(os.Getenv("MONTHS")) {
		paid, err := paidIn(ctx, shop, month)
		check(err)
		inMonths += paid
		if paid >= all {
			log.Fatal(month, " has all orders")
		}
	}
	fmt.Println("paid:", inMonths == all)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
