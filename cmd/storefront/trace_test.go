package main

import (
	"bytes"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonv1 "go.opentelemetry.io/proto/otlp/common/v1"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/seal"
)

type collector struct {
	t   *testing.T
	url string

	mu    sync.Mutex
	spans map[string]*tracev1.Span
	all   strings.Builder
	more  chan struct{}
}

func newCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{t: t, spans: map[string]*tracev1.Span{}, more: make(chan struct{}, 1)}
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	c.url = server.URL
	return c
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var batch tracev1.TracesData
	if err != nil || r.URL.Path != "/v1/traces" || proto.Unmarshal(body, &batch) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all.WriteString(prototext.Format(&batch))
	for _, resource := range batch.GetResourceSpans() {
		for _, scope := range resource.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				c.spans[hex.EncodeToString(s.GetSpanId())] = s
			}
		}
	}
	select {
	case c.more <- struct{}{}:
	default:
	}
}

// find waits for a span with this name, in any trace if trace is nil.
func (c *collector) find(trace []byte, name string) *tracev1.Span {
	c.t.Helper()
	return c.await(name, func(s *tracev1.Span) bool {
		return s.GetName() == name && (trace == nil || bytes.Equal(trace, s.GetTraceId()))
	})
}

// await returns the first span for which is is true. Each process sends its own, each after its children.
func (c *collector) await(what string, is func(*tracev1.Span) bool) *tracev1.Span {
	c.t.Helper()
	timeout := time.After(time.Minute)
	for {
		c.mu.Lock()
		for _, s := range c.spans {
			if is(s) {
				c.mu.Unlock()
				return s
			}
		}
		c.mu.Unlock()
		select {
		case <-c.more:
		case <-timeout:
			require.FailNow(c.t, "there is no such span", "%s in %q", what, c.names())
		}
	}
}

func (c *collector) names() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var names []string
	for _, s := range c.spans {
		names = append(names, s.GetName())
	}
	return names
}

func (c *collector) path(s *tracev1.Span) []string {
	c.t.Helper()
	names := []string{s.GetName()}
	for len(s.GetParentSpanId()) > 0 {
		parent := s.GetParentSpanId()
		s = c.await("the parent of "+s.GetName(), func(other *tracev1.Span) bool { return bytes.Equal(other.GetSpanId(), parent) })
		names = append([]string{s.GetName()}, names...)
	}
	return names
}

func valueOf(attributes []*commonv1.KeyValue, key string) string {
	for _, a := range attributes {
		if a.GetKey() != key {
			continue
		}
		if n, ok := a.GetValue().GetValue().(*commonv1.AnyValue_IntValue); ok {
			return strconv.FormatInt(n.IntValue, 10)
		}
		return a.GetValue().GetStringValue()
	}
	return ""
}

// From the command through the server and the worker to the receiver.
func TestATraceOfAPayment(t *testing.T) {
	t.Parallel()
	for _, name := range dbtest.Databases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in, to := newInbox(t), newCollector(t)
			const token = "a-token-of-the-operator-for-traces"
			i := newInstallation(t, dbtest.URL(t, name), in).with("STOREFRONT_SECRET_KEY", seal.NewKey()).
				with("STOREFRONT_ADMIN_TOKEN", token)
			traced := i.with("OTEL_EXPORTER_OTLP_ENDPOINT", to.url).with("OTEL_BSP_SCHEDULE_DELAY", "20").
				with("OTEL_SERVICE_NAME", "canary-service")
			server := traced.server("storefront")
			worker := traced.start("storefront", "delivering", "worker", "--admin-addr", "127.0.0.1:0", "--log-level", "debug")

			i.run(nil, "store", "create", "--name", "Atelier", "--slug", "atelier", "--currency", "XAF", "--country", "CM")
			var webhook struct{ ID, Secret string }
			i.run(&webhook, "webhook", "create", "--store", "atelier", "--url", in.url+"/canary-path", "--events", "order.paid")
			in.verifyWith(webhook.Secret)
			var product, order struct{ ID string }
			i.run(&product, "product", "create", "--store", "atelier", "--title", "Guide", "--type", "FILE", "--price", "1500")
			i.run(&order, "order", "create", "--store", "atelier", "--customer-email", "canary@example.com", "--product", product.ID)
			require.Empty(t, to.names(), "without a collector no spans are sent")

			traced.with("STOREFRONT_ADMIN_URL", "http://"+server.AdminAddr).run(nil, "order", "pay", order.ID)
			event := in.next()

			root := to.find(nil, "storefront order pay")
			require.Empty(t, root.GetParentSpanId())
			trace := root.GetTraceId()
			const call = "/storefront.admin.v1.OrderService/PayOrder"
			attempt := to.find(trace, "attempt order.paid")
			require.Equal(t, []string{"storefront order pay", call, "transaction", "events", "attempt order.paid"}, to.path(attempt))
			require.Equal(t, event.ID, valueOf(attempt.GetAttributes(), "storefront.event.id"))
			require.Equal(t, webhook.ID, valueOf(attempt.GetAttributes(), "storefront.webhook_id"))
			require.Equal(t, []string{"1", "200"}, []string{
				valueOf(attempt.GetAttributes(), "storefront.attempt"), valueOf(attempt.GetAttributes(), "http.response.status_code"),
			})
			write := to.find(trace, "UPDATE orders")
			require.Equal(t, []string{"storefront order pay", call, "transaction", "UPDATE orders"}, to.path(write))
			require.Regexp(t, `= (\?|\$\d)`, valueOf(write.GetAttributes(), "db.query.text"))
			require.Equal(t, []string{"storefront order pay", call, "transaction", "events", "INSERT deliveries"},
				to.path(to.find(trace, "INSERT deliveries")))
			require.Equal(t, "COMMIT", to.find(trace, "COMMIT").GetName())

			// The log lines of the server and the worker have the request's id and the event's id.
			request := valueOf(to.find(trace, call).GetAttributes(), "storefront.request_id")
			require.NotEmpty(t, request)
			require.Equal(t, request, valueOf(attempt.GetAttributes(), "storefront.request_id"))
			// Each line is written after its process has ended the span and sent the answer.
			for what, log := range map[string]func() string{
				`"request_id":"` + request + `"`:     server.log,
				`"event_ids":\["` + event.ID + `"\]`: server.log,
				`"event_id":"` + event.ID + `".*"duration_ms":[0-9.]+,"request_id":"` + request + `"`: worker.log,
			} {
				line := regexp.MustCompile(what)
				require.Eventually(t, func() bool { return line.MatchString(log()) }, time.Minute, 10*time.Millisecond, "%s", what)
			}

			require.Equal(t, http.StatusOK, status(t, "http://"+worker.AdminAddr+"/readyz", ""))
			require.Equal(t, http.StatusOK, status(t, "http://"+worker.AdminAddr+"/healthz", ""))
			var metrics string
			for _, want := range []string{
				`storefront_deliveries_total{result="succeeded"} 1`, `storefront_attempt_duration_seconds_count{status="2xx"} 1`,
				`storefront_delivery_latency_seconds_count 1`, `storefront_delivery_lag_seconds 0`,
			} {
				require.Eventually(t, func() bool {
					metrics = page(t, "http://"+worker.AdminAddr+"/metrics")
					return strings.Contains(metrics, "\n"+want+"\n")
				}, time.Minute, 10*time.Millisecond, "%s", want)
			}
			for _, address := range []string{worker.AdminAddr, server.AdminAddr} {
				require.Equal(t, http.StatusUnauthorized, status(t, "http://"+address+"/debug/pprof/heap", ""))
				require.Equal(t, http.StatusOK, status(t, "http://"+address+"/debug/pprof/heap", "Bearer "+token))
			}

			worker.stop()
			server.stop()
			to.mu.Lock()
			defer to.mu.Unlock()
			all := to.all.String()
			require.Contains(t, all, "canary-service")
			for _, secret := range []string{
				token, webhook.Secret, i.env["STOREFRONT_SECRET_KEY"], "canary@example.com", "canary-path", in.url,
				i.env["STOREFRONT_DATABASE_URL"],
			} {
				require.NotContains(t, all, secret)
				require.NotContains(t, metrics, secret)
			}
		})
	}
}

func status(t *testing.T, url, authorization string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	r.Header.Set("Authorization", authorization)
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	return answer.StatusCode
}

func page(t *testing.T, url string) string {
	t.Helper()
	answer, err := http.Get(url)
	require.NoError(t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return string(text)
}

func TestSettingsOfTraces(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		env    map[string]string
		on     bool
		err    string
	}{
		{"nothing is set", nil, false, ""},
		{"an endpoint", map[string]string{"EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"}, true, ""},
		{"one for traces", map[string]string{"EXPORTER_OTLP_TRACES_ENDPOINT": "https://collector.example/v1/traces"}, true, ""},
		{"an exporter, to where it sends by default", map[string]string{"TRACES_EXPORTER": "otlp"}, true, ""},
		{"an endpoint for other signals", map[string]string{"EXPORTER_OTLP_ENDPOINT": "http://c:4318", "TRACES_EXPORTER": "none"},
			false, ""},
		{"all is off", map[string]string{"EXPORTER_OTLP_ENDPOINT": "http://c:4318", "SDK_DISABLED": "True"}, false, ""},
		{"an empty variable is one that is not set", map[string]string{"EXPORTER_OTLP_ENDPOINT": " "}, false, ""},
		{"the only protocol", map[string]string{"EXPORTER_OTLP_ENDPOINT": "http://c:4318", "EXPORTER_OTLP_PROTOCOL": "http/protobuf"},
			true, ""},
		{"another exporter", map[string]string{"TRACES_EXPORTER": "zipkin"}, false, "OTEL_TRACES_EXPORTER: must be otlp or none"},
		{"gRPC", map[string]string{"EXPORTER_OTLP_ENDPOINT": "http://c:4317", "EXPORTER_OTLP_PROTOCOL": "grpc"}, false,
			"OTEL_EXPORTER_OTLP_PROTOCOL: must be http/protobuf"},
		{"no address", map[string]string{"EXPORTER_OTLP_ENDPOINT": "user:secret@collector:4318"}, false,
			"OTEL_EXPORTER_OTLP_ENDPOINT: must be an address such as"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			s := &invocation{env: func(name string) (string, bool) {
				value, set := row.env[strings.TrimPrefix(name, "OTEL_")]
				return value, set
			}}
			on, err := s.tracesEnabled()
			if row.err != "" {
				require.ErrorContains(t, err, row.err)
				require.NotContains(t, err.Error(), "secret", row.reason)
				return
			}
			require.NoError(t, err)
			require.Equal(t, row.on, on)
		})
	}
}

// If the collector cannot be reached, a command prints one line about it, and works.
func TestACollectorThatIsAway(t *testing.T) {
	t.Parallel()
	c := installation{t, map[string]string{
		"STOREFRONT_DATABASE_URL": dbtest.URL(t, dbtest.SQLite), "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1",
		"OTEL_EXPORTER_OTLP_TIMEOUT": "200",
	}}.command("storefront", "store", "list", "-o", "json")
	var said bytes.Buffer
	c.Stderr = &said
	out, err := c.Output()
	require.NoError(t, err, said.String())
	require.Equal(t, "[]\n", string(out))
	require.Contains(t, said.String(), "storefront: traces are not sent: ")
}
