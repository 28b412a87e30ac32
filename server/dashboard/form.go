package dashboard

import (
	"errors"
	"unicode"
	"unicode/utf8"

	"go.storefront.example/server/refusal"
)

// problems says what is wrong with a form, by field; "" is about the whole of it.
type problems map[string]string

// problem is what is wrong with one field; Text is empty when nothing is.
type problem struct{ Name, Text string }

// problemsOf reads a refusal that the reader can mend in the form. whole names the field that a
// refusal of this code is about. Every other error is returned as it is.
func problemsOf(err error, whole map[refusal.Code]string) (problems, error) {
	var r *refusal.Refusal
	if !errors.As(err, &r) {
		return nil, err
	}
	field, known := whole[r.Code]
	switch {
	case known:
		return problems{field: r.Message}, nil
	case r.Code != refusal.ValidationFailed:
		return nil, err
	}
	p := problems{}
	for _, f := range r.Details.GetFields() {
		p[f.GetField()] = sentence(f.GetMessage())
	}
	return p, nil
}

// sentence makes a sentence of what the rules say of a field.
func sentence(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:] + "."
}

// set makes what was ticked known by name.
func set(names []string) map[string]bool {
	all := make(map[string]bool, len(names))
	for _, n := range names {
		all[n] = true
	}
	return all
}
