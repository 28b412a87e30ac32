package limit

import (
	"net/netip"
	"sync"
)

// The most calls without a key that may be open at once: in all, of one client, and on one connection.
const (
	maxOpenCalls              = 256
	maxOpenCallsPerClient     = maxOpenCalls / 4
	maxOpenCallsPerConnection = 8
)

// OpenCalls counts the open calls without a key, because nothing else bounds how many streams hold memory. The zero value is
// ready, and goroutines may share it.
type OpenCalls struct {
	mu            sync.Mutex
	open          int
	perClient     map[netip.Prefix]int
	perConnection map[string]int
}

// Enter admits a call from a client's address on a connection, named by its remote address, until leave. It returns ErrBusy if
// too many are open.
func (o *OpenCalls) Enter(address netip.Addr, connection string) (leave func(), err error) {
	client := ClientOf(address)
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.open >= maxOpenCalls || o.perClient[client] >= maxOpenCallsPerClient || o.perConnection[connection] >= maxOpenCallsPerConnection {
		return nil, ErrBusy
	}
	if o.perClient == nil {
		o.perClient, o.perConnection = map[netip.Prefix]int{}, map[string]int{}
	}
	o.open++
	o.perClient[client]++
	o.perConnection[connection]++
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.open--
		if o.perClient[client]--; o.perClient[client] == 0 {
			delete(o.perClient, client)
		}
		if o.perConnection[connection]--; o.perConnection[connection] == 0 {
			delete(o.perConnection, connection)
		}
	}, nil
}
