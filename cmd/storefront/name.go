package main

import (
	"context"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	"go.storefront.example/server/admin"
)

// storeScoped is the setting of a command on what belongs to a store.
type storeScoped struct {
	place
	Store string `placeholder:"SLUG" help:"The store, by slug or id (default: the only one there is). Not needed with an id."`
}

// inStore is the setting of a command that lists or makes what belongs to a store.
type inStore struct {
	place
	Store string `placeholder:"SLUG" help:"The store, by slug or id (default: the only one there is)."`
}

// listOf is list for what belongs to a store.
func listOf[Item proto.Message](s *session, c inStore, l limit, t table[Item],
	page func(ctx context.Context, o admin.API, store string, size *int32, token string) ([]Item, string, error)) error {
	store := ""
	return list(s, c.place, l, t, func(ctx context.Context, o admin.API, size *int32, token string) (items []Item, next string,
		err error) {
		if store == "" {
			if store, err = (storeScoped(c)).storeOf(ctx, o); err != nil {
				return nil, "", err
			}
		}
		return page(ctx, o, store, size, token)
	})
}

// storeOf returns the store that a command works in: the one that it names, else the only one.
func (c storeScoped) storeOf(ctx context.Context, o admin.API) (string, error) {
	if c.Store != "" {
		return c.Store, nil
	}
	only, err := storeNamed(ctx, o, "")
	return only.GetSlug(), err
}

// isID reports whether a name is an id, which needs no store.
func isID(name string) bool {
	_, err := uuid.Parse(name)
	return err == nil && len(name) == len(uuid.Nil.String())
}

// finder returns what a name of a store is.
type finder[Found any] func(ctx context.Context, o admin.API, store, name string) (Found, error)

// find returns what a name is, in the store that the command works in.
func find[Found any](ctx context.Context, o admin.API, c storeScoped, name string, with finder[Found]) (found Found, err error) {
	var store string
	if !isID(name) {
		if store, err = c.storeOf(ctx, o); err != nil {
			return found, err
		}
	}
	return with(ctx, o, store, name)
}

// idOf returns the id of what a name is; an id is its own.
func idOf[Found interface{ GetId() string }](ctx context.Context, o admin.API, c storeScoped, name string,
	with finder[Found]) (string, error) {
	if isID(name) {
		return name, nil
	}
	found, err := find(ctx, o, c, name, with)
	if err != nil {
		return "", err
	}
	return found.GetId(), nil
}

// show prints what a name is.
func show[Found proto.Message](s *session, c storeScoped, name string, with finder[Found]) error {
	return s.operate(c.place, func(ctx context.Context, o admin.API) error {
		found, err := find(ctx, o, c, name, with)
		if err != nil {
			return err
		}
		return s.print(whole(found))
	})
}

// callNamed calls a method on what a name is, and prints what it returns as object has it.
func callNamed[Found interface{ GetId() string }, Out any](s *session, c storeScoped, name string, with finder[Found],
	object func(Out) []byte, method func(ctx context.Context, o admin.API, id string) (Out, error)) error {
	return s.operate(c.place, func(ctx context.Context, o admin.API) error {
		id, err := idOf(ctx, o, c, name, with)
		if err != nil {
			return err
		}
		out, err := method(ctx, o, id)
		if err != nil {
			return err
		}
		return s.print(object(out))
	})
}
