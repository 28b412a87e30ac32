package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestDelaysArePrintedAsTheyAreRead(t *testing.T) {
	t.Parallel()
	for text, waits := range map[string][]time.Duration{
		"1m,5m,1h,12h":    {time.Minute, 5 * time.Minute, time.Hour, 12 * time.Hour},
		"10s,10m,10h":     {10 * time.Second, 10 * time.Minute, 10 * time.Hour},
		"1m30s,1h10m,90h": {90 * time.Second, 70 * time.Minute, 90 * time.Hour},
		"1h0m5s,20m":      {time.Hour + 5*time.Second, 20 * time.Minute},
		"500ms":           {500 * time.Millisecond},
	} {
		require.Equal(t, text, delays{waits}.String())
		var read delays
		require.NoError(t, read.UnmarshalText([]byte(text)))
		require.Equal(t, waits, read.waits)
	}
}
