package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	readyTimeout = 30 * time.Second
	// endTimeout is how long a process may take to end before it is killed.
	endTimeout = 20 * time.Second
	// keptLines is how many of the log's last lines an error shows.
	keptLines = 5
)

// process is a server or a worker. Goroutines may share it.
type process struct {
	name       string
	command    *exec.Cmd
	api, admin string // the addresses on which the process listens
	ended      chan struct{}
	err        error // set before close(ended); nil after exit status 0

	mu    sync.Mutex
	lines []string // last lines of the process's log
}

// logLine has the members that are read from a line of the service's log.
type logLine struct {
	Message    string `json:"msg"`
	Addr       string `json:"addr"`
	AdminAddr  string `json:"admin_addr"`
	Deliveries int64  `json:"deliveries"` // how many deliveries lost their leases
}

// startProcess waits until the log has a line with this message. onLine, unless nil, gets each line.
func startProcess(command *exec.Cmd, message string, onLine func(string)) (*process, error) {
	p := &process{name: "storefront " + command.Args[1], command: command, ended: make(chan struct{})}
	log, err := command.StderrPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", p.name, err)
	}
	ready := make(chan struct{})
	go func() {
		waiting := true
		lines := bufio.NewScanner(log)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			p.keepLine(lines.Text())
			if onLine != nil {
				onLine(lines.Text())
			}
			if waiting && p.readLine(lines.Bytes(), message) {
				waiting = false
				close(ready)
			}
		}
		p.err = command.Wait()
		close(p.ended)
	}()
	select {
	case <-ready:
		return p, nil
	case <-p.ended:
	case <-time.After(readyTimeout):
		p.kill()
	}
	return nil, p.failure(errors.New("it is not ready"))
}

// readLine stores the addresses that a line names, and reports whether it has the message.
func (p *process) readLine(line []byte, message string) bool {
	var l logLine
	if json.Unmarshal(line, &l) != nil {
		return false
	}
	if l.Addr != "" {
		p.api = l.Addr
	}
	if l.AdminAddr != "" {
		p.admin = l.AdminAddr
	}
	return l.Message == message
}

func (p *process) keepLine(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lines = append(p.lines, line); len(p.lines) > keptLines {
		p.lines = p.lines[1:]
	}
}

// environment is the bench's own without the service's settings (STOREFRONT_…), followed by extra.
func environment(extra ...string) []string {
	var env []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "STOREFRONT_") {
			env = append(env, v)
		}
	}
	return append(env, extra...)
}

// failure adds the last lines of the log to err, or to the error with which the process ended.
func (p *process) failure(err error) error {
	if !p.running() && p.err != nil {
		err = p.err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return fmt.Errorf("%s: %w: %s", p.name, err, strings.Join(p.lines, " | "))
}

func (p *process) running() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// stop sends SIGTERM, and kills the process after endTimeout. An exit status other than 0 is an error.
func (p *process) stop() error {
	_ = p.command.Process.Signal(syscall.SIGTERM) // fails on Windows, where the process is killed below
	kill := time.AfterFunc(endTimeout, func() { _ = p.command.Process.Kill() })
	defer kill.Stop()
	<-p.ended
	if p.err != nil {
		return p.failure(p.err)
	}
	return nil
}

func stopAll(processes []*process) error {
	var errs []error
	for _, p := range processes {
		errs = append(errs, p.stop())
	}
	return errors.Join(errs...)
}

// kill ends the process as kill -9 does and waits for its end.
func (p *process) kill() {
	_ = p.command.Process.Kill() // the process has already ended
	<-p.ended
}

// cpu is the processor time from the start until now, or until the process's end.
func (p *process) cpu() (time.Duration, error) {
	if !p.running() {
		return p.command.ProcessState.UserTime() + p.command.ProcessState.SystemTime(), nil
	}
	return processCPU(p.command.Process.Pid)
}
