package main

import (
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

// A machine may have hundreds, so only variables with a command's own prefix are compared.
func TestOtherProgramsVariablesCostNothing(t *testing.T) {
	parser, err := newParser(&cli{})
	require.NoError(t, err)
	s := &invocation{errs: io.Discard}
	environ := []string{"STOREFRONT_SECRET_KEY=x", "STOREFRONT_EMPTY="}
	few := testing.AllocsPerRun(1, func() { s.warnOfVariables(environ, parser.Model.Node) })
	for i := range 1000 {
		environ = append(environ, fmt.Sprintf("OTHER_PROGRAMS_VARIABLE_%d=x", i))
	}
	require.InDelta(t, few, testing.AllocsPerRun(1, func() { s.warnOfVariables(environ, parser.Model.Node) }), 100)
}
