package dashboard

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"net/http"
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

// repeated is the page of a form that came again after it had shown a secret.
type repeated struct {
	// Text explains what happened to the secret, in paragraphs.
	Text []string
	// To is the page of the thing that was made, Button the label of the link to it.
	To, Button string
}

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

// problem is what is wrong with one field; Text is empty when nothing is.
type problem struct{ Name, Text string }

// problemsOf reads a refusal that the reader can correct in the form. whole names, for a code, the field
// that it is about. Every other error is returned unchanged.
func problemsOf(err error, whole map[apierr.Code]string) (problems, error) {
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
	return p, nil
}

// sentence makes a sentence of the problem of a field.
func sentence(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:] + "."
}

// set makes a set of the boxes that were ticked.
func set(names []string) map[string]bool {
	all := make(map[string]bool, len(names))
	for _, n := range names {
		all[n] = true
	}
	return all
}
