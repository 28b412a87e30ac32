package rpc

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"connectrpc.com/connect"

	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/admin"
)

// silence is after how long without an answer a stream counts as broken: the server sends one every
// admin.WatchBeat.
const silence = 3 * admin.WatchBeat

var errSilent = errors.New("the server has been silent for too long")

// Watch opens a stream of events and calls pass with each of its answers. It returns nil when the
// server ends the stream, and otherwise the error of the call, of the connection or of pass.
func (c *Client) Watch(ctx context.Context, in *adminv1.WatchEventsRequest, pass func(*adminv1.WatchEventsResponse) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	quiet := time.AfterFunc(silence, func() { cancel(errSilent) })
	defer quiet.Stop()
	stream, err := c.streams.WatchEvents(ctx, in)
	if err != nil {
		return c.broken(ctx, err)
	}
	defer func() { _ = stream.Close() }()
	for stream.Receive() {
		quiet.Stop() // pass may take as long as it likes
		if err := pass(stream.Msg()); err != nil {
			return err
		}
		quiet.Reset(silence)
	}
	if err := stream.Err(); err != nil {
		return c.broken(ctx, err)
	}
	return nil
}

// broken is the error of a stream.
func (c *Client) broken(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), errSilent) {
		return fmt.Errorf("ask %s: %w", c.base, errSilent)
	}
	return refusalOf(c.base, err)
}

// signed adds the headers of a call to a stream. Unary calls have an interceptor of their own.
type signed func(context.Context, http.Header)

var _ connect.Interceptor = signed(nil)

// WrapUnary does nothing.
func (signed) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc { return next }

// WrapStreamingHandler is for servers, and does nothing.
func (signed) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return next
}

// WrapStreamingClient adds the headers.
func (s signed) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return func(ctx context.Context, spec connect.Spec) connect.StreamingClientConn {
		conn := next(ctx, spec)
		s(ctx, conn.RequestHeader())
		return conn
	}
}
