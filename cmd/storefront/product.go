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
	place
	Store        string  `required:"" placeholder:"SLUG" help:"The store, by slug or id."`
	Title        string  `required:"" placeholder:"TITLE" help:"Title, 1 to 200 characters."`
	Type         string  `required:"" enum:"FILE,COURSE,LICENSE,MEETING,EVENT" placeholder:"TYPE" help:"FILE, COURSE, LICENSE, MEETING or EVENT."`
	Price        amount  `required:"" placeholder:"N" help:"Price, in minor units of the store's currency, such as 1550, or with a decimal point in the currency itself, such as 15.50."`
	CompareAt    *amount `placeholder:"N" help:"Reference price, above the price, as --price."`
	Slug         string  `placeholder:"SLUG" help:"Short name in the address; made from the title if left out."`
	Summary      *string `clears:"" placeholder:"TEXT" help:"A few words, at most 500 characters."`
	Description  *string `clears:"" placeholder:"HTML" help:"The whole description; required to publish."`
	CoverURL     *string `name:"cover-url" clears:"" placeholder:"URL" help:"Address of the cover picture."`
	ContentReady bool    `help:"The product has something to deliver; required to publish."`
	Status       string  `enum:"DRAFT,PUBLISHED,ARCHIVED" default:"DRAFT" placeholder:"STATUS" help:"DRAFT, PUBLISHED or ARCHIVED."`
}

// Run creates the product.
func (c *productCreateCmd) Run(s *session) error {
	in := &adminv1.CreateProductRequest{
		Store: c.Store, Title: c.Title, Type: storefrontv1.Product_Type(storefrontv1.Product_Type_value[c.Type]),
		PriceAmount:     c.Price.units(),
		CompareAtAmount: c.CompareAt.units(), Slug: c.Slug, Summary: c.Summary, Description: c.Description, CoverUrl: c.CoverURL,
		ContentReady: &c.ContentReady, Status: enumOf[storefrontv1.Product_Status](storefrontv1.Product_Status_value, &c.Status),
	}
	return callAndPrint(s, c.place, in,
		func(o admin.API, ctx context.Context, in *adminv1.CreateProductRequest) (*storefrontv1.Product,
			error) {
			if err := (amounts{"price": &c.Price, "compare-at": c.CompareAt}).settle(currencyOf(ctx, o, c.Store)); err != nil {
				return nil, err
			}
			return o.CreateProduct(ctx, in)
		}, whole)
}

type productUpdateCmd struct {
	storeScoped
	Name         string       `arg:"" help:"The product's id or slug."`
	Title        *string      `placeholder:"TITLE" help:"Title, 1 to 200 characters."`
	Price        *amount      `placeholder:"N" help:"Price, in minor units of the store's currency, such as 1550, or with a decimal point in the currency itself, such as 15.50."`
	CompareAt    amountOrNone `placeholder:"N|none" help:"Reference price, above the price, as --price; none removes it."`
	Summary      *string      `clears:"" placeholder:"TEXT" help:"A few words, at most 500 characters."`
	Description  *string      `clears:"" placeholder:"HTML" help:"The whole description."`
	CoverURL     textOrNone   `name:"cover-url" placeholder:"URL|none" help:"Address of the cover picture; none removes it."`
	ContentReady *bool        `negatable:"" help:"Whether the product has something to deliver."`
	Status       *string      `enum:"DRAFT,PUBLISHED,ARCHIVED" placeholder:"STATUS" help:"DRAFT, PUBLISHED or ARCHIVED."`
}

// Run changes the product.
func (c *productUpdateCmd) Run(s *session) error {
	in := &adminv1.UpdateProductRequest{
		Title: c.Title, Summary: c.Summary, Description: c.Description, PriceAmount: c.Price.units(), ContentReady: c.ContentReady,
		Status: enumOf[storefrontv1.Product_Status](storefrontv1.Product_Status_value, c.Status),
	}
	var cleared []string
	c.CompareAt.put(&in.CompareAtAmount, "compare_at_amount", &cleared)
	c.CoverURL.put(&in.CoverUrl, "cover_url", &cleared)
	in.UpdateMask = maskOf(in, "id", cleared...)
	if err := s.changes(in.UpdateMask); err != nil {
		return err
	}
	return callNamed(s, c.storeScoped, c.Name, findProduct, whole,
		func(ctx context.Context, o admin.API, id string) (*storefrontv1.Product, error) {
			in.Id = id
			err := amounts{"price": c.Price, "compare-at": c.CompareAt.value}.settle(func() (string, error) {
				found, err := findProduct(ctx, o, "", id)
				return found.GetCurrency(), err
			})
			if err != nil {
				return nil, err
			}
			return o.UpdateProduct(ctx, in)
		})
}

func findProduct(ctx context.Context, o admin.API, store, name string) (*storefrontv1.Product, error) {
	return o.FindProduct(ctx, &adminv1.FindProductRequest{Store: store, Name: name})
}

type productListCmd struct {
	paged
	Q      *string `name:"q" clears:"" placeholder:"TEXT" help:"Text to find in the title."`
	Status *string `enum:"DRAFT,PUBLISHED,ARCHIVED" placeholder:"STATUS" help:"Only products of this status: DRAFT, PUBLISHED or ARCHIVED."`
	Type   *string `enum:"FILE,COURSE,LICENSE,MEETING,EVENT" placeholder:"TYPE" help:"Only products of this type: FILE, COURSE, LICENSE, MEETING or EVENT."`
}

// Run lists the products.
func (c *productListCmd) Run(s *session) error {
	return listPages(s, c.paged, productTable, func(ctx context.Context, o admin.API, store string, page *int64, size *int32) (
		[]*storefrontv1.Product, int64, error) {
		out, err := o.ListProducts(ctx, &adminv1.ListProductsRequest{
			Store: store, Page: page, PageSize: size, Q: c.Q,
			Status: enumOf[storefrontv1.Product_Status](storefrontv1.Product_Status_value, c.Status),
			Type:   enumOf[storefrontv1.Product_Type](storefrontv1.Product_Type_value, c.Type),
		})
		return out.GetData(), out.GetTotal(), err
	})
}

var productTable = table[*storefrontv1.Product]{"SLUG~,TITLE~,STATUS,PRICE,TYPE?,CREATED@?,ID?",
	func(p *storefrontv1.Product) []string {
		return []string{
			p.GetSlug(), p.GetTitle(), p.GetStatus().String(), validate.FormatAmount(p.GetPriceAmount(), p.GetCurrency()),
			p.GetType().String(),
			when(p.GetCreatedAt()), p.GetId(),
		}
	}, whole[*storefrontv1.Product]}

type productShowCmd struct {
	storeScoped
	Name string `arg:"" help:"The product's id or slug."`
}

// Run shows the product.
func (c *productShowCmd) Run(s *session) error { return show(s, c.storeScoped, c.Name, findProduct) }
