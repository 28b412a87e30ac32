package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	// readyTimeout bounds the wait until a process is ready.
	readyTimeout = 30 * time.Second
	// endTimeout is how long a process may take to end before it is killed.
	endTimeout = 20 * time.Second
	// keptLines is how many lines of a process are kept for the error of its end.
	keptLines = 5
)

// errNotReady is of a process that was not ready within readyTimeout.
var errNotReady = errors.New("it is not ready")

// process is a program beside this one: the service's own, which logs when it is ready, or this one
// under another command, which writes that on its standard output and ends when its input does.
// Goroutines may share it.
type process struct {
	name    string
	command *exec.Cmd
	in      io.WriteCloser // of this program's own commands
	out     *bufio.Reader  // the same
	log     *lineLog
	ended   chan struct{}
	err     error // once ended: why, nil after exit 0
}

// startProcess starts a command. OnLine, unless nil, gets each line of its standard error.
func startProcess(name string, command *exec.Cmd, onLine func(line string)) (*process, error) {
	p := &process{name: name, command: command, log: &lineLog{onLine: onLine}, ended: make(chan struct{})}
	command.Stderr = p.log
	// Whoever inherited its pipes must not hold its end up.
	command.WaitDelay = endTimeout
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	go func() {
		p.err = command.Wait()
		if out, piped := command.Stdout.(*io.PipeWriter); piped {
			_ = out.Close() // never fails
		}
		close(p.ended)
	}()
	return p, nil
}

// sayReady begins the first line of this program under another command, once it is ready.
const sayReady = "ready "

// untilInputEnds returns a context that ends when the input does: whoever started the process ends it so.
func untilInputEnds(ctx context.Context, in io.Reader) (context.Context, context.CancelFunc) {
	ctx, end := context.WithCancel(ctx)
	go func() {
		_, _ = io.Copy(io.Discard, in)
		end()
	}()
	return ctx, end
}

// self is this program under one of its hidden commands.
func self(ctx context.Context, args ...string) (*exec.Cmd, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return exec.CommandContext(ctx, program, args...), nil //nolint:gosec // Ourselves.
}

// startSelf starts this program under one of its hidden commands, with more of an environment, and
// waits until it is ready. It returns what follows sayReady.
func startSelf(ctx context.Context, env []string, args ...string) (*process, string, error) {
	command, err := self(ctx, args...)
	if err != nil {
		return nil, "", err
	}
	command.Env = environment(env...)
	in, err := command.StdinPipe()
	if err != nil {
		return nil, "", err
	}
	out, outWriter := io.Pipe()
	command.Stdout = outWriter
	p, err := startProcess("the "+args[0], command, nil)
	if err != nil {
		return nil, "", err
	}
	p.in, p.out = in, bufio.NewReaderSize(out, 1<<20)
	// One that never becomes ready must not hold everything up.
	stop := time.AfterFunc(readyTimeout, p.kill)
	line, err := p.out.ReadString('\n')
	stop.Stop()
	text, ready := strings.CutPrefix(strings.TrimSpace(line), sayReady)
	if err != nil || !ready {
		err = p.failure(errNotReady)
		p.kill()
		return nil, "", err
	}
	return p, text, nil
}

// startService starts a command of the storefront program and waits until its log has message,
// whose line it returns. OnLine, unless nil, gets each line of the log.
func startService(ctx context.Context, program string, env, args []string, message string, onLine func(line string)) (*process, logLine, error) {
	command := exec.CommandContext(ctx, program, args...) //nolint:gosec // What is measured.
	command.Env = environment(env...)
	ready := make(chan logLine, 1)
	waiting := true // of the goroutine that reads the log
	p, err := startProcess("storefront "+args[0], command, func(line string) {
		var l logLine
		if waiting && json.Unmarshal([]byte(line), &l) == nil && l.Message == message {
			waiting = false
			ready <- l
		}
		if onLine != nil {
			onLine(line)
		}
	})
	if err != nil {
		return nil, logLine{}, err
	}
	timeout := time.NewTimer(readyTimeout)
	defer timeout.Stop()
	select {
	case l := <-ready:
		return p, l, nil
	case <-p.ended:
	case <-timeout.C:
	}
	err = p.failure(errNotReady)
	p.kill()
	return nil, logLine{}, err
}

// logLine is what is read of the service's log, one JSON object a line.
type logLine struct {
	Message   string `json:"msg"`
	Addr      string `json:"addr"`
	AdminAddr string `json:"admin_addr"`
	// The worker logs these when it stops, in milliseconds.
	RelayP99 float64 `json:"relay_p99_ms"`
	ClaimP99 float64 `json:"claim_p99_ms"`
	// Deliveries are those whose leases were lost.
	Deliveries int64 `json:"deliveries"`
}

// environment is this process's without the service's own settings, and with more.
func environment(more ...string) []string {
	var env []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "STOREFRONT_") {
			env = append(env, v)
		}
	}
	return append(env, more...)
}

// failure is why the process is of no more use: its own end, if it has ended.
func (p *process) failure(err error) error {
	select {
	case <-p.ended:
		if p.err != nil {
			err = p.err
		}
	case <-time.After(100 * time.Millisecond): // its pipes close a moment before its end is seen
	}
	return fmt.Errorf("%s: %w: %s", p.name, err, p.log.last())
}

// running reports whether it has not ended.
func (p *process) running() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// stop ends the process in good order and returns an error when it did not end well.
func (p *process) stop() error {
	if p.in != nil {
		_ = p.in.Close() // closed already when it has ended
		go func() { _, _ = io.Copy(io.Discard, p.out) }()
	} else {
		_ = p.command.Process.Signal(syscall.SIGTERM) // not on Windows, where it is killed below
	}
	kill := time.AfterFunc(endTimeout, func() { _ = p.command.Process.Kill() })
	defer kill.Stop()
	<-p.ended
	if p.err != nil {
		return p.failure(p.err)
	}
	return nil
}

// kill ends the process as kill -9 does and waits for its end.
func (p *process) kill() {
	_ = p.command.Process.Kill() // it may have ended
	<-p.ended
}

// cpu is the processor time that it used: so far, or in all once it has ended.
func (p *process) cpu() (time.Duration, error) {
	if !p.running() {
		return p.command.ProcessState.UserTime() + p.command.ProcessState.SystemTime(), nil
	}
	return processCPU(p.command.Process.Pid)
}

// lineLog cuts the log of a process into lines and keeps the last ones. It is an io.Writer.
type lineLog struct {
	onLine func(line string)

	mu    sync.Mutex
	part  []byte
	lines []string
}

// Write never fails.
func (s *lineLog) Write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.part = append(s.part, text...)
	for {
		line, rest, whole := bytes.Cut(s.part, []byte("\n"))
		if !whole {
			return len(text), nil
		}
		if s.lines = append(s.lines, string(line)); len(s.lines) > keptLines {
			s.lines = s.lines[1:]
		}
		s.part = rest
		if s.onLine != nil {
			s.onLine(string(line))
		}
	}
}

// last is the last lines, in one.
func (s *lineLog) last() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(append(s.lines[:len(s.lines):len(s.lines)], string(s.part)), " | ")
}
