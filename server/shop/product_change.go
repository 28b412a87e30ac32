package shop

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/id"
	"go.storefront.example/ent/resource"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/product"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/apierr"
)

func (p *problems) productChange(in *storefrontv1.UpdateProductRequest) (Change[ent.Product], error) {
	c := ChangeOf(&p.Problems, resource.ProductFields, in, "")
	return c, p.Err()
}

// UpdateProduct changes the named fields of a product.
//
// It refuses with validation_failed, product_not_found, compare_at_invalid,
// product_type_unavailable or product_incomplete, in this order.
func (s *Shop) UpdateProduct(ctx context.Context, in *storefrontv1.UpdateProductRequest) (*storefrontv1.Product, error) {
	c, err := newProblems(ctx).productChange(in)
	if err != nil {
		return nil, err
	}
	return s.changeProduct(ctx, in.GetId(), c)
}

// SetProductContent sets the fields of a product that callers cannot set, and changes the product as UpdateProduct does. It
// refuses as UpdateProduct does.
func (s *Shop) SetProductContent(ctx context.Context, in *adminv1.SetProductContentRequest) (*storefrontv1.Product, error) {
	p := newProblems(ctx)
	c := ChangeOf(&p.Problems, resource.ProductFields, in.GetProduct(), "")
	c.Add(ChangeOf(&p.Problems, resource.ProductFields, in, ""))
	if err := p.Err(); err != nil {
		return nil, err
	}
	return s.changeProduct(ctx, in.GetProduct().GetId(), c)
}

func (s *Shop) changeProduct(ctx context.Context, id string, c Change[ent.Product]) (*storefrontv1.Product, error) {
	row, t, err := ChangeRow(ctx, s.db.ForStore(ctx), id, productNotFound, s.lockProduct,
		func(ctx context.Context, _ *ent.Tx, t tenant.Store, row *ent.Product) (*ent.Product, error) {
			next := c.Applied(row)
			return SaveProduct(ctx, t, row, &next, c.Has("price_amount") || c.Has("compare_at_amount"))
		})
	if err != nil {
		return nil, err
	}
	return resource.Product(row, t.Currency), nil
}

func (s *Shop) lockProduct(ctx context.Context, tx *ent.Tx, t tenant.Store, id uuid.UUID) (*ent.Product, error) {
	row, err := hook.LockRow(ctx, tx.Product.Query().Where(product.StoreID(t.ID), product.ID(id)))
	return row, apierr.RowError("product", err, productNotFound)
}

// SaveProduct saves the fields in which next differs from row, in the transaction that has locked the product's row. priced
// reports whether the change names priceAmount or compareAtAmount; only then are the two compared. It refuses with
// compare_at_invalid, product_type_unavailable or product_incomplete.
func SaveProduct(ctx context.Context, t tenant.Store, row, next *ent.Product, priced bool) (*ent.Product, error) {
	if priced {
		if err := CheckCompareAt(next.PriceAmount, next.CompareAtAmount); err != nil {
			return nil, err
		}
	}
	u := row.Update().SetTitleFolded(resource.FoldCase(next.Title))
	if next.Status == product.StatusPUBLISHED && row.Status != product.StatusPUBLISHED {
		if err := checkPublishable(t, next); err != nil {
			return nil, err
		}
		u.SetPublishedAt(hook.Time(ctx, row.ID))
	}
	return Save(ctx, resource.ProductFields, row, next, u.Mutation(), u)
}

// CheckCompareAt refuses a compare-at price that is not above the price.
func CheckCompareAt(price int64, compareAt *int64) error {
	if compareAt != nil && *compareAt <= price {
		return apierr.New(apierr.CompareAtInvalid, "compareAtAmount must be above priceAmount; null removes it.")
	}
	return nil
}

// checkPublishable refuses a product that may not become PUBLISHED: its type is unavailable, or it lacks a required field.
// It is called only when the status becomes PUBLISHED; later changes may empty these fields.
func checkPublishable(t tenant.Store, p *ent.Product) error {
	if slices.Contains(t.UnavailableTypes, p.Type.String()) {
		return apierr.New(apierr.ProductTypeUnavailable,
			"Products of type "+p.Type.String()+" cannot be published in this store just now.")
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

// CreateProduct creates a product, with status DRAFT if the request names none. Without a slug it makes one from the title.
// If the status is PUBLISHED, it refuses what UpdateProduct refuses to publish, and sends product.published.
//
// It refuses with validation_failed, slug_taken, compare_at_invalid, product_type_unavailable or product_incomplete.
func (s *Shop) CreateProduct(ctx context.Context, in *adminv1.CreateProductRequest) (*storefrontv1.Product, error) {
	t, err := tenant.StoreOf(ctx)
	if err != nil {
		return nil, err
	}
	p := newProblems(ctx)
	c := ChangeOf(&p.Problems, resource.ProductFields, in, "")
	if err := p.Err(); err != nil {
		return nil, err
	}
	next := c.Applied(&ent.Product{Type: product.Type(in.GetType().String()), Status: product.StatusDRAFT})
	address, err := s.storeAddress(ctx, t)
	if err != nil {
		return nil, err
	}
	var row *ent.Product
	err = hook.Change(ctx, s.db.ForStore(ctx), func(ctx context.Context, tx *ent.Tx) error {
		chosen, err := freeSlug(ctx, in.GetSlug(), next.Title, func(ctx context.Context, slug string) (bool, error) {
			return tx.Product.Query().Where(product.StoreID(t.ID), product.Slug(slug)).Exist(ctx)
		})
		if err != nil {
			return err
		}
		if err := CheckCompareAt(next.PriceAmount, next.CompareAtAmount); err != nil {
			return err
		}
		now := hook.Time(ctx)
		create := tx.Product.Create().SetID(id.At(now)).SetStoreID(t.ID).SetType(next.Type).
			SetTitleFolded(resource.FoldCase(next.Title)).SetSlug(chosen).SetURL(address + "/products/" + chosen).
			SetCreatedAt(now).SetUpdatedAt(now)
		if err := resource.ProductFields.Fill(create.Mutation(), &next); err != nil {
			return fmt.Errorf("create product: %w", err)
		}
		if next.Status == product.StatusPUBLISHED {
			if err := checkPublishable(t, &next); err != nil {
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
