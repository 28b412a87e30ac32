package server

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"runtime/debug"
	usage "runtime/metrics"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/db/dbtest/need"
	"go.storefront.example/server/edge"
	"go.storefront.example/server/monitor"
)

const (
	// atOnce requests run at a time. growth is how many bytes of memory they may take together.
	atOnce = 50
	growth = 64 << 20
	// patience is how long a request may take. The service aims at 2 s; the rest is for busy machines.
	patience = 30 * time.Second
	// arrival is how long the server waits for a whole request. If a busy machine stops the test for longer, the test sends it
	// again.
	arrival = time.Second
	// marker is in all hostile requests. No log, span or metric may contain it.
	marker = "hunter2"
)

// attack is a hostile request. request returns the bytes of its headers and body; with h2, only its Content-Type. With endless,
// a body without end follows.
type attack struct {
	name    string
	request func(method, path string) []byte
	endless bool
	h2      bool
	// tooLarge: refused for its size once the body is read. costly: fifty at once might take much memory. slow: answered only
	// after a timeout.
	tooLarge, costly, slow bool
}

func head(method, path string, headers ...string) []byte {
	return []byte(method + " " + path + " HTTP/1.1\r\nHost: localhost\r\n" + strings.Join(headers, "\r\n") + "\r\n\r\n")
}

func sized(method, path string, body []byte, headers ...string) []byte {
	return append(head(method, path, append(headers, fmt.Sprintf("Content-Length: %d", len(body)))...), body...)
}

func attacks(t *testing.T) []attack {
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	require.NoError(t, err)
	zeros := make([]byte, 1<<20)
	for range 64 {
		_, err = z.Write(zeros)
		require.NoError(t, err)
	}
	require.NoError(t, z.Close())
	bomb := packed.Bytes()
	envelope := func(flag byte, size uint32, message []byte) []byte {
		return append(binary.BigEndian.AppendUint32([]byte{flag}, size), message...)
	}
	request := func(kind string, body []byte, headers ...string) func(string, string) []byte {
		return func(method, path string) []byte {
			return sized(method, path, body, append(headers, "Content-Type: "+kind)...)
		}
	}
	packedEnvelope := envelope(1, uint32(len(bomb)), bomb)
	var all []attack
	for i, kind := range []string{"application/json", "application/x-www-form-urlencoded", "application/proto",
		"multipart/form-data; boundary=" + marker} {
		all = append(all,
			attack{name: kind + " declared", tooLarge: true, costly: i == 0, request: func(method, path string) []byte {
				return head(method, path, "Content-Type: "+kind, "Content-Length: 314572800")
			}},
			attack{name: kind + " without end", endless: true, tooLarge: true, costly: i == 0, request: func(method, path string) []byte {
				return head(method, path, "Content-Type: "+kind, "Transfer-Encoding: chunked")
			}},
			attack{name: kind + " compressed", tooLarge: true, costly: i == 0, request: request(kind, bomb, "Content-Encoding: gzip")},
		)
	}
	all = append(all, attack{name: "slow", slow: true, request: func(method, path string) []byte {
		return append(head(method, path, "Content-Type: application/json", "Content-Length: 20"), marker...)
	}}, attack{name: "slow, in chunks", slow: true, request: func(method, path string) []byte {
		return append(head(method, path, "Content-Type: application/x-www-form-urlencoded", "Transfer-Encoding: chunked"),
			"f\r\n"+marker...)
	}})
	for i, kind := range []string{"application/grpc", "application/grpc-web+proto", "application/connect+proto"} {
		all = append(all,
			attack{name: kind + " 4 GB promised", tooLarge: true, request: request(kind, envelope(0, 1<<32-1, []byte(marker)))},
			attack{name: kind + " compressed", tooLarge: true, costly: i == 0, request: request(kind, packedEnvelope,
				"Grpc-Encoding: gzip",
				"Connect-Content-Encoding: gzip")},
			attack{name: kind + " another compression", request: request(kind, envelope(1, 7, []byte(marker)), "Grpc-Encoding: "+marker,
				"Connect-Content-Encoding: "+marker)},
			attack{name: kind + " a malformed deadline", request: request(kind, envelope(0, 0, nil), "Grpc-Timeout: "+marker,
				"Connect-Timeout-Ms: "+marker)},
			attack{name: kind + " HTTP/2, compressed", h2: true, tooLarge: true, costly: i == 0,
				request: func(string, string) []byte { return []byte(kind) }},
		)
	}
	query := "?encoding=json&compression=gzip&base64=1&message=" + base64.RawURLEncoding.EncodeToString(bomb[:40<<10])
	return append(all,
		attack{name: "compressed in the query", costly: true, request: func(_, path string) []byte { return head("GET", path+query) }},
		attack{name: "a long query", costly: true, request: func(_, path string) []byte {
			return head("GET",
				path+"?"+marker+strings.Repeat("&a", 30<<10))
		}},
		attack{name: "a short query", request: func(_, path string) []byte {
			return head("GET", path+"?token="+marker+
				strings.Repeat("&a", 3<<10))
		}},
		attack{name: "large headers", request: func(method, path string) []byte {
			return head(method, path, "X-Large: "+strings.Repeat("x", 60<<10), "Cookie: "+strings.Repeat("a=b; ", 100)+marker)
		}},
		attack{name: "headers too large", request: func(method, path string) []byte {
			return head(method, path, "X-Large: "+strings.Repeat("x", 100<<10))
		}},
		attack{name: "an unknown method", request: func(_, path string) []byte { return head("HUNT", path) }},
		attack{name: "a method in lower case", request: func(_, path string) []byte { return head("get", path) }},
		attack{name: "OPTIONS", request: func(_, path string) []byte { return head("OPTIONS", path, "Origin: https://"+marker) }},
		attack{name: "DELETE", request: func(_, path string) []byte { return head("DELETE", path) }},
		attack{name: "invalid UTF-8", request: func(method, path string) []byte { return head(method, path+"%FF") }},
		attack{name: "below", request: func(method, path string) []byte {
			return head(method, strings.TrimSuffix(path, "/")+"/"+
				marker)
		}},
		attack{name: "a dot segment", request: func(method, path string) []byte { return head(method, path+"/../"+marker) }},
		attack{name: "many ranges", costly: true, request: func(_, path string) []byte {
			return head("GET", path, "Accept-Encoding: gzip, zstd", "Range: bytes=0-"+strings.Repeat(",0-", 1000))
		}},
		attack{name: "as it is meant", costly: true, request: func(method, path string) []byte {
			return sized(method, path, []byte("{}"), "Content-Type: application/json", "Accept-Encoding: gzip, zstd")
		}},
	)
}

type longest struct {
	mu   sync.Mutex
	took time.Duration
	name string
}

func (l *longest) note(took time.Duration, name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if took > l.took {
		l.took, l.name = took, name
	}
}

// occupied returns the process's memory in bytes.
func occupied() uint64 {
	s := []usage.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	usage.Read(s)
	return s[0].Value.Uint64() - s[1].Value.Uint64()
}

// peak returns by how many bytes the process's memory grew at most during run.
func peak(run func()) uint64 {
	runtime.GC()
	debug.FreeOSMemory()
	before, most := occupied(), uint64(0)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for ticks := time.NewTicker(2 * time.Millisecond); ; {
			most = max(most, occupied())
			select {
			case <-stop:
				ticks.Stop()
				return
			case <-ticks.C:
			}
		}
	}()
	run()
	close(stop)
	<-done
	return most - min(most, before)
}

// inParallel runs all calls, at most together at a time.
func inParallel(calls []func(), together int) {
	var (
		next  atomic.Int64
		group sync.WaitGroup
	)
	for range together {
		group.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(calls)); i = next.Add(1) - 1 {
				calls[i]()
			}
		})
	}
	group.Wait()
}

// send returns the answer to a hostile request. chunk is a part of the endless body or, with h2, the whole body.
func send(address, method, path string, a attack, chunk []byte, h2 *http.Client) (status int, text string, err error) {
	if a.h2 {
		return sendHTTP2(address, method, path, string(a.request(method, path)), chunk, h2)
	}
	c, err := net.DialTimeout("tcp", address, patience)
	if err != nil {
		return 0, "", err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(patience))
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		if _, err := c.Write(a.request(method, path)); err != nil || !a.endless {
			return
		}
		for range 1 << 10 {
			if _, err := c.Write(chunk); err != nil {
				return
			}
		}
	}()
	answer, err := http.ReadResponse(bufio.NewReaderSize(c, 512), nil)
	if err != nil {
		return 0, "", err
	}
	body, _ := io.ReadAll(io.LimitReader(answer.Body, 4<<10))
	c.Close()
	<-sent
	return answer.StatusCode, fmt.Sprint(answer.Header, string(body), answer.Trailer), nil
}

func sendHTTP2(address, method, path, kind string, packed []byte, h2 *http.Client) (int, string, error) {
	r, err := http.NewRequest(method, "http://"+address+path, bytes.NewReader(packed))
	if err != nil {
		return 0, "", err
	}
	r.Header = http.Header{"Content-Type": {kind}, "Grpc-Encoding": {"gzip"}, "Connect-Content-Encoding": {"gzip"}}
	answer, err := h2.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer answer.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(answer.Body, 4<<10))
	return answer.StatusCode, fmt.Sprint(answer.Header, string(body), answer.Trailer), nil
}

// adminPatterns returns the addresses of the admin listener: mounts, methods of services, and pages of the dashboard.
func adminPatterns(t *testing.T, s *Server) (all []string) {
	for _, m := range s.mounts() {
		all = append(all, m.Pattern)
		found, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(strings.Trim(m.Pattern, "/")))
		if service, ok := found.(protoreflect.ServiceDescriptor); err == nil && ok {
			for i := range service.Methods().Len() {
				all = append(all, "POST "+m.Pattern+string(service.Methods().Get(i).Name()))
			}
		}
	}
	require.Contains(t, all, "POST /storefront.admin.v1.StoreService/GetStoreSettings")
	require.Contains(t, all, "POST /storefront.v1.StoreService/GetStore")
	return append(all, "POST /dashboard/sign-in", "GET /dashboard/sign-in", "GET /dashboard/keys", "POST /dashboard/keys",
		"POST /dashboard/webhooks/{id}/edit", "GET /dashboard/static/{name}", "GET /docs/openapi.json", "GET /docs/guide.md", "GET /docs/{$}", "GET /docs/{name...}",
		"POST /grpc.reflection.v1.ServerReflection/ServerReflectionInfo")
}

// Each address of both listeners gets each hostile request without a key, and one that needs no key gets the costly ones fifty
// times at once. Every request must be answered, memory must not grow beyond a limit, and logs, spans and metrics must not
// contain a client's text. The addresses come from the server itself, so new services are covered. The test runs alone, because
// it measures the process's memory.
func TestNobodyWithoutAKeyCosts(t *testing.T) {
	need.Heavy(t, "it sends thousands of requests without a key")
	defer debug.SetGCPercent(debug.SetGCPercent(100)) // the default, which GOGC may have changed
	e := &examined{routes: map[string]bool{}, spans: map[string]bool{}}
	d := dbtest.New(t, dbtest.SQLite, db.Config{})
	registry := monitor.NewRegistry(d, slog.New(slog.DiscardHandler))
	running, err := New(Config{
		Addr: "127.0.0.1:0", AdminAddr: "127.0.0.1:0", AdminToken: "a-token-of-the-operator-for-tests", DB: d, PublicDocs: true,
		Timeouts: edge.Timeouts{Read: arrival},
		Metrics:  registry, Traces: sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(e)), Logger: slog.New(e),
	})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- running.Run(ctx) }()
	defer func() { stop(); require.NoError(t, <-ended) }()

	slowest := &longest{}
	known := map[string]bool{"unmatched": true, "": true}
	ways := attacks(t)
	chunk := append([]byte("8000\r\n"), append(bytes.Repeat([]byte("0"), 0x8000), "\r\n"...)...)
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: protocols, DisableCompression: true}
	defer transport.CloseIdleConnections()
	h2 := &http.Client{Transport: transport, Timeout: patience}
	var packed []byte
	for _, a := range ways {
		if a.name == "application/grpc compressed" {
			_, packed, _ = bytes.Cut(a.request("POST", "/"), []byte("\r\n\r\n"))
		}
	}

	for _, pattern := range []string{"/docs/{$}", "/dashboard/{$}", "/dashboard/", "/dashboard", "/{$}", "/debug/pprof/"} {
		known[pattern] = true // routes of pages that answer some of the hostile paths
	}
	for _, m := range running.mounts() {
		known[m.Pattern] = true // the route of a span until the procedure of its call is known
	}
	for listener, patterns := range map[string][]string{
		running.Addr().String():      append(running.edge.Patterns(), "GET /docs", "GET /docs/openapi.json", "GET /docs/guide.md", "GET /docs/{$}", "GET /docs/{name...}"),
		running.AdminAddr().String(): adminPatterns(t, running),
	} {
		require.NotEmpty(t, patterns)
		var all, open, waiting []func()
		for _, pattern := range append(patterns, "/", "/v1/nothing", "*") {
			method, path, ok := strings.Cut(pattern, " ")
			if !ok {
				method, path = "POST", pattern
			}
			known[path] = true
			path = strings.ReplaceAll(path, "{$}", "")
			for strings.Contains(path, "{") {
				before, rest, _ := strings.Cut(path, "{")
				_, after, _ := strings.Cut(rest, "}")
				path = before + "00000000-0000-4000-8000-000000000000" + after
			}
			plain, _, err := send(listener, method, path, ways[len(ways)-1], chunk, h2)
			require.NoError(t, err, pattern)
			isOpen := !slices.Contains([]int{401, 403, 404, 405}, plain)
			for _, a := range ways {
				if pattern == "*" && (a.h2 || method == "GET") {
					continue
				}
				one := func() {
					content := chunk
					if a.h2 {
						content = packed
					}
					status, text, err := 0, "", error(nil)
					for tries := range 5 {
						began := time.Now()
						status, text, err = send(listener, method, path, a, content, h2)
						slowest.note(time.Since(began), pattern+" "+a.name)
						if err == nil || time.Since(began) < arrival || tries > 3 {
							break
						}
					}
					switch {
					case err != nil:
						t.Errorf("%s %s: %v", pattern, a.name, err)
					case status == http.StatusInternalServerError:
						t.Errorf("%s %s: %d %s", pattern, a.name, status, text)
					case isOpen && status == http.StatusOK && a.tooLarge && method == "POST" && (strings.Contains(text, "Grpc-Status:[0]") ||
						!strings.Contains(text, "Grpc-Status:[") && !strings.Contains(text, `"error":`)):
						t.Errorf("%s %s was read: %s", pattern, a.name, text)
					}
				}
				switch {
				case a.slow:
					waiting = append(waiting, one)
				default:
					all = append(all, one)
				}
				if isOpen && a.costly {
					open = append(open, slices.Repeat([]func(){one}, atOnce)...)
				}
			}
		}
		for name, requests := range map[string][]func(){"each": all, "fifty of each that is open": open, "slow ones": waiting} {
			together := 4 * atOnce
			if name == "fifty of each that is open" {
				together = atOnce
			}
			began := time.Now()
			// peak frees the memory of earlier groups, so that only concurrent requests count.
			size, grown := len(requests), uint64(0)
			if name != "slow ones" {
				size = together
			}
			for group := range slices.Chunk(requests, size) {
				grown = max(grown, peak(func() { inParallel(group, together) }))
			}
			t.Logf("%s: %d addresses, %d requests in %v, %d MB more; the slowest in %v: %s",
				name, len(patterns), len(requests), time.Since(began).Round(time.Millisecond), grown>>20,
				slowest.took.Round(time.Millisecond), slowest.name)
			require.Less(t, slowest.took, patience)
			require.Less(t, grown, uint64(growth), name)
		}
	}

	e.mu.Lock()
	defer e.mu.Unlock()
	require.Empty(t, e.errors)
	for route := range e.routes {
		// Routes of the dashboard are patterns without text of a client.
		require.True(t, known[route] || strings.HasPrefix(route, "/dashboard/") && !strings.Contains(route, marker),
			"the route %q is none",
			route)
	}
	for name := range e.spans {
		method, path, _ := strings.Cut(name, " ")
		page := strings.HasPrefix(path, "/dashboard/") && !strings.Contains(path, marker)
		require.True(t, known[name] || (known[path] || page) && strings.ToUpper(method) == method || name == "operator request",
			"the span %q is none", name)
	}
	families, err := registry.Gather()
	require.NoError(t, err)
	series := 0
	for _, family := range families {
		series += len(family.GetMetric())
		for _, metric := range family.GetMetric() {
			for _, label := range metric.GetLabel() {
				require.NotContains(t, label.GetValue(), marker)
				if label.GetName() == "route" {
					require.True(t, known[label.GetValue()], label.GetValue())
				}
			}
		}
	}
	t.Logf("%d series", series)
	require.Less(t, series, 2000)
}
