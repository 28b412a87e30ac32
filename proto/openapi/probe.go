package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"go.storefront.example/ent/tenant"
	"go.storefront.example/ent/wire"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/service"
)

// bounds are what the service takes for one field of a request. The zero value bounds nothing.
type bounds struct {
	required, nullable   bool
	minLength, maxLength *int
	minimum, maximum     *int64
	pattern              string
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

// seeds are values of which one is fit for any text.
var seeds = []string{"a", "https://atelier.example/", "ada@example.com", "+237670000001"}

// longest is beyond every bound of a text.
const longest = 200_000

// probe finds the bounds of a field around a request that is fine, by sending requests to the
// service's own rules as far as those need no database: what is refused is out of bounds.
func probe(fd protoreflect.FieldDescriptor, sample fields) (bounds, error) {
	var b bounds
	p := &prober{field: fd, sample: sample, shop: service.New(nil, service.Options{})}
	b.nullable = p.takes(nil)
	without := sample.with(fd.JSONName(), nil)
	delete(without, fd.JSONName())
	b.required = !p.accepts(without)
	seeded := true
	switch fd.Kind() {
	case protoreflect.StringKind:
		i := slices.IndexFunc(seeds, func(seed string) bool { return p.takes(seed) })
		if seeded = i >= 0; seeded {
			b.minLength, b.maxLength = p.lengths(seeds[i])
			b.pattern = p.characters(seeds[i])
		}
	case protoreflect.Int32Kind:
		seeded = p.takes(1)
		b.minimum, b.maximum = p.edge(math.MinInt32), p.edge(math.MaxInt32)
	case protoreflect.Int64Kind:
		seeded = p.takes(1)
		b.minimum, b.maximum = p.edge(math.MinInt64), p.edge(math.MaxInt64)
		if *b.maximum == math.MaxInt64 {
			b.maximum = nil // no bound but that of the format
		}
	}
	if p.err == nil && !seeded {
		p.err = errors.New("none of the values that bounds are looked for from is taken")
	}
	if p.err != nil {
		return b, fmt.Errorf("ask what %s takes: %w", fd.FullName(), p.err)
	}
	return b, nil
}

// prober asks for one field. Its first error stays.
type prober struct {
	field  protoreflect.FieldDescriptor
	sample fields
	shop   *service.Shop
	err    error
}

// takes tells whether the service takes a value of the field.
func (p *prober) takes(value any) bool {
	return p.accepts(p.sample.with(p.field.JSONName(), value))
}

// accepts tells whether the service takes a request, as far as the field goes.
func (p *prober) accepts(body fields) bool {
	accepted, err := p.ask(body)
	if p.err == nil {
		p.err = err
	}
	return accepted
}

func (p *prober) ask(body fields) (bool, error) {
	kind, err := protoregistry.GlobalTypes.FindMessageByName(p.field.ContainingMessage().FullName())
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
	err = p.shop.Check(asStore, m, invalid)
	var refused *apierr.Refusal
	switch {
	case err == nil:
		return true, nil
	case !errors.As(err, &refused):
		return false, err
	}
	name := p.field.JSONName()
	listed := slices.ContainsFunc(refused.Details.GetFields(), func(f *storefrontv1.FieldError) bool { return f.GetField() == name })
	// A field with a code of its own is named by the message.
	return !listed && !strings.HasPrefix(refused.Message, name+" "), nil
}

// asStore is the context of a store that may do everything.
var asStore = tenant.With(context.Background(), tenant.Store{
	Currency: "XAF", Country: "CM", Status: "open", PaymentLinksOpen: true,
}, tenant.Actor{})

// lengths returns the least and the most characters of a text, nil where there is no bound.
func (p *prober) lengths(seed string) (least, most *int) {
	if !p.takes("") {
		least = new(1)
	}
	length := utf8.RuneCountInString(seed)
	found := edge(int64(length), longest, func(n int64) bool {
		padding := strings.Repeat("a", int(n)-length)
		return p.takes(seed+padding) || p.takes(padding+seed)
	})
	if found == longest {
		return least, nil
	}
	return least, new(int(found))
}

// characters returns the pattern of a text that may not hold every character.
func (p *prober) characters(seed string) string {
	switch {
	case p.takes(seed + "\x00"):
		return ""
	case p.takes(" "):
		return linesPattern
	default:
		return nonBlankPattern
	}
}

// edge returns the last whole number that is taken on the way from 1 to a limit.
func (p *prober) edge(limit int64) *int64 {
	return new(edge(1, limit, func(n int64) bool { return p.takes(n) }))
}

// edge returns the last value that is taken on the way from one that is to a limit, which it may be.
func edge(taken, limit int64, takes func(int64) bool) int64 {
	if takes(limit) {
		return limit
	}
	for refused := limit; ; {
		middle := taken&refused + (taken^refused)>>1 // their mean, rounded down, whatever their distance
		switch {
		case middle == taken || middle == refused:
			return taken
		case takes(middle):
			taken = middle
		default:
			refused = middle
		}
	}
}
