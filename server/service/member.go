package service

// maxMemberRunes bounds a member's name.
const maxMemberRunes = 100

// MemberName returns the name of a member of a store as the activity journal shows it, without the
// spaces around it. It refuses with validation_failed on field, which is what the caller calls the
// name.
func MemberName(field, name string) (string, error) {
	p := &problems{}
	name = p.text(field, name, maxMemberRunes)
	if name == "" {
		p.invalid(field, "must name the member")
	}
	return name, p.err()
}
