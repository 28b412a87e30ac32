package main

import (
	"context"

	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/validate"
)

type productCmd struct {
	Create productCreateCmd `cmd:"" help:"Create a product."`
	List   productListCmd   `cmd:"" help:"List a store's products, newest first."`
	Show   productShowCmd   `cmd:"" help:"Show a product."`
	Update productUpdateCmd `cmd:"" help:"Change a product."`
}

type productCreateCmd struct {
	inNamedStore
	Title        string `api:"title" required:"" placeholder:"TITLE" help:"Title, 1 to 200 characters."`
	Type         string `api:"type" required:"" enum:"FILE,COURSE,LICENSE,MEETING,EVENT" placeholder:"TYPE" help:"FILE, COURSE, LICENSE, MEETING or EVENT."`
	Price        amount `api:"priceAmount" required:"" placeholder:"N" help:"Price, in minor units of the store's currency, such as 1550, or with a decimal point in the currency itself, such as 15.50."`
	CompareAt    amount `api:"compareAtAmount" placeholder:"N" help:"Compare-at price, above the price, written as --price."`
	Slug         string `api:"slug" placeholder:"SLUG" help:"Short name in the URL; made from the title if left out."`
	Summary      string `api:"summary" clears:"" placeholder:"TEXT" help:"A few words, at most 500 characters."`
	Description  string `api:"description" clears:"" placeholder:"HTML" help:"The whole description; required to publish."`
	CoverURL     string `api:"coverUrl" name:"cover-url" clears:"" placeholder:"URL" help:"URL of the cover picture."`
	ContentReady bool   `api:"contentReady" help:"The product has something to deliver; required to publish."`
	Status       string `api:"status" enum:"DRAFT,PUBLISHED,ARCHIVED" default:"DRAFT" placeholder:"STATUS" help:"DRAFT, PUBLISHED or ARCHIVED."`
}

func (c *productCreateCmd) Run(s *invocation) error {
	return create(s, inStore(c.inNamedStore), &adminv1.CreateProductRequest{}, admin.API.CreateProduct, messageJSON)
}

type productUpdateCmd struct {
	storeScoped
	Name         string         `arg:"" help:"The product's id or slug."`
	Title        string         `api:"title" placeholder:"TITLE" help:"Title, 1 to 200 characters."`
	Price        amount         `api:"priceAmount" placeholder:"N" help:"Price, in minor units of the store's currency, such as 1550, or with a decimal point in the currency itself, such as 15.50."`
	CompareAt    orNone[amount] `api:"compareAtAmount" placeholder:"N|none" help:"Compare-at price, above the price, written as --price; none removes it."`
	Summary      string         `api:"summary" clears:"" placeholder:"TEXT" help:"A few words, at most 500 characters."`
	Description  string         `api:"description" clears:"" placeholder:"HTML" help:"The whole description."`
	CoverURL     orNone[string] `api:"coverUrl" name:"cover-url" placeholder:"URL|none" help:"URL of the cover picture; none removes it."`
	ContentReady bool           `api:"contentReady" negatable:"" help:"Whether the product has something to deliver."`
	Status       *string        `api:"status" enum:"DRAFT,PUBLISHED,ARCHIVED" placeholder:"STATUS" help:"DRAFT, PUBLISHED or ARCHIVED."`
}

func (c *productUpdateCmd) Run(s *invocation) error {
	in := &storefrontv1.UpdateProductRequest{}
	content := &adminv1.SetProductContentRequest{Product: in}
	return change(s, c.storeScoped, c.Name, productName, func(ctx context.Context, o admin.API, id string) (*storefrontv1.Product, error) {
		in.Id = id
		if s.given["content-ready"] || s.given["cover-url"] {
			return o.SetProductContent(ctx, content)
		}
		return o.UpdateProduct(ctx, in)
	}, messageJSON, in, content)
}

type productListCmd struct {
	paged
	Q      string  `name:"q" api:"q" clears:"" placeholder:"TEXT" help:"Text to find in the title."`
	Status *string `api:"status" enum:"DRAFT,PUBLISHED,ARCHIVED" placeholder:"STATUS" help:"Only products of this status: DRAFT, PUBLISHED or ARCHIVED."`
	Type   *string `api:"type" enum:"FILE,COURSE,LICENSE,MEETING,EVENT" placeholder:"TYPE" help:"Only products of this type: FILE, COURSE, LICENSE, MEETING or EVENT."`
}

func (c *productListCmd) Run(s *invocation) error {
	in := &storefrontv1.ListProductsRequest{}
	return listPages(s, c.paged, productTable, in, func(page *int64, size *int32) { in.Page, in.PageSize = page, size },
		admin.API.ListProducts)
}

var productTable = table[*storefrontv1.Product]{[]column[*storefrontv1.Product]{
	{name: "SLUG", value: (*storefrontv1.Product).GetSlug, cut: true},
	{name: "TITLE", value: (*storefrontv1.Product).GetTitle, cut: true},
	{name: "STATUS", value: func(p *storefrontv1.Product) string { return p.GetStatus().String() }},
	{name: "PRICE", value: func(p *storefrontv1.Product) string {
		return validate.FormatAmount(p.GetPriceAmount(), p.GetCurrency())
	}},
	{name: "TYPE", value: func(p *storefrontv1.Product) string { return p.GetType().String() }, optional: true},
	{name: "CREATED", at: (*storefrontv1.Product).GetCreatedAt, optional: true},
	{name: "ID", id: (*storefrontv1.Product).GetId, optional: true},
}, messageJSON[*storefrontv1.Product]}

type productShowCmd struct {
	storeScoped
	Name string `arg:"" help:"The product's id or slug."`
}

func (c *productShowCmd) Run(s *invocation) error {
	return act(s, c.storeScoped, c.Name, productName, getProduct, messageJSON)
}

func getProduct(ctx context.Context, o admin.API, id string) (*storefrontv1.Product, error) {
	return o.GetProduct(ctx, &storefrontv1.GetProductRequest{Id: id})
}
