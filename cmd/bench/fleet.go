package main

import (
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

// The parts that can be killed, by their number in a fleet.
const (
	partServer = iota
	partWorkerA
	partWorkerB
	partCount
)

var partNames = [partCount]string{"server", "worker 1", "worker 2"}

// fleet is the processes that are killed, and an operator who records and pays orders. It belongs to
// one goroutine, but for the servers' addresses.
type fleet struct {
	*stage
	timeout time.Duration // of the worker's attempts
	rate    float64       // of orders
	serves  atomic.Pointer[process]
	parts   [partCount]*process
	started [partCount]int // how often
	lost    atomic.Int64   // leases that workers report as lost
	paid    []uuid.UUID    // orders, and acknowledged
}

// serving is the public address of the server that was started last.
func (f *fleet) serving() string { return f.serves.Load().api }

// startMissing starts every part that is not running.
func (f *fleet) startMissing(ctx context.Context) (err error) {
	for part := range f.parts {
		if f.parts[part] != nil {
			continue
		}
		if f.parts[part], err = f.start(ctx, part); err != nil {
			return err
		}
	}
	return nil
}

// holder is what PostgreSQL calls the process of a part: no two have the same.
func (f *fleet) holder(part int) string { return fmt.Sprintf("part-%d-%d", part, f.started[part]) }

func (f *fleet) start(ctx context.Context, part int) (*process, error) {
	if part == partServer {
		p, err := f.startServer(ctx)
		if err == nil {
			f.serves.Store(p)
		}
		return p, err
	}
	f.started[part]++
	own := *f.stage
	if !f.database.sqlite {
		address, err := url.Parse(f.url)
		if err != nil {
			return nil, err
		}
		query := address.Query()
		query.Set("application_name", f.holder(part))
		address.RawQuery = query.Encode()
		own.url = address.String()
	}
	return own.startWorker(ctx, f.readWorkerLog, retryDelays, "--timeout="+f.timeout.String())
}

// readWorkerLog adds up the leases that workers report as lost.
func (f *fleet) readWorkerLog(line string) {
	var l logLine
	if strings.Contains(line, "leases were lost") && json.Unmarshal([]byte(line), &l) == nil {
		f.lost.Add(l.Deliveries)
	}
}

// orderTakers is how many orders are recorded and paid at the same time.
const orderTakers = 2

// takeOrders records orders of new buyers through the operator's listener and pays them, until it is
// stopped: each gives an event of the customer and one of the order. Stop returns an error when the
// server refused one; one that is away is nothing unusual.
func (f *fleet) takeOrders(ctx context.Context) (stop func() error) {
	ctx, cancel := context.WithCancel(ctx)
	operator := newClient(func() string { return f.serves.Load().admin })
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

// sell records an order of a new buyer and pays it. It returns no id when there was no answer.
func (f *fleet) sell(operator *client, s storeData) (uuid.UUID, error) {
	recorded, err := f.operate(operator, f.recordOrder(&s))
	if err != nil || recorded == uuid.Nil {
		return uuid.Nil, err
	}
	return f.operate(operator, f.payOrder(&s, recorded))
}

// recordOrder calls the operator's service of orders, by Connect in JSON: an order of a new buyer.
func (s *stage) recordOrder(of *storeData) request {
	email := "buyer." + uuid.NewString() + "@mail.example.com"
	return request{method: "POST", path: "/storefront.admin.v1.OrderService/CreateOrder", key: s.token,
		body: fmt.Sprintf(`{"store":%q,"name":"Awa Buyer","email":%q,"items":[{"productId":%q,"quantity":1}]}`, of.slug, email,
			of.product)}
}

// payOrder pays an order that was recorded in a store.
func (s *stage) payOrder(in *storeData, id uuid.UUID) request {
	return request{method: "POST", path: "/storefront.admin.v1.OrderService/PayOrder", key: s.token,
		body: fmt.Sprintf(`{"id":%q,"store":%q}`, id, in.slug)}
}

// operate sends a request about an order and returns the order's id.
func (f *fleet) operate(operator *client, r request) (uuid.UUID, error) {
	done := operator.call(r, time.Now())
	if strings.HasPrefix(done.what, "4") {
		return uuid.Nil, fmt.Errorf("%s was answered %s", r.path, done.what)
	}
	return done.created, nil
}

// kill kills parts at once.
func (f *fleet) kill(parts []int) {
	for _, part := range parts {
		_ = f.parts[part].command.Process.Kill() // all are hit before the first is waited for
	}
	for _, part := range parts {
		f.parts[part].kill()
		f.parts[part] = nil
	}
}

// alive returns an error when a part has ended that nobody killed.
func (f *fleet) alive() error {
	for _, p := range f.parts {
		if p != nil && !p.running() {
			return p.failure(errors.New("it ended by itself"))
		}
	}
	return nil
}

// end ends all parts in good order.
func (f *fleet) end() (err error) {
	for part, p := range f.parts {
		if p != nil {
			f.parts[part] = nil
			err = errors.Join(err, p.stop())
		}
	}
	return err
}
