package main

import (
	"errors"
	"fmt"

	"github.com/google/uuid"

	counting "go.storefront.example/ent/count"
	"go.storefront.example/ent/db"
	"go.storefront.example/server/shop"
)

type migrateRecountCmd struct {
	database
	Store string `placeholder:"SLUG" help:"The store, by slug or id; all stores without it."`
}

// recounted is what was counted, as it is shown.
type recounted struct {
	Stores int   `json:"stores"`
	Rows   int64 `json:"rows"`
}

// recountStores is how many stores are looked up at a time.
const recountStores = 1000

// Run counts.
func (c *migrateRecountCmd) Run(s *session) error {
	handle, err := c.open(s.ctx)
	if err != nil {
		return err
	}
	var done recounted
	if err := errors.Join(done.count(s, handle, c.Store), handle.Close()); err != nil {
		return err
	}
	if s.json {
		return s.value(done)
	}
	_, err = fmt.Fprintf(s.out, "%d rows of %d stores counted\n", done.Rows, done.Stores)
	return err
}

// count counts the rows of a store, or of all if it has no name.
func (r *recounted) count(s *session, handle *db.DB, name string) error {
	counts := counting.On(handle)
	if name != "" {
		store, err := shop.New(handle, s.options.Shop).FindStore(s.ctx, name)
		if err != nil {
			return err
		}
		return r.add(s, counts, store.ID)
	}
	bar := newProgress(s.errs, "counting", -1)
	defer bar.end()
	for last := uuid.Nil; ; {
		stores, err := counts.StoresAfter(s.ctx, last, recountStores)
		if err != nil || len(stores) == 0 {
			return err
		}
		for _, store := range stores {
			if err := r.add(s, counts, store.ID); err != nil {
				return fmt.Errorf("%w; %d stores before it are done, and it can be run again", err, r.Stores)
			}
			last = store.ID
			bar.draw(fmt.Sprintf("%d stores, %d rows", r.Stores, r.Rows))
		}
	}
}

func (r *recounted) add(s *session, counts *counting.Counts, store uuid.UUID) error {
	rows, err := counts.Recount(s.ctx, store)
	r.Rows += rows
	if err == nil {
		r.Stores++
	}
	return err
}
