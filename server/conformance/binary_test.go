package conformance_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"

	"go.storefront.example/gen/storefront/v1/storefrontv1connect"
	"go.storefront.example/server/conformance/devtest"
)

// startTimeout is long, because a development server makes its demo data first.
const startTimeout = time.Minute

func TestMain(m *testing.M) { os.Exit(judged(m.Run())) }

type process struct {
	*exec.Cmd
	url string
}

// start waits until the binary prints its address, and kills it at the test's end.
func start(t *testing.T, output func(*exec.Cmd) (io.Reader, error), find func(line string) bool, args ...string) *process {
	t.Helper()
	command := exec.Command(devtest.Build(t).File, args...)
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "STOREFRONT_") {
			command.Env = append(command.Env, variable)
		}
	}
	reader, err := output(command)
	require.NoError(t, err)
	require.NoError(t, command.Start())
	p := &process{Cmd: command}
	t.Cleanup(p.kill)
	timer := time.AfterFunc(startTimeout, p.kill)
	defer timer.Stop()
	lines := bufio.NewScanner(reader)
	var printed []string
	for lines.Scan() {
		printed = append(printed, lines.Text())
		if find(lines.Text()) {
			go func() { _, _ = io.Copy(io.Discard, reader) }()
			return p
		}
	}
	require.FailNow(t, "the process ended before it served", strings.Join(printed, "\n"))
	return nil
}

func (p *process) kill() {
	_ = p.Process.Kill()
	_ = p.Wait()
}

func startServer(t *testing.T, database string) *process {
	t.Helper()
	var line struct{ Msg, Addr string }
	p := start(t,
		func(c *exec.Cmd) (io.Reader, error) { return c.StderrPipe() },
		func(text string) bool { return json.Unmarshal([]byte(text), &line) == nil && line.Msg == "listening" },
		"server", "--addr", "127.0.0.1:0", "--admin-addr", "127.0.0.1:0", "--database-url", database)
	p.url = "http://" + line.Addr
	return p
}

var curlLine = regexp.MustCompile(`curl .*(svc_live_[0-9A-Za-z]{42}).*(http://127\.0\.0\.1:\d+)/v1/`)

func authorized(key string) connect.ClientOption {
	return connect.WithInterceptors(connect.UnaryInterceptorFunc(func(next connect.UnaryFunc) connect.UnaryFunc {
		return func(ctx context.Context, r connect.AnyRequest) (connect.AnyResponse, error) {
			r.Header().Set("Authorization", "Bearer "+key)
			return next(ctx, r)
		}
	}))
}

// The generated client lists and updates products over Connect and over gRPC.
func TestGoClientAgainstDev(t *testing.T) {
	t.Parallel()
	var found []string
	p := start(t,
		func(c *exec.Cmd) (io.Reader, error) { return c.StdoutPipe() },
		func(line string) bool { found = curlLine.FindStringSubmatch(line); return found != nil },
		"dev", "--addr", "127.0.0.1:0", "--admin-addr", "127.0.0.1:0", "--data", filepath.Join(t.TempDir(), "data"))
	key, url := found[1], found[2]
	defer p.kill()
	for name, client := range map[string]storefrontv1connect.ProductServiceClient{
		"connect": storefrontv1connect.NewProductServiceClient(newClient(false), url, authorized(key)),
		"grpc":    storefrontv1connect.NewProductServiceClient(newClient(true), url, authorized(key), connect.WithGRPC()),
		"json":    storefrontv1connect.NewProductServiceClient(newClient(false), url, authorized(key), connect.WithProtoJSON()),
	} {
		list, err := client.ListProducts(t.Context(), &listProducts{PageSize: new(int32(2))})
		require.NoError(t, err)
		require.Len(t, list.GetData(), 2)
		require.Greater(t, list.GetTotal(), int64(2))
		first := list.GetData()[0]
		require.Equal(t, "XAF", first.GetCurrency())
		changed, err := client.UpdateProduct(t.Context(), &updateProduct{Id: first.GetId(), Title: new("Over " + name)})
		require.NoError(t, err)
		require.Equal(t, "Over "+name, changed.GetTitle())
		again, err := client.GetProduct(t.Context(), &getProduct{Id: first.GetId()})
		require.NoError(t, err)
		require.Equal(t, changed.GetTitle(), again.GetTitle())
		require.Equal(t, changed.GetUpdatedAt().AsTime(), again.GetUpdatedAt().AsTime())
		_, err = client.GetProduct(t.Context(), &getProduct{Id: "x"})
		require.Equal(t, connect.CodeNotFound, connect.CodeOf(err))
	}
}
