package admin

import "go.storefront.example/server/validate"

var maxMemberRunes = validate.MaxOf("storefront.admin.v1.CreateSignInLinkRequest.member")

// MemberName returns a name as the activity journal shows it, without spaces around it. A refusal names field.
func MemberName(field, name string) (string, error) {
	p := &validate.Problems{}
	name = p.Line(field, name, maxMemberRunes)
	if name == "" {
		p.Invalid(field, "must name the member")
	}
	return name, p.Err()
}
