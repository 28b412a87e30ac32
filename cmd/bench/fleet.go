package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
)

// The processes that can be killed, called parts, and their number.
const (
	partServer = iota
	partWorkerA
	partWorkerB
	partCount
)

var partNames = [partCount]string{"server", "worker 1", "worker 2"}

// fleet has the server and the workers, which are killed and restarted, and an operator's client that creates and pays orders.
// Only one goroutine may use it, but any may ask for the servers' addresses.
type fleet struct {
	*stage
	timeout       time.Duration // the worker's timeout of an attempt
	rate          float64       // orders a second
	oneProcess    bool          // the server delivers too, and there are no workers
	currentServer atomic.Pointer[process]
	parts         [partCount]*process
	started       [partCount]int
	lost          atomic.Int64 // leases that workers reported as lost
	paid          []uuid.UUID  // ids of orders whose payment was acknowledged
}

// serverAddr is the public address of the server that was started last.
func (f *fleet) serverAddr() string { return f.currentServer.Load().api }

func (f *fleet) startMissing(ctx context.Context) (err error) {
	for part := range f.count() {
		if f.parts[part] != nil {
			continue
		}
		if f.parts[part], err = f.start(ctx, part); err != nil {
			return err
		}
	}
	return nil
}

func (f *fleet) count() int {
	if f.oneProcess {
		return 1
	}
	return partCount
}

// holder is the application_name of a part in PostgreSQL. A process that replaces a killed one has another name.
func (f *fleet) holder(part int) string { return fmt.Sprintf("part-%d-%d", part, f.started[part]) }

func (f *fleet) start(ctx context.Context, part int) (p *process, err error) {
	if part == partServer && !f.oneProcess {
		if p, err = f.startServer(ctx); err == nil {
			f.currentServer.Store(p)
		}
		return p, err
	}
	f.started[part]++
	named := *f.stage
	if !f.database.sqlite {
		address, err := url.Parse(f.url)
		if err != nil {
			return nil, err
		}
		query := address.Query()
		query.Set("application_name", f.holder(part))
		address.RawQuery = query.Encode()
		named.url = address.String()
	}
	attempts := []string{retryDelays, "--timeout=" + f.timeout.String()}
	if !f.oneProcess {
		return named.startWorker(ctx, f.readWorkerLog, attempts...)
	}
	args := append(slices.Clip(serverArgs), "--worker", "--allow-private-targets")
	if p, err = startProcess(named.prepare(ctx, append(args, attempts...)...), "delivering", f.readWorkerLog); err == nil {
		f.currentServer.Store(p)
	}
	return p, err
}

// readWorkerLog adds the leases that a line of a worker's log reports as lost.
func (f *fleet) readWorkerLog(line string) {
	var l logLine
	if strings.Contains(line, "leases were lost") && json.Unmarshal([]byte(line), &l) == nil {
		f.lost.Add(l.Deliveries)
	}
}

// orderTakers is how many orders are created and paid at a time.
const orderTakers = 2

// takeOrders creates and pays orders of new buyers until stop, each with two events. stop returns an error if the server
// refused one, but not if it was unavailable.
func (f *fleet) takeOrders(ctx context.Context) (stop func() error) {
	ctx, cancel := context.WithCancel(ctx)
	operator := newClient(func() string { return f.currentServer.Load().admin })
	var takers sync.WaitGroup
	var mu sync.Mutex
	var refusal error
	for n := range orderTakers {
		takers.Go(func() {
			for i := n; wait(ctx, seconds(orderTakers/f.rate)) == nil; i++ {
				paid, err := f.sell(operator, f.stores[i%len(f.stores)])
				mu.Lock()
				if err != nil {
					refusal = err
				} else if paid != uuid.Nil {
					f.paid = append(f.paid, paid)
				}
				mu.Unlock()
			}
		})
	}
	return func() error {
		cancel()
		takers.Wait()
		operator.close()
		return refusal
	}
}

// sell returns uuid.Nil if the server was unavailable for creating or paying.
func (f *fleet) sell(operator *client, s storeData) (uuid.UUID, error) {
	recorded, err := f.operate(operator, f.recordOrder(&s))
	if err != nil || recorded == uuid.Nil {
		return uuid.Nil, err
	}
	return f.operate(operator, f.payOrder(&s, recorded))
}

func (s *stage) recordOrder(store *storeData) request {
	email := "buyer." + uuid.NewString() + "@mail.example.com"
	return request{method: "POST", path: "/storefront.admin.v1.OrderService/CreateOrder", key: s.token,
		body: fmt.Sprintf(`{"store":%q,"name":"Awa Buyer","email":%q,"items":[{"productId":%q,"quantity":1}]}`, store.slug, email,
			store.product)}
}

func (s *stage) payOrder(store *storeData, id uuid.UUID) request {
	return request{method: "POST", path: "/storefront.admin.v1.OrderService/PayOrder", key: s.token,
		body: fmt.Sprintf(`{"id":%q,"store":%q}`, id, store.slug)}
}

// operate returns the order's id, or uuid.Nil if the server was unavailable. An answer 4xx is an error.
func (f *fleet) operate(operator *client, r request) (uuid.UUID, error) {
	done := operator.call(r, time.Now())
	if strings.HasPrefix(done.problem, "4") {
		return uuid.Nil, fmt.Errorf("%s was answered %s", r.path, done.problem)
	}
	return done.created, nil
}

func (f *fleet) kill(parts []int) {
	for _, part := range parts {
		_ = f.parts[part].command.Process.Kill() // kill all before waiting for the first
	}
	for _, part := range parts {
		f.parts[part].kill()
		f.parts[part] = nil
	}
}

// terminate ends the processes with these numbers by SIGTERM, one after the other. Each must end with status 0.
func (f *fleet) terminate(parts []int) error {
	for _, part := range parts {
		p := f.parts[part]
		f.parts[part] = nil
		if err := p.stop(); err != nil {
			return err
		}
	}
	return nil
}

// checkAlive returns an error if a process has ended without being killed.
func (f *fleet) checkAlive() error {
	for _, p := range f.parts {
		if p != nil && !p.running() {
			return p.failure(errors.New("it ended by itself"))
		}
	}
	return nil
}

// stop lets all processes finish their work.
func (f *fleet) stop() (err error) {
	for part, p := range f.parts {
		if p != nil {
			f.parts[part] = nil
			err = errors.Join(err, p.stop())
		}
	}
	return err
}
