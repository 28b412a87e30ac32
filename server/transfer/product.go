package transfer

import (
	"cmp"
	"encoding/base32"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/resource"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/product"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/shop"
	"go.storefront.example/server/validate"
)

// products is a batch of products. A product is content-ready if there is something to deliver to a buyer; a product of
// people's files is, if it was ever published.
type products struct {
	batch[productRow]
	// contentReady has, by the row's index, what the row of an export says.
	contentReady map[int]bool
}

type productRow struct {
	ent.Product
	// statusGiven is false for a row without a status, which makes a DRAFT or keeps the status.
	statusGiven bool
	// slugs are SlugsOf a row without a slug.
	slugs [2]string
}

func (b *products) read(p *problems, in *storefrontv1.Product) row[productRow] {
	p.Enum("type", in.GetType())
	p.Enum("status", in.GetStatus())
	p.storeCurrency(in.GetCurrency())
	p.Amount("compareAtAmount", in.CompareAtAmount, validate.PriceBound)
	r := productRow{statusGiven: in.GetStatus() != 0, Product: ent.Product{
		ID:              p.RowID("id", in.GetId()),
		Slug:            p.importedSlug("slug", in.GetSlug()),
		Type:            product.TypeFILE,
		Status:          product.StatusDRAFT,
		Summary:         p.Text("summary", in.GetSummary(), validate.MaxSummaryRunes),
		Description:     p.Text("description", in.GetDescription(), validate.MaxDescriptionRunes),
		PriceAmount:     p.nonNegative("priceAmount", in.GetPriceAmount()),
		CompareAtAmount: in.CompareAtAmount,
		CoverURL:        p.URL("coverUrl", in.CoverUrl),
		PublishedAt:     p.Time("publishedAt", in.GetPublishedAt()),
		CreatedAt:       p.timeOrZero("createdAt", in.GetCreatedAt()),
		UpdatedAt:       p.timeOrZero("updatedAt", in.GetUpdatedAt()),
	}}
	p.name("slug", r.Slug, r.ID)
	if in.GetTitle() != "" || !b.options.GetUpdate() {
		r.Title = p.title("title", in.GetTitle())
	}
	if in.GetType() != 0 {
		r.Type = product.Type(in.GetType().String())
	}
	if r.statusGiven {
		r.Status = product.Status(in.GetStatus().String())
	}
	if address := p.URL("url", &in.Url); address != nil {
		r.URL = *address
	}
	if !b.options.GetKeepPrice() {
		p.rule(shop.CheckCompareAt(r.PriceAmount, r.CompareAtAmount))
	}
	p.copyPlainFields("", in, &r.Product)
	l := row[productRow]{id: r.ID}
	if r.Slug == "" {
		r.slugs = SlugsOf(r.Title, r.ID)
	} else {
		l.names = []identity{{"slug", r.Slug}}
	}
	l.data = r
	return l
}

func (b *products) plan(c *hook.Change) error {
	existing, err := b.sort(c, product.Table, product.FieldSlug)
	if err != nil {
		return err
	}
	if b.options.GetUpdate() {
		rows, err := hook.LockRows(c, c.Tx.Product.Query().Where(b.inStore(idsOf(existing))))
		if err != nil {
			return fmt.Errorf("read the products: %w", err)
		}
		if err = update(&b.batch, existing, rows, func(r *ent.Product) uuid.UUID { return r.ID },
			func(l row[productRow], r *ent.Product) (*ent.Product, error) { return b.change(c, &l.data, r) }); err != nil {
			return err
		}
	}
	for _, l := range b.fresh {
		if l.data.Title == "" {
			b.refuse(l.index, "title", "is required")
		}
		if b.options.GetKeepPrice() {
			b.refuse(l.index, "priceAmount", "is required")
		}
	}
	b.claim("is another product's")
	return b.slugs(c)
}

// change overwrites a product of the store (from) with the values of a row (to). Empty values change nothing, except that an
// empty price is zero without the option keep_price, and an empty compare-at price clears with the option clear_compare_at.
func (b *products) change(c *hook.Change, to *productRow, from *ent.Product) (*ent.Product, error) {
	next := *from
	overwrite(resource.ProductFields, &next, &to.Product)
	if next.PriceAmount = to.PriceAmount; b.options.GetKeepPrice() {
		next.PriceAmount = from.PriceAmount
	}
	if b.options.GetClearCompareAt() {
		next.CompareAtAmount = to.CompareAtAmount
	}
	if !to.statusGiven {
		next.Status = from.Status
	}
	if err := shop.CheckProduct(b.t, from, &next, true); err != nil {
		return nil, err
	}
	return shop.SaveProduct(c, from, &next)
}

// slugs gives each new row a slug, one of SlugsOf, and an address. It refuses a row if both slugs are taken.
func (b *products) slugs(c *hook.Change) error {
	var slugs []string
	for _, l := range b.fresh {
		if l.data.Slug == "" {
			slugs = append(slugs, l.data.slugs[:]...)
		}
	}
	if err := b.findHeld(c, product.Table, product.FieldSlug, slugs, b.held); err != nil {
		return err
	}
	for i := range b.fresh {
		l := &b.fresh[i]
		r := &l.data
		if len(l.names) == 0 {
			r.Slug = r.slugs[0]
			if _, taken := b.held[r.Slug]; taken || r.Slug == "" {
				r.Slug = r.slugs[1]
			}
			if _, taken := b.held[r.Slug]; taken {
				b.refuse(l.index, "slug", "is another product's")
			}
			b.held[r.Slug] = l.id
		}
		r.URL = cmp.Or(r.URL, b.url+"/products/"+r.Slug)
	}
	return nil
}

// SlugsOf returns two slugs for a product. The first is made from the title, and is empty if the title has no letters and
// digits that slugs may have, or if the slug would have the form of an id. The second is the first, shortened if it is too
// long, with characters of the id appended.
func SlugsOf(title string, id uuid.UUID) [2]string {
	slug := validate.SlugOf(title)
	end := strings.ToLower(base32.HexEncoding.EncodeToString(id[8:])[:8])
	if slug == "" {
		return [2]string{"", end}
	}
	slugs := [2]string{slug, strings.TrimRight(slug[:min(len(slug), validate.MaxSlugBytes-len(end)-1)], "-") + "-" + end}
	if validate.IsIDForm(slug) {
		slugs[0] = ""
	}
	return slugs
}

func (b *products) store(c *hook.Change) error {
	now := c.Time()
	creates := make([]*ent.ProductCreate, len(b.fresh))
	for i, l := range b.fresh {
		r := l.data.Product
		setDefaultTime(&r.CreatedAt, now)
		setDefaultTime(&r.UpdatedAt, r.CreatedAt)
		if r.Status == product.StatusPUBLISHED && r.PublishedAt == nil {
			r.PublishedAt = &r.CreatedAt
		}
		var ok bool
		if r.ContentReady, ok = b.contentReady[l.index]; !ok {
			r.ContentReady = r.PublishedAt != nil
		}
		creates[i] = c.Tx.Product.Create().SetID(r.ID).SetStoreID(b.t.ID).SetTitleFolded(resource.FoldCase(r.Title)).SetSlug(r.Slug).
			SetType(r.Type).SetURL(r.URL).SetNillablePublishedAt(r.PublishedAt).SetCreatedAt(r.CreatedAt).SetUpdatedAt(r.UpdatedAt)
		if err := resource.ProductFields.Fill(creates[i].Mutation(), &r); err != nil {
			return err
		}
		if err := fillPlain(creates[i].Mutation(), &storefrontv1.Product{}, &r); err != nil {
			return err
		}
	}
	return c.Tx.Product.CreateBulk(creates...).Exec(c)
}
