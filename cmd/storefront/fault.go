package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/alecthomas/kong"

	"go.storefront.example/cmd/storefront/doctor"
	"go.storefront.example/ent/db"
	"go.storefront.example/server/apierr"
)

// usageError is a mistake on the command line.
type usageError struct{ error }

// Unwrap returns what is wrong.
func (e usageError) Unwrap() error { return e.error }

func usage(format string, args ...any) error {
	return usageError{fmt.Errorf(format, args...)}
}

// misread adds where to find help to an error of the command line.
func misread(err error) error {
	at := "storefront"
	if parse, ok := errors.AsType[*kong.ParseError](err); ok && parse.Context != nil && parse.Context.Selected() != nil {
		at = parse.Context.Selected().FullPath()
		err = permanent(err, parse.Context.Selected())
	}
	err = meantValue(err)
	return usage("%w; see `%s --help`", err, at)
}

// formCodes are the refusals of a value whose form does not fit its flag.
var formCodes = []apierr.Code{apierr.ValidationFailed, apierr.PhoneInvalid, apierr.CustomerIdentifierRequired}

// complain writes an error as one line and returns its exit status. command is the command that
// ran, if any.
func complain(w io.Writer, err error, command string) int {
	if err == nil {
		return 0
	}
	_, _ = fmt.Fprintln(w, "storefront: "+line(err, command))
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

// line returns an error in one line, in which a terminal shows every character as it is.
func line(err error, command string) string {
	text := err.Error()
	var r *apierr.Refusal
	switch {
	case errors.As(err, &r):
		text = refused(r, command)
	case doctor.IsTaken(err):
		text += "; choose another with --addr or --admin-addr"
	case errors.Is(err, context.Canceled):
		text = "interrupted: " + text
	}
	return escaped(strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' }), "; "))
}

// refused returns the text of a refusal, with flags in place of the API's fields.
func refused(r *apierr.Refusal, command string) string {
	fields := r.Details.GetFields()
	if len(fields) > 0 {
		said := make([]string, len(fields))
		for i, f := range fields {
			said[i] = flagOf(f.GetField(), command) + ": " + f.GetMessage()
		}
		return strings.Join(said, "; ")
	}
	if r.Code == apierr.CompareAtInvalid {
		return "--compare-at must be above --price"
	}
	text := lowerFirst(strings.TrimSuffix(r.Message, "."))
	if missing := r.Details.GetMissing(); len(missing) > 0 {
		text = "the product cannot be published yet; it lacks: " + strings.Join(missing, ", ")
		if slices.Contains(missing, "content") {
			text += " (set it with --content-ready)"
		}
	}
	return text
}

// flagNames are the flags that are not called as the field is.
var flagNames = map[string]string{
	"priceAmount":     "--price",
	"compareAtAmount": "--compare-at",
	"items":           "--product",
	"socialLinks":     "--social",
	"types":           "--events", // of a stream
}

// flagOf is the flag that sets a field.
func flagOf(field, command string) string {
	field, _, _ = strings.Cut(field, ".")
	if flag, ok := flagNames[field]; ok {
		return flag
	}
	flag := kebab(field)
	if strings.HasPrefix(command, "trigger") {
		return "--override " + field
	}
	if strings.HasPrefix(command, "order create") && slices.Contains([]string{"name", "email", "phone"}, field) {
		flag = "customer-" + flag
	}
	return "--" + flag
}

// kebab converts camelCase to the form of flags.
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

// lowerFirst lowers the first letter of a sentence, unless its first word is in capitals.
func lowerFirst(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	if second, _ := utf8.DecodeRuneInString(text[size:]); unicode.IsUpper(second) {
		return text
	}
	return string(unicode.ToLower(first)) + text[size:]
}
