package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"go.storefront.example/ent/apijson"
	"go.storefront.example/server/admin"
)

// call calls one method of the operator's API, in this process or on a server, and prints the message
// that it returns.
func call[In any, Out proto.Message](s *session, p place, in In,
	method func(admin.API, context.Context, In) (Out, error)) error {
	return callAndPrint(s, p, in, method, whole[Out])
}

// callAndPrint is call for a message that is printed as another object.
func callAndPrint[In, Out any](s *session, p place, in In, method func(admin.API, context.Context, In) (Out, error), object func(
	Out) []byte) error {
	return s.operate(p, func(ctx context.Context, o admin.API) error {
		out, err := method(o, ctx, in)
		if err != nil {
			return err
		}
		return s.print(object(out))
	})
}

// table is how a list is printed.
type table[Item proto.Message] struct {
	// header names the columns, separated by commas, each with its marks for narrow terminals.
	header string
	row    func(Item) []string
	// object is an item of the JSON array.
	object func(Item) []byte
}

// list calls a list's method until it has as many items as the limit, and prints them. page calls it
// once and returns its items and its nextPageToken.
func list[Item proto.Message](s *session, p place, l limit, t table[Item],
	page func(ctx context.Context, o admin.API, size *int32, token string) ([]Item, string, error)) error {
	return s.operate(p, func(ctx context.Context, o admin.API) error {
		items, err := admin.Collect(ctx, int(l.Limit), func(ctx context.Context, size *int32, token string) ([]Item, string, error) {
			return page(ctx, o, size, token)
		})
		if err != nil {
			return err
		}
		if err := t.print(s, l, items); err != nil {
			return err
		}
		if len(items) == int(l.Limit) && !s.json {
			s.say(fmt.Sprintf("these are the newest %d; --limit shows more", len(items)))
		}
		return nil
	})
}

// print prints the items of a list.
func (t table[Item]) print(s *session, l limit, items []Item) error {
	rows, objects := make([][]string, len(items)), make([][]byte, len(items))
	for i, item := range items {
		rows[i], objects[i] = t.row(item), t.object(item)
	}
	if s.csv {
		var none Item
		return writeCSV(s.out, none.ProtoReflect().Descriptor(), t.object(none.ProtoReflect().New().Interface().(Item)), objects) //nolint:errcheck // It is one.
	}
	if l.Wide {
		s.terminal.columns = 0
	}
	return s.list(objects, strings.Split(t.header, ","), rows)
}

// whole is a message as the API returns it.
func whole[M proto.Message](m M) []byte { return apijson.Marshal(m) }

// selectFields is the JSON object of a message with these members alone, in this order; those in extra are
// added to the message's own, or replace them.
func selectFields(m proto.Message, extra map[string]json.RawMessage, names ...string) []byte {
	var own map[string]json.RawMessage
	if err := json.Unmarshal(apijson.Marshal(m), &own); err != nil {
		panic(err) // a message is an object
	}
	object := []byte{'{'}
	for i, name := range names {
		value, ok := extra[name]
		if !ok {
			value = own[name]
		}
		if i > 0 {
			object = append(object, ',')
		}
		object = append(append(apijson.AppendString(object, name), ':'), value...)
	}
	return append(object, '}')
}

// quoted is a text as JSON.
func quoted(text string) json.RawMessage { return apijson.AppendString(nil, text) }

// maskOf is the mask of an update: the fields that are present but for the key, and those to clear.
func maskOf(in proto.Message, key string, cleared ...string) *fieldmaskpb.FieldMask {
	mask := &fieldmaskpb.FieldMask{Paths: cleared}
	in.ProtoReflect().Range(func(f protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
		if name := string(f.Name()); name != key {
			mask.Paths = append(mask.Paths, name)
		}
		return true
	})
	slices.Sort(mask.Paths)
	return mask
}

// enumOf is the value of an enum that a flag names; nil for a flag that is absent. values is the enum's
// generated map.
func enumOf[E ~int32](values map[string]int32, name *string) *E {
	if name == nil {
		return nil
	}
	e := E(values[*name])
	return &e
}
