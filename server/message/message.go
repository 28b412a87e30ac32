// Package message reads untrusted requests on the typed protocols (Connect, gRPC and gRPC-Web)
// before Connect's own handlers: the caller's deadline, the type, the compression and the messages.
// It bounds them all and reports faults as refusals in our own words, so that every protocol
// answers with a storefront.v1.Error.
//
//	client ─► Check: method, type, compression ─► Deadline ─► Read ─► Connect's handler
//	                                                    └─► Stream ──────────┘
//
// It passes on a POST without query, compression or deadline. Connect's own limit reads a whole
// message into memory and goes on decompressing to report its length; this package stops at the
// bound.
//
// It never interprets a message, and never repeats any of it.
package message

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"go.storefront.example/server/apierr"
)

// prefixBytes is the length of the prefix of a message in gRPC or a stream: a flag and the length.
const prefixBytes = 5

// Bounds limit how much of a call is read.
type Bounds struct {
	// Bytes is the size of the largest message, both as sent and decompressed.
	Bytes int
	// Within is how long a message may take to arrive; 0 leaves it to the server's own limit. The
	// wait never outlasts the request's context.
	Within time.Duration
}

// MaxEnvelopeBytes is the size of the largest body that holds one message of so many bytes.
func MaxEnvelopeBytes(bytes int) int64 { return int64(bytes + prefixBytes) }

// TooLarge is the refusal of a body or a message of more than so many bytes.
func TooLarge(bytes int) error {
	size := fmt.Sprintf("%d KiB", bytes>>10)
	if bytes >= 1<<20 {
		size = fmt.Sprintf("%d MiB", bytes>>20)
	}
	return apierr.New(apierr.PayloadTooLarge, "The body is larger than "+size+".")
}

// Read reads the one message of a call that passed Check. It returns the request to pass to
// Connect, and a function to call in any case, after the response. The error is an *apierr.Refusal,
// or that of the request's context if it ended first. The writer is that of the response.
func (b Bounds) Read(w http.ResponseWriter, r *http.Request) (*http.Request, func(), error) {
	if ended := r.Context().Err(); ended != nil {
		return nil, func() {}, ended
	}
	body, release := Buffer()
	inner := r.WithContext(r.Context())
	inner.Method, inner.URL = http.MethodPost, &url.URL{Path: r.URL.Path}
	var err error
	switch {
	case r.Method == http.MethodGet:
		err = b.readQuery(inner, r.URL.RawQuery, body)
	case enveloped(r):
		err = b.readEnvelope(w, r, body)
	default:
		err = b.readBody(w, r, body)
	}
	if err != nil {
		return nil, release, err
	}
	inner.Body, inner.ContentLength, inner.TransferEncoding = io.NopCloser(bytes.NewReader(body.Bytes())), int64(body.Len()), nil
	return inner, release, nil
}

// readBody reads a message that is the whole body.
func (b Bounds) readBody(w http.ResponseWriter, r *http.Request, into *bytes.Buffer) error {
	compressed := takeCompression(r)
	if err := b.Body(w, r, into); err != nil || !compressed || into.Len() == 0 {
		return err
	}
	return b.unzip(into)
}

// Body appends the whole body of a request, unchanged. A body whose declared length is too large is
// not read at all. The error is an *apierr.Refusal (payload_too_large, or validation_failed for an
// incomplete body), or that of the request's context if it ended first. The writer is that of the
// response.
func (b Bounds) Body(w http.ResponseWriter, r *http.Request, into *bytes.Buffer) error {
	if r.ContentLength > int64(b.Bytes) {
		return TooLarge(b.Bytes)
	}
	arrival := Await(w, r, b.Within)
	defer arrival.End()
	if _, err := into.ReadFrom(http.MaxBytesReader(w, bodyOf(r), int64(b.Bytes))); err != nil {
		return b.readError(arrival, err)
	}
	return nil
}

// readEnvelope reads the only envelope of a body.
func (b Bounds) readEnvelope(w http.ResponseWriter, r *http.Request, into *bytes.Buffer) error {
	compressed := takeCompression(r)
	if r.ContentLength > MaxEnvelopeBytes(b.Bytes) {
		return TooLarge(b.Bytes)
	}
	arrival := Await(w, r, b.Within)
	defer arrival.End()
	e := envelopes{bounds: b, source: bodyOf(r), compressed: compressed}
	switch err := e.next(arrival, into); {
	case errors.Is(err, io.EOF):
		return apierr.Invalid("The call has no message.")
	case err != nil:
		return err
	}
	switch n, err := io.ReadFull(e.source, make([]byte, 1)); {
	case n > 0:
		return apierr.Invalid("The call has more than one message.")
	case !errors.Is(err, io.EOF):
		return b.readError(arrival, err)
	}
	return nil
}

func bodyOf(r *http.Request) io.ReadCloser {
	if r.Body == nil {
		return http.NoBody
	}
	return r.Body
}

// readError returns why a body could not be read, in our own words.
func (b Bounds) readError(a *Arrival, err error) error {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return TooLarge(b.Bytes)
	}
	return a.Why(err)
}

// buffers hold messages between the wire and Connect.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

const maxPooledBytes = 64 << 10

// Buffer returns an empty buffer and the function that releases it. A buffer that grew beyond an
// ordinary message is left to the collector.
func Buffer() (b *bytes.Buffer, release func()) {
	b = buffers.Get().(*bytes.Buffer)
	b.Reset()
	return b, func() {
		if b.Cap() <= maxPooledBytes {
			buffers.Put(b)
		}
	}
}
