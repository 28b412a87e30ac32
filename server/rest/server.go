package rest

import (
	"log/slog"
	"net/http"
	"time"
)

// The limits that keep a slow or greedy client from using up shared resources. A body of 1 MiB has
// ReadTimeout to arrive; an answer has WriteTimeout to be made and read.
const (
	// DefaultTimeout is how long a request may take if Config sets nothing else.
	DefaultTimeout    = 10 * time.Second
	ReadHeaderTimeout = 10 * time.Second
	ReadTimeout       = 30 * time.Second
	WriteTimeout      = 60 * time.Second
	IdleTimeout       = 120 * time.Second
	MaxHeaderBytes    = 64 << 10
)

// HTTP2 returns the limits of one HTTP/2 connection. Data that a handler has not read yet is held
// in memory; by default net/http would hold 1 MiB for each connection.
func HTTP2() *http.HTTP2Config {
	return &http.HTTP2Config{
		MaxConcurrentStreams: 128, MaxReceiveBufferPerConnection: 256 << 10, MaxReceiveBufferPerStream: 64 << 10,
	}
}

// Server returns the HTTP server of the public listener: HTTP/1.1, and HTTP/2 with or without TLS,
// as gRPC needs it.
func (e *Edge) Server() *http.Server {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Server{
		Handler:                      e,
		ReadHeaderTimeout:            ReadHeaderTimeout,
		ReadTimeout:                  min(ReadTimeout, e.config.Timeout),
		WriteTimeout:                 max(WriteTimeout, 2*e.config.Timeout),
		IdleTimeout:                  IdleTimeout,
		MaxHeaderBytes:               MaxHeaderBytes,
		Protocols:                    protocols,
		HTTP2:                        HTTP2(),
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     slog.NewLogLogger(e.config.Logger.Handler(), slog.LevelDebug),
	}
}
