package worker

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db/dbtest"
)

type lines struct{ dbtest.Log }

func (l *lines) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

func (l *lines) waitFor(t testing.TB, message string) {
	t.Helper()
	require.Eventually(t, func() bool { return strings.Contains(l.String(), message) }, hangGuard, time.Millisecond)
}
