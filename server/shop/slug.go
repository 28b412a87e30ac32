package shop

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"

	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent/store"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/validate"
)

// slugEndBytes is the length of the random end that makes a slug differ from another slug made from the same title.
const slugEndBytes = 6

// freeSlug returns the slug for a new row. requested is the slug in the request; freeSlug refuses it with slug_taken if
// another row has it. If requested is empty, freeSlug makes a slug from the title. It appends a random end if another row
// has this slug, or if the slug has the form of an id. If the title gives no slug, the random end is the slug.
func freeSlug(ctx context.Context, requested, title string, taken func(context.Context, string) (bool, error)) (string, error) {
	slug := requested
	if slug == "" {
		slug = validate.SlugOf(title)
	}
	if slug != "" {
		used, err := taken(ctx, slug)
		switch {
		case err != nil:
			return "", fmt.Errorf("look for the slug: %w", err)
		case !used && !validate.IsIDForm(slug):
			return slug, nil
		case requested != "":
			return "", apierr.New(apierr.SlugTaken, "The slug "+requested+" is taken; choose another.")
		}
		slug = strings.TrimRight(slug[:min(len(slug), validate.MaxSlugBytes-slugEndBytes-1)], "-") + "-"
	}
	return slug + strings.ToLower(code(slugEndBytes)), nil
}

// codeLetters are the 32 letters and digits that people do not confuse (Crockford's base 32).
const codeLetters = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// code returns n random letters and digits, five bits each.
func code(n int) string {
	b := make([]byte, n)
	rand.Read(b)
	for i := range b {
		b[i] = codeLetters[b[i]%32]
	}
	return string(b)
}

// storeAddress returns the public address of the store.
func (s *Shop) storeAddress(ctx context.Context, t tenant.Store) (string, error) {
	address, err := s.db.Client().Store.Query().Where(store.ID(t.ID)).Select(store.FieldURL).String(ctx)
	if err != nil {
		return "", fmt.Errorf("read the store's address: %w", err)
	}
	return strings.TrimSuffix(address, "/"), nil
}
