package rpc

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"connectrpc.com/connect"
	"github.com/google/uuid"

	"go.storefront.example/ent/apijson"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/edge"
	"go.storefront.example/server/limit"
)

// memberHeader names the member of the store on whose behalf a call is made, percent-encoded.
const memberHeader = "Storefront-Member"

// exchange is a call and what is known of it until it is logged.
type exchange struct {
	writer  http.ResponseWriter
	request tenant.Request
	route   string // the procedure; "unmatched" when there is none
	member  string
	refusal *apierr.Refusal // nil while it is served
}

type exchangeKey struct{}

// serve puts the gate, the request's identifier and its line in the log before a service of the
// procedures.
func (c Config) serve(procedures map[string]procedure, next http.Handler) http.Handler {
	refusals := connect.NewErrorWriter()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := &exchange{writer: w, request: tenant.Request{ID: uuid.New()}, route: "unmatched"}
		if _, known := procedures[r.URL.Path]; known {
			x.route = r.URL.Path
		}
		start := time.Now()
		w.Header().Set("X-Request-Id", x.request.ID.String())
		w.Header().Set("Date", c.Now().UTC().Format(http.TimeFormat)) // by which Client.Now answers
		defer func() {
			c.log(x, r, time.Since(start))
			x.traced(r)
		}()
		r = r.WithContext(context.WithValue(tenant.WithRequest(r.Context(), &x.request), exchangeKey{}, x))
		if err := c.answer(x, w, r, procedures, next); err != nil {
			x.refusal = apierr.FromRequest(r.Context(), err, c.Unreachable)
			setHeaders(w.Header(), x.refusal)
			_ = refusals.Write(w, r, x.refusal.Connect(x.request.ID.String(), c.Now()))
		}
	})
}

// answer answers a call, or returns why it is refused.
func (c Config) answer(x *exchange, w http.ResponseWriter, r *http.Request, procedures map[string]procedure,
	next http.Handler) error {
	ctx, err := c.admit(r.Context(), x, r)
	if err != nil {
		return err
	}
	p, known := procedures[r.URL.Path]
	if !known {
		return apierr.New(apierr.NotFound, "There is nothing at this address.")
	}
	r = r.WithContext(ctx)
	if p.stream {
		_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // it outlasts the time in which a request must be read
	} else if p.input != nil {
		invalid, err := edge.DecodeCall(w, r, p.input.New().Interface())
		if err != nil {
			return err
		}
		if invalid != nil {
			return apierr.Invalid(invalid.Message, invalid.Fields...)
		}
	}
	r.Body = http.MaxBytesReader(w, r.Body, 2*edge.MaxBodyBytes) // Connect refuses a message of about half that
	next.ServeHTTP(w, r)
	return nil
}

// admit lets the operator in, and names the member whom the journal is to show.
func (c Config) admit(ctx context.Context, x *exchange, r *http.Request) (context.Context, error) {
	if err := c.Gate.Admit(r); err != nil {
		return nil, err
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
		if x.member, err = admin.MemberName(memberHeader, name); err != nil {
			return nil, err
		}
		return admin.As(ctx, x.member), nil
	}
	return nil, apierr.Invalid("The request has a header that cannot be used.",
		apijson.Field{Name: memberHeader, Message: "must be one name, percent-encoded as UTF-8"})
}

// words makes the errors of handlers ones that the client understands.
type words struct{ Config }

// WrapUnary words the handler's error.
func (c words) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, call connect.AnyRequest) (connect.AnyResponse, error) {
		answer, err := c.guarded(ctx, call, next)
		if err != nil {
			return nil, c.word(ctx, err)
		}
		return answer, nil
	}
}

// WrapStreamingHandler words the handler's error.
func (c words) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return func(ctx context.Context, conn connect.StreamingHandlerConn) (err error) {
		defer func() {
			if v := recover(); v != nil {
				err = c.word(ctx, apierr.Panic(v))
			}
		}()
		if err := next(ctx, timed{conn, ctx.Value(exchangeKey{}).(*exchange).writer}); err != nil {
			return c.word(ctx, err)
		}
		return nil
	}
}

// timed gives each message of a stream its own time to be read.
type timed struct {
	connect.StreamingHandlerConn
	writer http.ResponseWriter
}

// Send sends a message.
func (t timed) Send(message any) error {
	_ = http.NewResponseController(t.writer).SetWriteDeadline(time.Now().Add(edge.WriteTimeout))
	return t.StreamingHandlerConn.Send(message)
}

// WrapStreamingClient is for clients, and does nothing.
func (words) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return next
}

// word returns the refusal that an error stands for as an error of the typed protocols. An error of Connect or of reflection
// stays as it is.
func (c Config) word(ctx context.Context, err error) error {
	if _, foreign := errors.AsType[*connect.Error](err); foreign {
		return err
	}
	x := ctx.Value(exchangeKey{}).(*exchange)
	if x.refusal == nil {
		x.refusal = apierr.FromRequest(ctx, err, c.Unreachable)
	}
	setHeaders(x.writer.Header(), x.refusal)
	return x.refusal.Connect(x.request.ID.String(), c.Now())
}

// guarded runs the handler with a slot; a panic in it is an error.
func (c Config) guarded(ctx context.Context, call connect.AnyRequest, next connect.UnaryFunc) (answer connect.AnyResponse,
	err error) {
	defer func() {
		if v := recover(); v != nil {
			answer, err = nil, apierr.Panic(v)
		}
	}()
	giveBack, err := c.Slots.Take(ctx, limit.Operator, false)
	if err != nil {
		return nil, err
	}
	defer giveBack()
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
			level = slog.LevelError
			attrs = append(attrs, slog.String("error", x.refusal.Cause.Error()))
		}
	}
	c.Logger.LogAttrs(r.Context(), level, "admin request", attrs...)
}
