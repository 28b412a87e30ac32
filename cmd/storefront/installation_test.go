package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.storefront.example/worker/signature"
)

type installation struct {
	t   *testing.T
	env map[string]string
}

// newInstallation lets workers trust the certificate of the inbox, and deliver to it.
func newInstallation(t *testing.T, databaseURL string, to *inbox) installation {
	t.Helper()
	return installation{t, map[string]string{
		"STOREFRONT_DATABASE_URL": databaseURL, "SSL_CERT_FILE": to.authority, "STOREFRONT_ALLOW_PRIVATE_TARGETS": "true",
	}}
}

func (i installation) with(name, value string) installation {
	env := map[string]string{name: value}
	for n, v := range i.env {
		if n != name {
			env[n] = v
		}
	}
	return installation{i.t, env}
}

func (i installation) command(binary string, args ...string) *exec.Cmd {
	c := exec.CommandContext(i.t.Context(), binary, args...)
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "STOREFRONT_") {
			c.Env = append(c.Env, variable)
		}
	}
	for name, value := range i.env {
		c.Env = append(c.Env, name+"="+value)
	}
	return c
}

// run requires that a command of this binary succeeds, and decodes its JSON into into.
func (i installation) run(into any, args ...string) {
	i.t.Helper()
	i.runOf("storefront", into, args...)
}

func (i installation) runOf(binary string, into any, args ...string) {
	i.t.Helper()
	c := i.command(binary, append(args, "-o", "json")...)
	var said bytes.Buffer
	c.Stderr = &said
	out, err := c.Output()
	require.NoError(i.t, err, "%v: %s", args, &said)
	if into != nil {
		require.NoError(i.t, json.Unmarshal(out, into), "%s", out)
	}
}

type process struct {
	*exec.Cmd
	t               *testing.T
	Addr, AdminAddr string

	mu   sync.Mutex
	logs bytes.Buffer
	read sync.WaitGroup
}

// start waits for a log line whose message is ready.
func (i installation) start(binary, ready string, args ...string) *process {
	i.t.Helper()
	p := &process{Cmd: i.command(binary, args...), t: i.t}
	logs, err := p.StderrPipe()
	require.NoError(i.t, err)
	require.NoError(i.t, p.Start())
	lines := bufio.NewScanner(logs)
	var line struct {
		Msg       string
		Addr      string
		AdminAddr string `json:"admin_addr"`
	}
	for line.Msg != ready {
		if !lines.Scan() {
			require.FailNow(i.t, "the process ended", "%v: %s %v", args, p.log(), p.Wait())
		}
		p.keep(lines.Text())
		_ = json.Unmarshal(lines.Bytes(), &line)
	}
	p.Addr, p.AdminAddr = line.Addr, line.AdminAddr
	p.read.Go(func() {
		for lines.Scan() {
			p.keep(lines.Text())
		}
	})
	i.t.Cleanup(func() {
		if p.ProcessState == nil {
			_ = p.Process.Kill()
			p.read.Wait()
			_ = p.Wait()
		}
	})
	return p
}

func (i installation) server(binary string) *process {
	i.t.Helper()
	return i.start(binary, "listening", "server", "--addr", "127.0.0.1:0", "--admin-addr", "127.0.0.1:0")
}

func (i installation) worker() *process {
	i.t.Helper()
	return i.start("storefront", "delivering", "worker")
}

func (p *process) keep(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.logs.WriteString(line + "\n")
}

func (p *process) log() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.logs.String()
}

// stop requires exit status 0.
func (p *process) stop() {
	p.t.Helper()
	if runtime.GOOS == "windows" { // Windows has no signal to end a process in good order
		require.NoError(p.t, p.Process.Kill())
		p.read.Wait()
		_ = p.Wait()
		return
	}
	require.NoError(p.t, p.Process.Signal(syscall.SIGTERM))
	p.read.Wait()
	require.NoError(p.t, p.Wait(), p.log())
}

// inbox receives webhooks. A certificate authority made for the test has signed its certificate.
type inbox struct {
	t         *testing.T
	url       string
	authority string
	arrived   chan arrival
	mu        sync.Mutex
	secret    string
}

type arrival struct {
	ID, Type string
	Data     json.RawMessage
	verified bool
}

// newInbox skips the test where SSL_CERT_FILE does not set the certificate authorities that a worker trusts.
func newInbox(t *testing.T) *inbox {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("SSL_CERT_FILE names the trusted authorities on Linux only")
	}
	in := &inbox{t: t, arrived: make(chan arrival, 10_000)}
	server := httptest.NewTLSServer(in)
	t.Cleanup(server.Close)
	in.url, in.authority = server.URL, filepath.Join(t.TempDir(), "authority.pem")
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	require.NoError(t, os.WriteFile(in.authority, certificate, 0o600))
	return in
}

func (in *inbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	in.mu.Lock()
	secret := in.secret
	in.mu.Unlock()
	var got arrival
	if err := json.Unmarshal(body, &got); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	got.verified = signature.Verify(r.Header.Get(signature.Header), body, secret, time.Now(), signature.Tolerance) == nil
	in.arrived <- got
}

func (in *inbox) verifyWith(secret string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.secret = secret
}

func (in *inbox) next() arrival {
	in.t.Helper()
	select {
	case got := <-in.arrived:
		require.True(in.t, got.verified, "%s %s: the signature does not match", got.Type, got.ID)
		return got
	case <-time.After(time.Minute):
		require.FailNow(in.t, "nothing arrives")
		return arrival{}
	}
}

// in.collect waits for deliveries of count events, and returns their types by id.
func (in *inbox) collect(count int) map[string]string {
	in.t.Helper()
	got := map[string]string{}
	for len(got) < count {
		a := in.next()
		got[a.ID] = a.Type
	}
	return got
}
