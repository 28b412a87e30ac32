package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"go.storefront.example/ent/tenant"
	"go.storefront.example/ent/wire"
	"go.storefront.example/server/refusal"
	"go.storefront.example/server/shop"
)

// bounds are what the service takes for one field of a request. The zero value bounds nothing.
type bounds struct {
	required, nullable   bool
	minLength, maxLength *int
	minimum, maximum     *int64
	pattern              string
}

// prober finds bounds by sending requests to the service's own rules, as far as those need no
// database: what is refused is out of bounds.
type prober struct {
	shop *shop.Shop
	ctx  context.Context
}

func newProber() *prober {
	store := tenant.Store{Currency: "XAF", Country: "CM", Status: "open", PaymentLinksOpen: true}
	return &prober{
		shop: shop.New(nil, shop.Options{}),
		ctx:  tenant.With(context.Background(), store, tenant.Actor{}),
	}
}

// fields is a request's body; that of a list holds its query.
type fields map[string]any

// with returns a copy in which a field has another value.
func (f fields) with(name string, value any) fields {
	changed := fields{name: value}
	for n, v := range f {
		if n != name {
			changed[n] = v
		}
	}
	return changed
}

// accepts tells whether the service takes the request, as far as the named field goes.
func (p *prober) accepts(d protoreflect.MessageDescriptor, body fields, name string) (bool, error) {
	kind, err := protoregistry.GlobalTypes.FindMessageByName(d.FullName())
	if err != nil {
		return false, err
	}
	text, err := json.Marshal(body)
	if err != nil {
		return false, err
	}
	m := kind.New().Interface()
	var invalid *wire.Invalid
	if err := wire.Unmarshal(text, m, "id", "updateMask"); err != nil && !errors.As(err, &invalid) {
		return false, err
	}
	err = p.shop.Check(p.ctx, m, invalid)
	if err == nil {
		return true, nil
	}
	var refused *refusal.Refusal
	if !errors.As(err, &refused) {
		return false, err
	}
	for _, f := range refused.Details.GetFields() {
		if f.GetField() == name {
			return false, nil
		}
	}
	// A field with a code of its own is named in the message.
	return !strings.HasPrefix(refused.Message, name+" "), nil
}

// seeds are values of which one is fit for any text.
var seeds = []string{"a", "https://atelier.example/", "ada@example.com", "+237670000001"}

// longest is beyond every bound of a text.
const longest = 200_000

// probe finds the bounds of a field around a request that is fine.
func (p *prober) probe(fd protoreflect.FieldDescriptor, sample fields) (b bounds, err error) {
	name := fd.JSONName()
	var failed error
	accepts := func(body fields) bool {
		ok, err := p.accepts(fd.ContainingMessage(), body, name)
		failed = errors.Join(failed, err)
		return ok && err == nil
	}
	takes := func(value any) bool { return accepts(sample.with(name, value)) }
	defer func() {
		if failed != nil {
			err = fmt.Errorf("ask what %s takes: %w", fd.FullName(), failed)
		}
	}()
	without := sample.with(name, nil)
	b.nullable = accepts(without)
	delete(without, name)
	b.required = !accepts(without)
	switch fd.Kind() {
	case protoreflect.StringKind:
		for _, seed := range seeds {
			if takes(seed) {
				text := func(text string) bool { return takes(text) }
				b.minLength, b.maxLength = lengths(seed, text)
				b.pattern = characters(seed, text)
				return b, nil
			}
		}
	case protoreflect.Int32Kind, protoreflect.Int64Kind:
		low, high := int64(math.MinInt64), int64(math.MaxInt64)
		if fd.Kind() == protoreflect.Int32Kind {
			low, high = math.MinInt32, math.MaxInt32
		}
		if takes(int64(1)) {
			b.minimum = edge(1, low, func(n int64) bool { return takes(n) })
			b.maximum = edge(1, high, func(n int64) bool { return takes(n) })
			if *b.maximum == math.MaxInt64 {
				b.maximum = nil // no bound but that of the format
			}
			return b, nil
		}
	default:
		return b, nil
	}
	return b, fmt.Errorf("%s takes none of the values that bounds are looked for from", fd.FullName())
}

// lengths returns the least and the most characters of a text, nil where there is no bound.
func lengths(seed string, takes func(string) bool) (least, most *int) {
	if !takes("") {
		least = new(1)
	}
	length := utf8.RuneCountInString(seed)
	found := edge(int64(length), longest, func(n int64) bool {
		padding := strings.Repeat("a", int(n)-length)
		return takes(seed+padding) || takes(padding+seed)
	})
	if *found == longest {
		return least, nil
	}
	return least, new(int(*found))
}

// characters returns the pattern of a text that refuses some.
func characters(seed string, takes func(string) bool) string {
	switch {
	case takes(seed + "\x00"):
		return ""
	case takes(" "):
		return linesPattern
	default:
		return nonBlankPattern
	}
}

// edge returns the last value on the way from one that is taken to a limit, which it may be.
func edge(taken, limit int64, takes func(int64) bool) *int64 {
	if takes(limit) {
		return &limit
	}
	for refused := limit; ; {
		middle := taken&refused + (taken^refused)>>1 // their mean, rounded down, whatever their distance
		switch {
		case middle == taken || middle == refused:
			return &taken
		case takes(middle):
			taken = middle
		default:
			refused = middle
		}
	}
}
