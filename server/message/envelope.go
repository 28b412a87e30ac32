package message

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net/http"

	"go.storefront.example/server/apierr"
)

// flagCompressed marks an envelope whose message is compressed; it is the only flag of a request.
const flagCompressed = 1

// envelopes reads length-prefixed messages, one after the other.
type envelopes struct {
	bounds     Bounds
	source     io.ReadCloser
	compressed bool
}

// next appends the next envelope, with its message decompressed. The error is io.EOF after the
// last, a refusal, or that of the context. A message whose declared length is too large is not read
// at all.
func (e *envelopes) next(arrival *Arrival, into *bytes.Buffer) error {
	var prefix [prefixBytes]byte
	switch n, err := io.ReadFull(e.source, prefix[:]); {
	case n == 0 && errors.Is(err, io.EOF):
		return io.EOF
	case err != nil:
		return e.bounds.readError(arrival, err)
	}
	flags, size := prefix[0], int64(binary.BigEndian.Uint32(prefix[1:]))
	switch {
	case flags > flagCompressed:
		return apierr.Invalid("The message has a flag that means nothing in a request.")
	case flags == flagCompressed && !e.compressed:
		return apierr.Invalid("The message is compressed, and no header names the compression.")
	case size > int64(e.bounds.Bytes):
		return TooLarge(e.bounds.Bytes)
	}
	message, release := Buffer()
	defer release()
	// The buffer grows with the bytes received, not with the declared length.
	switch n, err := message.ReadFrom(io.LimitReader(e.source, size)); {
	case err != nil:
		return e.bounds.readError(arrival, err)
	case n < size:
		return arrival.Why(io.ErrUnexpectedEOF)
	}
	if flags == flagCompressed && size > 0 {
		if err := e.bounds.unzip(message); err != nil {
			return err
		}
	}
	prefix[0] = 0
	binary.BigEndian.PutUint32(prefix[1:], uint32(message.Len())) //nolint:gosec // Bounded by Bytes.
	into.Write(prefix[:])
	into.Write(message.Bytes())
	return nil
}

// Stream returns the request of a stream that passed Check, with each message held to the bounds.
// fail converts the error of the next message to the one that the handler gets.
func (b Bounds) Stream(w http.ResponseWriter, r *http.Request, fail func(error) error) *http.Request {
	compressed := takeCompression(r)
	inner := r.WithContext(r.Context())
	inner.ContentLength = -1
	inner.Body = &stream{
		envelopes: envelopes{bounds: b, source: bodyOf(r), compressed: compressed},
		context:   r.Context(), control: http.NewResponseController(w), fail: fail,
	}
	u := *r.URL
	u.RawQuery = ""
	inner.URL = &u
	return inner
}

// stream is the body of a stream: envelopes read one at a time.
type stream struct {
	envelopes
	context context.Context
	control *http.ResponseController
	fail    func(error) error
	pending bytes.Buffer
	ended   error
}

// Read reads from the current envelope.
func (s *stream) Read(p []byte) (int, error) {
	if s.pending.Len() == 0 && s.ended == nil {
		s.pending.Reset()
		arrival := await(s.context, s.control, s.bounds.Within)
		if err := s.next(arrival, &s.pending); errors.Is(err, io.EOF) {
			s.ended = io.EOF
		} else if err != nil {
			s.ended = s.fail(err)
		}
		arrival.End()
	}
	if s.pending.Len() == 0 {
		return 0, s.ended
	}
	return s.pending.Read(p)
}

// Close closes the wrapped body.
func (s *stream) Close() error { return s.source.Close() }
