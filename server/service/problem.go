package service

import (
	"go.storefront.example/ent/wire"
	"go.storefront.example/server/apierr"
)

// problems gathers everything that is wrong with a request, so that one answer names it all.
type problems struct {
	message string
	fields  []wire.Field
	codes   []apierr.Code // of fields, in the same order
	broken  bool          // the body was no JSON object; nothing more can be said of it
}

// problemsOf starts with what the decoder refused; nil is a request that decoded well.
func problemsOf(invalid *wire.Invalid) *problems {
	p := &problems{}
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

// add refuses a field with a code, unless the field is refused already.
func (p *problems) add(code apierr.Code, field, message string) {
	if !p.refused(field) {
		p.fields = append(p.fields, wire.Field{Name: field, Message: message})
		p.codes = append(p.codes, code)
	}
}

// invalid refuses a field with validation_failed.
func (p *problems) invalid(field, message string) {
	p.add(apierr.ValidationFailed, field, message)
}

// refused reports whether a field is refused already, by the decoder or by a rule.
func (p *problems) refused(field string) bool {
	for _, f := range p.fields {
		if f.Name == field {
			return true
		}
	}
	return false
}

// recode gives a field that the decoder refused the code that the specification has for it.
func (p *problems) recode(field string, code apierr.Code) {
	for i, f := range p.fields {
		if f.Name == field {
			p.codes[i] = code
		}
	}
}

// any reports whether anything is wrong so far.
func (p *problems) any() bool {
	return p.broken || len(p.fields) > 0
}

// err is nil when nothing is wrong; the refusal of the one code that all refused fields share;
// or validation_failed with all of them.
func (p *problems) err() error {
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
