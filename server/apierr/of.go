package apierr

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"go.storefront.example/gen/ent"
)

// StatusClientClosedRequest is the HTTP status of a request that its caller abandoned. Nobody receives it; it is logged and
// counted apart from errors. HTTP does not define it; nginx and the Connect protocol use it.
const StatusClientClosedRequest = 499

// ErrOutOfTime is the cause (context.Cause) of a context that ended because the service's own deadline for the request passed.
// If a deadline passed with another cause, it was the caller's.
var ErrOutOfTime = errors.New("the service's deadline for the request passed")

// GaveUp reports whether the caller ended the request by leaving or by its own deadline. Neither is an error of the service.
func (r *Refusal) GaveUp() bool { return r.Code == Canceled || r.Code == DeadlineExceeded }

// FromRequest returns the refusal for an error in a request whose context is ctx. Before ctx ends it is FromError. After that,
// an error that the end caused becomes:
//
//   - unavailable, when the cause is ErrOutOfTime;
//   - deadline_exceeded, when it is any other deadline, which is the caller's;
//   - canceled otherwise: the caller left.
//
// A refusal is returned unchanged, unless it is unavailable with a cause. The error must not be nil.
func FromRequest(ctx context.Context, err error, unreachable func(error) bool) *Refusal {
	if r, ok := errors.AsType[*Refusal](err); ok && (r.Code != Unavailable || r.Cause == nil) {
		return r
	}
	switch ended := context.Cause(ctx); {
	case ended == nil:
		return FromError(err, unreachable)
	case errors.Is(ended, ErrOutOfTime):
		return unavailable(errors.Join(ErrOutOfTime, err))
	case errors.Is(ended, context.DeadlineExceeded):
		return New(DeadlineExceeded, "The call's own deadline passed before it was answered.")
	default:
		return New(Canceled, "The caller left before the request was answered.")
	}
}

// FromError returns the refusal for an error: itself if it is one, unavailable if the database cannot be reached or the service
// ran out of time, internal_error for everything else. The refusal keeps the error as its Cause. The error must not be nil.
func FromError(err error, unreachable func(error) bool) *Refusal {
	var r *Refusal
	switch {
	case errors.As(err, &r):
		return r
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), errors.Is(err, ErrOutOfTime), unreachable(err):
		return unavailable(err)
	default:
		return &Refusal{Code: InternalError, Message: "The service failed to answer; try again later.", Cause: err}
	}
}

// Panic returns the refusal for a panic, with the stack for the log. It is internal_error even if the caller has left.
func Panic(v any) *Refusal {
	return FromError(fmt.Errorf("panic: %v\n%s", v, debug.Stack()), func(error) bool { return false })
}

func unavailable(cause error) *Refusal {
	return &Refusal{Code: Unavailable, Message: "The service cannot answer just now; try again later.", Cause: cause}
}

// OfRow converts the error of reading a resource's row: nil stays nil, a missing row becomes missing's refusal, and any other
// error a failure.
func OfRow(resource string, err error, missing func() error) error {
	switch {
	case err == nil:
		return nil
	case ent.IsNotFound(err):
		return missing()
	default:
		return fmt.Errorf("read %s: %w", resource, err)
	}
}
