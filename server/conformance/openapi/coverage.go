package openapi

import "slices"

// Places counts the parts that can be seen: answers, codes, headers, parameters, properties, enum values, nulls and deliveries.
func (d *Document) Places() int { return len(d.marks) }

// Unseen returns what no exchange and no delivery has shown yet, in order.
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
