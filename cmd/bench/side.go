package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// endTimeout is how long a side may take to end before it is killed.
const endTimeout = 20 * time.Second

// side is one of the two services as a process of its own, so that its processor time is its own.
type side struct {
	kind    string
	address string
	process *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
}

// startSide starts a side by running this program anew, and waits until it serves.
func startSide(ctx context.Context, kind string, db *database, conns int, stderr io.Writer) (*side, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	process := exec.CommandContext(ctx, program, "subject", kind, "--conns", strconv.Itoa(conns)) //nolint:gosec // Ourselves.
	process.Env = append(os.Environ(), subjectDatabase+"="+db.url)
	process.Stderr = stderr
	in, err := process.StdinPipe()
	if err != nil {
		return nil, err
	}
	process.Cancel = in.Close // an interrupt lets it end in order
	process.WaitDelay = endTimeout
	out, err := process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := process.Start(); err != nil {
		return nil, err
	}
	s := &side{kind: kind, process: process, in: in, out: bufio.NewReader(out)}
	line, err := s.out.ReadString('\n')
	address, ready := strings.CutPrefix(strings.TrimSpace(line), sayReady)
	if err != nil || !ready {
		return nil, errors.Join(errors.New("it ended before it served"), s.stop())
	}
	s.address = address
	return s, nil
}

// stop ends the process and waits for its end.
func (s *side) stop() error {
	_ = s.in.Close()
	kill := time.AfterFunc(endTimeout, func() { _ = s.process.Process.Kill() })
	defer kill.Stop()
	// What it still says is read, or it could not end.
	_, _ = io.Copy(io.Discard, s.out)
	if err := s.process.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("the %s: %w", s.kind, err)
	}
	return nil
}

func (s *side) pid() int { return s.process.Process.Pid }

func (s *side) startProfile(path string) error { return s.ask(askStart + path) }

func (s *side) stopProfile() error { return s.ask(askStop) }

func (s *side) ask(request string) error {
	if _, err := fmt.Fprintln(s.in, request); err != nil {
		return err
	}
	answer, err := s.out.ReadString('\n')
	if err != nil {
		return err
	}
	if answer = strings.TrimSpace(answer); answer != sayDone {
		return fmt.Errorf("the %s: %s", s.kind, strings.TrimPrefix(answer, sayFailed))
	}
	return nil
}
