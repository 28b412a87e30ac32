package shop

import (
	"context"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/id"
	"go.storefront.example/ent/resource"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/product"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/validate"
)

// UpdateProduct changes the named fields of a product.
func (s *Shop) UpdateProduct(ctx context.Context, in *storefrontv1.UpdateProductRequest) (*storefrontv1.Product, error) {
	return s.updateProduct(ctx, in.GetId(), in)
}

// SetProductContent also sets the fields of a product that callers cannot set.
func (s *Shop) SetProductContent(ctx context.Context, in *adminv1.SetProductContentRequest) (*storefrontv1.Product, error) {
	return s.updateProduct(ctx, in.GetProduct().GetId(), in.GetProduct(), in)
}

// updateProduct changes the fields of a product that one or more requests name.
func (s *Shop) updateProduct(ctx context.Context, id string, in ...proto.Message) (*storefrontv1.Product, error) {
	p := newProblems(ctx)
	named := NamedOf(&p.Problems, resource.ProductFields, "", in...)
	if err := p.Err(); err != nil {
		return nil, err
	}
	return hook.Answer(ctx, s.db.ForStore(ctx), func(c *hook.Change) (*storefrontv1.Product, error) {
		row, err := lockProduct(c, id)
		if err != nil {
			return nil, err
		}
		next := named.Applied(row)
		if err := CheckProduct(c.Store, row, &next, named.Has("price_amount") || named.Has("compare_at_amount")); err != nil {
			return nil, err
		}
		if row, err = SaveProduct(c, row, &next); err != nil {
			return nil, err
		}
		return resource.Product(row, c.Store.Currency), nil
	})
}

func lockProduct(c *hook.Change, id string) (*ent.Product, error) {
	parsed, ok := validate.ParseID(id)
	if !ok {
		return nil, productNotFound()
	}
	row, err := hook.LockRow(c, c.Tx.Product.Query().Where(product.StoreID(c.Store.ID), product.ID(parsed)))
	return row, apierr.RowError("product", err, productNotFound)
}

// CheckProduct has the rules of a change from row to next. It compares the prices only if the change names one of them
// (priced).
func CheckProduct(t tenant.Store, row, next *ent.Product, priced bool) error {
	if priced {
		if err := CheckCompareAt(next.PriceAmount, next.CompareAtAmount); err != nil {
			return err
		}
	}
	if isPublished(row, next) {
		return checkPublishable(t, next)
	}
	return nil
}

func isPublished(row, next *ent.Product) bool {
	return next.Status == product.StatusPUBLISHED && row.Status != product.StatusPUBLISHED
}

// SaveProduct saves the fields in which next differs from row, whose change CheckProduct has accepted.
func SaveProduct(c *hook.Change, row, next *ent.Product) (*ent.Product, error) {
	u := row.Update().SetTitleFolded(resource.FoldCase(next.Title))
	if isPublished(row, next) {
		u.SetPublishedAt(c.Time(row.ID))
	}
	return Save(c, resource.ProductFields, row, next, u)
}

// CheckCompareAt refuses a compare-at price that is not above the price.
func CheckCompareAt(price int64, compareAt *int64) error {
	if compareAt != nil && *compareAt <= price {
		return apierr.New(apierr.CompareAtInvalid, "compareAtAmount must be above priceAmount; null removes it.")
	}
	return nil
}

// checkPublishable refuses a product that may not become PUBLISHED. Later changes may empty the fields that it needs.
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

// CreateProduct creates a product, by default a DRAFT with a slug that is made from the title.
func (s *Shop) CreateProduct(ctx context.Context, in *adminv1.CreateProductRequest) (*storefrontv1.Product, error) {
	t, err := tenant.StoreOf(ctx)
	if err != nil {
		return nil, err
	}
	p := newProblems(ctx)
	named := NamedOf(&p.Problems, resource.ProductFields, "", in)
	if err := p.Err(); err != nil {
		return nil, err
	}
	next := named.Applied(&ent.Product{Type: product.Type(in.GetType().String()), Status: product.StatusDRAFT})
	address, err := s.storeAddress(ctx, t)
	if err != nil {
		return nil, err
	}
	return hook.Answer(ctx, s.db.ForStore(ctx), func(c *hook.Change) (*storefrontv1.Product, error) {
		chosen, err := freeSlug(c, in.GetSlug(), next.Title, func(ctx context.Context, slug string) (bool, error) {
			return c.Tx.Product.Query().Where(product.StoreID(t.ID), product.Slug(slug)).Exist(ctx)
		})
		if err != nil {
			return nil, err
		}
		if err := CheckProduct(t, &ent.Product{}, &next, true); err != nil {
			return nil, err
		}
		now := c.Time()
		create := c.Tx.Product.Create().SetID(id.At(now)).SetStoreID(t.ID).SetType(next.Type).
			SetTitleFolded(resource.FoldCase(next.Title)).SetSlug(chosen).SetURL(address + "/products/" + chosen).
			SetCreatedAt(now).SetUpdatedAt(now)
		if err := resource.ProductFields.Fill(create.Mutation(), &next); err != nil {
			return nil, fmt.Errorf("create product: %w", err)
		}
		if next.Status == product.StatusPUBLISHED {
			create.SetPublishedAt(now)
		}
		row, err := create.Save(c)
		if err != nil {
			return nil, fmt.Errorf("create product: %w", err)
		}
		return resource.Product(row, t.Currency), nil
	})
}
