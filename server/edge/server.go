package edge

import (
	"cmp"
	"log/slog"
	"net/http"
	"time"
)

// These limits keep slow or greedy clients from using up what all clients share.
const (
	// DefaultTimeout is how long a request may take if Config sets no Timeout.
	DefaultTimeout = 10 * time.Second
	// DefaultReadHeaderTimeout and DefaultReadTimeout hold if Timeouts sets none.
	DefaultReadHeaderTimeout = 10 * time.Second
	DefaultReadTimeout       = 30 * time.Second
	// WriteTimeout is from the end of a request's headers until its answer is sent.
	WriteTimeout = 60 * time.Second
	// IdleTimeout is how long a connection stays open between two requests.
	IdleTimeout    = 120 * time.Second
	MaxHeaderBytes = 64 << 10
)

// Timeouts are the timeouts of a listener's server. 0 means the default.
type Timeouts struct {
	// Request is how long a request may take.
	Request time.Duration
	// ReadHeader is for the headers of a request. Read is for the whole, but at most Request.
	ReadHeader, Read time.Duration
}

// NewServer speaks HTTP/1.1 and, because gRPC needs it, HTTP/2 with and without TLS.
func NewServer(handler http.Handler, timeouts Timeouts, logger *slog.Logger) *http.Server {
	timeout := cmp.Or(timeouts.Request, DefaultTimeout)
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: cmp.Or(timeouts.ReadHeader, DefaultReadHeaderTimeout),
		ReadTimeout:       min(cmp.Or(timeouts.Read, DefaultReadTimeout), timeout),
		WriteTimeout:      max(WriteTimeout, 2*timeout),
		IdleTimeout:       IdleTimeout,
		MaxHeaderBytes:    MaxHeaderBytes,
		Protocols:         protocols,
		// Otherwise net/http buffers up to 1 MiB for each connection before a handler reads.
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: 128, MaxReceiveBufferPerConnection: 256 << 10, MaxReceiveBufferPerStream: 64 << 10,
		},
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     slog.NewLogLogger(logger.Handler(), slog.LevelDebug),
	}
}
