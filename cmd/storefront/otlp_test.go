package main

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	collectorv1 "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// otlpSession is a session with variables, named without what all of them begin with.
func otlpSession(env map[string]string) *session {
	return &session{env: func(name string) (string, bool) {
		value, set := env[strings.TrimPrefix(name, "OTEL_EXPORTER_OTLP_")]
		return value, set
	}}
}

func TestOTLPAddresses(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		env    map[string]string
		url    string
	}{
		{"nothing is set", nil, "https://localhost:4318/v1/traces"},
		{"one address for all signals", map[string]string{"ENDPOINT": "http://c:4318"}, "http://c:4318/v1/traces"},
		{"with a path", map[string]string{"ENDPOINT": "https://c/otlp/"}, "https://c/otlp/v1/traces"},
		{"one for traces is taken as it is", map[string]string{"ENDPOINT": "http://c", "TRACES_ENDPOINT": "https://d/in"}, "https://d/in"},
		{"or has the root path", map[string]string{"TRACES_ENDPOINT": "https://d"}, "https://d/"},
		{"without TLS by another variable", map[string]string{"INSECURE": "true"}, "http://localhost:4318/v1/traces"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			c, err := otlpSession(row.env).newOTLPClient()
			require.NoError(t, err)
			require.Equal(t, row.url, c.url)
		})
	}
}

func TestOTLPSettings(t *testing.T) {
	t.Parallel()
	c, err := otlpSession(map[string]string{
		"HEADERS": "a=1", "TRACES_HEADERS": "authorization=Bearer%20x, b=2", "TIMEOUT": "250", "COMPRESSION": "gzip",
	}).newOTLPClient()
	require.NoError(t, err)
	require.Equal(t, "Bearer x", c.headers.Get("Authorization"))
	require.Equal(t, "2", c.headers.Get("B"))
	require.Empty(t, c.headers.Get("A"), "the headers of traces replace those of all signals")
	require.Equal(t, 250*time.Millisecond, c.http.Timeout)
	require.True(t, c.compressed)

	nothing := filepath.Join(t.TempDir(), "empty.pem")
	require.NoError(t, os.WriteFile(nothing, nil, 0o600))
	for name, value := range map[string]string{
		"HEADERS": "secret", "TIMEOUT": "10s", "COMPRESSION": "zstd", "CERTIFICATE": nothing, "TRACES_CLIENT_KEY": nothing,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := otlpSession(map[string]string{name: value}).newOTLPClient()
			require.ErrorContains(t, err, "OTEL_EXPORTER_OTLP_")
			require.NotContains(t, err.Error(), "secret")
		})
	}
}

// anyBatch is a batch of one span.
var anyBatch = []*tracev1.ResourceSpans{{ScopeSpans: []*tracev1.ScopeSpans{{Spans: []*tracev1.Span{{Name: "payment"}}}}}}

func TestOTLPAnswers(t *testing.T) {
	t.Parallel()
	partial, err := proto.Marshal(&collectorv1.ExportTraceServiceResponse{
		PartialSuccess: &collectorv1.ExportTracePartialSuccess{RejectedSpans: 3, ErrorMessage: "too old"},
	})
	require.NoError(t, err)
	for _, row := range []struct {
		reason   string
		statuses []int // one after the other; what follows is 200
		body     []byte
		tries    int
		err      string
	}{
		{"taken", nil, nil, 1, ""},
		{"taken in part", nil, partial, 1, "the collector rejected 3 spans: too old"},
		{"an answer that is no message", nil, []byte{0xff}, 1, ""},
		{"taken later", []int{429, 503}, nil, 3, ""},
		{"refused", []int{400}, []byte("bad span"), 1, "400 Bad Request: bad span"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			tries := 0
			collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, err := gzip.NewReader(r.Body)
				if err != nil {
					panic(err)
				}
				text, _ := io.ReadAll(body)
				var batch collectorv1.ExportTraceServiceRequest
				if proto.Unmarshal(text, &batch) != nil || batch.GetResourceSpans()[0].GetScopeSpans()[0].GetSpans()[0].GetName() != "payment" {
					panic("no batch")
				}
				w.Header().Set("Content-Type", "application/x-protobuf")
				if tries++; tries <= len(row.statuses) {
					w.WriteHeader(row.statuses[tries-1])
				}
				_, _ = w.Write(row.body)
			}))
			t.Cleanup(collector.Close)
			c, err := otlpSession(map[string]string{"ENDPOINT": collector.URL, "COMPRESSION": "gzip"}).newOTLPClient()
			require.NoError(t, err)
			c.pause = time.Millisecond
			err = c.UploadTraces(t.Context(), anyBatch)
			require.Equal(t, row.tries, tries)
			if row.err == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, row.err)
		})
	}
}

func TestOTLPStopsWaiting(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{}, 1)
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		asked <- struct{}{}
	}))
	t.Cleanup(collector.Close)
	c, err := otlpSession(map[string]string{"ENDPOINT": collector.URL}).newOTLPClient()
	require.NoError(t, err)
	failed := make(chan error, 1)
	go func() { failed <- c.UploadTraces(t.Context(), anyBatch) }()
	<-asked
	require.NoError(t, c.Stop(t.Context()))
	require.Error(t, <-failed)
}
