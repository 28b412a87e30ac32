package resource

// SetFewMatches changes fewMatches until the function that it returns is called.
func SetFewMatches(n int) (restore func()) {
	before := fewMatches
	fewMatches = n
	return func() { fewMatches = before }
}
