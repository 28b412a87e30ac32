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
	var drafts []string
	for product, err := range shop.Products.List(ctx, client.ProductFilter{Status: client.ProductDraft}) {
		check(err)
		drafts = append(drafts, product.GetId())
	}

	last := drafts[len(drafts)-1]
	missing, err := publish(ctx, shop, last)
	check(err)
	fmt.Println("missing:", strings.Join(missing, " "))
	code, err := publishTyped(ctx, last)
	check(err)
	fmt.Println("typed:", code)
	archived, err := archiveDrafts(ctx, shop)
	check(err)
	left, err := shop.Products.Page(ctx, client.ProductFilter{Status: client.ProductDraft})
	check(err)
	fmt.Println("archived:", archived == len(drafts) && left.GetTotal() == 0)
	for _, id := range drafts { // for the programs in other languages
		_, err := shop.Products.Update(ctx, id, client.ProductChange{Status: client.Set(client.ProductDraft)})
		check(err)
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
