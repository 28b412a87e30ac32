package service

import (
	"context"
	"fmt"
	"slices"

	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/id"
	"go.storefront.example/ent/resource"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/product"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/apierr"
)

// ProductChange is what to change of a product; a nil field stays as it is. The outer pointer of
// a field that can be null tells whether it is named, the inner one its value.
type ProductChange struct {
	Title, Summary, Description *string
	PriceAmount                 *int64
	CompareAtAmount             **int64
	Status                      *product.Status
	// CoverURL and ContentReady are changed by the operator's side alone.
	CoverURL     **string
	ContentReady *bool
}

func (p *problems) productChange(in *storefrontv1.UpdateProductRequest) (ProductChange, error) {
	var c ProductChange
	named := p.named(in)
	p.required("title", named("title"), in.Title != nil)
	p.required("summary", named("summary"), in.Summary != nil)
	p.required("description", named("description"), in.Description != nil)
	p.required("priceAmount", named("price_amount"), in.PriceAmount != nil)
	p.required("status", named("status"), in.GetStatus() != 0)
	if named("title") {
		c.Title = in.Title
	}
	if named("summary") {
		c.Summary = in.Summary
	}
	if named("description") {
		c.Description = in.Description
	}
	if named("price_amount") {
		c.PriceAmount = in.PriceAmount
	}
	if named("compare_at_amount") {
		c.CompareAtAmount = &in.CompareAtAmount
	}
	if named("status") {
		p.known("status", in.GetStatus())
		status := product.Status(in.GetStatus().String())
		c.Status = &status
	}
	p.productFields(&c)
	return c, p.err()
}

// productFields brings the fields of a change into the form in which they are stored and refuses
// those that are out of bounds.
func (p *problems) productFields(c *ProductChange) {
	if c.Title != nil {
		title := p.title("title", *c.Title)
		c.Title = &title
	}
	if c.Summary != nil {
		summary := p.text("summary", *c.Summary, MaxSummaryRunes)
		c.Summary = &summary
	}
	if c.Description != nil {
		description := p.text("description", *c.Description, MaxDescriptionRunes)
		c.Description = &description
	}
	p.amount("priceAmount", c.PriceAmount, 0)
	if c.CompareAtAmount != nil {
		p.amount("compareAtAmount", *c.CompareAtAmount, 0)
	}
	if c.CoverURL != nil {
		cover := p.optionalURL("coverUrl", *c.CoverURL)
		c.CoverURL = &cover
	}
}

// UpdateProduct changes the named fields of a product.
//
// It refuses with validation_failed, product_not_found, compare_at_invalid,
// product_type_unavailable or product_incomplete, in this order.
func (s *Shop) UpdateProduct(ctx context.Context, in *storefrontv1.UpdateProductRequest) (*storefrontv1.Product, error) {
	change, err := (&problems{}).productChange(in)
	if err != nil {
		return nil, err
	}
	return s.ChangeProduct(ctx, in.GetId(), change)
}

// ChangeProduct changes the named fields of a product, those of the operator's side included. It
// refuses as UpdateProduct does.
func (s *Shop) ChangeProduct(ctx context.Context, id string, c ProductChange) (*storefrontv1.Product, error) {
	t, err := tenantOf(ctx)
	if err != nil {
		return nil, err
	}
	p := &problems{}
	p.productFields(&c)
	if err := p.err(); err != nil {
		return nil, err
	}
	productID, ok := parseID(id)
	if !ok {
		return nil, productNotFound()
	}
	var row *ent.Product
	err = s.withTx(ctx, func(ctx context.Context, tx *ent.Tx) error {
		row, err = take(ctx, s, tx.Product.Query().Where(product.StoreID(t.ID), product.ID(productID)))
		if err := readError("product", err, productNotFound); err != nil {
			return err
		}
		row, err = changeProduct(ctx, t, row, c)
		return err
	})
	if err != nil {
		return nil, err
	}
	return resource.Product(row, t.Currency), nil
}

// changeProduct saves what a change makes different, or nothing.
func changeProduct(ctx context.Context, t tenant.Store, row *ent.Product, c ProductChange) (*ent.Product, error) {
	next := *row
	setIfNamed(&next.Title, c.Title)
	setIfNamed(&next.Summary, c.Summary)
	setIfNamed(&next.Description, c.Description)
	setIfNamed(&next.PriceAmount, c.PriceAmount)
	setIfNamed(&next.CompareAtAmount, c.CompareAtAmount)
	setIfNamed(&next.Status, c.Status)
	setIfNamed(&next.CoverURL, c.CoverURL)
	setIfNamed(&next.ContentReady, c.ContentReady)

	if c.PriceAmount != nil || c.CompareAtAmount != nil {
		if err := compareAt(&next); err != nil {
			return nil, err
		}
	}
	if next.Status == product.StatusPUBLISHED && row.Status != product.StatusPUBLISHED {
		if err := publishable(t, &next); err != nil {
			return nil, err
		}
	}

	u := row.Update()
	if next.Title != row.Title {
		u.SetTitle(next.Title).SetTitleFolded(resource.Fold(next.Title))
	}
	if next.Summary != row.Summary {
		u.SetSummary(next.Summary)
	}
	if next.Description != row.Description {
		u.SetDescription(next.Description)
	}
	if next.PriceAmount != row.PriceAmount {
		u.SetPriceAmount(next.PriceAmount)
	}
	if differ(next.CompareAtAmount, row.CompareAtAmount) {
		setOrClear(next.CompareAtAmount, u.SetCompareAtAmount, u.ClearCompareAtAmount)
	}
	if next.Status != row.Status {
		u.SetStatus(next.Status)
		if next.Status == product.StatusPUBLISHED {
			u.SetPublishedAt(hook.Time(ctx))
		}
	}
	if differ(next.CoverURL, row.CoverURL) {
		setOrClear(next.CoverURL, u.SetCoverURL, u.ClearCoverURL)
	}
	if next.ContentReady != row.ContentReady {
		u.SetContentReady(next.ContentReady)
	}
	if unchanged(u.Mutation()) {
		return row, nil
	}
	row, err := u.SetUpdatedAt(hook.Time(ctx)).Save(ctx)
	if err != nil {
		return nil, fmt.Errorf("update product: %w", err)
	}
	return row, nil
}

// compareAt refuses a reference price that is not above the price.
func compareAt(p *ent.Product) error {
	if p.CompareAtAmount != nil && *p.CompareAtAmount <= p.PriceAmount {
		return apierr.New(apierr.CompareAtInvalid, "compareAtAmount must be above priceAmount; null removes it.")
	}
	return nil
}

// publishable refuses a product that may not move to PUBLISHED. What is required is asked for at
// the move alone: a published product may be edited until it lacks something.
func publishable(t tenant.Store, p *ent.Product) error {
	if slices.Contains(t.UnavailableTypes, p.Type.String()) {
		return apierr.New(apierr.ProductTypeUnavailable, "Products of type "+p.Type.String()+" cannot be published in this store just now.")
	}
	var missing []string
	if p.Description == "" {
		missing = append(missing, "description")
	}
	if !p.ContentReady {
		missing = append(missing, "content")
	}
	if len(missing) > 0 {
		return &apierr.Refusal{
			Code: apierr.ProductIncomplete, Message: "The product cannot be published yet; details.missing lists what it lacks.",
			Details: &storefrontv1.ErrorDetails{Missing: missing},
		}
	}
	return nil
}

// ProductDraft is a product to create. Title, Type and PriceAmount are required; the status is
// DRAFT unless named; an empty Slug is made from the title.
type ProductDraft struct {
	ProductChange
	Type product.Type
	Slug string
}

// CreateProduct creates a product for the operator's side. Created as PUBLISHED it must satisfy
// what publishing asks for and sends product.published.
//
// It refuses with validation_failed, slug_taken, compare_at_invalid, product_type_unavailable or
// product_incomplete.
func (s *Shop) CreateProduct(ctx context.Context, d ProductDraft) (*storefrontv1.Product, error) {
	t, err := tenantOf(ctx)
	if err != nil {
		return nil, err
	}
	p := &problems{}
	p.required("title", true, d.Title != nil)
	p.required("priceAmount", true, d.PriceAmount != nil)
	if err := product.TypeValidator(d.Type); err != nil {
		p.invalid("type", "must be one of FILE, COURSE, LICENSE, MEETING, EVENT")
	}
	p.productFields(&d.ProductChange)
	slug := p.slug("slug", d.Slug)
	if err := p.err(); err != nil {
		return nil, err
	}
	var row *ent.Product
	err = s.withTx(ctx, func(ctx context.Context, tx *ent.Tx) error {
		address, err := storeAddress(ctx, tx, t)
		if err != nil {
			return err
		}
		chosen, err := freeSlug(ctx, slug, *d.Title, func(ctx context.Context, slug string) (bool, error) {
			return tx.Product.Query().Where(product.StoreID(t.ID), product.Slug(slug)).Exist(ctx)
		})
		if err != nil {
			return err
		}
		next := ent.Product{Type: d.Type, Title: *d.Title, PriceAmount: *d.PriceAmount, Status: product.StatusDRAFT}
		setIfNamed(&next.Summary, d.Summary)
		setIfNamed(&next.Description, d.Description)
		setIfNamed(&next.CompareAtAmount, d.CompareAtAmount)
		setIfNamed(&next.Status, d.Status)
		setIfNamed(&next.CoverURL, d.CoverURL)
		setIfNamed(&next.ContentReady, d.ContentReady)
		if err := compareAt(&next); err != nil {
			return err
		}
		now := hook.Time(ctx)
		create := tx.Product.Create().SetID(id.At(now)).SetStoreID(t.ID).
			SetTitle(next.Title).SetTitleFolded(resource.Fold(next.Title)).SetSlug(chosen).SetType(next.Type).SetStatus(next.Status).
			SetSummary(next.Summary).SetDescription(next.Description).
			SetPriceAmount(next.PriceAmount).SetNillableCompareAtAmount(next.CompareAtAmount).
			SetNillableCoverURL(next.CoverURL).SetContentReady(next.ContentReady).
			SetURL(address + "/products/" + chosen).SetCreatedAt(now).SetUpdatedAt(now)
		if next.Status == product.StatusPUBLISHED {
			if err := publishable(t, &next); err != nil {
				return err
			}
			create.SetPublishedAt(now)
		}
		row, err = create.Save(ctx)
		if err != nil {
			return fmt.Errorf("create product: %w", err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return resource.Product(row, t.Currency), nil
}
