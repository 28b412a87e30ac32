// Package validate holds the rules of single values: texts, e-mails, phones, addresses, amounts, slugs,
// ids and moments, with the bounds that the protos declare. It gathers everything that is wrong with a
// request or a line of an import, so that one answer names all refused fields. It reads no database.
package validate

import (
	"go.storefront.example/ent/apijson"
	"go.storefront.example/server/apierr"
)

// Problems gathers everything that is wrong with a request, so that one answer names it all.
type Problems struct {
	message string
	fields  []apijson.Field
	codes   []apierr.Code // of fields, in the same order
	broken  bool          // the body was no JSON object; nothing more can be said of it
}

// Of starts with what the decoder refused; nil is a request that decoded well.
func Of(invalid *apijson.Invalid) *Problems {
	p := &Problems{}
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

// Add refuses a field with a code, unless the field is refused already.
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

// Refused reports whether a field is refused already, by the decoder or by a rule.
func (p *Problems) Refused(field string) bool {
	for _, f := range p.fields {
		if f.Name == field {
			return true
		}
	}
	return false
}

// Recode gives a field that the decoder refused the code that the specification has for it.
func (p *Problems) Recode(field string, code apierr.Code) {
	for i, f := range p.fields {
		if f.Name == field {
			p.codes[i] = code
		}
	}
}

// Fields returns the refused fields, in the order in which they were refused.
func (p *Problems) Fields() []apijson.Field { return p.fields }

// Any reports whether anything is wrong so far.
func (p *Problems) Any() bool {
	return p.broken || len(p.fields) > 0
}

// Err is nil when nothing is wrong; the refusal of the one code that all refused fields share;
// or validation_failed with all of them.
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
