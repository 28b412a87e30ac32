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

const formKeyBytes = 16

// newFormKey is for the hidden field that identifies a form, also when it is sent again.
func newFormKey() string {
	var random [formKeyBytes]byte
	_, _ = rand.Read(random[:]) // rand.Read never fails; it ends the process instead
	return base64.RawURLEncoding.EncodeToString(random[:])
}

// idempotencyKey makes the change happen once, however often the member reloads the answer or clicks.
func idempotencyKey(v *visit) (string, error) {
	key := v.r.PostForm.Get("once")
	if random, err := base64.RawURLEncoding.DecodeString(key); err != nil || len(random) != formKeyBytes {
		return "", apierr.Invalid("The form is incomplete. Go back, reload the page and try again.")
	}
	return key, nil
}

// repeatedForm answers a form sent again after its secret was shown. To is the address of what it Made.
type repeatedForm struct{ Made, To string }

// isRepeated reports whether the same form has taken effect before.
func isRepeated(err error) bool {
	var r *apierr.Refusal
	return errors.As(err, &r) && r.Code == apierr.IdempotencyKeyReused
}

func (d *dashboard) showRepeated(v *visit, title, section string, body repeatedForm) error {
	d.show(v, http.StatusConflict, view{Title: title, Section: section, Template: "repeated", Body: body})
	return nil
}

// fieldProblems are by field; the key "" is for the whole form.
type fieldProblems map[string]string

// problem has an empty Text if nothing is wrong. First marks the first wrong field, which gets the focus.
type problem struct {
	Name, Text string
	First      bool
}

var fieldOrder = []string{"name", "scopes", "lifetime", "url", "description", "events", "window", "since"}

func (p fieldProblems) field(name string) problem {
	first := slices.IndexFunc(fieldOrder, func(field string) bool { return p[field] != "" })
	return problem{name, p[name], first >= 0 && fieldOrder[first] == name}
}

const chooseOne = "Choose at least one."

// problemsOf converts a refusal that the member can correct. codeFields has the field of further codes, or "" for the whole
// form.
func problemsOf(err error, sent url.Values, codeFields map[apierr.Code]string) (fieldProblems, error) {
	var r *apierr.Refusal
	if !errors.As(err, &r) {
		return nil, err
	}
	field, known := codeFields[r.Code]
	switch {
	case known:
		return fieldProblems{field: r.Message}, nil
	case r.Code != apierr.ValidationFailed:
		return nil, err
	}
	p := fieldProblems{}
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

func sentence(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:] + "."
}

type form struct {
	url.Values
	Choices  []string
	Problems fieldProblems
	// ID is empty for a new object. Was has the values when the member opened the form.
	ID  string
	Was url.Values
}

// Time formats a field for its input field; "" if the text is no time.
func (f form) Time(field string) string {
	at, err := timeOf(field, f.Get(field))
	if err != nil {
		return ""
	}
	return at.Format(inputTime)
}

func (f form) Ticked(field, choice string) bool { return slices.Contains(f.Values[field], choice) }
