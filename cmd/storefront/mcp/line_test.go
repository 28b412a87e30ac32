package mcp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"go.storefront.example/cmd/storefront/mcp"
)

type wire struct {
	*testing.T
	to     *io.PipeWriter
	from   *bufio.Reader
	served chan error
}

func newWire(t *testing.T) *wire {
	t.Helper()
	return serve(t, sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil))
}

func serve(t *testing.T, server *sdk.Server) *wire {
	t.Helper()
	in, to := io.Pipe()
	from, out := io.Pipe()
	w := &wire{t, to, bufio.NewReader(from), make(chan error, 1)}
	go func() {
		w.served <- mcp.Serve(t.Context(), server, in, out)
		_ = out.Close()
	}()
	t.Cleanup(func() { _ = to.Close() })
	w.send(`{"jsonrpc":"2.0","id":"begin","method":"initialize","params":{"protocolVersion":"2025-06-18",` +
		`"capabilities":{},"clientInfo":{"name":"t","version":"1"}}}` + "\n")
	require.Nil(t, w.answer().Error)
	w.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n")
	return w
}

func (w *wire) send(text string) {
	w.Helper()
	_, err := io.WriteString(w.to, text)
	require.NoError(w, err)
}

type wireAnswer struct {
	ID     json.RawMessage
	Result json.RawMessage
	Error  *struct {
		Code    int
		Message string
	}
}

func (w *wire) answer() (a wireAnswer) {
	w.Helper()
	text, err := w.from.ReadString('\n')
	require.NoError(w, err)
	require.NoError(w, json.Unmarshal([]byte(text), &a), text)
	return a
}

// ping requires an answer, which shows that the session continues.
func (w *wire) ping() {
	w.Helper()
	w.send(`{"jsonrpc":"2.0","id":"alive","method":"ping"}` + "\n")
	a := w.answer()
	require.Nil(w, a.Error)
	require.Equal(w, `"alive"`, string(a.ID))
}

func TestALineThatIsNoMessageIsAnswered(t *testing.T) {
	t.Parallel()
	const parse, invalid, noMethod, params = -32700, -32600, -32601, -32602
	for name, row := range map[string]struct {
		line     string
		code     int
		id, says string
	}{
		"no JSON":                   {`{"jsonrpc":"2.0","id":1,`, parse, "null", "not one JSON value"},
		"a word":                    {`hello`, parse, "null", "not one JSON value"},
		"two values":                {`{"jsonrpc":"2.0","id":1,"method":"ping"}{}`, parse, "null", "not one JSON value"},
		"no UTF-8":                  {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"p\xff\"}", parse, "null", "not UTF-8"},
		"UTF-16":                    {"\xff\xfe{\x00}\x00", parse, "null", "not UTF-8"},
		"a batch":                   {`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, invalid, "null", "batch"},
		"an empty batch":            {`[]`, invalid, "null", "batch"},
		"a line over the limit":     {`{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("p", 17<<20) + `"}`, invalid, "null", "longer than"},
		"a number":                  {`5`, invalid, "null", "not a JSON object"},
		"null":                      {`null`, invalid, "null", "not a JSON object"},
		"an empty object":           {`{}`, invalid, "null", "no method"},
		"no method":                 {`{"jsonrpc":"2.0","id":7}`, invalid, "7", "no method"},
		"a method that is no text":  {`{"jsonrpc":"2.0","id":"a","method":5}`, invalid, `"a"`, "json"},
		"a null id":                 {`{"jsonrpc":"2.0","id":null,"method":"ping"}`, invalid, "null", "id must be"},
		"an id that is an object":   {`{"jsonrpc":"2.0","id":{},"method":"ping"}`, invalid, "null", "id must be"},
		"an id that is a fraction":  {`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, invalid, "null", "id must be"},
		"an id beyond float64":      {`{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`, invalid, "null", "id must be"},
		"no version":                {`{"id":3,"method":"ping"}`, invalid, "3", "version"},
		"another version":           {`{"jsonrpc":"1.0","id":3,"method":"ping"}`, invalid, "3", "version"},
		"a notification without it": {`{"method":"notifications/initialized"}`, invalid, "null", "version"},
		"nested too deeply":         {`{"jsonrpc":"2.0","id":3,"method":"ping","params":` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + `}`, invalid, "3", "depth"},
		"an unknown method":         {`{"jsonrpc":"2.0","id":3,"method":"nothing"}`, noMethod, "3", "nothing"},
		"an empty method":           {`{"jsonrpc":"2.0","id":3,"method":""}`, noMethod, "3", ""},
		"params that are a number":  {`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":5}`, params, "3", ""},
		"a tool that is missing":    {`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"nothing"}}`, params, "3", "nothing"},
		"a notification with an id": {`{"jsonrpc":"2.0","id":3,"method":"notifications/initialized"}`, invalid, "3", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWire(t)
			for _, end := range []string{"\n", "\r\n", " \n\n\r\n"} {
				w.send(row.line + end)
				a := w.answer()
				require.NotNil(t, a.Error, string(a.Result))
				require.Equal(t, row.code, a.Error.Code, a.Error.Message)
				require.Equal(t, row.id, string(a.ID))
				require.Contains(t, a.Error.Message, row.says)
				w.ping()
			}
		})
	}
}

// A byte order mark, spaces and empty lines do not matter.
func TestLinesWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	w := newWire(t)
	for _, line := range []string{
		"", " \t", "\r", "\uFEFF",
		`{"jsonrpc":"2.0","method":"notifications/nothing"}`, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":5}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}`, `{"jsonrpc":"2.0","method":"ping"}`,
		`{"jsonrpc":"2.0","id":99,"result":{}}`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no JSON"}}`,
		`{"jsonrpc":"2.0","id":{},"result":5}`, `{"jsonrpc":"1.0","error":5}`,
	} {
		w.send(line + "\n")
		w.ping()
	}
	for _, line := range []string{"\uFEFF%s\n", "%s\r\n", "  %s  \n", "\n\n%s\n"} {
		w.send(strings.Replace(line, "%s", `{"jsonrpc":"2.0","id":9007199254740992,"method":"ping"}`, 1))
		a := w.answer()
		require.Nil(t, a.Error)
		require.Equal(t, "9007199254740992", string(a.ID))
	}
	// A call in a last line without a line end is answered before the session ends.
	w.send(`{"jsonrpc":"2.0","id":"last","method":"tools/list"}`)
	require.NoError(t, w.to.Close())
	require.Equal(t, `"last"`, string(w.answer().ID))
	require.NoError(t, <-w.served)
}

// The call is refused, because nobody could tell the two answers apart.
func TestAnIDThatIsInUse(t *testing.T) {
	t.Parallel()
	begun, proceed := make(chan struct{}), make(chan struct{})
	server := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	server.AddTool(&sdk.Tool{Name: "wait", InputSchema: map[string]any{"type": "object"}},
		func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			close(begun)
			<-proceed
			return &sdk.CallToolResult{}, nil
		})
	w := serve(t, server)
	w.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wait"}}` + "\n")
	<-begun
	w.send(`{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n")
	a := w.answer()
	require.Equal(t, -32600, a.Error.Code)
	require.Equal(t, "null", string(a.ID))
	close(proceed)
	a = w.answer()
	require.Nil(t, a.Error)
	require.Equal(t, "1", string(a.ID))
	w.ping()
}
