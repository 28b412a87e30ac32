package admin

import "go.storefront.example/server/validate"

// maxMemberRunes is how many characters a member's name may have.
const maxMemberRunes = 100

// MemberName returns a member's name as the activity journal shows it: without spaces around it. It refuses with
// validation_failed; field is the field to name in the refusal.
func MemberName(field, name string) (string, error) {
	p := &validate.Problems{}
	name = p.Line(field, name, maxMemberRunes)
	if name == "" {
		p.Invalid(field, "must name the member")
	}
	return name, p.Err()
}
