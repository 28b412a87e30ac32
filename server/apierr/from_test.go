package apierr_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"

	"go.storefront.example/server/apierr"
)

var errAway = errors.New("connection refused")

func unreachable(err error) bool { return errors.Is(err, errAway) }

func TestIn(t *testing.T) {
	t.Parallel()
	canceled, leave := context.WithCancel(t.Context())
	leave()
	expired, stop := context.WithDeadline(t.Context(), time.Unix(1, 0))
	defer stop()
	ours, stop := context.WithDeadlineCause(t.Context(), time.Unix(1, 0), apierr.ErrServiceTimeout)
	defer stop()
	inner, stop := context.WithTimeout(ours, time.Hour)
	defer stop()
	missing := apierr.New(apierr.ProductNotFound, "No product has this id.")
	bug := &apierr.Refusal{Code: apierr.InternalError, Message: "m", Cause: errors.New("panic")}
	for _, row := range []struct {
		reason string
		ctx    context.Context
		err    error
		code   apierr.Code
		failed bool
	}{
		{"an error while the request lasts", t.Context(), errors.New("bug"), apierr.InternalError, true},
		{"the database is away", t.Context(), errAway, apierr.Unavailable, true},
		{"a time-out inside the service", t.Context(), fmt.Errorf("look: %w", context.DeadlineExceeded), apierr.Unavailable, true},
		{"the caller left", canceled, fmt.Errorf("query: %w", context.Canceled), apierr.Canceled, false},
		{"the caller left, in the driver's words", canceled, errors.New("canceling statement due to user request"), apierr.Canceled,
			false},
		{"the caller left, and the connection with it", canceled, errAway, apierr.Canceled, false},
		{"the caller left while readiness was looked at", canceled, &apierr.Refusal{Code: apierr.Unavailable, Cause: context.Canceled},
			apierr.Canceled, false},
		{"the caller's deadline", expired, context.DeadlineExceeded, apierr.DeadlineExceeded, false},
		{"the service's deadline", ours, context.DeadlineExceeded, apierr.Unavailable, true},
		{"the service's deadline, before the caller's", inner, errors.New("canceling statement due to user request"),
			apierr.Unavailable, true},
		{"a refusal stays what it is", canceled, missing, apierr.ProductNotFound, false},
		{"a bug stays one", canceled, bug, apierr.InternalError, true},
		{"a refusal of the door stays what it is", canceled, apierr.New(apierr.Unavailable, "Full."), apierr.Unavailable, false},
	} {
		t.Run(row.reason, func(t *testing.T) {
			got := apierr.FromRequest(row.ctx, row.err, unreachable)
			require.Equal(t, row.code, got.Code)
			require.Equal(t, row.failed, got.Cause != nil)
			require.Equal(t, row.code == apierr.Canceled || row.code == apierr.DeadlineExceeded, got.CallerGaveUp())
		})
	}
}

func TestInWhileDeadlinesPass(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ours, stop := context.WithTimeoutCause(t.Context(), 10*time.Second, apierr.ErrServiceTimeout)
		defer stop()
		callers, stop := context.WithTimeout(ours, time.Second)
		defer stop()
		<-callers.Done()
		require.Equal(t, apierr.DeadlineExceeded, apierr.FromRequest(callers, callers.Err(), unreachable).Code)
		<-ours.Done()
		require.Equal(t, apierr.DeadlineExceeded, apierr.FromRequest(callers, callers.Err(), unreachable).Code)
		require.Equal(t, apierr.Unavailable, apierr.FromRequest(ours, ours.Err(), unreachable).Code)
	})
}

func TestGivenUpOnEachProtocol(t *testing.T) {
	t.Parallel()
	require.Equal(t, connect.CodeDeadlineExceeded, apierr.New(apierr.DeadlineExceeded, "").ConnectCode())
	require.Equal(t, 504, apierr.New(apierr.DeadlineExceeded, "").Status())
	require.Equal(t, connect.CodeCanceled, apierr.New(apierr.Canceled, "").ConnectCode())
	require.Equal(t, apierr.StatusClientClosedRequest, apierr.New(apierr.Canceled, "").Status())
}
