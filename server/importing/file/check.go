package file

import (
	"strings"

	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/validate"
)

// identity is a field that identifies a row among those of its kind, spelt as rows store it.
type identity struct{ field, text string }

func (l *load) identities(e *entry) []identity {
	switch m := e.message.(type) {
	case *storefrontv1.Product:
		return []identity{{"id", spelt(m.GetId())}, {"slug", m.GetSlug()}}
	case *storefrontv1.Customer:
		of := []identity{{"id", spelt(m.GetId())}}
		var p validate.Problems // which the importer reports
		if m.Email != nil {
			if email := p.Email("email", m.GetEmail()); email != nil {
				of = append(of, identity{"email", *email})
			}
		}
		if m.Phone != nil {
			if phone := p.Phone("phone", m.GetPhone(), l.Store.GetCountry()); phone != nil {
				of = append(of, identity{"phone", *phone})
			}
		}
		return of
	case *storefrontv1.Order:
		return []identity{{"id", spelt(m.GetId())}, {"reference", strings.TrimSpace(m.GetReference())}}
	}
	return nil
}

// spelt is an id in lower case.
func spelt(text string) string {
	if id, ok := validate.ParseID(text); ok {
		return id.String()
	}
	return text
}

// repeats reports whether a row that is only checked is that of an earlier batch, and refuses one that
// has what identifies another row. When rows are stored, the store reports both.
func (l *load) repeats(e *entry) bool {
	for _, i := range l.identities(e) {
		switch {
		case i.text == "" || !l.seen[i]:
		case i.field == "id" || l.Kind == Customers && e.derived:
			return true
		default:
			e.refuse(i.field, "is another "+strings.TrimSuffix(string(l.Kind), "s")+"'s")
		}
	}
	return false
}

// checked notes a row that was checked and is not stored.
func (l *load) checked(e *entry) {
	for _, i := range l.identities(e) {
		l.seen[i] = true
	}
}
