package rpc

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"runtime/debug"
	"time"

	"connectrpc.com/connect"
	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	"go.storefront.example/ent/tenant"
	"go.storefront.example/ent/wire"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/refusal"
	"go.storefront.example/server/shop"
)

// MaxBodyBytes is the size of the largest request that is read: 1 MiB.
const MaxBodyBytes = 1 << 20

// memberHeader names the member of the store on whose behalf a call is made, percent-encoded.
const memberHeader = "Storefront-Member"

// exchange is a call and what is known of it until it is logged.
type exchange struct {
	request tenant.Request
	route   string // the procedure; "unmatched" when there is none
	member  string
	refusal *refusal.Refusal // nil while it is served
}

type exchangeKey struct{}

// serve puts the gate, the request's identifier and its line in the log before a service.
func (c Config) serve(next http.Handler) http.Handler {
	errors := connect.NewErrorWriter()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := &exchange{request: tenant.Request{ID: uuid.New()}, route: "unmatched"}
		start := time.Now()
		w.Header().Set("X-Request-Id", x.request.ID.String())
		ctx, err := c.admit(context.WithValue(tenant.WithRequest(r.Context(), &x.request), exchangeKey{}, x), x, r)
		if err == nil {
			next.ServeHTTP(w, r.WithContext(ctx))
		} else {
			x.refusal = refusal.Of(err, c.Unreachable)
			challenge(w, x.refusal)
			_ = errors.Write(w, r, x.refusal.Connect(x.request.ID.String(), c.Now()))
		}
		c.log(x, r, time.Since(start))
		x.tell(r)
	})
}

// admit lets the operator in, and names the member whom the journal is to show.
func (c Config) admit(ctx context.Context, x *exchange, r *http.Request) (context.Context, error) {
	if err := c.Gate.Admit(r); err != nil {
		return nil, err
	}
	if r.ContentLength > MaxBodyBytes {
		return nil, refusal.New(refusal.PayloadTooLarge, "The body is larger than 1 MiB.")
	}
	names := r.Header[memberHeader]
	switch len(names) {
	case 0:
		return ctx, nil
	case 1:
		name, err := url.PathUnescape(names[0])
		if err != nil {
			break
		}
		if x.member, err = shop.MemberName(memberHeader, name); err != nil {
			return nil, err
		}
		return admin.As(ctx, x.member), nil
	}
	return nil, refusal.Invalid("The request has a header that cannot be used.",
		wire.Field{Name: memberHeader, Message: "must be one name, percent-encoded as UTF-8"})
}

// intercept refuses what did not decode, runs the handler, and makes its error one that the client
// understands.
func (c Config) intercept(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, call connect.AnyRequest) (connect.AnyResponse, error) {
		x := ctx.Value(exchangeKey{}).(*exchange)
		x.route = call.Spec().Procedure
		answer, err := guarded(ctx, call, next)
		if err != nil {
			x.refusal = refusal.Of(err, c.Unreachable)
			return nil, x.refusal.Connect(x.request.ID.String(), c.Now())
		}
		return answer, nil
	}
}

// guarded runs the handler; a panic in it is an error.
func guarded(ctx context.Context, call connect.AnyRequest, next connect.UnaryFunc) (answer connect.AnyResponse, err error) {
	defer func() {
		if v := recover(); v != nil {
			answer, err = nil, fmt.Errorf("panic: %v\n%s", v, debug.Stack())
		}
	}()
	if invalid := wire.TakeInvalid(call.Any().(proto.Message)); invalid != nil {
		return nil, refusal.Invalid(invalid.Message, invalid.Fields...)
	}
	return next(ctx, call)
}

// log writes the call's line, which has nothing of the client's own text but the member's name.
func (c Config) log(x *exchange, r *http.Request, duration time.Duration) {
	level := slog.LevelInfo
	attrs := []slog.Attr{
		slog.String("request_id", x.request.ID.String()),
		slog.String("route", x.route),
		slog.Float64("duration_ms", float64(duration.Microseconds())/1000),
	}
	if x.member != "" {
		attrs = append(attrs, slog.String("member", x.member))
	}
	if len(x.request.Events) > 0 {
		attrs = append(attrs, slog.Any("event_ids", x.request.Events))
	}
	if x.refusal != nil {
		attrs = append(attrs, slog.String("code", string(x.refusal.Code)))
		if x.refusal.Cause != nil {
			// A client that hung up is no failure of the service.
			if r.Context().Err() == nil {
				level = slog.LevelError
			}
			attrs = append(attrs, slog.String("error", x.refusal.Cause.Error()))
		}
	}
	c.Logger.LogAttrs(r.Context(), level, "admin request", attrs...)
}
