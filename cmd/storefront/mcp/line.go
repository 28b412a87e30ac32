package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// transport is the Model Context Protocol over standard input and output, each line a message of JSON-RPC 2.0
// (https://www.jsonrpc.org/specification). It answers an invalid line with an error, where the SDK's would end the session.
type transport struct {
	in io.Reader

	read    chan line
	closing sync.Once
	closed  chan struct{}

	writing sync.Mutex // guards out and calls
	out     io.Writer
	// calls are the ids of unanswered calls. answered, with room for one, gets a signal when one is answered.
	calls    map[jsonrpc.ID]bool
	answered chan struct{}
}

type line struct {
	text    []byte
	tooLong bool
	err     error
}

// maxLineBytes is well above the API's 1 MiB, because JSON's escapes can make a text six times as long.
const maxLineBytes = 16 << 20

// maxID is the largest id that the SDK, which reads ids as float64, keeps exactly.
const maxID = 1 << 53

var byteOrderMark = []byte("\uFEFF")

func (t *transport) Connect(context.Context) (sdk.Connection, error) {
	t.read, t.closed = make(chan line), make(chan struct{})
	t.calls, t.answered = map[jsonrpc.ID]bool{}, make(chan struct{}, 1)
	go func() {
		for in := bufio.NewReader(t.in); ; {
			next := readLine(in)
			select {
			case t.read <- next:
			case <-t.closed:
				return
			}
			if next.err != nil {
				return
			}
		}
	}()
	return t, nil
}

// readLine keeps no text of a line that is too long.
func readLine(in *bufio.Reader) (next line) {
	for {
		part, err := in.ReadSlice('\n')
		if next.tooLong = next.tooLong || len(next.text)+len(part) > maxLineBytes; next.tooLong {
			next.text = nil
		} else {
			next.text = append(next.text, part...)
		}
		switch {
		case err == nil, errors.Is(err, io.EOF) && (next.tooLong || len(next.text) > 0): // the last line may have no line end
			return next
		case !errors.Is(err, bufio.ErrBufferFull):
			return line{err: err}
		}
	}
}

// Read returns the next valid message, and io.EOF only when every call is answered, because the SDK then gives up the others.
func (t *transport) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		var next line
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-t.closed:
			return nil, io.EOF
		case next = <-t.read:
		}
		if next.err != nil {
			t.awaitAnswers(ctx)
			return nil, next.err
		}
		message, refused := decode(next)
		if call, ok := message.(*jsonrpc.Request); ok && call.IsCall() && !t.begin(call.ID) {
			message, refused = refuse(json.RawMessage("null"), jsonrpc.CodeInvalidRequest, "a call with this id has no answer yet")
		}
		if message != nil {
			return message, nil
		}
		if refused != nil {
			if err := t.write(json.Marshal(refused)); err != nil {
				return nil, err
			}
		}
	}
}

// begin records an unanswered call. It returns false if another one has the same id.
func (t *transport) begin(id jsonrpc.ID) bool {
	t.writing.Lock()
	defer t.writing.Unlock()
	if t.calls[id] {
		return false
	}
	t.calls[id] = true
	return true
}

func (t *transport) awaitAnswers(ctx context.Context) {
	for {
		t.writing.Lock()
		waiting := len(t.calls)
		t.writing.Unlock()
		if waiting == 0 {
			return
		}
		select {
		case <-t.answered:
		case <-ctx.Done():
			return
		case <-t.closed:
			return
		}
	}
}

// refusal is the answer to an invalid line.
type refusal struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"` // null if the line has no id that can be read
	Error   jsonrpc.Error   `json:"error"`
}

func refuse(id json.RawMessage, code int64, message string) (jsonrpc.Message, *refusal) {
	return nil, &refusal{"2.0", id, jsonrpc.Error{Code: code, Message: message}}
}

// decode returns a message, or the answer to an invalid line; neither for an empty line and an invalid response, because two
// programs that answer errors with errors would never stop.
func decode(l line) (jsonrpc.Message, *refusal) {
	id := json.RawMessage("null")
	text := bytes.TrimSpace(bytes.TrimPrefix(l.text, byteOrderMark))
	switch {
	case l.tooLong:
		return refuse(id, jsonrpc.CodeInvalidRequest, fmt.Sprintf("the line is longer than %d bytes", maxLineBytes))
	case len(text) == 0:
		return nil, nil
	case !utf8.Valid(text):
		return refuse(id, jsonrpc.CodeParseError, "the line is not UTF-8")
	case !json.Valid(text):
		return refuse(id, jsonrpc.CodeParseError, "the line is not one JSON value")
	case text[0] == '[':
		return refuse(id, jsonrpc.CodeInvalidRequest, "the line is a batch, which this server does not take: send each message on a line of its own")
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(text, &members) != nil || members == nil {
		return refuse(id, jsonrpc.CodeInvalidRequest, "the line is not a JSON object")
	}
	_, isCall := members["method"]
	_, succeeded := members["result"]
	_, failed := members["error"]
	if given, ok := members["id"]; ok && (isCall || !succeeded && !failed) {
		if !isID(given) {
			return refuse(id, jsonrpc.CodeInvalidRequest, "the id must be a text or a whole number of at most 2^53")
		}
		id = given
	}
	if !isCall && !succeeded && !failed {
		return refuse(id, jsonrpc.CodeInvalidRequest, "the message has no method")
	}
	message, err := jsonrpc.DecodeMessage(text)
	switch {
	case err == nil:
		return message, nil
	case !isCall:
		return nil, nil
	}
	return refuse(id, jsonrpc.CodeInvalidRequest, err.Error())
}

// isID accepts a text, or a whole number of at most maxID, but not null.
func isID(text json.RawMessage) bool {
	if text[0] == '"' {
		return true
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	return err == nil && -maxID <= n && n <= maxID
}

// Write records that a call has been answered if the message is an answer.
func (t *transport) Write(_ context.Context, message jsonrpc.Message) error {
	err := t.write(jsonrpc.EncodeMessage(message))
	if answer, ok := message.(*jsonrpc.Response); ok {
		t.writing.Lock()
		delete(t.calls, answer.ID)
		t.writing.Unlock()
		select {
		case t.answered <- struct{}{}:
		default: // t.answered has a signal that nobody has read yet
		}
	}
	return err
}

func (t *transport) write(text []byte, err error) error {
	if err != nil {
		return fmt.Errorf("encode a message: %w", err)
	}
	t.writing.Lock()
	defer t.writing.Unlock()
	_, err = t.out.Write(append(text, '\n'))
	return err
}

// Close ends a waiting Read. The goroutine that reads the input may wait on, until the input has more bytes or ends.
func (t *transport) Close() error {
	t.closing.Do(func() { close(t.closed) })
	return nil
}

// SessionID returns "", because a process has only one session.
func (t *transport) SessionID() string { return "" }
