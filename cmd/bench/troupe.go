package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
)

// The parts that can be killed, by their place in a troupe.
const (
	partServer = iota
	partWorkerA
	partWorkerB
	partTrader
	partCount
)

var partNames = [partCount]string{"server", "worker 1", "worker 2", "shop"}

// troupe is the processes of an installation: those of the service, and the trader. It belongs to
// one goroutine, but for the orders.
type troupe struct {
	*installation
	timeout time.Duration // of the worker's attempts
	rate    float64       // of the trader
	// serving is called with the address of each server that was started.
	serving func(address string)
	parts   [partCount]*process
	started [partCount]int // how often
	lost    atomic.Int64   // leases that workers report as lost
	heard   sync.WaitGroup // what traders say is being listened to

	mu   sync.Mutex
	paid []uuid.UUID
}

// raise starts every part that is not running.
func (t *troupe) raise(ctx context.Context) error {
	for part := range t.parts {
		if t.parts[part] != nil {
			continue
		}
		p, err := t.start(ctx, part)
		if err != nil {
			return err
		}
		t.parts[part] = p
	}
	return nil
}

// holder is what PostgreSQL calls the process of a part: no two have the same.
func (t *troupe) holder(part int) string { return fmt.Sprintf("part-%d-%d", part, t.started[part]) }

func (t *troupe) start(ctx context.Context, part int) (*process, error) {
	switch part {
	case partServer:
		p, said, err := startService(ctx, t.binary, t.env(), []string{"server", "--addr=127.0.0.1:0", "--admin-addr=127.0.0.1:0"}, "listening", nil)
		if err == nil {
			t.serving(said.Addr)
		}
		return p, err
	case partTrader:
		p, _, err := startSelf(ctx, t.url, "trade", fmt.Sprintf("--rate=%g", t.rate))
		if err == nil {
			t.heard.Go(func() { t.hear(p.out) })
		}
		return p, err
	default:
		t.started[part]++
		address, err := url.Parse(t.url)
		if err != nil {
			return nil, err
		}
		if address.Scheme != "sqlite" {
			query := address.Query()
			query.Set("application_name", t.holder(part))
			address.RawQuery = query.Encode()
		}
		own := *t.installation
		own.url = address.String()
		return own.startWorker(ctx, t.hearWorker, "--retry-delays="+retryDelays, "--timeout="+t.timeout.String())
	}
}

// hearWorker adds up the leases that workers report as lost.
func (t *troupe) hearWorker(line string) {
	var l logLine
	if json.Unmarshal([]byte(line), &l) == nil && strings.HasPrefix(l.Message, "leases were lost") {
		t.lost.Add(l.Deliveries)
	}
}

// hear takes down what a trader acknowledges, until it ends.
func (t *troupe) hear(out *bufio.Reader) {
	for {
		line, err := out.ReadString('\n')
		if err != nil {
			return
		}
		if id, err := uuid.Parse(strings.TrimSpace(strings.TrimPrefix(line, sayPaid))); err == nil {
			t.mu.Lock()
			t.paid = append(t.paid, id)
			t.mu.Unlock()
		}
	}
}

// acknowledged returns the orders that were paid, and acknowledged.
func (t *troupe) acknowledged() []uuid.UUID {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]uuid.UUID(nil), t.paid...)
}

// kill kills parts at once.
func (t *troupe) kill(parts []int) {
	for _, part := range parts {
		_ = t.parts[part].command.Process.Kill() // all are hit before the first is buried
	}
	for _, part := range parts {
		t.parts[part].kill()
		t.parts[part] = nil
	}
}

// alive returns an error when a part has ended that nobody killed.
func (t *troupe) alive() error {
	for part, p := range t.parts {
		if p != nil && !p.running() {
			return fmt.Errorf("%s: %w", partNames[part], p.failure(errors.New("it ended by itself")))
		}
	}
	return nil
}

// delivers tells whether a worker runs.
func (t *troupe) delivers() bool { return t.parts[partWorkerA] != nil || t.parts[partWorkerB] != nil }

// rest ends the trader in good order; raise starts another.
func (t *troupe) rest() error {
	p := t.parts[partTrader]
	if p == nil {
		return nil
	}
	t.parts[partTrader] = nil
	_ = p.in.Close() // closed already when it has ended
	select {
	case <-p.ended:
	case <-time.After(endTimeout):
		p.kill()
	}
	t.heard.Wait()
	if p.err != nil {
		return p.failure(p.err)
	}
	return nil
}

// end ends all parts in good order.
func (t *troupe) end() error {
	err := t.rest()
	for part, p := range t.parts {
		if p != nil {
			t.parts[part] = nil
			err = errors.Join(err, p.stop())
		}
	}
	return err
}
