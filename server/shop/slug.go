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

// slugEndBytes is the length of the random end of a slug.
const slugEndBytes = 6

// freeSlug returns the requested slug, which it refuses if it is taken. If requested is empty, it makes a slug from the title,
// with a random end if the slug is taken, empty or of the form of an id.
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

func (s *Shop) storeAddress(ctx context.Context, t tenant.Store) (string, error) {
	address, err := s.db.Client().Store.Query().Where(store.ID(t.ID)).Select(store.FieldURL).String(ctx)
	if err != nil {
		return "", fmt.Errorf("read the store's address: %w", err)
	}
	return strings.TrimSuffix(address, "/"), nil
}
