package db

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPoolsShareTheConnectionsOfAProcess(t *testing.T) {
	t.Parallel()
	for total := MinTotalConns; total < 200; total++ {
		for _, c := range []Config{{}, {MaxConns: 1}, {MaxConns: 6}, {AdmissionConns: 10}, {MaxConns: 40, AdmissionConns: 20}} {
			wanted := c.Conns()
			c.TotalConns = total
			common, admissions := c.poolSizes()
			require.Positive(t, common)
			require.Equal(t, c.AdmissionConns > 0, admissions > 0)
			require.Equal(t, min(wanted, total), c.Conns(), "%+v", c)
		}
	}
	require.Equal(t, max(10, 4*runtime.GOMAXPROCS(0))+10+3, Config{AdmissionConns: 10}.Conns())
}
