package edge

import (
	"cmp"
	"log/slog"
	"net/http"
	"time"
)

// Limits that keep a slow or greedy client from using up shared resources.
const (
	// DefaultTimeout is how long a request may take if Config sets no Timeout.
	DefaultTimeout = 10 * time.Second
	// ReadHeaderTimeout is how long the headers of a request may take to arrive, and ReadTimeout the whole request.
	ReadHeaderTimeout = 10 * time.Second
	ReadTimeout       = 30 * time.Second
	// WriteTimeout is how long it may take to make an answer and send it.
	WriteTimeout = 60 * time.Second
	// IdleTimeout is how long a connection may stay without a request.
	IdleTimeout    = 120 * time.Second
	MaxHeaderBytes = 64 << 10
)

// NewServer returns the server of a listener. timeout bounds a request; 0 means DefaultTimeout. The server speaks HTTP/1.1, and
// HTTP/2 with or without TLS, because gRPC needs it.
func NewServer(handler http.Handler, timeout time.Duration, logger *slog.Logger) *http.Server {
	timeout = cmp.Or(timeout, DefaultTimeout)
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: ReadHeaderTimeout,
		ReadTimeout:       min(ReadTimeout, timeout),
		WriteTimeout:      max(WriteTimeout, 2*timeout),
		IdleTimeout:       IdleTimeout,
		MaxHeaderBytes:    MaxHeaderBytes,
		Protocols:         protocols,
		// These bound what is buffered until a handler reads it. By default net/http would buffer 1 MiB for each connection.
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: 128, MaxReceiveBufferPerConnection: 256 << 10, MaxReceiveBufferPerStream: 64 << 10,
		},
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     slog.NewLogLogger(logger.Handler(), slog.LevelDebug),
	}
}
