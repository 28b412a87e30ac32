package client

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"go.storefront.example/gen/storefront/v1/storefrontv1connect"
)

const (
	// attemptTimeout is shorter than DefaultTimeout, so that after an attempt on a dead connection there is time for a retry.
	attemptTimeout = 30 * time.Second
	// firstDelay and maxDelay bound the pause before a retry if the answer had no Retry-After.
	firstDelay = 250 * time.Millisecond
	maxDelay   = 8 * time.Second
	// maxRetryAfter is the longest Retry-After that is waited for. The service counts requests per minute (specification,
	// Limits), so it never asks for more.
	maxRetryAfter = time.Minute
	// maxAnswerBytes exceeds a page of a hundred products with the longest descriptions.
	maxAnswerBytes = 32 << 20
)

// caller sends requests and retries them within a call's time.
type caller struct {
	maxRetries int
	timeout    time.Duration
}

// attempt is one sent request with its HTTP response. The context carries it, because the generated methods return only a
// message or an error.
type attempt struct {
	spec     connect.Spec
	sent     bool
	response *http.Response // nil if no response arrived
}

type attemptKey struct{}

// operation is the method without its service, such as GetStore.
func (a *attempt) operation() string {
	return a.spec.Procedure[strings.LastIndexByte(a.spec.Procedure, '/')+1:]
}

// call calls a method with retries, all before the context's deadline or the end of the call's time.
func call[Q, A any](ctx context.Context, c *caller, method func(context.Context, *Q) (*A, error), request *Q) (*A, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	for retries := 0; ; retries++ {
		a := &attempt{}
		answer, err := callOnce(context.WithValue(ctx, attemptKey{}, a), method, request)
		a.storeResponse(ctx)
		if err == nil {
			err = checkWhole(any(answer).(proto.Message).ProtoReflect())
		}
		if err == nil {
			return answer, nil
		}
		failed := newError(ctx, a, err)
		if retries == c.maxRetries || !a.repeatable(failed) {
			return nil, failed
		}
		pause := delay(retries)
		if failed.RetryAfter > 0 {
			pause = failed.RetryAfter
		}
		if deadline, set := ctx.Deadline(); pause > maxRetryAfter || set && time.Until(deadline) <= pause {
			return nil, failed
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, newError(ctx, a, ctx.Err())
		}
	}
}

func callOnce[Q, A any](ctx context.Context, method func(context.Context, *Q) (*A, error), request *Q) (*A, error) {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	return method(ctx, request)
}

// checkWhole requires the fields that every answer has: the id of an object, the page size of a list. Protobuf reads an empty
// body, and some that were cut, as a message whose other fields are zero.
func checkWhole(answer protoreflect.Message) error {
	for _, name := range []protoreflect.Name{"id", "page_size"} {
		if field := answer.Descriptor().Fields().ByName(name); field != nil && !answer.Has(field) {
			return fmt.Errorf("it has no %s", field.JSONName())
		}
	}
	return nil
}

// repeatable is the table of the package comment.
func (a *attempt) repeatable(e *Error) bool {
	if e.Status == http.StatusTooManyRequests {
		return true
	}
	return a.idempotent() && (e.Status >= http.StatusInternalServerError || e.Code == NetworkError || e.Code == Timeout)
}

// idempotent reports whether the request has the same effect sent twice. The protos say so of reads and of enabling a payment
// link, and the specification of changes and of creating a customer.
func (a *attempt) idempotent() bool {
	switch a.spec.Procedure {
	case storefrontv1connect.ProductServiceUpdateProductProcedure,
		storefrontv1connect.CustomerServiceCreateCustomerProcedure,
		storefrontv1connect.CustomerServiceUpdateCustomerProcedure,
		storefrontv1connect.PaymentLinkServiceUpdatePaymentLinkProcedure:
		return true
	}
	return a.spec.IdempotencyLevel != connect.IdempotencyUnknown
}

// delay doubles with each retry, up to maxDelay. Half of it is random, so that clients that failed together retry at different
// times.
func delay(retries int) time.Duration {
	full := maxDelay
	if retries < 5 { // 250 ms << 5 is 8 s, as much as maxDelay
		full = firstDelay << retries
	}
	return full/2 + rand.N(full/2) //nolint:gosec // A pause need not be secret.
}

// signer adds the key and the program's name. The key is in no struct, so that printing a Client does not show it.
func signer(key, userAgent string) connect.UnaryInterceptorFunc {
	return func(next connect.UnaryFunc) connect.UnaryFunc {
		return func(ctx context.Context, request connect.AnyRequest) (connect.AnyResponse, error) {
			request.Header().Set("Authorization", "Bearer "+key)
			request.Header().Set("User-Agent", userAgent)
			a, _ := ctx.Value(attemptKey{}).(*attempt)
			a.spec = request.Spec()
			// Connect would send an empty request instead of reporting the error.
			if _, err := proto.Marshal(request.Any().(proto.Message)); err != nil {
				return nil, err
			}
			a.sent = true
			return next(ctx, request)
		}
	}
}

// recordingClient records each response, because Connect drops the status and the headers of one that is not in its format,
// such as a proxy's page.
type recordingClient struct{ httpClient *http.Client }

func (d *recordingClient) Do(r *http.Request) (*http.Response, error) {
	response, err := d.httpClient.Do(r)
	a, _ := r.Context().Value(attemptKey{}).(*attempt)
	a.response = response
	return response, err
}
