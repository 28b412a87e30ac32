package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/agext/levenshtein"
	"github.com/alecthomas/kong"

	"go.storefront.example/cmd/storefront/doctor"
	"go.storefront.example/ent/db"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/apierr"
)

// usageError is a mistake on the command line, for exit status 2.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usage(format string, args ...any) error {
	return usageError{fmt.Errorf(format, args...)}
}

// parserError adds the word that the user probably meant, and the command for help.
func parserError(err error) error {
	command := "storefront"
	if parse, ok := errors.AsType[*kong.ParseError](err); ok && parse.Context != nil && parse.Context.Selected() != nil {
		command = parse.Context.Selected().FullPath()
		err = explainImmutable(err, parse.Context.Selected())
	}
	text := suggestValue(err.Error())
	if strings.HasSuffix(text, "?") {
		return usage("%s See `%s --help`", text, command)
	}
	return usage("%s; see `%s --help`", text, command)
}

// explainImmutable explains that only the command that creates the object has the flag.
func explainImmutable(err error, n *kong.Node) error {
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

// formCodes refuse a value of a wrong form, which on the command line is the user's mistake.
var formCodes = []apierr.Code{apierr.ValidationFailed, apierr.PhoneInvalid, apierr.CustomerIdentifierRequired}

// report prints an error as one line, and returns the exit status 0, 1 or 2.
func (s *invocation) report(err error) int {
	if err == nil {
		return 0
	}
	s.printMessage(s.errorLine(err))
	var u usageError
	var r *apierr.Refusal
	switch {
	case errors.As(err, &u), errors.Is(err, db.ErrURL):
		return 2
	case errors.As(err, &r) && slices.Contains(formCodes, r.Code):
		return 2
	}
	return 1
}

// errorLine escapes characters that a terminal would not show.
func (s *invocation) errorLine(err error) string {
	text := err.Error()
	unwritten, _ := errors.AsType[*fs.PathError](err)
	var r *apierr.Refusal
	switch {
	case errors.As(err, &r):
		text = s.refusalText(r)
	case doctor.IsTaken(err):
		text += "; choose another with --addr or --admin-addr"
	case errors.Is(err, context.Canceled):
		text = "interrupted: " + text
	case strings.HasSuffix(text, "missing port in address"):
		text += "; write it with its port, such as 127.0.0.1:8080, or :8080 for all addresses of this machine"
	case unwritten != nil && unwritten.Path == os.Stdout.Name(): // for example on a full disk
		text += ": the output is lost, but a change that the command makes is made, so look before you repeat it"
	}
	return escaped(strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' }), "; "))
}

// fieldCodes are the codes of refusals whose messages name fields of the API.
var fieldCodes = []apierr.Code{apierr.CompareAtInvalid, apierr.PhoneInvalid, apierr.PaymentLinkInvalidPricing,
	apierr.PaymentLinkExpiryPast, apierr.PaymentLinkExpiryInvalid}

var (
	word     = regexp.MustCompile(`[A-Za-z]+`)
	nullWord = regexp.MustCompile(`\bnull\b`)
	removal  = regexp.MustCompile(`; null [^;]*$`)
)

// refusalText names flags instead of the API's fields, and "none" instead of null.
func (s *invocation) refusalText(r *apierr.Refusal) string {
	if fields := r.Details.GetFields(); len(fields) > 0 {
		texts := make([]string, len(fields))
		for i, f := range fields {
			texts[i] = s.flagOf(f.GetField()) + ": " + suggestValue(nullWord.ReplaceAllString(f.GetMessage(), none))
		}
		return strings.Join(texts, "; ")
	}
	if missing := r.Details.GetMissing(); len(missing) > 0 {
		text := "the product cannot be published yet; it lacks: " + strings.Join(missing, ", ")
		if slices.Contains(missing, "content") {
			text += " (set it with --content-ready)"
		}
		return text
	}
	text := strings.TrimSuffix(r.Message, ".")
	if slices.Contains(fieldCodes, r.Code) {
		if strings.HasSuffix(s.command, "create") {
			text = removal.ReplaceAllString(text, "")
		}
		text = nullWord.ReplaceAllString(word.ReplaceAllStringFunc(text, func(name string) string {
			if flag := s.flagNamed(name); flag != "" {
				return flag
			}
			return name
		}), none)
	}
	return lowerFirst(text)
}

var otherFlags = map[string]string{"items": "--product", "types": "--events"}

// flagOf returns the flag of a field, such as --price for priceAmount.
func (s *invocation) flagOf(field string) string {
	field, _, _ = strings.Cut(field, ".")
	if flag := s.flagNamed(field); flag != "" {
		return flag
	}
	if strings.HasPrefix(s.command, "trigger") {
		return "--override " + field
	}
	if flag, ok := otherFlags[field]; ok {
		return flag
	}
	return "--" + kebab(field)
}

func (s *invocation) flagNamed(field string) string {
	for _, f := range s.flags {
		if f.Tag.Get(apiField) == field {
			return "--" + f.Name
		}
	}
	return ""
}

func kebab(field string) string {
	var b strings.Builder
	for _, r := range field {
		if unicode.IsUpper(r) {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// lowerFirst leaves a text alone whose second letter is a capital.
func lowerFirst(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	if second, _ := utf8.DecodeRuneInString(text[size:]); unicode.IsUpper(second) {
		return text
	}
	return string(unicode.ToLower(first)) + text[size:]
}

// nearest returns the known text that differs from word in the fewest letters: at most three and half of the word. Otherwise
// "".
func nearest(word string, known []string) string {
	best, least := "", min(3, len(word)/2)
	for _, k := range known {
		if d := levenshtein.Distance(strings.ToLower(word), strings.ToLower(k), nil); d <= least {
			best, least = k, d-1
		}
	}
	return best
}

// notOneOf matches the parser's and a refusal's message about a value that is none of the listed ones.
var notOneOf = []*regexp.Regexp{regexp.MustCompile(`must be one of (.*) but got "(.*)"$`),
	regexp.MustCompile(`must be (?:ping or )?one of (.*), not "(.*)"$`)}

func suggestValue(text string) string {
	for _, form := range notOneOf {
		if m := form.FindStringSubmatch(text); m != nil {
			known := strings.FieldsFunc(m[1], func(r rune) bool { return strings.ContainsRune(`", `, r) })
			near := nearest(m[2], known)
			if length, err := spanOf(m[2]); err == nil {
				near = nearestLength(length, known)
			}
			if near != "" {
				return fmt.Sprintf("%s; did you mean %q?", text, near)
			}
		}
	}
	return text
}

// nearestLength returns the nearest time in known, such as 30d; "" if known has no times.
func nearestLength(length time.Duration, known []string) (best string) {
	least := time.Duration(math.MaxInt64)
	for _, k := range known {
		if l, err := spanOf(k); err == nil && (l-length).Abs() < least {
			best, least = k, (l - length).Abs()
		}
	}
	return best
}

// spanOf also reads weeks and years, such as 2w and 1y.
func spanOf(text string) (time.Duration, error) {
	for unit, days := range map[string]int64{"w": 7, "y": 365} {
		if number, ok := strings.CutSuffix(text, unit); ok {
			length, err := lengthOf(number + "d")
			return time.Duration(days * int64(length)), err
		}
	}
	return lengthOf(text)
}

// listCommand lists the objects that exist, by the code that says that one does not.
var listCommand = map[apierr.Code]string{
	apierr.StoreNotFound: "store", apierr.ProductNotFound: "product", apierr.CustomerNotFound: "customer",
	apierr.OrderNotFound: "order", apierr.PaymentLinkNotFound: "link", apierr.APIKeyNotFound: "key",
	apierr.WebhookNotFound: "webhook", apierr.DeliveryNotFound: "delivery", apierr.SessionNotFound: "dashboard sessions",
}

type unknownName struct {
	error
	store, name string
}

func (e unknownName) Unwrap() error { return e.error }

const maxNames = 100

// withHint adds the name that the user probably meant, the command that lists names, or how to pass a token.
func (s *invocation) withHint(ctx context.Context, o admin.API, refusal error) error {
	r, ok := errors.AsType[*apierr.Refusal](refusal)
	if ok && r.Code == apierr.AdminTokenMissing {
		return errors.New("the server wants the operator's token: give it as --admin-token, or set STOREFRONT_ADMIN_TOKEN to it")
	}
	if !ok || listCommand[r.Code] == "" {
		return refusal
	}
	list, size, known := "storefront "+listCommand[r.Code]+" list", new(int32(maxNames)), []string(nil)
	unknown, _ := errors.AsType[unknownName](refusal)
	name := unknown.name
	switch {
	case r.Code == apierr.StoreNotFound:
		out, _ := o.ListStores(ctx, &adminv1.ListStoresRequest{PageSize: size})
		name, known = s.store, namesOf(out.GetStores(), (*storefrontv1.Store).GetSlug)
	case unknown.store != "":
		list += " --store " + unknown.store
		known = namesOfStore(ctx, o, unknown.store, r.Code)
	}
	if near := nearest(name, known); near != "" {
		return fmt.Errorf("%s; did you mean %q?", s.errorLine(refusal), near)
	}
	return fmt.Errorf("%s; see `%s`", s.errorLine(refusal), list)
}

// namesOfStore returns names of products or customers, as the code says that one of them is missing.
func namesOfStore(ctx context.Context, o admin.API, store string, code apierr.Code) []string {
	ctx, err := o.WithStore(ctx, store)
	if err != nil {
		return nil
	}
	switch size := new(int32(maxNames)); code {
	case apierr.ProductNotFound:
		out, _ := o.ListProducts(ctx, &storefrontv1.ListProductsRequest{PageSize: size})
		return namesOf(out.GetData(), (*storefrontv1.Product).GetSlug)
	case apierr.CustomerNotFound:
		out, _ := o.ListCustomers(ctx, &storefrontv1.ListCustomersRequest{PageSize: size})
		return namesOf(out.GetData(), (*storefrontv1.Customer).GetEmail)
	}
	return nil
}

func namesOf[Item any](items []Item, name func(Item) string) []string {
	names := make([]string, len(items))
	for i, item := range items {
		names[i] = name(item)
	}
	return names
}
