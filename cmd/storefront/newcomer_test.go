package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"go.storefront.example/client/webhook"
	"go.storefront.example/ent/db/dbtest/need"
	"go.storefront.example/worker/signature"
)

// TestNewcomer runs what a new user does in an empty folder. With STOREFRONT_TEST_BINARY, as in CI, the scripts run that
// binary.
func TestNewcomer(t *testing.T) {
	t.Parallel()
	need.Heavy(t, "it follows the help in an empty folder, with every example")
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot be interrupted on Windows")
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/newcomer", RequireUniqueNames: true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"serve": serveIn, "end": endIn, "shown": shownIn, "received": receivedIn, "agrees": agreesIn, "same": sameIn, "json": jsonIs, "jsonenv": jsonEnv,
		},
		Setup: func(e *testscript.Env) error {
			r := &newcomer{got: map[string][]delivered{}, runs: map[string]*exec.Cmd{}}
			server := httptest.NewServer(r)
			e.Defer(func() {
				for _, c := range r.runs {
					_ = c.Process.Kill()
					_ = c.Wait()
				}
				server.Close()
			})
			e.Values[newcomerKey{}] = r
			e.Setenv("RECEIVER", server.URL)
			if binary := os.Getenv("STOREFRONT_TEST_BINARY"); binary != "" {
				e.Setenv("PATH", filepath.Dir(binary)+string(filepath.ListSeparator)+e.Getenv("PATH"))
			}
			return nil
		},
	})
}

// newcomer has what a script started: a receiver of webhooks, and commands by their names.
type newcomer struct {
	mu   sync.Mutex
	got  map[string][]delivered
	runs map[string]*exec.Cmd
}

type delivered struct {
	header http.Header
	body   []byte
}

func (d delivered) eventType() string { return d.header.Get(signature.EventTypeHeader) }

type newcomerKey struct{}

func newcomerOf(ts *testscript.TestScript) *newcomer { return ts.Value(newcomerKey{}).(*newcomer) }

func (r *newcomer) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil || request.URL.Path == "/refuses" {
		http.Error(w, "{\n  \"error\": \"the secret\tis another one\"\n}", http.StatusInternalServerError)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.got[request.URL.Path] = append(r.got[request.URL.Path], delivered{request.Header, body})
	w.WriteHeader(http.StatusNoContent)
}

func (r *newcomer) at(path string) []delivered {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]delivered(nil), r.got[path]...)
}

const awaited = time.Minute

// await calls done() until it is true, or fails the script after a minute.
func await(ts *testscript.TestScript, what string, done func() bool) {
	for deadline := time.Now().Add(awaited); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			ts.Fatalf("%s: not within %s", what, awaited)
		}
	}
}

func serveIn(ts *testscript.TestScript, _ bool, args []string) {
	r, out := newcomerOf(ts), ts.MkAbs(args[0]+".out")
	path := ""
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		if path = filepath.Join(dir, args[2]); exists(path) {
			break
		}
	}
	c := exec.Command(path, args[3:]...)
	c.Dir, c.Env = ts.MkAbs("."), append(os.Environ(), "HOME="+ts.Getenv("HOME"))
	for _, name := range []string{"STOREFRONT_DATABASE_URL", "STOREFRONT_ADMIN_URL", "STOREFRONT_ADMIN_TOKEN"} {
		c.Env = append(c.Env, name+"="+ts.Getenv(name))
	}
	file, err := os.Create(out)
	ts.Check(err)
	defer file.Close()
	var errs bytes.Buffer
	c.Stdout, c.Stderr = file, &errs
	ts.Check(c.Start())
	r.runs[args[0]] = c
	await(ts, strings.Join(args, " "), func() bool { return strings.Contains(ts.ReadFile(out), args[1]) })
}

func endIn(ts *testscript.TestScript, _ bool, args []string) {
	r := newcomerOf(ts)
	c := r.runs[args[0]]
	delete(r.runs, args[0])
	ts.Check(c.Process.Signal(os.Interrupt))
	if err := c.Wait(); err != nil {
		ts.Fatalf("%s: %v: %s", args[0], err, c.Stderr)
	}
}

func shownIn(ts *testscript.TestScript, _ bool, args []string) {
	pattern := regexp.MustCompile("(?m)" + args[1])
	await(ts, strings.Join(args, " "), func() bool { return pattern.MatchString(ts.ReadFile(args[0])) })
}

var secretText = regexp.MustCompile(`whsec_[0-9A-Za-z]{43,64}`)

func receivedIn(ts *testscript.TestScript, _ bool, args []string) {
	secret, want := secretText.FindString(ts.ReadFile(args[1])), map[string]int{}
	for _, name := range args[2:] {
		want[name]++
	}
	await(ts, strings.Join(args, " "), func() bool {
		left := map[string]int{}
		for _, d := range newcomerOf(ts).at(args[0]) {
			left[d.eventType()]++
		}
		for name, count := range want {
			if left[name] < count {
				return false
			}
		}
		return true
	})
	seen := map[string]bool{}
	for _, d := range newcomerOf(ts).at(args[0]) {
		signed := d.header.Get(signature.Header)
		event, err := webhook.Verify(d.body, signed, secret)
		ts.Check(err)
		id := event.ID
		if id != d.header.Get(signature.EventIDHeader) || seen[id] {
			ts.Fatalf("%s: the event %s came twice, or under another id", args[0], id)
		}
		seen[id] = true
	}
}

var apiOf = map[string]string{
	"order.paid": "orders", "order.failed": "orders", "payment_link.paid": "orders", "customer.created": "customers",
	"product.published": "products", "product.archived": "products",
}

func agreesIn(ts *testscript.TestScript, _ bool, args []string) {
	var found delivered
	await(ts, "agrees", func() bool {
		for _, d := range newcomerOf(ts).at(args[0]) {
			if d.header.Get(signature.EventIDHeader) == jsonAt(ts, "stdout", "id") {
				found = d
			}
		}
		return found.body != nil
	})
	var event struct{ Data json.RawMessage }
	ts.Check(json.Unmarshal(found.body, &event))
	var object struct{ ID string }
	ts.Check(json.Unmarshal(event.Data, &object))
	line := curlLine.FindStringSubmatch(ts.ReadFile(filepath.Join(ts.Getenv("WORK"), "dev.out")))
	request, err := http.NewRequest(http.MethodGet, strings.Split(line[2], "/products")[0]+"/"+apiOf[found.eventType()]+"/"+
		object.ID, nil)
	ts.Check(err)
	request.Header.Set("Authorization", line[1])
	answer, err := http.DefaultClient.Do(request)
	ts.Check(err)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	ts.Check(err)
	if !bytes.Equal(bytes.TrimSpace(body), event.Data) {
		ts.Fatalf("GET returns %s, the event has %s", body, event.Data)
	}
}

func sameIn(ts *testscript.TestScript, _ bool, args []string) {
	forwarded := map[string]delivered{}
	for _, d := range newcomerOf(ts).at(args[1]) {
		forwarded[d.header.Get(signature.EventIDHeader)] = d
	}
	for _, want := range newcomerOf(ts).at(args[0]) {
		got, ok := forwarded[want.header.Get(signature.EventIDHeader)]
		if !ok || !bytes.Equal(want.body, got.body) {
			ts.Fatalf("of %s only one path has the bytes: %s and %s", want.eventType(), want.body, got.body)
		}
		require.Equal(tsT{ts}, unsigned(want.header), unsigned(got.header))
	}
}

// unsigned replaces the signature's digest and time, which differ in every run, by dots.
func unsigned(h http.Header) http.Header {
	h = h.Clone()
	h.Set(signature.Header, regexp.MustCompile(`[0-9a-f]{64}|\d{10}`).ReplaceAllString(h.Get(signature.Header), "…"))
	return h
}

// tsT makes a failed assertion of package require fail the script.
type tsT struct{ *testscript.TestScript }

func (t tsT) Errorf(format string, args ...any) { t.Fatalf(format, args...) }

// FailNow does nothing, because Errorf has ended the script.
func (tsT) FailNow() {}
