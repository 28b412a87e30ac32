package client

import (
	"context"
	"net/http"
	"strconv"
)

// Response is the HTTP response of a call, without its body.
type Response struct {
	// Status is the HTTP status. Connect has 200 for every success, also for a customer that was created.
	Status int
	// Header has all headers.
	Header http.Header
	// RequestID identifies the request in the service's logs; quote it when you ask for help.
	RequestID string
	// RateLimit is the key's rate limit; nil if the service did not send it.
	RateLimit *RateLimit
}

// RateLimit is how many requests the API key may still make in this minute.
type RateLimit struct {
	// Limit is the maximum number of requests in a minute, and Remaining the number that is left.
	Limit, Remaining int
	// ResetSeconds is when the counter restarts.
	ResetSeconds int
}

type responseKey struct{}

// WithResponse returns a context for a call that stores the call's last HTTP response in r. If there was none, r does not
// change. Use such a context for one call at a time; in a list, r has the response of the last page.
//
//	var response client.Response
//	product, err := shop.Products.Get(client.WithResponse(ctx, &response), id)
func WithResponse(ctx context.Context, r *Response) context.Context {
	return context.WithValue(ctx, responseKey{}, r)
}

func (a *attempt) storeResponse(ctx context.Context) {
	r, _ := ctx.Value(responseKey{}).(*Response)
	if r == nil || a.response == nil {
		return
	}
	header := a.response.Header
	*r = Response{Status: a.response.StatusCode, Header: header, RequestID: header.Get("X-Request-Id")}
	limit, err := strconv.Atoi(header.Get("X-RateLimit-Limit"))
	remaining, err2 := strconv.Atoi(header.Get("X-RateLimit-Remaining"))
	reset, err3 := strconv.Atoi(header.Get("X-RateLimit-Reset"))
	if err == nil && err2 == nil && err3 == nil {
		r.RateLimit = &RateLimit{limit, remaining, reset}
	}
}
