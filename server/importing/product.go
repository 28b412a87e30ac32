package importing

import (
	"context"
	"encoding/base32"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/field"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/resource"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/product"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/shop"
	"go.storefront.example/server/validate"
)

// products is a batch of products. The API's JSON does not say whether a product has content; one that
// was ever published is taken to have some.
type products struct {
	batch
	rows, fresh []row[ent.Product]
	given       map[int]*storefrontv1.Product
}

func productID(p *ent.Product) uuid.UUID { return p.ID }

func (b *products) read(index int, in *storefrontv1.Product) {
	p := &problems{}
	if r := p.productRow(in, b.t); b.add(index, p) {
		b.rows = append(b.rows, row[ent.Product]{index, r})
		b.given[index] = in
	}
}

func (p *problems) productRow(in *storefrontv1.Product, t tenant.Store) ent.Product {
	p.Known("type", in.GetType())
	p.Known("status", in.GetStatus())
	p.storeCurrency(in.GetCurrency(), t.Currency)
	p.Amount("compareAtAmount", in.CompareAtAmount, validate.PriceBound)
	r := ent.Product{
		ID:              p.id("id", in.GetId()),
		Title:           p.Title("title", in.GetTitle()),
		Slug:            p.keptSlug("slug", in.GetSlug()),
		Type:            product.TypeFILE,
		Status:          product.StatusDRAFT,
		Summary:         p.Text("summary", in.GetSummary(), validate.MaxSummaryRunes),
		Description:     p.Text("description", in.GetDescription(), validate.MaxDescriptionRunes),
		PriceAmount:     p.kept("priceAmount", in.GetPriceAmount()),
		CompareAtAmount: in.CompareAtAmount,
		CoverURL:        p.URL("coverUrl", in.CoverUrl),
		PublishedAt:     p.Moment("publishedAt", in.GetPublishedAt()),
		CreatedAt:       p.pastMoment("createdAt", in.GetCreatedAt()),
		UpdatedAt:       p.pastMoment("updatedAt", in.GetUpdatedAt()),
	}
	if in.GetType() != 0 {
		r.Type = product.Type(in.GetType().String())
	}
	if in.GetStatus() != 0 {
		r.Status = product.Status(in.GetStatus().String())
	}
	if address := p.URL("url", &in.Url); address != nil {
		r.URL = *address
	}
	if r.CompareAtAmount != nil && *r.CompareAtAmount <= r.PriceAmount {
		p.Invalid("compareAtAmount", "must be above priceAmount, or null")
	}
	return r
}

func (b *products) plan(ctx context.Context, tx *ent.Tx, s *ent.Store) (fresh, changed int, err error) {
	found, err := tx.Product.Query().Where(among(product.FieldID, idsOf(b.rows, productID))).
		Select(product.FieldID, product.FieldStoreID).All(ctx)
	if err != nil {
		return 0, 0, fmt.Errorf("look for the products: %w", err)
	}
	known := owners{}
	for _, r := range found {
		known[r.ID] = r.StoreID
	}
	var there []row[ent.Product]
	b.fresh, there = split(&b.batch, b.rows, "id", productID, known)
	if b.options.GetUpdate() {
		slugs := make([]string, len(b.fresh))
		for i, l := range b.fresh {
			slugs[i] = l.row.Slug
		}
		used, err := b.holding(ctx, tx, product.Table, product.FieldSlug, slugs)
		if err != nil {
			return 0, 0, err
		}
		left, named := held(b.fresh, used, func(p *ent.Product) string { return p.Slug }, func(p *ent.Product,
			id uuid.UUID) {
			p.ID = id
		})
		b.fresh = left
		if changed, err = b.update(ctx, tx, append(there, named...)); err != nil {
			return 0, 0, err
		}
	}
	if len(b.fresh) == 0 {
		return 0, changed, nil
	}
	return len(b.fresh), changed, b.slugs(ctx, tx, strings.TrimSuffix(s.URL, "/"))
}

// update changes products of the store to what their rows say, and returns how many were changed.
func (b *products) update(ctx context.Context, tx *ent.Tx, rows []row[ent.Product]) (changed int, err error) {
	there, err := db.LockRows(ctx, b.db, tx.Product.Query().
		Where(product.StoreID(b.t.ID), among(product.FieldID, idsOf(rows, productID))).Order(product.ByID()))
	if err != nil {
		return 0, fmt.Errorf("read the products: %w", err)
	}
	byID := map[uuid.UUID]*ent.Product{}
	for _, r := range there {
		byID[r.ID] = r
	}
	for _, l := range rows {
		row, in := byID[l.row.ID], b.given[l.index]
		if row == nil {
			continue // deleted meanwhile
		}
		next := *row
		next.Title, next.PriceAmount = l.row.Title, l.row.PriceAmount
		if l.row.Summary != "" {
			next.Summary = l.row.Summary
		}
		if l.row.Description != "" {
			next.Description = l.row.Description
		}
		if l.row.CoverURL != nil {
			next.CoverURL = l.row.CoverURL
		}
		if l.row.CompareAtAmount != nil || b.options.GetClearCompareAt() {
			next.CompareAtAmount = l.row.CompareAtAmount
		}
		if in.GetStatus() != 0 {
			next.Status = l.row.Status
		}
		saved, err := shop.SaveProduct(ctx, b.t, row, &next, true)
		if err := b.refused(l.index, err); err != nil {
			return 0, err
		}
		if saved != nil && saved != row {
			changed++
			byID[row.ID] = saved
		}
	}
	return changed, nil
}

// slugs makes missing slugs and addresses, and refuses a given slug that another product has. If a slug
// that it makes is taken, it appends characters derived from the product's id.
func (b *products) slugs(ctx context.Context, tx *ent.Tx, address string) error {
	made := make([][2]string, len(b.fresh)) // from the title, and from the title and the id
	var wanted []string
	for i := range b.fresh {
		r := &b.fresh[i].row
		if r.Slug != "" {
			wanted = append(wanted, r.Slug)
			continue
		}
		made[i] = slugsOf(r.Title, r.ID)
		wanted = append(wanted, made[i][:]...)
	}
	used, err := b.holding(ctx, tx, product.Table, product.FieldSlug, wanted)
	if err != nil {
		return err
	}
	taken := map[string]bool{"": true}
	for slug := range used {
		taken[slug] = true
	}
	for _, l := range b.fresh {
		if slug := l.row.Slug; slug != "" {
			if taken[slug] {
				b.refuse(l.index, "slug", "is another product's")
			}
			taken[slug] = true
		}
	}
	for i := range b.fresh {
		r := &b.fresh[i].row
		if r.Slug == "" {
			if r.Slug = made[i][0]; taken[r.Slug] {
				r.Slug = made[i][1]
			}
			if taken[r.Slug] {
				b.refuse(b.fresh[i].index, "slug", "is another product's")
			}
			taken[r.Slug] = true
		}
		if r.URL == "" {
			r.URL = address + "/products/" + r.Slug
		}
	}
	return nil
}

// slugsOf returns the slug of a title, which may be empty, and the one with characters of the id.
func slugsOf(title string, id uuid.UUID) [2]string {
	slug := validate.SlugOf(title)
	end := strings.ToLower(base32.HexEncoding.EncodeToString(id[8:])[:8])
	if slug == "" {
		return [2]string{"", end}
	}
	return [2]string{slug, strings.TrimRight(slug[:min(len(slug), validate.MaxSlugBytes-len(end)-1)], "-") + "-" + end}
}

func (b *products) store(ctx context.Context, tx *ent.Tx) error {
	now := hook.Time(ctx)
	creates := make([]*ent.ProductCreate, len(b.fresh))
	for i := range b.fresh {
		r := b.fresh[i].row
		dated(&r.CreatedAt, now)
		dated(&r.UpdatedAt, r.CreatedAt)
		if r.Status == product.StatusPUBLISHED && r.PublishedAt == nil {
			r.PublishedAt = &r.CreatedAt
		}
		r.ContentReady = r.PublishedAt != nil
		creates[i] = tx.Product.Create().SetID(r.ID).SetStoreID(b.t.ID).SetTitleFolded(resource.Fold(r.Title)).SetSlug(r.Slug).SetType(
			r.Type).
			SetURL(r.URL).SetNillablePublishedAt(r.PublishedAt).SetCreatedAt(r.CreatedAt).SetUpdatedAt(r.UpdatedAt)
		if err := field.Product.Fill(creates[i].Mutation(), &r); err != nil {
			return err
		}
	}
	if err := tx.Product.CreateBulk(creates...).Exec(ctx); err != nil {
		return fmt.Errorf("store products: %w", err)
	}
	return nil
}

// dated sets a missing time.
func dated(at *time.Time, otherwise time.Time) {
	if at.IsZero() {
		*at = otherwise
	}
}
