package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
)

const (
	// visitorCount is how many create customers at the same time.
	visitorCount = 4
	// visitPause is the wait after the server was away.
	visitPause = 20 * time.Millisecond
	// visitTimeout bounds one request.
	visitTimeout = 15 * time.Second
)

// visitors create customers through the public API, and remember those that were acknowledged. A
// server that is away or answers 5xx is nothing unusual; a refusal is a defect. Goroutines share
// it.
type visitors struct {
	data    *dataset
	client  *http.Client
	gap     time.Duration
	address atomic.Pointer[string] // the server's
	next    atomic.Int64
	gate    sync.RWMutex // held while a request is under way; locked while none may be

	mu      sync.Mutex
	created []uuid.UUID
	refused error
}

// newVisitors returns visitors that create so many customers in a second.
func newVisitors(data *dataset, rate float64) *visitors {
	return &visitors{
		data: data, client: &http.Client{Timeout: visitTimeout}, gap: time.Duration(visitorCount / rate * float64(time.Second)),
	}
}

// visit goes on until the context ends.
func (v *visitors) visit(ctx context.Context) {
	var group sync.WaitGroup
	for range visitorCount {
		group.Go(func() {
			for ctx.Err() == nil {
				v.gate.RLock()
				ok := v.create(ctx)
				v.gate.RUnlock()
				if ok {
					time.Sleep(v.gap)
				} else {
					time.Sleep(visitPause)
				}
			}
		})
	}
	group.Wait()
}

// create asks for one new customer and tells whether it was acknowledged.
func (v *visitors) create(ctx context.Context) bool {
	n := v.next.Add(1)
	s := &v.data.stores[int(n)%len(v.data.stores)]
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+*v.address.Load()+"/v1/customers", strings.NewReader(newCustomerBody(n)))
	if err != nil {
		v.refuse(err)
		return false
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+s.keys[int(n)/len(v.data.stores)%len(s.keys)])
	answer, err := v.client.Do(request)
	if err != nil {
		return false
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	var made struct {
		ID uuid.UUID `json:"id"`
	}
	switch {
	case answer.StatusCode >= 500:
		return false
	case answer.StatusCode != http.StatusCreated:
		v.refuse(fmt.Errorf("the server answered %d: %s", answer.StatusCode, body))
		return false
	case err != nil: // it was killed half-way through its answer: nobody was told the customer's id
		return false
	}
	if err := json.Unmarshal(body, &made); err != nil {
		v.refuse(fmt.Errorf("the server answered %d with %s: %w", answer.StatusCode, body, err))
		return false
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.created = append(v.created, made.ID)
	return true
}

func (v *visitors) refuse(err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.refused == nil {
		v.refused = err
	}
}

// acknowledged returns the customers that were acknowledged, and the first refusal.
func (v *visitors) acknowledged() ([]uuid.UUID, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return append([]uuid.UUID(nil), v.created...), v.refused
}
