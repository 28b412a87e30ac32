package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httputil"
	"strconv"
	"time"
)

// answerTimeout bounds the wait for one answer.
const answerTimeout = 30 * time.Second

// client asks over one kept-alive HTTP/1.1 connection. It reads no more of an answer than a
// benchmark needs, because it takes its time from the same processors as the services. It belongs
// to one goroutine.
type client struct {
	conn   net.Conn
	reader *bufio.Reader
	body   []byte
	// retryAfter and closing are of the last answer: whether it has the header Retry-After, and
	// whether the connection ends with it.
	retryAfter, closing bool
}

func dial(ctx context.Context, address string) (*client, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return newClient(conn), nil
}

func newClient(conn net.Conn) *client {
	return &client{conn: conn, reader: bufio.NewReaderSize(conn, 64<<10)}
}

func (c *client) close() { _ = c.conn.Close() }

var (
	lengthHeader   = []byte("content-length:")
	encodingHeader = []byte("transfer-encoding:")
	retryHeader    = []byte("retry-after:")
	closingHeader  = []byte("connection: close")
	errAnswer      = errors.New("the answer is not HTTP/1.1 as expected")
)

// do sends a request and returns the answer's status and body; the body is good until the next
// call.
func (c *client) do(request []byte) (status int, body []byte, err error) {
	return c.until(time.Now().Add(answerTimeout), request)
}

// until is do with a deadline of the caller's, after which the connection is of no more use.
func (c *client) until(deadline time.Time, request []byte) (status int, body []byte, err error) {
	c.retryAfter, c.closing = false, false
	if err := c.conn.SetDeadline(deadline); err != nil {
		return 0, nil, err
	}
	if _, err := c.conn.Write(request); err != nil {
		return 0, nil, err
	}
	line, err := c.line()
	if err != nil {
		return 0, nil, err
	}
	if len(line) < len("HTTP/1.1 200") || !bytes.HasPrefix(line, []byte("HTTP/1.1 ")) {
		return 0, nil, errAnswer
	}
	if status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return 0, nil, errAnswer
	}
	length, chunked := 0, false
	for {
		if line, err = c.line(); err != nil {
			return 0, nil, err
		}
		if len(line) == 0 {
			break
		}
		switch {
		case hasHeader(line, lengthHeader):
			if length, err = strconv.Atoi(string(bytes.TrimSpace(line[len(lengthHeader):]))); err != nil {
				return 0, nil, errAnswer
			}
		case hasHeader(line, encodingHeader):
			chunked = true
		case hasHeader(line, retryHeader):
			c.retryAfter = true
		case bytes.EqualFold(line, closingHeader):
			c.closing = true
		}
	}
	if chunked {
		body, err = c.chunks()
		return status, body, err
	}
	if cap(c.body) < length {
		c.body = make([]byte, length)
	}
	body = c.body[:length]
	_, err = io.ReadFull(c.reader, body)
	return status, body, err
}

func (c *client) line() ([]byte, error) {
	line, err := c.reader.ReadSlice('\n')
	if err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	return bytes.TrimSuffix(line[:len(line)-1], []byte("\r")), nil
}

func hasHeader(line, name []byte) bool {
	return len(line) > len(name) && bytes.EqualFold(line[:len(name)], name)
}

func (c *client) chunks() ([]byte, error) {
	body := bytes.NewBuffer(c.body[:0])
	if _, err := body.ReadFrom(httputil.NewChunkedReader(c.reader)); err != nil {
		return nil, err
	}
	c.body = body.Bytes()
	_, err := c.line() // the empty line after the last chunk; no answer has trailers
	return c.body, err
}
