package worker

import (
	"crypto/x509"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/worker/signature"
)

// What a receiver may do instead of answering with a status.
const (
	hang = -1 // accept and never answer
	drop = -2 // close the connection without an answer
)

type request struct {
	webhook, event uuid.UUID
	attempt        int
	path, host     string
	header         http.Header
	body           []byte
	length         int64
	// answered is the status of the answer, or hang or drop.
	answered int
}

// receiver plays all receivers: each webhook has a path.
type receiver struct {
	*httptest.Server
	mu       sync.Mutex
	requests []request
	answer   func(request) int
	headers  http.Header
	// If set, arrived gets each request before the receiver answers it.
	arrived chan request
	// If set, the receiver answers only after gate is closed.
	gate    chan struct{}
	closing chan struct{}
}

// newReceiver answers 204 by default.
func newReceiver(t testing.TB) *receiver {
	t.Helper()
	r := &receiver{closing: make(chan struct{}), answer: func(request) int { return http.StatusNoContent }}
	r.Server = httptest.NewUnstartedServer(http.HandlerFunc(r.receive))
	// Keep the client's failed handshakes out of the test's output.
	r.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	r.StartTLS()
	t.Cleanup(func() {
		close(r.closing)
		r.Close()
	})
	return r
}

func (r *receiver) receive(w http.ResponseWriter, q *http.Request) {
	body, _ := io.ReadAll(q.Body)
	got := request{path: q.URL.Path, host: q.Host, header: q.Header.Clone(), body: body, length: q.ContentLength}
	got.webhook, _ = uuid.Parse(strings.TrimPrefix(q.URL.Path, "/"))
	got.event, _ = uuid.Parse(q.Header.Get(signature.EventIDHeader))
	got.attempt, _ = strconv.Atoi(q.Header.Get(signature.AttemptHeader))
	r.mu.Lock()
	got.answered = r.answer(got)
	r.requests = append(r.requests, got)
	arrived, gate, headers := r.arrived, r.gate, r.headers
	r.mu.Unlock()
	if arrived != nil {
		select {
		case arrived <- got:
		case <-r.closing:
		}
	}
	if gate != nil {
		select {
		case <-gate:
		case <-r.closing:
		}
	}
	switch got.answered {
	case hang:
		select {
		case <-q.Context().Done():
		case <-r.closing:
		}
		fallthrough
	case drop:
		panic(http.ErrAbortHandler)
	default:
		for name, values := range headers {
			w.Header()[name] = values
		}
		w.WriteHeader(got.answered)
		if got.answered >= 400 {
			_, _ = io.WriteString(w, "the shop answers "+strconv.Itoa(got.answered))
		}
	}
}

// answers sets the function that decides the next answers, which is never called twice at the same time.
func (r *receiver) answers(answer func(request) int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = answer
}

func (r *receiver) always(status int) { r.answers(func(request) int { return status }) }

// watch makes the channel r.arrived, from which the test must then read.
func (r *receiver) watch() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.arrived = make(chan request)
}

// hold makes the receiver wait with its answers until open().
func (r *receiver) hold() (open func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	gate := make(chan struct{})
	r.gate = gate
	return sync.OnceFunc(func() { close(gate) })
}

func (r *receiver) got() []request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]request(nil), r.requests...)
}

func (r *receiver) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests = nil
}

// roots has the receiver's certificate, which a client must trust.
func (r *receiver) roots(t testing.TB) *x509.CertPool {
	t.Helper()
	pool := x509.NewCertPool()
	require.NotNil(t, r.Certificate())
	pool.AddCert(r.Certificate())
	return pool
}
