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

// onceBytes is the randomness that distinguishes a form from all others.
const onceBytes = 16

// once makes the hidden field by which a form is recognised when it is sent again.
func once() string {
	var random [onceBytes]byte
	_, _ = rand.Read(random[:]) // never fails: it ends the process instead
	return base64.RawURLEncoding.EncodeToString(random[:])
}

// onceKey returns the form's idempotency key. Under it the operator carries the form out once, also if the
// reader reloads the page that answers it, goes back to it or clicks twice.
func onceKey(v *visit) (string, error) {
	key := v.r.PostForm.Get("once")
	if random, err := base64.RawURLEncoding.DecodeString(key); err != nil || len(random) != onceBytes {
		return "", apierr.Invalid("The form is incomplete. Go back, reload the page and try again.")
	}
	return key, nil
}

// repeated is the page of a form that came again after it had shown a secret: what it made, and the page about that.
type repeated struct{ Made, To string }

// isRepeated reports whether an error refuses a form that was carried out before.
func isRepeated(err error) bool {
	var r *apierr.Refusal
	return errors.As(err, &r) && r.Code == apierr.IdempotencyKeyReused
}

// showRepeated answers a form that came again. It shows no secret: only the first answer did.
func (d *dashboard) showRepeated(v *visit, title, section string, body repeated) error {
	d.show(v, http.StatusConflict, view{Title: title, Section: section, Template: "repeated", Body: body})
	return nil
}

// problems are what is wrong with a form, by field; "" is about the whole of it.
type problems map[string]string

// problem is what is wrong with one field; Text is empty when nothing is. First marks the first bad field of a form, which
// gets the focus.
type problem struct {
	Name, Text string
	First      bool
}

// fieldOrder are the fields of the forms from top to bottom.
var fieldOrder = []string{"name", "scopes", "lifetime", "url", "description", "events", "window", "since"}

// of returns what is wrong with a field.
func (p problems) of(name string) problem {
	first := slices.IndexFunc(fieldOrder, func(field string) bool { return p[field] != "" })
	return problem{name, p[name], first >= 0 && fieldOrder[first] == name}
}

// chooseOne is what is wrong with a form of which no box is ticked.
const chooseOne = "Choose at least one."

// problemsOf reads a refusal that the reader can correct in the form. whole names, for a code, the field
// that it is about. Every other error is returned unchanged.
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

// sentence makes a sentence of the problem of a field.
func sentence(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:] + "."
}

// form is a form: what stands in its fields, the boxes to tick, and what is wrong with what was sent.
type form struct {
	url.Values
	Choices  []string
	Problems problems
	// ID is that of what the form changes, empty if it makes something, and Was has the fields as they were when the form was
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
