package message

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"go.storefront.example/server/apierr"
)

// errSlow is the cause of an arrival that took longer than its bounds allow.
var errSlow = errors.New("the body did not arrive in time")

// Arrival is a body, or a part of it, that is being waited for: no longer than its request's
// context lasts. net/http has no context when it reads, and ends the context of a connection
// whose read fails; so the context ends first, for its own reason, and the read because of it.
type Arrival struct {
	ctx    context.Context
	cancel context.CancelFunc
	stop   func() bool
	cut    chan struct{}
	close  func()
}

// Await begins to wait for the request's body, for as long as within at most, if that is not 0. The
// writer is that of the answer. End must be called once the read is over.
func Await(w http.ResponseWriter, r *http.Request, within time.Duration) *Arrival {
	a := await(r.Context(), http.NewResponseController(w), within)
	if r.ProtoMajor == 1 {
		// A connection whose read was cut has no context for another request.
		a.close = func() { w.Header().Set("Connection", "close") }
	}
	return a
}

func await(ctx context.Context, c *http.ResponseController, within time.Duration) *Arrival {
	a := &Arrival{ctx: ctx, cancel: func() {}, cut: make(chan struct{}), close: func() {}}
	if within > 0 {
		a.ctx, a.cancel = context.WithTimeoutCause(ctx, within, errSlow)
	}
	a.stop = context.AfterFunc(a.ctx, func() {
		defer close(a.cut)
		// A writer that cannot do it is a test's.
		_ = c.SetReadDeadline(time.Unix(1, 0))
	})
	return a
}

// End is the end of the wait. A read that was cut stays so, for the rest of the body would come as
// slowly when the server skips it.
func (a *Arrival) End() {
	if !a.stop() {
		<-a.cut
		a.close()
	}
	a.cancel()
}

// Why is why the body could not be read: the error of the context, when it ended,
// or a refusal. A caller that ends the body too early may still read the answer.
func (a *Arrival) Why(err error) error {
	ended := context.Cause(a.ctx)
	switch {
	case errors.Is(ended, errSlow):
		return apierr.Invalid("The body did not arrive in time.")
	case ended == nil, errors.Is(ended, context.Canceled) && errors.Is(err, io.ErrUnexpectedEOF):
		return apierr.Invalid("The body could not be read to its end.")
	default:
		return a.ctx.Err()
	}
}

// Prompt has the whole of a request's body arrive within a duration from its first read, and returns
// what must be called once the request is answered.
func Prompt(w http.ResponseWriter, r *http.Request, within time.Duration) (end func()) {
	if r.Body == nil || r.Body == http.NoBody {
		return func() {}
	}
	p := &prompt{ReadCloser: r.Body, begin: func() *Arrival { return Await(w, r, within) }}
	r.Body = p
	return p.end
}

// prompt is a body that is waited for while it is read, and not before or after.
type prompt struct {
	io.ReadCloser
	begin   func() *Arrival
	arrival *Arrival
	over    bool
}

// Read reads of the body below.
func (p *prompt) Read(b []byte) (int, error) {
	if p.arrival == nil {
		p.arrival = p.begin()
	}
	n, err := p.ReadCloser.Read(b)
	if err != nil {
		p.end()
	}
	return n, err
}

func (p *prompt) end() {
	if p.arrival != nil && !p.over {
		p.over = true
		p.arrival.End()
	}
}
