package egress

import (
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPostSendsTheCallersHeadersAndNothingElse(t *testing.T) {
	t.Parallel()
	type request struct{ head, body string }
	seen := make(chan request, 1)
	r := listenTLS(t, good().server, func(conn net.Conn) {
		for {
			head, body := readRequest(conn)
			if body == "" && head == "" {
				return
			}
			seen <- request{head, body}
			_, _ = io.WriteString(conn, noContent)
		}
	})
	client := newClient(t, func(o *Options) { o.Resolver = answer(addrs("127.0.0.1")) })
	_, port, _ := net.SplitHostPort(r.Addr().String())
	for _, row := range []struct {
		reason string
		header http.Header
		body   string
		want   []string
	}{
		{"a delivery", headers(), `{"id":1}`, []string{
			"Content-Length: 8", "Content-Type: application/json", "Host: shop.example.com:" + port,
			"Service-Signature: t=1,v1=whsec_canary", "User-Agent: Service-Webhooks/1.0"}},
		{"no body", http.Header{"User-Agent": {"x"}}, "", []string{"Content-Length: 0", "Host: shop.example.com:" + port,
			"User-Agent: x"}},
	} {
		t.Run(row.reason, func(t *testing.T) {
			result := client.Post(t.Context(), r.at("Shop.Example.com."), row.header, []byte(row.body))
			require.True(t, result.Succeeded(), result.Problem)
			got := <-seen
			lines := strings.Split(strings.TrimSuffix(got.head, "\r\n\r\n"), "\r\n")
			require.Equal(t, "POST /webhooks?canary=whsec_canary HTTP/1.1", lines[0])
			slices.Sort(lines[1:])
			require.Equal(t, row.want, lines[1:])
			require.Equal(t, row.body, got.body)
		})
	}
}

func TestPostUsesAConnectionAgain(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		answer string
	}{
		{"no body", noContent},
		{"a length of 0", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"},
		{"a short body", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"},
		{"4 KiB", "HTTP/1.1 500 x\r\nContent-Length: 4096\r\n\r\n" + strings.Repeat("x", 4096)},
		{"chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"},
		{"a failure", "HTTP/1.1 503 x\r\nContent-Length: 2\r\n\r\nno"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			r := listenTLS(t, good().server, replies(row.answer))
			client := newClient(t, nil)
			client.drainTimeout = time.Minute // a busy machine may need longer than the default
			for range 20 {
				require.NotZero(t, client.Post(t.Context(), r.url(), headers(), []byte("{}")).Status)
				client.drains.Wait() // waits for the body, which is read in the background
			}
			require.EqualValues(t, 1, r.accepts.Load())
		})
	}
}

func TestPostGivesUpAConnectionWhoseBodyGoesOn(t *testing.T) {
	t.Parallel()
	closed := make(chan struct{}, 2)
	for _, row := range []struct {
		reason string
		answer string
	}{
		{"more than 4 KiB are announced", "HTTP/1.1 200 OK\r\nContent-Length: 4097\r\n\r\n" + strings.Repeat("x", 4097)},
		{"more than 4 KiB come", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2000\r\n" + strings.Repeat("x", 0x2000) +
			"\r\n0\r\n\r\n"},
		{"a body that stops half-way", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no"},
		{"a body that never starts", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"},
		{"a body without an end", "HTTP/1.0 200 OK\r\n\r\nok"},
		{"another protocol", "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			r := listenTLS(t, good().server, func(conn net.Conn) {
				_, _ = readRequest(conn)
				_, _ = io.WriteString(conn, row.answer)
				replies(noContent)(conn) // replies serves further requests, and returns once the client has closed the connection
				closed <- struct{}{}
			})
			client := newClient(t, nil)
			for attempt := range 2 {
				result := client.Post(t.Context(), r.url(), headers(), []byte("{}"))
				require.NotZero(t, result.Status)
				client.drains.Wait()
				require.EqualValues(t, attempt+1, r.accepts.Load())
			}
			<-closed
			<-closed
		})
	}
}

func TestPostDoesNotWaitForTheBody(t *testing.T) {
	t.Parallel()
	answered := make(chan struct{})
	r := listenTLS(t, good().server, func(conn net.Conn) {
		_, _ = readRequest(conn)
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n")
		<-answered // the body arrives after the attempt has ended
		_, _ = io.WriteString(conn, "ok")
	})
	result := newClient(t, nil).Post(t.Context(), r.url(), headers(), nil)
	close(answered)
	require.True(t, result.Succeeded(), result.Problem)
}

// A receiver may close a kept connection while a request is on its way.
func TestPostSendsOnceMoreWhatFailedOnAKeptConnection(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		end    func(net.Conn)
	}{
		{"closed", func(conn net.Conn) { _ = conn.Close() }},
		{"reset", reset},
	} {
		t.Run(row.reason, func(t *testing.T) {
			requests, drop := make(chan string, 20), atomic.Bool{}
			r := listenTLS(t, good().server, func(conn net.Conn) {
				for number := 0; ; number++ {
					head, body := readRequest(conn)
					if head == "" {
						return
					}
					requests <- body
					if number > 0 || drop.Load() {
						row.end(conn)
						return
					}
					_, _ = io.WriteString(conn, noContent)
				}
			})
			client := newClient(t, nil)
			post := func(body string) string { return client.Post(t.Context(), r.url(), headers(), []byte(body)).Problem }
			require.Empty(t, post("1"))
			require.Empty(t, post("2"), "once on the kept connection, once on a new one")
			require.Empty(t, post("3"), "a connection like that is not kept")
			drop.Store(true)
			require.Contains(t, []string{ProblemClosed, ProblemReset}, post("4"), "twice, and no more")
			for _, want := range []string{"1", "2", "2", "3", "4", "4"} {
				require.Equal(t, want, <-requests)
			}
			require.Empty(t, requests)
		})
	}
}

func TestPostSendsOnceWhereAnAnswerBeganOrTheConnectionIsNew(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason, first, answer string
		want                  []string
		connections           int
	}{
		{"a byte of an answer", noContent, "H", []string{"", ProblemAnswer, "", ProblemAnswer}, 2},
		{"a new connection", "", "", []string{ProblemClosed, ProblemClosed}, 2},
	} {
		t.Run(row.reason, func(t *testing.T) {
			requests := make(chan string, 10)
			r := listenTLS(t, good().server, func(conn net.Conn) {
				for _, answer := range []string{row.first, row.answer} {
					head, body := readRequest(conn)
					if head == "" {
						return
					}
					requests <- body
					_, _ = io.WriteString(conn, answer)
					if answer == "" {
						return
					}
				}
			})
			client := newClient(t, nil)
			for number, want := range row.want {
				body := strconv.Itoa(number)
				require.Equal(t, want, client.Post(t.Context(), r.url(), headers(), []byte(body)).Problem)
				require.Equal(t, body, <-requests)
			}
			require.Empty(t, requests)
			require.EqualValues(t, row.connections, r.accepts.Load())
		})
	}
}

func TestPostKeepsTheBeginningOfAFailuresBody(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ reason, answer, want string }{
		{"a sentence", "HTTP/1.1 500 x\r\nContent-Length: 11\r\n\r\nno database", "no database"},
		{"nothing", "HTTP/1.1 500 x\r\nContent-Length: 0\r\n\r\n", ""},
		{"a success", "HTTP/1.1 200 x\r\nContent-Length: 2\r\n\r\nok", ""},
		{"a long page", "HTTP/1.1 404 x\r\nContent-Length: 9000\r\n\r\n" + strings.Repeat("x", 9000),
			strings.Repeat("x", MaxAnswerBytes)},
		{"a body that stops", "HTTP/1.1 500 x\r\nContent-Length: 9000\r\n\r\nhalf", "half"},
		{"bytes that are no text", "HTTP/1.1 400 x\r\nContent-Length: 12\r\n\r\n a\x00\x1b[2J\xffb\r\n\t", "a[2J\uFFFDb"},
		{"another protocol", "HTTP/1.1 101 x\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\nhello", ""},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			r := listenTLS(t, good().server, replies(row.answer))
			require.Equal(t, row.want, newClient(t, nil).Post(t.Context(), r.url(), headers(), nil).Answer)
		})
	}
}

func TestNewHasDefaults(t *testing.T) {
	t.Parallel()
	client := New(Options{})
	defer client.Close()
	require.Equal(t, 10*time.Second, client.timeout)
	require.Equal(t, 8, client.transport.MaxIdleConnsPerHost)
	require.Equal(t, 512, client.transport.MaxIdleConns)
	require.Equal(t, "address refused", client.Post(t.Context(), "https://127.0.0.1/", nil, nil).Problem)
}

func BenchmarkPost(b *testing.B) {
	r := listenTLS(b, good().server, replies("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"))
	client := newClient(b, nil)
	body, header, target := []byte(strings.Repeat("x", 760)), headers(), r.url()
	b.ReportAllocs()
	for b.Loop() {
		if result := client.Post(b.Context(), target, header, body); !result.Succeeded() {
			b.Fatal(result.Problem)
		}
	}
	b.ReportMetric(float64(r.accepts.Load()), "connections")
}
