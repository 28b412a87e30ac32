package importing

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"go.storefront.example/ent/field"
	"go.storefront.example/ent/resource"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/ent/wire"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/product"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/validate"
)

// productBatch loads products. Whether a product has something to deliver is not in the API's
// JSON: one that was published had.
type productBatch struct {
	t     tenant.Store
	lines []importLine[ent.Product]
}

func productID(p *ent.Product) uuid.UUID { return p.ID }

func (b *productBatch) read(text []byte, line int) error {
	in := &storefrontv1.Product{}
	p := lineProblems(wire.Unmarshal(text, in))
	if !p.Broken() {
		b.lines = append(b.lines, importLine[ent.Product]{line, p.productRow(in, b.t)})
	}
	return p.lineError(line)
}

func (p *problems) productRow(in *storefrontv1.Product, t tenant.Store) ent.Product {
	p.given("type", in.GetType())
	p.given("status", in.GetStatus())
	p.storeCurrency(in.GetCurrency(), t.Currency)
	p.Amount("compareAtAmount", in.CompareAtAmount, validate.PriceBound)
	row := ent.Product{
		ID:              p.id("id", in.GetId()),
		Title:           p.Title("title", in.GetTitle()),
		Slug:            p.keptSlug("slug", in.GetSlug()),
		Type:            product.Type(in.GetType().String()),
		Status:          product.Status(in.GetStatus().String()),
		Summary:         p.Text("summary", in.GetSummary(), validate.MaxSummaryRunes),
		Description:     p.Text("description", in.GetDescription(), validate.MaxDescriptionRunes),
		PriceAmount:     p.kept("priceAmount", in.GetPriceAmount()),
		CompareAtAmount: in.CompareAtAmount,
		URL:             p.address("url", in.GetUrl()),
		CoverURL:        p.URL("coverUrl", in.CoverUrl),
		PublishedAt:     p.Moment("publishedAt", in.GetPublishedAt()),
		ContentReady:    in.GetPublishedAt() != nil,
		CreatedAt:       p.pastMoment("createdAt", in.GetCreatedAt()),
		UpdatedAt:       p.pastMoment("updatedAt", in.GetUpdatedAt()),
	}
	if row.CompareAtAmount != nil && *row.CompareAtAmount <= row.PriceAmount {
		p.Invalid("compareAtAmount", "must be above priceAmount, or null")
	}
	if row.Status == product.StatusPUBLISHED && row.PublishedAt == nil {
		p.Invalid("publishedAt", "is required for a PUBLISHED product")
	}
	return row
}

func (b *productBatch) save(ctx context.Context, tx *ent.Tx) (int, error) {
	there, err := tx.Product.Query().Where(product.IDIn(idsOf(b.lines, productID)...)).
		Select(product.FieldID, product.FieldStoreID).All(ctx)
	if err != nil {
		return 0, fmt.Errorf("look for the products: %w", err)
	}
	known := owners{}
	for _, row := range there {
		known[row.ID] = row.StoreID
	}
	lines, err := fresh(b.lines, "id", productID, known, b.t.ID)
	if err != nil {
		return 0, err
	}
	if err := b.freeSlugs(ctx, tx, lines); err != nil {
		return 0, err
	}
	create := make([]*ent.ProductCreate, len(lines))
	for i, l := range lines {
		create[i] = tx.Product.Create().SetID(l.row.ID).SetStoreID(b.t.ID).
			SetTitleFolded(resource.Fold(l.row.Title)).SetSlug(l.row.Slug).SetType(l.row.Type).SetURL(l.row.URL).
			SetNillablePublishedAt(l.row.PublishedAt).SetCreatedAt(l.row.CreatedAt).SetUpdatedAt(l.row.UpdatedAt)
		if err := field.Product.Fill(create[i].Mutation(), &l.row); err != nil {
			return 0, fmt.Errorf("store the products: %w", err)
		}
	}
	if err := tx.Product.CreateBulk(create...).Exec(ctx); err != nil {
		return 0, fmt.Errorf("store the products: %w", err)
	}
	return len(lines), nil
}

// freeSlugs refuses a line whose slug is another product's.
func (b *productBatch) freeSlugs(ctx context.Context, tx *ent.Tx, lines []importLine[ent.Product]) error {
	slugs := make([]string, len(lines))
	for i, l := range lines {
		slugs[i] = l.row.Slug
	}
	used, err := tx.Product.Query().Where(product.StoreID(b.t.ID), product.SlugIn(slugs...)).
		Select(product.FieldSlug).Strings(ctx)
	if err != nil {
		return fmt.Errorf("look for the slugs: %w", err)
	}
	taken := map[string]bool{}
	for _, slug := range used {
		taken[slug] = true
	}
	for _, l := range lines {
		if taken[l.row.Slug] {
			return l.refuse("slug", "is another product's")
		}
		taken[l.row.Slug] = true
	}
	return nil
}
