package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

const (
	// otlpTimeout is how long a collector may take for one batch, unless OTEL_EXPORTER_OTLP_TIMEOUT is set.
	otlpTimeout = 10 * time.Second
	// A batch that a collector cannot take now is sent again after a pause, which doubles, for up to
	// otlpRetryTime.
	otlpFirstPause = 5 * time.Second
	otlpLastPause  = 30 * time.Second
	otlpRetryTime  = time.Minute
	// maxOTLPAnswer bounds what is read of a collector's answer, in bytes.
	maxOTLPAnswer = 64 << 10
)

// otlpClient sends spans as OTLP over HTTP, in protobuf (https://opentelemetry.io/docs/specs/otlp/).
// OpenTelemetry's own otlptracehttp does the same, but imports gRPC and grpc-gateway for the
// message's type: 90 packages that nothing else here needs.
type otlpClient struct {
	url        string
	headers    http.Header
	compressed bool
	http       *http.Client
	pause      time.Duration   // before a batch is sent again for the first time
	stopped    context.Context // ends when the client is stopped
	stop       context.CancelFunc
}

var _ otlptrace.Client = (*otlpClient)(nil)

// newOTLPClient reads the variables OTEL_EXPORTER_OTLP_… of OpenTelemetry's "OTLP Exporter
// Configuration"; one of traces alone precedes one of all signals.
func (s *session) newOTLPClient() (*otlpClient, error) {
	address, err := s.otlpURL()
	if err != nil {
		return nil, err
	}
	c := &otlpClient{url: address, headers: http.Header{}, http: &http.Client{Timeout: otlpTimeout}, pause: otlpFirstPause}
	c.stopped, c.stop = context.WithCancel(context.Background())
	c.headers.Set("User-Agent", "OTel OTLP Exporter Go/"+otlptrace.Version())
	name, value := s.otlp("HEADERS")
	for pair := range strings.SplitSeq(value, ",") {
		key, text, found := strings.Cut(pair, "=")
		text, err := url.PathUnescape(strings.TrimSpace(text))
		if key = strings.TrimSpace(key); err != nil || found && key == "" || !found && key != "" {
			return nil, usage("%s: must be key=value pairs with commas between them", name)
		}
		if found {
			c.headers.Set(key, text)
		}
	}
	c.headers.Set("Content-Type", "application/x-protobuf")
	switch name, value := s.otlp("COMPRESSION"); value {
	case "", "none":
	case "gzip":
		c.compressed = true
		c.headers.Set("Content-Encoding", "gzip")
	default:
		return nil, usage("%s: must be gzip or none, not %q", name, value)
	}
	if name, value := s.otlp("TIMEOUT"); value != "" {
		milliseconds, err := strconv.Atoi(value)
		if err != nil || milliseconds < 1 {
			return nil, usage("%s: must be a number of milliseconds, not %q", name, value)
		}
		c.http.Timeout = time.Duration(milliseconds) * time.Millisecond
	}
	transport := http.DefaultTransport.(*http.Transport).Clone() //nolint:errcheck // net/http documents its type.
	if transport.TLSClientConfig, err = s.otlpTLS(); err != nil {
		return nil, err
	}
	c.http.Transport = transport
	return c, nil
}

// otlp returns a variable, by the name that is set, and its value, "" when none is.
func (s *session) otlp(name string) (variable, value string) {
	for _, variable = range []string{"EXPORTER_OTLP_TRACES_" + name, "EXPORTER_OTLP_" + name} {
		if value = s.variable(variable); value != "" {
			break
		}
	}
	return "OTEL_" + variable, value
}

// otlpURL is where spans are sent: below the address of all signals, or right at that of traces.
func (s *session) otlpURL() (string, error) {
	address := &url.URL{Scheme: "https", Host: "localhost:4318", Path: "/v1/traces"}
	if name, value := s.otlp("ENDPOINT"); value != "" {
		given, err := url.Parse(value)
		if err != nil {
			return "", usage("%s: must be an address such as http://collector.example:4318", name)
		}
		address.Scheme, address.Host, address.Path = given.Scheme, given.Host, given.Path
		if !strings.Contains(name, "_TRACES_") {
			address.Path = path.Join("/", given.Path, "v1/traces")
		}
		if address.Path == "" {
			address.Path = "/"
		}
	}
	if _, value := s.otlp("INSECURE"); strings.EqualFold(value, "true") {
		address.Scheme = "http"
	} else if value != "" {
		address.Scheme = "https"
	}
	return address.String(), nil
}

// otlpTLS is whom to trust and who the client is, nil when neither is set.
func (s *session) otlpTLS() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	name, authorities := s.otlp("CERTIFICATE")
	if authorities != "" {
		text, err := os.ReadFile(authorities)
		config.RootCAs = x509.NewCertPool()
		if err != nil || !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, usage("%s: must name a file with certificates in PEM", name)
		}
	}
	name, certificate := s.otlp("CLIENT_CERTIFICATE")
	_, key := s.otlp("CLIENT_KEY")
	if certificate != "" || key != "" {
		pair, err := tls.LoadX509KeyPair(certificate, key)
		if err != nil {
			return nil, usage("%s: must name a certificate in PEM, and OTEL_EXPORTER_OTLP_CLIENT_KEY its key: %w", name, err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	if config.RootCAs == nil && config.Certificates == nil {
		return nil, nil
	}
	return config, nil
}

// Start does nothing: each batch finds its connection.
func (*otlpClient) Start(context.Context) error { return nil }

// Stop breaks off what is being sent.
func (c *otlpClient) Stop(context.Context) error {
	c.stop()
	c.http.CloseIdleConnections()
	return nil
}

// UploadTraces sends a batch, again while the collector asks for that.
func (c *otlpClient) UploadTraces(ctx context.Context, spans []*tracev1.ResourceSpans) error {
	// The request's message, ExportTraceServiceRequest, has the same one field.
	body, err := proto.Marshal(&tracev1.TracesData{ResourceSpans: spans})
	if err != nil {
		return err
	}
	if c.compressed {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		_, err := w.Write(body)
		if err = errors.Join(err, w.Close()); err != nil {
			return err
		}
		body = b.Bytes()
	}
	ctx, cancel := context.WithTimeout(ctx, otlpRetryTime)
	defer cancel()
	defer context.AfterFunc(c.stopped, cancel)()
	for pause := c.pause; ; pause = min(2*pause, otlpLastPause) {
		after, err := c.post(ctx, body)
		if _, ok := errors.AsType[*retryLater](err); !ok {
			return err
		}
		delay := max(after, pause/2+rand.N(pause))
		if deadline, _ := ctx.Deadline(); time.Until(deadline) < delay {
			return err
		}
		select {
		case <-time.After(delay):
		case <-ctx.Done():
			return err
		}
	}
}

// retryLater is an error that the next attempt may not meet.
type retryLater struct{ error }

func (e *retryLater) Unwrap() error { return e.error }

// post sends a batch once. With a retryLater it returns how long the collector asks to wait.
func (c *otlpClient) post(ctx context.Context, body []byte) (after time.Duration, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	r.Header = c.headers.Clone()
	answer, err := c.http.Do(r)
	var passing interface{ Temporary() bool }
	if errors.As(err, &passing) && passing.Temporary() {
		return 0, &retryLater{err}
	}
	if err != nil {
		return 0, err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxOTLPAnswer))
	if err != nil {
		return 0, err
	}
	if answer.StatusCode >= 200 && answer.StatusCode <= 299 {
		return 0, rejectedSpans(answer.Header.Get("Content-Type"), text)
	}
	err = fmt.Errorf("%s answered %s: %s", c.url, answer.Status, bytes.TrimSpace(text))
	switch answer.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		seconds, _ := strconv.Atoi(answer.Header.Get("Retry-After")) // 0 for a date, which no collector sends
		return time.Duration(seconds) * time.Second, &retryLater{err}
	}
	return 0, err
}

// rejectedSpans reads the field partial_success of an ExportTraceServiceResponse: a collector may
// take a batch and leave some of its spans.
func rejectedSpans(contentType string, answer []byte) error {
	if contentType != "application/x-protobuf" {
		return nil
	}
	partial := fieldOf(answer, 1).text
	rejected, why := fieldOf(partial, 1).number, fieldOf(partial, 2).text
	if rejected == 0 && len(why) == 0 {
		return nil
	}
	return fmt.Errorf("the collector rejected %d spans: %s", rejected, why)
}

// wireField is the value of a field on the wire, as its type has it.
type wireField struct {
	number uint64
	text   []byte
}

// fieldOf returns a field of a message, the zero value when it is not there.
func fieldOf(message []byte, number protowire.Number) (f wireField) {
	for len(message) > 0 {
		n, kind, length := protowire.ConsumeTag(message)
		if length < 0 {
			return wireField{}
		}
		message = message[length:]
		size := protowire.ConsumeFieldValue(n, kind, message)
		if size < 0 {
			return wireField{}
		}
		if n == number && kind == protowire.VarintType {
			f.number, _ = protowire.ConsumeVarint(message)
		}
		if n == number && kind == protowire.BytesType {
			f.text, _ = protowire.ConsumeBytes(message)
		}
		message = message[size:]
	}
	return f
}
