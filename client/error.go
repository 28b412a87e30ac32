package client

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"connectrpc.com/connect"

	storefrontv1 "go.storefront.example/gen/storefront/v1"
)

// Error is the error of a call. Every error that a call returns is an *Error:
//
//	var refused *client.Error
//	if errors.As(err, &refused) && refused.Code == client.ProductIncomplete {
type Error struct {
	// Operation is the method of the API that was called, such as UpdateProduct.
	Operation string
	// Code is the reason.
	Code Code
	// Status is the HTTP status that the specification gives for the code, or 0 without an answer.
	Status int
	// Message explains the reason in English, for people. It may change at any time.
	Message string
	// Details is set for ValidationFailed (Fields), InsufficientScope (Required) and ProductIncomplete (Missing). Its getters
	// may be called on nil.
	Details *storefrontv1.ErrorDetails
	// RequestID identifies the request in the service's logs; quote it when you ask for help. It is empty when the service did
	// not answer.
	RequestID string
	// RetryAfter is the Retry-After of the answer, in whole seconds; 0 without one.
	RetryAfter time.Duration

	cause error
}

// Error returns the operation, the code, the message with its details, and the request's identifier.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "storefront: %s: %s: %s", e.Operation, e.Code, e.Message)
	var details []string
	for _, f := range e.Details.GetFields() {
		details = append(details, f.GetField()+" "+f.GetMessage())
	}
	details = append(details, e.Details.GetMissing()...)
	if scope := e.Details.GetRequired(); scope != "" {
		details = append(details, scope)
	}
	if len(details) > 0 {
		fmt.Fprintf(&b, " [%s]", strings.Join(details, "; "))
	}
	if e.RequestID != "" {
		fmt.Fprintf(&b, " (request %s)", e.RequestID)
	}
	return b.String()
}

// Unwrap returns a *connect.Error, with the answer's headers as its metadata, or the context's error.
func (e *Error) Unwrap() error { return e.cause }

// serviceDeadline is the service's code if it noticed first that the call's deadline had passed.
const serviceDeadline = "deadline_exceeded"

// newError finds the Code of a failed attempt. Connect reports a reset connection as canceled and a proxy's 404 as
// unimplemented.
func newError(ctx context.Context, a *attempt, err error) *Error {
	e := &Error{Operation: a.operation(), cause: err}
	if a.response != nil {
		e.Status = a.response.StatusCode
		e.RetryAfter = retryAfter(a.response.Header)
	}
	refusal := ServiceError(err)
	switch {
	case refusal.GetCode() == serviceDeadline:
		// Connect sends the context's deadline to the service, which noticed first.
		e.Code, e.Message, e.cause = Timeout, "the call's deadline passed", errors.Join(context.DeadlineExceeded, err)
		e.RequestID = refusal.GetRequestId()
	case refusal != nil:
		e.Code, e.Message, e.Status = Code(refusal.GetCode()), refusal.GetMessage(), int(refusal.GetStatusCode())
		e.Details, e.RequestID = refusal.GetDetails(), refusal.GetRequestId()
	case errors.Is(ctx.Err(), context.Canceled):
		e.Code, e.Message, e.cause = Canceled, "the context was canceled", errors.Join(ctx.Err(), err)
	case ctx.Err() != nil:
		e.Code, e.Message, e.cause = Timeout, "the call's deadline passed", errors.Join(ctx.Err(), err)
	case !a.sent:
		e.Code, e.Message = InvalidRequest, "the request cannot be encoded: "+reason(err)
	case errors.Is(err, context.DeadlineExceeded):
		e.Code, e.Message = Timeout, "no answer in time: "+reason(err)
	case connect.CodeOf(err) == connect.CodeResourceExhausted && e.Status == http.StatusOK:
		e.Code, e.Message = UnexpectedAnswer, "the answer is too large: "+reason(err)
	case a.response == nil || a.truncated():
		e.Code, e.Message = NetworkError, "no whole answer: "+reason(err)
	default:
		why := reason(err)
		if to := a.response.Header.Get("Location"); to != "" {
			why = "it redirects to " + to
		}
		e.Code, e.Message = UnexpectedAnswer,
			fmt.Sprintf("answered %s with %q, which is not the service's: check the base URL and what stands before the service (%s)",
				a.response.Status, a.contentType(), why)
	}
	return e
}

// ServiceError returns the service's error body in an error of a generated client, or nil if the service did not answer. The
// methods of this package return an *Error instead.
func ServiceError(err error) *storefrontv1.Error {
	var answered *connect.Error
	if !errors.As(err, &answered) {
		return nil
	}
	for _, detail := range answered.Details() {
		if value, err := detail.Value(); err == nil {
			if refusal, ok := value.(*storefrontv1.Error); ok {
				return refusal
			}
		}
	}
	return nil
}

// reason leaves out Connect's code, which may be misleading (see newError).
func reason(err error) string {
	if coded, ok := errors.AsType[*connect.Error](err); ok {
		return coded.Message()
	}
	return err.Error()
}

// retryAfter reads seconds, and of several values the first. It ignores a date, which proxies may send. A number that is too
// large becomes the largest one, so that the client does not retry at once.
func retryAfter(h http.Header) time.Duration {
	seconds, err := strconv.ParseUint(strings.Split(h.Get("Retry-After"), ",")[0], 10, 31)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0
	}
	return time.Duration(seconds) * time.Second //nolint:gosec // seconds has at most 31 bits.
}

// truncated reports whether the answer begins as a success of the service, so that it must have broken off.
func (a *attempt) truncated() bool {
	return a.response.StatusCode == http.StatusOK && a.contentType() == "application/proto"
}

func (a *attempt) contentType() string {
	kind, _, _ := mime.ParseMediaType(a.response.Header.Get("Content-Type"))
	return kind
}
