package conformance_test

import (
	"slices"
	"testing"
	"time"

	"go.storefront.example/ent/db/dbtest"
)

// scenario is a case of the suite. It runs on every database and in every protocol, each time with a new store.
type scenario struct {
	name string
	// protocols are those in which the case runs; nil means all.
	protocols []protocol
	run       func(b *bench)
}

var suite []scenario

func cases(list ...scenario) struct{} {
	suite = append(suite, list...)
	return struct{}{}
}

// TestConformance runs every case on every database and in every protocol. The cases on one database share a server, and
// each has its own store.
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
						if c.protocols != nil && !slices.Contains(c.protocols, f) {
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
