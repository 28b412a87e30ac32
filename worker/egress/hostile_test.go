package egress

import (
	"bytes"
	"compress/gzip"
	"crypto/tls"
	"io"
	"net"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db/dbtest/need"
)

func drip(conn net.Conn, text string) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for i := 0; ; i++ {
		if _, err := io.WriteString(conn, text[i%len(text):i%len(text)+1]); err != nil {
			return
		}
		<-tick.C
	}
}

func flood(conn net.Conn, text string) {
	for {
		if _, err := io.WriteString(conn, text); err != nil {
			return
		}
	}
}

// bomb is 64 MB of zeros, compressed.
var bomb = sync.OnceValue(func() string {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	for range 64 {
		_, _ = w.Write(make([]byte, 1<<20))
	}
	_ = w.Close()
	return packed.String()
})

// hostile lists receivers with the problem that an attempt must report.
var hostile = []struct {
	reason string
	plain  bool // true if handle gets the connection before the TLS handshake
	long   bool // true if sending the request waits for the receiver to read
	handle func(net.Conn)
	want   string
}{
	{"TLS that stalls", true, false, func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) }, ProblemTimeout},
	{"TLS that drips", true, false, func(conn net.Conn) {
		drip(conn, "\x16\x03\x03\x40\x00\x02\x00\x3f\xfc"+strings.Repeat("\x00",
			8000))
	}, ProblemTimeout},
	{"a request that is read byte by byte", false, true, sip, ProblemTimeout},
	{"silence", false, false, func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) }, ProblemTimeout},
	{"a slow drip of headers", false, false, func(conn net.Conn) {
		_, _ = readRequest(conn)
		drip(conn, "HTTP/1.1 200 OK\r\n"+strings.Repeat("X: y\r\n", 10000))
	}, ProblemTimeout},
	{"a slow drip of informational answers", false, false, func(conn net.Conn) {
		_, _ = readRequest(conn)
		drip(conn,
			"HTTP/1.1 103 Early Hints\r\n\r\n")
	}, ProblemTimeout},
	{"1 MB of headers", false, false, respond("HTTP/1.1 200 OK\r\n" + strings.Repeat("X: "+strings.Repeat("x", 997)+"\r\n", 1000) +
		"\r\n"), ProblemHeaders},
	{"one header without an end", false, false, func(conn net.Conn) {
		_, _ = readRequest(conn)
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nX: ")
		flood(conn, strings.Repeat("x", 4096))
	}, ProblemHeaders},
	{"100 Continue for ever", false, false, func(conn net.Conn) {
		_, _ = readRequest(conn)
		flood(conn, strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", 100))
	}, ProblemHeaders},
	{"103 Early Hints for ever", false, false, func(conn net.Conn) {
		_, _ = readRequest(conn)
		flood(conn, "HTTP/1.1 103 Early Hints\r\nLink: "+strings.Repeat("x", 1000)+"\r\n\r\n")
	}, ProblemHeaders},
	{"an endless body", false, false, func(conn net.Conn) {
		_, _ = readRequest(conn)
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n")
		flood(conn, strings.Repeat("x", 65536))
	}, ""},
	{"an endless body in chunks", false, false, func(conn net.Conn) {
		_, _ = readRequest(conn)
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
		flood(conn, "1000\r\n"+strings.Repeat("x", 4096)+"\r\n")
	}, ""},
	{"a slow drip of a body", false, false, func(conn net.Conn) {
		_, _ = readRequest(conn)
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 4096\r\n\r\n")
		drip(conn, "x")
	}, ""},
	{"a gzip bomb", false, false, func(conn net.Conn) {
		_, _ = readRequest(conn)
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n"+bomb())
	}, ""},
	{"a reset", false, false, func(conn net.Conn) { _, _ = readRequest(conn); reset(conn) }, ProblemReset},
	{"frames of HTTP/2", false, false, func(conn net.Conn) {
		_, _ = readRequest(conn)
		flood(conn, strings.Repeat("\x00\x00\x00\x04\x00\x00\x00\x00\x00", 500))
	}, ProblemHeaders},
	{"a redirect to itself", false, false,
		replies("HTTP/1.1 307 Temporary Redirect\r\nLocation: /webhooks\r\nContent-Length: 0\r\n\r\n"), "redirect 307"},
}

// sip reads byte by byte until the client closes the connection.
func sip(conn net.Conn) {
	conn = conn.(*tls.Conn).NetConn()
	_ = conn.(*net.TCPConn).SetReadBuffer(4096) // a larger buffer would accept most of the request
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := conn.Read(make([]byte, 1)); err != nil {
			return
		}
		<-tick.C
	}
}

// crowded is so long that on a busy machine only a hang exceeds it.
const crowded = time.Minute

// Not parallel, because it counts the goroutines and the heap of the process.
func TestHostileReceivers(t *testing.T) {
	need.Heavy(t, "it posts to receivers that hang and flood")
	const (
		inFlight  = 200
		timeout   = time.Second
		slack     = 500 * time.Millisecond
		heapBytes = 64 << 20
	)
	good()
	bomb()
	// Collect garbage often, because the test bounds the memory that the client uses.
	defer debug.SetGCPercent(debug.SetGCPercent(20))
	for _, row := range hostile {
		t.Run(row.reason, func(t *testing.T) {
			runtime.GC()
			goroutines, heap := runtime.NumGoroutine(), heapAlloc()
			var r *receiver
			if row.plain {
				r = listen(t, row.handle)
			} else {
				r = listenTLS(t, good().server, row.handle)
			}
			client := newClient(t, func(o *Options) { o.Timeout = timeout })
			target, body := r.url(), make([]byte, 760)
			if row.long {
				body = make([]byte, 8<<20) // more than a connection's buffers hold
			}

			// First at most three attempts, until one ends within timeout + slack; each with row.want. Their long timeout keeps
			// a slow machine from causing ProblemTimeout. The attempts below, at once, may end with any problem.
			single := newClient(t, func(o *Options) {
				o.Timeout = crowded
				if row.want == ProblemTimeout {
					o.Timeout = timeout
				}
			})
			for try := 1; ; try++ {
				alone := single.Post(t.Context(), target, headers(), body)
				require.Equal(t, row.want, alone.Problem)
				if alone.Duration <= timeout+slack {
					break
				}
				require.Less(t, try, 3, "it took %s", alone.Duration)
			}

			results, most := make(chan Result, inFlight), watchHeap()
			for range inFlight {
				go func() { results <- client.Post(t.Context(), target, headers(), body) }()
			}
			var slowest Result
			for range inFlight {
				if result := <-results; result.Duration > slowest.Duration {
					slowest = result
				}
			}
			peak := most()
			require.LessOrEqual(t, int64(peak)-int64(heap), int64(heapBytes))
			require.LessOrEqual(t, slowest.Duration, timeout+crowded, slowest.Problem)
			client.Close()
			single.Close()
			if !row.long { // if the request is long, the receiver reads nothing, and so does not notice the close
				require.Eventually(t, r.idle, crowded, 5*time.Millisecond, "the client has closed every connection")
			}
			r.stop()
			require.Eventually(t, func() bool { return runtime.NumGoroutine() <= goroutines+1 }, crowded, 5*time.Millisecond,
				"%d goroutines before; the one that counts is the only new one", goroutines)
		})
	}
}

func heapAlloc() uint64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// watchHeap returns a function that ends sampling and returns the maximum.
func watchHeap() func() uint64 {
	stop, most := make(chan struct{}), make(chan uint64)
	go func() {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		highest := uint64(0)
		for {
			highest = max(highest, heapAlloc())
			select {
			case <-tick.C:
			case <-stop:
				most <- highest
				return
			}
		}
	}()
	return func() uint64 {
		close(stop)
		return <-most
	}
}
