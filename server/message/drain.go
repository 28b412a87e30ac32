package message

import (
	"errors"
	"io"
	"net/http"
	"time"
)

// The rest of a body that nobody reads is skipped, so that the connection can be used again: so much
// of it, for so long. net/http would hold the answer back until it has come.
const (
	maxDrainBytes = 64 << 10
	drainTime     = time.Second
)

// Drain skips what is left of a request's body before it is answered, or has the connection closed
// after the answer when that would take long. It does nothing on HTTP/2, where the answer waits for
// nothing. A handler that reads the body calls it no more.
func Drain(w http.ResponseWriter, r *http.Request) {
	if r.ProtoMajor != 1 || r.Body == nil || r.Body == http.NoBody || r.Header.Get("Expect") != "" || w.Header().Get("Connection") != "" {
		return
	}
	if r.ContentLength > maxDrainBytes {
		w.Header().Set("Connection", "close")
		return
	}
	arrival := Await(w, r, drainTime)
	defer arrival.End()
	if _, err := io.CopyN(io.Discard, r.Body, maxDrainBytes); !errors.Is(err, io.EOF) {
		w.Header().Set("Connection", "close")
	}
}
