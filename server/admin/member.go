package admin

import "go.storefront.example/server/validate"

// maxMemberRunes bounds a member's name.
const maxMemberRunes = 100

// MemberName returns the name of a member of a store as the activity journal shows it, without the
// spaces around it. It refuses with validation_failed on field, which is what the caller calls the
// name.
func MemberName(field, name string) (string, error) {
	p := &validate.Problems{}
	name = p.Text(field, name, maxMemberRunes)
	if name == "" {
		p.Invalid(field, "must name the member")
	}
	return name, p.Err()
}
