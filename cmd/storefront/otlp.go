package main

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

const (
	defaultCollector = "http://localhost:4318"
	maxOTLPAnswer    = 64 << 10
)

// otlpClient posts spans as OTLP over HTTP. OpenTelemetry's own client would link gRPC into the binary.
type otlpClient struct {
	url    string
	header http.Header
	http   *http.Client
}

var _ otlptrace.Client = (*otlpClient)(nil)

// exporterVariable returns OTEL_EXPORTER_OTLP_TRACES_<name>, or else OTEL_EXPORTER_OTLP_<name>, and which of them it is.
func (s *invocation) exporterVariable(name string) (value, from string) {
	from = "EXPORTER_OTLP_TRACES_" + name
	if value = s.variable(from); value == "" {
		from = "EXPORTER_OTLP_" + name
		value = s.variable(from)
	}
	return value, "OTEL_" + from
}

// newOTLPClient reads OpenTelemetry's variables. Its errors quote no value, because a header or an address may have a secret.
func (s *invocation) newOTLPClient() (*otlpClient, error) {
	c := &otlpClient{header: http.Header{
		"Content-Type": {"application/x-protobuf"},
		// It is not sent, and lets net/http repeat the request on a closed idle connection.
		"Idempotency-Key": nil,
	}}
	c.url = s.variable("EXPORTER_OTLP_TRACES_ENDPOINT")
	if c.url == "" {
		base := cmp.Or(s.variable("EXPORTER_OTLP_ENDPOINT"), defaultCollector)
		c.url = strings.TrimSuffix(base, "/") + "/v1/traces"
	}
	headers, from := s.exporterVariable("HEADERS")
	for pair := range strings.SplitSeq(headers, ",") {
		if pair = strings.TrimSpace(pair); pair == "" {
			continue
		}
		name, value, found := strings.Cut(pair, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if !found || err != nil {
			return nil, usage("%s: must be a list such as name=value,name=value", from)
		}
		c.header.Set(strings.TrimSpace(name), value)
	}
	switch compression, from := s.exporterVariable("COMPRESSION"); compression {
	case "", "none":
	case "gzip":
		c.header.Set("Content-Encoding", "gzip")
	default:
		return nil, usage("%s: must be gzip or none", from)
	}
	timeout, from := s.exporterVariable("TIMEOUT")
	milliseconds, err := strconv.Atoi(cmp.Or(timeout, "10000"))
	if err != nil || milliseconds <= 0 {
		return nil, usage("%s: must be a number of milliseconds", from)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if transport.TLSClientConfig, err = s.collectorTLS(); err != nil {
		return nil, err
	}
	c.http = &http.Client{Transport: transport, Timeout: time.Duration(milliseconds) * time.Millisecond}
	return c, nil
}

// collectorTLS returns the certificates to verify the collector with, and the one that the collector asks for.
func (s *invocation) collectorTLS() (*tls.Config, error) {
	config := &tls.Config{}
	if path, from := s.exporterVariable("CERTIFICATE"); path != "" {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, usage("%s: %w", from, err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, usage("%s: the file has no certificate in PEM", from)
		}
	}
	if path, from := s.exporterVariable("CLIENT_CERTIFICATE"); path != "" {
		key, _ := s.exporterVariable("CLIENT_KEY")
		pair, err := tls.LoadX509KeyPair(path, key)
		if err != nil {
			return nil, usage("%s and its key: %w", from, err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// Start does nothing: the first batch opens the connection.
func (c *otlpClient) Start(context.Context) error { return nil }

func (c *otlpClient) Stop(context.Context) error {
	c.http.CloseIdleConnections()
	return nil
}

// UploadTraces posts a batch again while the collector asks for it and ctx lasts.
func (c *otlpClient) UploadTraces(ctx context.Context, spans []*tracev1.ResourceSpans) error {
	// A TracesData has the same bytes as an ExportTraceServiceRequest, whose package imports gRPC.
	body, err := proto.Marshal(&tracev1.TracesData{ResourceSpans: spans})
	if err != nil {
		return err
	}
	if c.header.Get("Content-Encoding") != "" {
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		if _, err := w.Write(body); err != nil {
			return err
		}
		if err := w.Close(); err != nil {
			return err
		}
		body = packed.Bytes()
	}
	for wait := time.Second; ; wait *= 2 {
		retryAfter, err := c.post(ctx, body)
		if retryAfter < 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		case <-time.After(max(wait, retryAfter)):
		}
	}
}

const never = -1

// post returns the time after which the collector wants the batch again, or never.
func (c *otlpClient) post(ctx context.Context, body []byte) (time.Duration, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return never, err
	}
	r.Header = c.header.Clone()
	answer, err := c.http.Do(r)
	if err != nil {
		return never, err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxOTLPAnswer))
	if err != nil {
		return never, err
	}
	switch answer.StatusCode {
	case http.StatusOK, http.StatusAccepted, http.StatusNoContent:
		return never, rejection(answer.Header.Get("Content-Type"), text)
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		seconds, _ := strconv.Atoi(answer.Header.Get("Retry-After"))
		return time.Duration(max(seconds, 0)) * time.Second, fmt.Errorf("the collector answered %s", answer.Status)
	}
	return never, fmt.Errorf("the collector answered %s", answer.Status)
}

// rejection returns an error if the collector's answer, an ExportTraceServiceResponse, says that it dropped spans.
func rejection(contentType string, answer []byte) error {
	if contentType != "application/x-protobuf" {
		return nil
	}
	var dropped uint64
	var message []byte
	err := eachField(answer, func(number protowire.Number, _ uint64, partial []byte) error {
		if number != 1 {
			return nil
		}
		return eachField(partial, func(number protowire.Number, value uint64, text []byte) error {
			switch number {
			case 1:
				dropped = value
			case 2:
				message = text
			}
			return nil
		})
	})
	if err == nil && (dropped > 0 || len(message) > 0) {
		err = fmt.Errorf("the collector dropped %d spans: %q", dropped, message)
	}
	return err
}

func eachField(message []byte, do func(number protowire.Number, value uint64, text []byte) error) error {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return protowire.ParseError(n)
		}
		message = message[n:]
		var value uint64
		var text []byte
		switch kind {
		case protowire.VarintType:
			value, n = protowire.ConsumeVarint(message)
		case protowire.BytesType:
			text, n = protowire.ConsumeBytes(message)
		default:
			n = protowire.ConsumeFieldValue(number, kind, message)
		}
		if n < 0 {
			return protowire.ParseError(n)
		}
		if err := do(number, value, text); err != nil {
			return err
		}
		message = message[n:]
	}
	return nil
}
