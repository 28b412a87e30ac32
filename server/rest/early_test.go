package rest_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.storefront.example/server/apierr"
	"go.storefront.example/server/rest"
)

// startCrowded runs an edge with one slot, and more callers of one store than it serves until calm is called.
func startCrowded(t *testing.T) (w *world, calm func()) {
	t.Helper()
	w, slow := startSlow(t, func(context.Context) error {
		time.Sleep(50 * time.Millisecond)
		return nil
	}, func(c *rest.Config) { c.Capacity = rest.Capacity{Slots: 1, StoreSlots: 1} })
	ended, calm := context.WithCancel(context.Background())
	var callers sync.WaitGroup
	callers.Go(func() {
		for {
			select {
			case <-slow.begun:
			case <-t.Context().Done():
				return
			}
		}
	})
	for range 4 {
		callers.Go(func() {
			for ended.Err() == nil {
				r, _ := http.NewRequestWithContext(ended, http.MethodGet, w.url+"/v1/products/"+productID, nil)
				r.Header.Set("Authorization", "Bearer "+fullKey)
				if a, err := w.client.Do(r); err == nil {
					_ = a.Body.Close()
				}
			}
		})
	}
	t.Cleanup(func() { calm(); callers.Wait() })
	return w, calm
}

// caller is one connection.
type caller struct {
	t    *testing.T
	w    *world
	conn net.Conn
	from *bufio.Reader
	// before is how many requests others sent from the same port, which the system hands out again.
	before int
}

func (w *world) dial(t *testing.T) *caller {
	t.Helper()
	c, err := net.Dial("tcp", w.addr)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	made := &caller{t: t, w: w, conn: c, from: bufio.NewReader(c)}
	made.before = made.reads()
	return made
}

func (c *caller) write(text string) {
	c.t.Helper()
	_, err := io.WriteString(c.conn, text)
	require.NoError(c.t, err)
}

func (c *caller) read(method string) answer {
	c.t.Helper()
	res, err := http.ReadResponse(c.from, &http.Request{Method: method})
	require.NoError(c.t, err)
	body, err := io.ReadAll(res.Body)
	require.NoError(c.t, err)
	require.False(c.t, res.Close)
	return answer{res.StatusCode, res.Header, string(body)}
}

const oneProduct = " /v1/products/" + productID + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + fullKey + "\r\n\r\n"

// reads is how many of its requests net/http has read.
func (c *caller) reads() int {
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	return c.w.read[c.conn.LocalAddr().String()] - c.before
}

// untilRefusedEarly asks until it is refused and net/http has not read the request.
func (c *caller) untilRefusedEarly(method string) answer {
	c.t.Helper()
	for {
		before := c.reads()
		c.write(method + oneProduct)
		if a := c.read(method); a.status == http.StatusServiceUnavailable && c.reads() == before {
			return a
		}
	}
}

func TestWhatWouldWaitInVainIsRefusedBeforeItIsRead(t *testing.T) {
	t.Parallel()
	w, calm := startCrowded(t)
	c := w.dial(t)
	p := requireProblem(t, c.untilRefusedEarly("GET"), 503, apierr.Unavailable, "", "Retry-After", "Date")
	require.True(t, slices.ContainsFunc(w.requests(), func(r rest.Request) bool {
		return r.RequestID.String() == p.RequestID && r.Status == 503 && r.Code == string(apierr.Unavailable) &&
			r.Protocol == rest.ProtocolREST && r.Method == "GET" && r.Route == "/v1/products/{id}"
	}), "it is observed like any other")
	require.NotZero(t, w.edge.Load().Refused)
	a := c.untilRefusedEarly("HEAD")
	require.Empty(t, a.body)
	require.NotEqual(t, "0", a.header.Get("Content-Length"))

	// The same connection is served when there is room again, whatever was refused on it before.
	calm()
	for {
		c.write("GET" + oneProduct)
		if a := c.read("GET"); a.status == http.StatusOK {
			break
		}
	}
	require.NotZero(t, c.reads())
}

// What is not one plain request in one piece is net/http's to read, however crowded the service is, and so is all that
// follows it.
func TestOnlyWholeRequestsAreRefusedEarly(t *testing.T) {
	t.Parallel()
	w, _ := startCrowded(t)
	for _, row := range []struct {
		reason  string
		pieces  []string
		answers int
	}{
		{"in two pieces", []string{"GET" + oneProduct[:30], oneProduct[30:]}, 1},
		{"two at once", []string{"GET" + oneProduct + "GET" + oneProduct}, 2},
		{"a body that comes later", []string{"POST /v1/customers HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nAuthorization: Bearer " + fullKey + "\r\nContent-Length: 2\r\n\r\n", "{}"}, 1},
	} {
		t.Run(row.reason, func(t *testing.T) {
			w.dial(t).untilRefusedEarly("GET") // it is crowded
			var c *caller
			for c == nil || c.reads() == 0 { // pieces that arrived together may have been refused early
				c = w.dial(t)
				for _, piece := range row.pieces {
					c.write(piece)
					time.Sleep(10 * time.Millisecond)
				}
				for range row.answers {
					c.read("GET")
				}
			}
			require.Equal(t, row.answers, c.reads())
			c.write("GET" + oneProduct)
			c.read("GET")
			require.Equal(t, row.answers+1, c.reads())
		})
	}
}

// A server that stops has answered what it refuses early, and lets all others come in.
func TestEarlyRefusalsEndBeforeTheServer(t *testing.T) {
	t.Parallel()
	w, _ := startCrowded(t)
	c := w.dial(t)
	c.untilRefusedEarly("GET")
	c.write("GET" + oneProduct)
	w.edge.EndEarly()
	c.read("GET")
	for range 5 {
		before := c.reads()
		c.write("GET" + oneProduct)
		c.read("GET")
		require.Equal(t, before+1, c.reads())
	}
}
