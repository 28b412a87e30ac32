package dashboard

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"unicode"
	"unicode/utf8"

	"go.storefront.example/server/apierr"
)

// onceBytes is the randomness that identifies a form.
const onceBytes = 16

// once returns a value for the hidden field that identifies a form, to recognise it when it is sent again.
func once() string {
	var random [onceBytes]byte
	_, _ = rand.Read(random[:]) // rand.Read never fails; it ends the process instead
	return base64.RawURLEncoding.EncodeToString(random[:])
}

// onceKey returns the form's idempotency key. With it the change happens once, even if the member reloads the answer, goes back
// to it or clicks twice.
func onceKey(v *visit) (string, error) {
	key := v.r.PostForm.Get("once")
	if random, err := base64.RawURLEncoding.DecodeString(key); err != nil || len(random) != onceBytes {
		return "", apierr.Invalid("The form is incomplete. Go back, reload the page and try again.")
	}
	return key, nil
}

// repeated is the page for a form that was sent again after its first answer had shown a secret. Made describes what the form
// created, and To is the address of its page.
type repeated struct{ Made, To string }

// isRepeated reports whether an error means that the form was carried out before.
func isRepeated(err error) bool {
	var r *apierr.Refusal
	return errors.As(err, &r) && r.Code == apierr.IdempotencyKeyReused
}

// showRepeated answers a form that was sent again. It shows no secret, because only the first answer may.
func (d *dashboard) showRepeated(v *visit, title, section string, body repeated) error {
	d.show(v, http.StatusConflict, view{Title: title, Section: section, Template: "repeated", Body: body})
	return nil
}

// problems are the errors of a form by field; "" is for the whole form.
type problems map[string]string

// problem is the error of a field; Text is empty if there is none. First marks the form's first bad field, which gets the
// focus.
type problem struct {
	Name, Text string
	First      bool
}

// fieldOrder lists the fields of the forms from top to bottom.
var fieldOrder = []string{"name", "scopes", "lifetime", "url", "description", "events", "window", "since"}

// of returns the error of a field.
func (p problems) of(name string) problem {
	first := slices.IndexFunc(fieldOrder, func(field string) bool { return p[field] != "" })
	return problem{name, p[name], first >= 0 && fieldOrder[first] == name}
}

// chooseOne is the error of a form without a ticked box.
const chooseOne = "Choose at least one."

// problemsOf converts a refusal that the reader can correct in the form to the problems of its fields. whole maps a code to the
// one field that it is about. Any other error is returned unchanged.
func problemsOf(err error, sent url.Values, whole map[apierr.Code]string) (problems, error) {
	var r *apierr.Refusal
	if !errors.As(err, &r) {
		return nil, err
	}
	field, known := whole[r.Code]
	switch {
	case known:
		return problems{field: r.Message}, nil
	case r.Code != apierr.ValidationFailed:
		return nil, err
	}
	p := problems{}
	for _, f := range r.Details.GetFields() {
		p[f.GetField()] = sentence(f.GetMessage())
	}
	for _, boxes := range []string{"scopes", "events"} {
		if p[boxes] != "" && len(sent[boxes]) == 0 {
			p[boxes] = chooseOne
		}
	}
	return p, nil
}

// sentence makes a sentence of a field's error.
func sentence(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:] + "."
}

// form has the values of a form's fields, its choices, and the errors of what was sent.
type form struct {
	url.Values
	Choices  []string
	Problems problems
	// ID is the id of the object that the form changes; empty if it creates one. Was has the fields' values when the form was
	// opened.
	ID  string
	Was url.Values
}

// Time returns the time in a field as its input shows it; "" if it cannot be read.
func (f form) Time(field string) string {
	at, err := timeOf(field, f.Get(field))
	if err != nil {
		return ""
	}
	return at.Format(inputTime)
}

// Ticked reports whether the box of a choice is ticked.
func (f form) Ticked(field, choice string) bool { return slices.Contains(f.Values[field], choice) }
