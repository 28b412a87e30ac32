package message

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"time"

	"go.storefront.example/server/apierr"
)

// errSlow is the cause when a body took longer than its bounds allow.
var errSlow = errors.New("the body did not arrive in time")

// Arrival is the wait for a body or a part of it. It never outlasts the request's context. net/http
// ignores contexts when it reads, and ends the context of a connection whose read fails; so Arrival
// first ends the context, with its own reason, and then the read.
type Arrival struct {
	ctx    context.Context
	cancel context.CancelFunc
	stop   func() bool
	cut    chan struct{}
	close  func()
}

// Await starts to wait for the request's body, for at most within, if that is not 0. The writer is
// that of the response. Call End once the read is over.
func Await(w http.ResponseWriter, r *http.Request, within time.Duration) *Arrival {
	a := await(r.Context(), http.NewResponseController(w), within)
	if r.ProtoMajor == 1 {
		// The context of a connection whose read was cut cannot serve another request.
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
		// Only a test's writer cannot do it.
		_ = c.SetReadDeadline(time.Unix(1, 0))
	})
	return a
}

// End ends the wait. A read that was cut stays cut; otherwise the server would wait just as long
// when it skips the rest of the body.
func (a *Arrival) End() {
	if !a.stop() {
		<-a.cut
		a.close()
	}
	a.cancel()
}

// Why returns why the body could not be read, in our own words: the context's error if it ended, or
// a refusal. A caller that ends the body too early, or sends it too slowly, may still read the response.
func (a *Arrival) Why(err error) error {
	ended := context.Cause(a.ctx)
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded) && !errors.Is(ended, context.DeadlineExceeded):
		// A limit of the bounds, the server or the service passed, not the caller's own deadline.
		return apierr.Invalid("The body did not arrive in time.")
	case ended == nil, errors.Is(ended, context.Canceled) && errors.Is(err, io.ErrUnexpectedEOF):
		return apierr.Invalid("The body could not be read to its end.")
	default:
		return a.ctx.Err()
	}
}

// Prompt requires the whole body of a request to arrive within a duration from its first read. It
// returns a function to call once the request is answered.
func Prompt(w http.ResponseWriter, r *http.Request, within time.Duration) (end func()) {
	if r.Body == nil || r.Body == http.NoBody {
		return func() {}
	}
	p := &prompt{ReadCloser: r.Body, begin: func() *Arrival { return Await(w, r, within) }}
	r.Body = p
	return p.end
}

// prompt is a body whose deadline applies only while it is read.
type prompt struct {
	io.ReadCloser
	begin   func() *Arrival
	arrival *Arrival
	over    bool
}

// Read reads from the wrapped body.
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
