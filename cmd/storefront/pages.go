package main

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/proto"

	"go.storefront.example/server/admin"
)

// paged is the setting of a list that has the pages of the API.
type paged struct {
	storeScoped
	limit
	Page     *count `placeholder:"N" help:"Show this page alone, from 1, in place of the first --limit entries."`
	PageSize *count `placeholder:"N" help:"Entries on that page, 1 to 100 (default: 25)."`
}

// maxPageSize is the size of the API's largest page.
const maxPageSize = 100

// entry is what the API lists.
type entry interface {
	proto.Message
	GetId() string
}

// onePage calls a list's method, and returns a page and how many entries there are on all pages.
type onePage[Item entry] func(ctx context.Context, o admin.API, store string, page *int64, size *int32) (
	items []Item, total int64, err error)

// listPages prints the page that the command names, or as many entries as its limit.
func listPages[Item entry](s *session, c paged, t table[Item], read onePage[Item]) error {
	return s.operate(c.place, func(ctx context.Context, o admin.API) error {
		store, err := c.storeOf(ctx, o)
		if err != nil {
			return err
		}
		var items []Item
		var total int64
		more := "--limit"
		if c.Page != nil || c.PageSize != nil {
			more = "--page"
			items, total, err = read(ctx, o, store, number[int64](c.Page), number[int32](c.PageSize))
		} else {
			items, total, err = firstOf(ctx, o, store, int(c.Limit), read)
		}
		if err != nil {
			return err
		}
		if err := t.print(s, c.limit, items); err != nil {
			return err
		}
		if int64(len(items)) < total && !s.json {
			s.say(fmt.Sprintf("these are %d of %d; %s shows others", len(items), total, more))
		}
		return nil
	})
}

// firstOf reads pages until it has as many entries as the limit. What is added meanwhile moves the
// rest towards the end, so that an entry may come twice; it is shown once. total is how many there are.
func firstOf[Item entry](ctx context.Context, o admin.API, store string, limit int, read onePage[Item]) (all []Item,
	total int64, err error) {
	seen := map[string]bool{}
	size := int32(min(limit, maxPageSize)) //nolint:gosec // At most a page.
	for page := int64(1); ; page++ {
		var items []Item
		if items, total, err = read(ctx, o, store, &page, &size); err != nil {
			return nil, 0, err
		}
		for _, item := range items {
			if !seen[item.GetId()] && len(all) < limit {
				seen[item.GetId()] = true
				all = append(all, item)
			}
		}
		if len(all) == limit || page*int64(size) >= total {
			return all, total, nil
		}
	}
}

// number is a count that may be absent.
func number[N int32 | int64](c *count) *N {
	if c == nil {
		return nil
	}
	return new(N(*c))
}
