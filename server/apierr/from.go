package apierr

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"go.storefront.example/gen/ent"
)

// StatusClientClosedRequest is the status, in logs and metrics only, of a request that the caller gave up, which is no error of
// the service. nginx and the Connect protocol use it; HTTP does not define it.
const StatusClientClosedRequest = 499

// ErrServiceTimeout is the cause (context.Cause) of a context whose request took longer than the service allows. A deadline
// with another cause is the caller's own.
var ErrServiceTimeout = errors.New("the service's deadline for the request passed")

// CallerGaveUp reports whether the caller left or the caller's own deadline passed, which is no error of the service.
func (r *Refusal) CallerGaveUp() bool { return r.Code == Canceled || r.Code == DeadlineExceeded }

// FromRequest returns the refusal for err, an error in a request with the context ctx. If err is a refusal already,
// FromRequest returns it unchanged, unless its code is unavailable and it has a cause. For any other err, and as long as ctx
// has not ended, FromRequest calls FromError. Once ctx has ended, the code of the refusal says why:
//
//   - unavailable, if the request took longer than the service allows (the cause is ErrServiceTimeout);
//   - deadline_exceeded, if the caller's own deadline has passed;
//   - canceled otherwise, because the caller has left.
//
// err must not be nil.
func FromRequest(ctx context.Context, err error, unreachable func(error) bool) *Refusal {
	if r, ok := errors.AsType[*Refusal](err); ok && (r.Code != Unavailable || r.Cause == nil) {
		return r
	}
	switch ended := context.Cause(ctx); {
	case ended == nil:
		return FromError(err, unreachable)
	case errors.Is(ended, ErrServiceTimeout):
		return unavailable(errors.Join(ErrServiceTimeout, err))
	case errors.Is(ended, context.DeadlineExceeded):
		return New(DeadlineExceeded, "The call's own deadline passed before it was answered.")
	default:
		return New(Canceled, "The caller left before the request was answered.")
	}
}

// FromError returns the refusal for err, which must not be nil. A refusal stays as it is. Any other err becomes the Cause of
// unavailable, if the database cannot be reached or the service ran out of time, or of internal_error.
func FromError(err error, unreachable func(error) bool) *Refusal {
	var r *Refusal
	switch {
	case errors.As(err, &r):
		return r
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), errors.Is(err, ErrServiceTimeout),
		unreachable(err):
		return unavailable(err)
	default:
		return &Refusal{Code: InternalError, Message: "The service failed to answer; try again later.", Cause: err}
	}
}

// FromPanic returns internal_error with the stack as its cause, whether or not the caller has left.
func FromPanic(v any) *Refusal {
	return FromError(fmt.Errorf("panic: %v\n%s", v, debug.Stack()), func(error) bool { return false })
}

func unavailable(cause error) *Refusal {
	return &Refusal{Code: Unavailable, Message: "The service cannot answer just now; try again later.", Cause: cause}
}

// RowError converts the error of reading a row, or nil. If the row does not exist, it returns notFound(). It wraps other errors
// with the resource's name.
func RowError(resource string, err error, notFound func() error) error {
	switch {
	case err == nil:
		return nil
	case ent.IsNotFound(err):
		return notFound()
	default:
		return fmt.Errorf("read %s: %w", resource, err)
	}
}
