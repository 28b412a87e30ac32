package main

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/agext/levenshtein"
	"github.com/alecthomas/kong"

	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/apierr"
)

// words reads texts of the command line: what has a set of values in any case, and lists also with spaces after
// their commas. It is a kong.Mapper.
type words struct{}

// Decode reads one text.
func (words) Decode(k *kong.DecodeContext, target reflect.Value) error {
	var text string
	if err := k.Scan.PopValueInto("string", &text); err != nil {
		return err
	}
	if k.Value.IsSlice() {
		text = strings.TrimSpace(text)
	}
	if k.Value.Enum != "" {
		for _, value := range k.Value.EnumSlice() {
			if strings.EqualFold(value, text) {
				text = value
			}
		}
	}
	target.SetString(text)
	return nil
}

// lists are flags whose values a shell splits where they are typed with a space after a comma.
var lists = []string{"--scopes", "--events", "--unavailable-types", "--trusted-proxies", "--retry-delays"}

var negative = regexp.MustCompile(`^-\d`)

// meant is a command line as it is meant: help and --version as commands, a list with spaces after its commas, and
// a negative number as the value that it is.
func meant(args []string) []string {
	switch {
	case len(args) == 0:
		return []string{"--help"}
	case args[0] == "help" && !slices.Contains(args, "--help"):
		return append(slices.Clone(args[1:]), "--help")
	case args[0] == "--version":
		return append([]string{"version"}, args[1:]...)
	}
	var out []string
	for i, arg := range args {
		last := len(out) - 1
		switch {
		case i > 0 && negative.MatchString(arg) && strings.HasPrefix(args[i-1], "--"):
			out[last] += "=" + arg
		case last > 0 && strings.HasSuffix(out[last], ",") && slices.Contains(lists, out[last-1]) && !strings.HasPrefix(arg, "-"):
			out[last] += arg
		default:
			out = append(out, arg)
		}
	}
	return out
}

// nearest is the word that was probably meant, "" if none is near.
func nearest(word string, known []string) string {
	best, least := "", min(3, len(word)/2)
	for _, k := range known {
		if d := levenshtein.Distance(strings.ToLower(word), strings.ToLower(k), nil); d <= least {
			best, least = k, d-1
		}
	}
	return best
}

var notOneOf = regexp.MustCompile(`must be one of (.*) but got "(.*)"$`)

// meantValue adds what was probably meant to an error about a value that is none of a set.
func meantValue(err error) error {
	if m := notOneOf.FindStringSubmatch(err.Error()); m != nil {
		if near := nearest(m[2], strings.Split(strings.ReplaceAll(m[1], `"`, ""), ",")); near != "" {
			return fmt.Errorf("%w; did you mean %q?", err, near)
		}
	}
	return err
}

// permanent is the error about a flag that only the command which creates has.
func permanent(err error, n *kong.Node) error {
	name, unknown := strings.CutPrefix(err.Error(), "unknown flag --")
	if !unknown || n == nil || n.Name != "update" {
		return err
	}
	name, _, _ = strings.Cut(name, ",")
	for _, f := range childNamed(n.Parent, "create").Flags {
		if f.Name == name {
			return fmt.Errorf("--%s cannot be changed: a %s keeps what it was created with", name, n.Parent.Name)
		}
	}
	return err
}

// maxNames is how many names are looked at for the one that was meant.
const maxNames = 100

// meantName adds the name that was probably meant to the refusal of one that nothing has.
func (s *session) meantName(ctx context.Context, o admin.API, refusal error) error {
	r, ok := errors.AsType[*apierr.Refusal](refusal)
	if !ok {
		return refusal
	}
	var known []string
	name := s.names["name"]
	switch r.Code {
	case apierr.StoreNotFound:
		if name = s.names["slug"]; name == "" {
			name = s.names["store"]
		}
		out, _ := o.ListStores(ctx, &adminv1.ListStoresRequest{PageSize: new(int32(maxNames))})
		known = namesOf(out.GetStores(), (*storefrontv1.Store).GetSlug)
	case apierr.ProductNotFound:
		store, err := storeNamed(ctx, o, s.names["store"])
		if err != nil {
			return refusal
		}
		out, _ := o.ListProducts(ctx, &adminv1.ListProductsRequest{Store: store.GetId(), PageSize: new(int32(maxNames))})
		known = namesOf(out.GetData(), (*storefrontv1.Product).GetSlug)
	}
	if near := nearest(name, known); near != "" && name != "" {
		return fmt.Errorf("%s; did you mean %q?", line(refusal, s.command), near)
	}
	return refusal
}

func namesOf[Item any](items []Item, name func(Item) string) []string {
	names := make([]string, len(items))
	for i, item := range items {
		names[i] = name(item)
	}
	return names
}
