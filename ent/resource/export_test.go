package resource

// SetFewMatches sets fewMatches to n. restore sets it back.
func SetFewMatches(n int) (restore func()) {
	before := fewMatches
	fewMatches = n
	return func() { fewMatches = before }
}
