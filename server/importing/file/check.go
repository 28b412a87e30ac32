package file

import (
	"strings"

	storefrontv1 "go.storefront.example/gen/storefront/v1"
)

// identity is a field that identifies a row among those of its kind, as the file has it.
type identity struct{ field, text string }

func (e *entry) identities() []identity {
	switch m := e.message.(type) {
	case *storefrontv1.Product:
		return []identity{{"id", m.GetId()}, {"slug", m.GetSlug()}}
	case *storefrontv1.Customer:
		return []identity{{"id", m.GetId()}, {"email", strings.ToLower(strings.TrimSpace(m.GetEmail()))}, {"phone", m.GetPhone()}}
	case *storefrontv1.Order:
		return []identity{{"id", m.GetId()}, {"reference", m.GetReference()}}
	}
	return nil
}

// repeats reports whether a row that is only checked is that of an earlier batch, and refuses one that
// has what identifies another row. When rows are stored, the store reports both.
func (l *load) repeats(e *entry) bool {
	for _, i := range e.identities() {
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
	for _, i := range e.identities() {
		l.seen[i] = true
	}
}
