package conformance_test

import (
	"slices"
	"testing"
	"time"

	"go.storefront.example/ent/db/dbtest"
)

// scenario runs on every database and in every protocol, each time with a new store.
type scenario struct {
	name      string
	protocols []protocol
	run       func(b *bench)
}

var suite []scenario

func cases(list ...scenario) struct{} {
	suite = append(suite, list...)
	return struct{}{}
}

// TestConformance shares a server between the cases on one database.
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
