package refusal_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"

	"go.storefront.example/server/refusal"
)

var errAway = errors.New("connection refused")

func away(err error) bool { return errors.Is(err, errAway) }

// What broke because a request ended is told by who ended it.
func TestIn(t *testing.T) {
	t.Parallel()
	left, leave := context.WithCancel(t.Context())
	leave()
	late, stop := context.WithDeadline(t.Context(), time.Unix(1, 0))
	defer stop()
	ours, stop := context.WithDeadlineCause(t.Context(), time.Unix(1, 0), refusal.ErrOutOfTime)
	defer stop()
	below, stop := context.WithTimeout(ours, time.Hour)
	defer stop()
	missing := refusal.New(refusal.ProductNotFound, "No product has this id.")
	bug := &refusal.Refusal{Code: refusal.InternalError, Message: "m", Cause: errors.New("panic")}
	for _, row := range []struct {
		reason string
		ctx    context.Context
		err    error
		code   refusal.Code
		failed bool
	}{
		{"an error while the request lasts", t.Context(), errors.New("bug"), refusal.InternalError, true},
		{"the database is away", t.Context(), errAway, refusal.Unavailable, true},
		{"a time-out inside the service", t.Context(), fmt.Errorf("look: %w", context.DeadlineExceeded), refusal.Unavailable, true},
		{"the caller left", left, fmt.Errorf("query: %w", context.Canceled), refusal.Canceled, false},
		{"the caller left, in the driver's words", left, errors.New("canceling statement due to user request"), refusal.Canceled, false},
		{"the caller left, and the connection with it", left, errAway, refusal.Canceled, false},
		{"the caller left while readiness was looked at", left, &refusal.Refusal{Code: refusal.Unavailable, Cause: context.Canceled}, refusal.Canceled, false},
		{"the caller's deadline", late, context.DeadlineExceeded, refusal.DeadlineExceeded, false},
		{"the service's deadline", ours, context.DeadlineExceeded, refusal.Unavailable, true},
		{"the service's deadline, before the caller's", below, errors.New("canceling statement due to user request"), refusal.Unavailable, true},
		{"a refusal stays what it is", left, missing, refusal.ProductNotFound, false},
		{"a bug stays one", left, bug, refusal.InternalError, true},
		{"a refusal of the door stays what it is", left, refusal.New(refusal.Unavailable, "Full."), refusal.Unavailable, false},
	} {
		got := refusal.In(row.ctx, row.err, away)
		require.Equal(t, row.code, got.Code, row.reason)
		require.Equal(t, row.failed, got.Cause != nil, row.reason)
		require.Equal(t, row.code == refusal.Canceled || row.code == refusal.DeadlineExceeded, got.GaveUp(), row.reason)
	}
}

// A deadline that passes while the request runs is told apart too.
func TestInWhileDeadlinesPass(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ours, stop := context.WithTimeoutCause(t.Context(), 10*time.Second, refusal.ErrOutOfTime)
		defer stop()
		callers, stop := context.WithTimeout(ours, time.Second)
		defer stop()
		<-callers.Done()
		require.Equal(t, refusal.DeadlineExceeded, refusal.In(callers, callers.Err(), away).Code)
		<-ours.Done()
		require.Equal(t, refusal.DeadlineExceeded, refusal.In(callers, callers.Err(), away).Code)
		require.Equal(t, refusal.Unavailable, refusal.In(ours, ours.Err(), away).Code)
	})
}

func TestGivenUpOnEachProtocol(t *testing.T) {
	t.Parallel()
	require.Equal(t, connect.CodeDeadlineExceeded, refusal.New(refusal.DeadlineExceeded, "").ConnectCode())
	require.Equal(t, 504, refusal.New(refusal.DeadlineExceeded, "").Status())
	require.Equal(t, connect.CodeCanceled, refusal.New(refusal.Canceled, "").ConnectCode())
	require.Equal(t, refusal.StatusGone, refusal.New(refusal.Canceled, "").Status())
}
