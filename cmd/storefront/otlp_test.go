package main

import (
	"compress/gzip"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

func oneSpan() []*tracev1.ResourceSpans {
	return []*tracev1.ResourceSpans{{ScopeSpans: []*tracev1.ScopeSpans{{Spans: []*tracev1.Span{{Name: "payment"}}}}}}
}

func otlpVariables(variables map[string]string) *invocation {
	return &invocation{env: func(name string) (string, bool) {
		value, set := variables[name]
		return value, set
	}}
}

func TestABatchReachesTheCollectorAsTheVariablesSay(t *testing.T) {
	t.Parallel()
	answers := []int{http.StatusServiceUnavailable, http.StatusOK}
	collector := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		require.Equal(t, "/base/v1/traces", r.URL.Path)
		require.Equal(t, "application/x-protobuf", r.Header.Get("Content-Type"))
		require.Equal(t, "token of, shop", r.Header.Get("Authorization"))
		require.NotContains(t, r.Header, "Idempotency-Key")
		unpacked, err := gzip.NewReader(r.Body)
		require.NoError(t, err)
		body, err := io.ReadAll(unpacked)
		require.NoError(t, err)
		var batch tracev1.TracesData
		require.NoError(t, proto.Unmarshal(body, &batch))
		require.Equal(t, "payment", batch.GetResourceSpans()[0].GetScopeSpans()[0].GetSpans()[0].GetName())
		w.WriteHeader(answers[0])
		answers = answers[1:]
	}))
	defer collector.Close()
	certificate := filepath.Join(t.TempDir(), "ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: collector.Certificate().Raw})
	require.NoError(t, os.WriteFile(certificate, text, 0o600))
	c, err := otlpVariables(map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT":           collector.URL + "/base/",
		"OTEL_EXPORTER_OTLP_HEADERS":            "Authorization=another",
		"OTEL_EXPORTER_OTLP_TRACES_HEADERS":     " Authorization = token%20of%2C%20shop , ",
		"OTEL_EXPORTER_OTLP_TRACES_COMPRESSION": "gzip",
		"OTEL_EXPORTER_OTLP_CERTIFICATE":        certificate,
	}).newOTLPClient()
	require.NoError(t, err)
	require.NoError(t, c.UploadTraces(t.Context(), oneSpan()))
	require.Empty(t, answers, "the batch that was not taken is sent again")
}

func TestACollectorThatRefusesIsReported(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		status      int
		contentType string
		body        string
		err         string
	}{
		{http.StatusOK, "application/x-protobuf", "", ""},
		{http.StatusOK, "application/x-protobuf", "\x0a\x00", ""},
		{http.StatusOK, "application/x-protobuf", "\x0a\x08\x08\x02\x12\x04full", `the collector dropped 2 spans: "full"`},
		{http.StatusOK, "application/x-protobuf", "\x0a\x7f", "unexpected EOF"},
		{http.StatusOK, "text/html", "thanks", ""},
		{http.StatusUnauthorized, "text/plain", "the token", "the collector answered 401 Unauthorized"},
	} {
		collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", row.contentType)
			w.WriteHeader(row.status)
			_, _ = io.WriteString(w, row.body)
		}))
		c, err := otlpVariables(map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": collector.URL}).newOTLPClient()
		require.NoError(t, err)
		err = c.UploadTraces(t.Context(), oneSpan())
		if row.err == "" {
			require.NoError(t, err, row.body)
		} else {
			require.ErrorContains(t, err, row.err)
		}
		collector.Close()
	}
}

func TestAWrongVariableOfTheExporterIsNamed(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]string{
		"OTEL_EXPORTER_OTLP_HEADERS": "secret", "OTEL_EXPORTER_OTLP_TRACES_HEADERS": "a=secret%zz",
		"OTEL_EXPORTER_OTLP_COMPRESSION": "secret", "OTEL_EXPORTER_OTLP_TIMEOUT": "secret",
		"OTEL_EXPORTER_OTLP_CERTIFICATE": "absent.pem", "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE": "absent.pem",
	} {
		_, err := otlpVariables(map[string]string{name: value}).newOTLPClient()
		require.ErrorContains(t, err, name)
		require.NotContains(t, err.Error(), "secret")
	}
}
