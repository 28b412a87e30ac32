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

// formKeyBytes is how many random bytes identify a form.
const formKeyBytes = 16

// newFormKey returns a new random value for the hidden field that identifies a form. A form that is sent again has the same
// value.
func newFormKey() string {
	var random [formKeyBytes]byte
	_, _ = rand.Read(random[:]) // rand.Read never fails; it ends the process instead
	return base64.RawURLEncoding.EncodeToString(random[:])
}

// idempotencyKey returns the form's idempotency key. With it the change happens once, even if the member reloads the answer, goes
// back to it or clicks twice.
func idempotencyKey(v *visit) (string, error) {
	key := v.r.PostForm.Get("once")
	if random, err := base64.RawURLEncoding.DecodeString(key); err != nil || len(random) != formKeyBytes {
		return "", apierr.Invalid("The form is incomplete. Go back, reload the page and try again.")
	}
	return key, nil
}

// repeatedForm is the page for a form that was sent again, after the first answer had shown a secret. Made says what the form
// created, and To is the address of its page.
type repeatedForm struct{ Made, To string }

// isRepeated reports whether err means that the same form was sent before and has taken effect.
func isRepeated(err error) bool {
	var r *apierr.Refusal
	return errors.As(err, &r) && r.Code == apierr.IdempotencyKeyReused
}

// showRepeated answers a form that was sent again. The page does not show the secret, because only the first answer shows it.
func (d *dashboard) showRepeated(v *visit, title, section string, body repeatedForm) error {
	d.show(v, http.StatusConflict, view{Title: title, Section: section, Template: "repeated", Body: body})
	return nil
}

// problems maps the fields of a form to what is wrong with them; the key "" is for the whole form.
type problems map[string]string

// problem says what is wrong with a field; an empty Text means nothing. First is true for the form's first wrong field, on
// which the page sets the focus.
type problem struct {
	Name, Text string
	First      bool
}

// fieldOrder lists the fields of the forms from top to bottom.
var fieldOrder = []string{"name", "scopes", "lifetime", "url", "description", "events", "window", "since"}

// field returns the problem of the field with this name. Its Text is empty if the field is right.
func (p problems) field(name string) problem {
	first := slices.IndexFunc(fieldOrder, func(field string) bool { return p[field] != "" })
	return problem{name, p[name], first >= 0 && fieldOrder[first] == name}
}

// chooseOne is the problem of check boxes if none is ticked.
const chooseOne = "Choose at least one."

// problemsOf converts err to the problems that the form shows, if err is a refusal that the member can correct in the form.
// codeFields maps further codes to the field that they concern, or to "" if they concern the whole form. problemsOf returns any
// other err unchanged.
func problemsOf(err error, sent url.Values, codeFields map[apierr.Code]string) (problems, error) {
	var r *apierr.Refusal
	if !errors.As(err, &r) {
		return nil, err
	}
	field, known := codeFields[r.Code]
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

// form has the values of a form's fields, the choices that it offers, and the problems of the values.
type form struct {
	url.Values
	Choices  []string
	Problems problems
	// ID is the id of the object that the form changes; empty for a new object. Was has the values of the fields when the
	// member opened the form.
	ID  string
	Was url.Values
}

// Time returns the time in a field, in the form of its input field; "" if the text is no time.
func (f form) Time(field string) string {
	at, err := timeOf(field, f.Get(field))
	if err != nil {
		return ""
	}
	return at.Format(inputTime)
}

// Ticked reports whether the box of a choice is ticked.
func (f form) Ticked(field, choice string) bool { return slices.Contains(f.Values[field], choice) }
