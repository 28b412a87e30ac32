package conformance_test

import (
	"slices"
	"testing"
	"time"

	"go.storefront.example/ent/db/dbtest"
)

// scenario is one case of the suite. It runs on every database and protocol, on its own store.
type scenario struct {
	name string
	// on are the protocols that it runs on, if not all can show it; nil means every protocol.
	on  []protocol
	run func(b *bench)
}

// suite are the cases of every resource.
var suite []scenario

// cases adds cases to the suite.
func cases(list ...scenario) struct{} {
	suite = append(suite, list...)
	return struct{}{}
}

// TestConformance runs every case in every protocol and on every database. The cases of a database
// share a server but no store.
func TestConformance(t *testing.T) {
	t.Parallel()
	for _, database := range dbtest.Databases() {
		t.Run(database, func(t *testing.T) {
			t.Parallel()
			s := newService(t, database, settings{step: time.Millisecond})
			for _, f := range protocols() {
				t.Run(f.name(), func(t *testing.T) {
					t.Parallel()
					for _, c := range suite {
						if c.on != nil && !slices.Contains(c.on, f) {
							continue
						}
						t.Run(c.name, func(t *testing.T) {
							t.Parallel()
							c.run(s.newBench(t, f))
						})
					}
				})
			}
		})
	}
}
