package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"go.storefront.example/cmd/bench/receiver"
)

// What is asked of a receiver in a process of its own.
const (
	askHooks    = "hooks " // and the hooks in JSON
	askCount    = "count"
	askRequests = "requests"
	askForget   = "forget"
)

// receiveCommand runs a receiver until its standard input ends.
type receiveCommand struct {
	Authority string `required:"" help:"File to write the authority's certificate to."`
}

// Run serves.
func (c *receiveCommand) Run(_ context.Context, io streams) (err error) {
	signal.Ignore(os.Interrupt)
	r := receiver.Start(receiver.OK)
	defer func() { err = errors.Join(err, r.Close()) }()
	if err := os.WriteFile(c.Authority, r.Authority(), 0o600); err != nil {
		return err
	}
	fmt.Fprintln(io.out, sayReady+r.Addr())
	answerLines(io, func(line string) (any, error) {
		hooks, set := strings.CutPrefix(line, askHooks)
		switch {
		case set:
			var list []receiver.Hook
			if err := json.Unmarshal([]byte(hooks), &list); err != nil {
				return nil, err
			}
			r.SetHooks(list)
			return nil, nil
		case line == askCount:
			return r.Count()
		case line == askRequests:
			return r.Requests(), nil
		case line == askForget:
			r.Forget()
			return nil, nil
		}
		return nil, errors.New("unknown request")
	})
	return nil
}

// maxLineBytes bounds a request to a process of this program.
const maxLineBytes = 16 << 20

// answerLines answers each line with sayDone and what answer returns in JSON, or with sayFailed,
// until the input ends.
func answerLines(io streams, answer func(line string) (any, error)) {
	lines := bufio.NewScanner(io.in)
	lines.Buffer(nil, maxLineBytes)
	for lines.Scan() {
		value, err := answer(lines.Text())
		text := []byte{}
		if err == nil && value != nil {
			text, err = json.Marshal(value)
		}
		if err != nil {
			fmt.Fprintln(io.out, sayFailed+strings.ReplaceAll(err.Error(), "\n", " "))
			continue
		}
		fmt.Fprintf(io.out, "%s %s\n", sayDone, text)
	}
}

// remoteReceiver is a receiver in a process of its own, so that its processor time is its own.
type remoteReceiver struct {
	*process
	address   string
	authority string // a file
}

func startReceiver(ctx context.Context, folder string) (*remoteReceiver, error) {
	authority := filepath.Join(folder, "authority.pem")
	p, address, err := startSelf(ctx, "", "receive", "--authority", authority)
	if err != nil {
		return nil, err
	}
	return &remoteReceiver{p, address, authority}, nil
}

func (r *remoteReceiver) setHooks(hooks []receiver.Hook) error {
	text, err := json.Marshal(hooks)
	if err != nil {
		return err
	}
	_, err = r.ask(askHooks + string(text))
	return err
}

func (r *remoteReceiver) count() (receiver.Count, error) {
	return askFor[receiver.Count](r.process, askCount)
}

func (r *remoteReceiver) requests() ([]receiver.Request, error) {
	return askFor[[]receiver.Request](r.process, askRequests)
}

func (r *remoteReceiver) forget() error {
	_, err := r.ask(askForget)
	return err
}

// askFor asks and reads the answer's JSON.
func askFor[T any](p *process, request string) (T, error) {
	var value T
	text, err := p.ask(request)
	if err == nil {
		err = json.Unmarshal([]byte(text), &value)
	}
	return value, err
}
