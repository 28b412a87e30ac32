package rpc

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"connectrpc.com/connect"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"go.storefront.example/ent/apijson"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/edge"
	"go.storefront.example/server/httplog"
	"go.storefront.example/server/limit"
)

// memberHeader names the member who makes a change, percent-encoded.
const memberHeader = "Storefront-Member"

// storeHeader has the slug or id of the store that a call is about, percent-encoded.
const storeHeader = "Storefront-Store"

const publicServices = "/storefront.v1."

type exchange struct {
	httplog.Exchange
	member string
}

type exchangeKey struct{}

func (c Config) serve(next http.Handler) http.Handler {
	refusals := connect.NewErrorWriter()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := &exchange{Exchange: httplog.Begin(w)}
		x.Span = trace.SpanFromContext(r.Context())
		x.Header().Set("Date", c.Now().UTC().Format(http.TimeFormat)) // Client.Now reads the server's time from this header
		r = r.WithContext(context.WithValue(tenant.WithRequest(r.Context(), &x.Request), exchangeKey{}, x))
		refuse := func(err error) {
			if refused := c.refuse(r.Context(), x, err); x.Status == 0 {
				_ = refusals.Write(x, r, refused)
			}
		}
		defer c.log(x, r)
		defer x.Recover(c.Logger, refuse)
		if err := c.answer(x, x, r, next); err != nil {
			refuse(err)
		}
	})
}

func (c Config) answer(x *exchange, w http.ResponseWriter, r *http.Request, next http.Handler) error {
	input, known := inputOf(r.URL.Path)
	if known {
		x.Route = r.URL.Path
	}
	ctx, err := c.admit(r.Context(), x, r)
	if err != nil {
		return err
	}
	if !known {
		return apierr.New(apierr.NotFound, "There is nothing at this address.")
	}
	r = r.WithContext(ctx)
	if r.URL.Path == watchStream { // the stream may last longer than the timeouts of other requests
		control := http.NewResponseController(w)
		_, _ = control.SetReadDeadline(time.Time{}), control.SetWriteDeadline(time.Now().Add(admin.MaxWatch+edge.WriteTimeout))
	} else if r.URL.Path == exportStream {
		control := http.NewResponseController(w)
		_, w = control.SetReadDeadline(time.Time{}), deadlineWriter{w, control}
	} else if input != nil {
		if r, err = edge.DecodeCall(w, r, input.New().Interface()); err != nil {
			return err
		}
		if invalid := apijson.DecodedOf(r.Context()).Invalid; invalid != nil {
			return apierr.Invalid(invalid.Message, invalid.Fields...)
		}
	}
	r.Body = http.MaxBytesReader(w, r.Body, 2*edge.MaxBodyBytes) // above Connect's limit, so that Connect itself refuses large messages
	next.ServeHTTP(w, r)
	return nil
}

// deadlineWriter sets a new deadline for each part of a long answer: a client may read an export slowly, but one that stops
// must not keep its snapshot open.
type deadlineWriter struct {
	http.ResponseWriter
	control *http.ResponseController
}

func (w deadlineWriter) Write(p []byte) (int, error) {
	_ = w.control.SetWriteDeadline(time.Now().Add(edge.WriteTimeout))
	return w.ResponseWriter.Write(p)
}

func (w deadlineWriter) Flush() { _ = w.control.Flush() }

func (w deadlineWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// inputOf reports whether a method has this path, and its input's type, nil for reflection.
func inputOf(path string) (input protoreflect.MessageType, known bool) {
	name := protoreflect.FullName(strings.ReplaceAll(strings.TrimPrefix(path, "/"), "/", "."))
	found, _ := protoregistry.GlobalFiles.FindDescriptorByName(name)
	if method, ok := found.(protoreflect.MethodDescriptor); ok {
		input, _ = protoregistry.GlobalTypes.FindMessageByName(method.Input().FullName())
		return input, true
	}
	return nil, strings.HasSuffix(path, ".ServerReflection/ServerReflectionInfo")
}

// admit checks the operator's token, and adds the member whom memberHeader names to the context.
func (c Config) admit(ctx context.Context, x *exchange, r *http.Request) (context.Context, error) {
	if err := c.Gate.Admit(r); err != nil {
		return nil, err
	}
	if c.Gate.isLocal() {
		call := tenant.CallOf(ctx)
		call.Tokenless = true
		ctx = tenant.WithCall(ctx, call)
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
		return tenant.WithMember(ctx, x.member), nil
	}
	return nil, apierr.Invalid("The request has a header that cannot be used.",
		apijson.Field{Name: memberHeader, Message: "must be one name, percent-encoded as UTF-8"})
}

// interceptor gives handlers the store of storeHeader, and converts their errors. A call with one answer also takes a slot.
type interceptor struct {
	Config
	operator admin.Handlers
}

func (i interceptor) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, call connect.AnyRequest) (answer connect.AnyResponse, err error) {
		defer i.convertError(ctx, &err)
		release, err := i.Slots.Acquire(ctx, limit.Operator, false)
		if err != nil {
			return nil, err
		}
		defer release()
		if ctx, err = i.withStore(ctx, call.Spec(), call.Header()); err != nil {
			return nil, err
		}
		return next(ctx, call)
	}
}

func (i interceptor) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return func(ctx context.Context, conn connect.StreamingHandlerConn) (err error) {
		defer i.convertError(ctx, &err)
		inStore, err := i.withStore(ctx, conn.Spec(), conn.RequestHeader())
		if err != nil {
			return err
		}
		return next(inStore, conn)
	}
}

func (interceptor) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return next
}

// withStore refuses a call of storefront.v1 without storeHeader. Others without it may use every store.
func (i interceptor) withStore(ctx context.Context, method connect.Spec, h http.Header) (context.Context, error) {
	names := h.Values(storeHeader)
	if len(names) == 0 && !strings.HasPrefix(method.Procedure, publicServices) {
		return ctx, nil
	}
	if len(names) == 1 && names[0] != "" {
		if name, err := url.PathUnescape(names[0]); err == nil {
			return i.operator.WithStore(ctx, name)
		}
	}
	return nil, apierr.Invalid("The call does not name its store.",
		apijson.Field{Name: storeHeader, Message: "must be the slug or the id of one store"})
}

// convertError converts a handler's error or panic; defer it. Errors of package connect stay, such as those of reflection.
func (c Config) convertError(ctx context.Context, err *error) {
	if v := recover(); v != nil {
		*err = apierr.FromPanic(v)
	}
	if _, fromConnect := errors.AsType[*connect.Error](*err); *err != nil && !fromConnect {
		*err = c.refuse(ctx, ctx.Value(exchangeKey{}).(*exchange), *err)
	}
}

func (c Config) refuse(ctx context.Context, x *exchange, err error) *connect.Error {
	x.Refusal = apierr.FromRequest(ctx, err, c.Unreachable)
	setHeaders(x.Header(), x.Refusal)
	return x.Refusal.Connect(x.Request.ID.String(), c.Now())
}

// log shows no text of the client, except the member's name.
func (c Config) log(x *exchange, r *http.Request) {
	var attrs []slog.Attr
	if x.member != "" {
		attrs = append(attrs, slog.String("member", x.member))
	}
	x.End(r.Context(), c.Logger, "admin request", cmp.Or(x.Status, http.StatusOK), attrs...)
}
