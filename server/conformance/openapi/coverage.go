package openapi

import "slices"

// Places returns the number of the document's places that can be seen: answers, codes, headers, parameters, properties, enum
// values, nulls, and deliveries.
func (d *Document) Places() int { return len(d.marks) }

// Unseen returns, in order, the places that no exchange and no delivery has shown so far.
func (d *Document) Unseen() []string {
	var out []string
	for place, m := range d.marks {
		if !m.seen.Load() {
			out = append(out, place)
		}
	}
	slices.Sort(out)
	return out
}
