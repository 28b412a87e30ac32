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

// The parts that can be killed, by their place in a fleet.
const (
	partServer = iota
	partWorkerA
	partWorkerB
	partCheckout
	partCount
)

var partNames = [partCount]string{"server", "worker 1", "worker 2", "checkout"}

// fleet is the processes that are killed: those of the service, and one in which orders are
// recorded and paid. It belongs to one goroutine, but for the orders and serving.
type fleet struct {
	*stage
	timeout time.Duration          // of the worker's attempts
	rate    float64                // of the checkout
	address atomic.Pointer[string] // of the server that was started last
	parts   [partCount]*process
	started [partCount]int // how often
	lost    atomic.Int64   // leases that workers report as lost
	reading sync.WaitGroup // the output of checkouts is being read

	mu   sync.Mutex
	paid []uuid.UUID
}

// raise starts every part that is not running.
func (f *fleet) raise(ctx context.Context) error {
	for part := range f.parts {
		if f.parts[part] != nil {
			continue
		}
		p, err := f.start(ctx, part)
		if err != nil {
			return err
		}
		f.parts[part] = p
	}
	return nil
}

// serving is the address of the server that was started last.
func (f *fleet) serving() string { return *f.address.Load() }

// holder is what PostgreSQL calls the process of a part: no two have the same.
func (f *fleet) holder(part int) string { return fmt.Sprintf("part-%d-%d", part, f.started[part]) }

func (f *fleet) start(ctx context.Context, part int) (*process, error) {
	switch part {
	case partServer:
		p, l, err := f.startServer(ctx)
		if err == nil {
			f.address.Store(&l.Addr)
		}
		return p, err
	case partCheckout:
		p, _, err := startSelf(ctx, []string{subjectDatabase + "=" + f.url}, "checkout", fmt.Sprintf("--rate=%g", f.rate))
		if err == nil {
			f.reading.Go(func() { f.readPaid(p.out) })
		}
		return p, err
	default:
		f.started[part]++
		address, err := url.Parse(f.url)
		if err != nil {
			return nil, err
		}
		if address.Scheme != "sqlite" {
			query := address.Query()
			query.Set("application_name", f.holder(part))
			address.RawQuery = query.Encode()
		}
		own := *f.stage
		own.url = address.String()
		return own.startWorker(ctx, f.readWorkerLog, "--retry-delays="+retryDelays, "--timeout="+f.timeout.String())
	}
}

// readWorkerLog adds up the leases that workers report as lost.
func (f *fleet) readWorkerLog(line string) {
	var l logLine
	if json.Unmarshal([]byte(line), &l) == nil && strings.HasPrefix(l.Message, "leases were lost") {
		f.lost.Add(l.Deliveries)
	}
}

// readPaid takes down what a checkout acknowledges, until it ends.
func (f *fleet) readPaid(out *bufio.Reader) {
	for {
		line, err := out.ReadString('\n')
		if err != nil {
			return
		}
		if id, err := uuid.Parse(strings.TrimSpace(strings.TrimPrefix(line, paidPrefix))); err == nil {
			f.mu.Lock()
			f.paid = append(f.paid, id)
			f.mu.Unlock()
		}
	}
}

// acknowledged returns the orders that were paid, and acknowledged.
func (f *fleet) acknowledged() []uuid.UUID {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]uuid.UUID(nil), f.paid...)
}

// kill kills parts at once.
func (f *fleet) kill(parts []int) {
	for _, part := range parts {
		_ = f.parts[part].command.Process.Kill() // all are hit before the first is buried
	}
	for _, part := range parts {
		f.parts[part].kill()
		f.parts[part] = nil
	}
}

// alive returns an error when a part has ended that nobody killed.
func (f *fleet) alive() error {
	for part, p := range f.parts {
		if p != nil && !p.running() {
			return fmt.Errorf("%s: %w", partNames[part], p.failure(errors.New("it ended by itself")))
		}
	}
	return nil
}

// delivers reports whether a worker runs.
func (f *fleet) delivers() bool { return f.parts[partWorkerA] != nil || f.parts[partWorkerB] != nil }

// rest ends the checkout in good order; raise starts another.
func (f *fleet) rest() error {
	p := f.parts[partCheckout]
	if p == nil {
		return nil
	}
	f.parts[partCheckout] = nil
	_ = p.in.Close() // closed already when it has ended
	select {
	case <-p.ended:
	case <-time.After(endTimeout):
		p.kill()
	}
	f.reading.Wait()
	if p.err != nil {
		return p.failure(p.err)
	}
	return nil
}

// end ends all parts in good order.
func (f *fleet) end() error {
	err := f.rest()
	for part, p := range f.parts {
		if p != nil {
			f.parts[part] = nil
			err = errors.Join(err, p.stop())
		}
	}
	return err
}
