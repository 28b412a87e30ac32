// Package validate has the rules of single values: texts, e-mails, phones, URLs, amounts, slugs, ids and times. It reads the
// bounds that the protos declare. It collects everything that is wrong with a request or with a row of an import, so that
// one answer names all refused fields. It does not read the database.
package validate

import (
	"context"

	"go.storefront.example/ent/apijson"
	"go.storefront.example/server/apierr"
)

// Problems collects everything that is wrong with a request.
type Problems struct {
	message string
	fields  []apijson.Field
	codes   []apierr.Code // the codes of fields, in the same order
	broken  bool          // whether the body was no JSON object, so that it has no fields
}

// NewProblems returns Problems with the fields of the context's request that could not be decoded (apijson.DecodedOf).
func NewProblems(ctx context.Context) *Problems {
	p := &Problems{}
	invalid := apijson.DecodedOf(ctx).Invalid
	if invalid == nil {
		return p
	}
	p.message = invalid.Message
	p.broken = len(invalid.Fields) == 0
	for _, f := range invalid.Fields {
		p.fields = append(p.fields, f)
		p.codes = append(p.codes, apierr.ValidationFailed)
	}
	return p
}

// Add refuses the field, with this code and this message. If the field is refused already, it does nothing.
func (p *Problems) Add(code apierr.Code, field, message string) {
	if !p.Refused(field) {
		p.fields = append(p.fields, apijson.Field{Name: field, Message: message})
		p.codes = append(p.codes, code)
	}
}

// Invalid refuses a field with validation_failed.
func (p *Problems) Invalid(field, message string) {
	p.Add(apierr.ValidationFailed, field, message)
}

// Refused reports whether the decoder or a rule has refused a field.
func (p *Problems) Refused(field string) bool {
	for _, f := range p.fields {
		if f.Name == field {
			return true
		}
	}
	return false
}

// Recode replaces the code of a refused field by the code that the specification has for this field.
func (p *Problems) Recode(field string, code apierr.Code) {
	for i, f := range p.fields {
		if f.Name == field {
			p.codes[i] = code
		}
	}
}

// Fields returns the refused fields in the order of their refusal.
func (p *Problems) Fields() []apijson.Field { return p.fields }

// Any reports whether anything is refused so far.
func (p *Problems) Any() bool {
	return p.broken || len(p.fields) > 0
}

// Err returns nil if nothing is refused. Otherwise it returns a refusal with the code that all refused fields share; if
// their codes differ, the code is validation_failed.
func (p *Problems) Err() error {
	switch {
	case p.broken:
		return apierr.Invalid(p.message)
	case len(p.fields) == 0:
		return nil
	}
	for _, c := range p.codes {
		if c != p.codes[0] || c == apierr.ValidationFailed {
			return apierr.Invalid("The request has fields that cannot be used; details.fields lists them.", p.fields...)
		}
	}
	return apierr.New(p.codes[0], p.fields[0].Name+" "+p.fields[0].Message+".")
}
