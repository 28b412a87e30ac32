package message

import (
	"errors"
	"io"
	"net/http"
	"time"
)

// An unread body is skipped up to these bounds, so that the connection can be used again. net/http
// would delay the response until the body has arrived.
const (
	maxDrainBytes = 64 << 10
	drainTime     = time.Second
)

// Drain skips the rest of a request's body before the response, or closes the connection after the
// response if skipping would take long. It does nothing on HTTP/2, where responses do not wait. A
// handler must not read the body after it.
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
