package db

import (
	"context"
	"database/sql/driver"
	"errors"
	"net"
	"sync"

	"github.com/lib/pq"
)

// readTimeline returns the number of the server's timeline, which each promotion makes higher; 0 on a standby.
const readTimeline = `SELECT CASE WHEN pg_is_in_recovery() THEN 0
 ELSE ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint END`

// errOldPrimary means that the server is a primary from before a promotion that this process has seen.
var errOldPrimary = errors.New("this primary was replaced by another; start the process anew if that is the one to use again")

// timelines keep a process from a primary that was replaced and has come back, beside its successor: what
// it wrote there would be lost. Nil, for a database with one host, refuses nothing. Goroutines may share it.
type timelines struct {
	mu     sync.Mutex
	newest int64
	of     map[string]int64 // by the server's address, as of the latest connection
}

// reached notes the timeline of the server at an address, and reports whether it is older than another's.
func (t *timelines) reached(address string, timeline int64) (old bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.newest = max(t.newest, timeline)
	t.of[address] = timeline
	return timeline > 0 && timeline < t.newest
}

// isOld reports whether the primary at an address was replaced.
func (t *timelines) isOld(address net.Addr) bool {
	if t == nil {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	timeline := t.of[address.String()]
	return timeline > 0 && timeline < t.newest
}

// avoidKey is the context key of the addresses that the dialer refuses.
type avoidKey struct{}

// connect opens a connection to the newest primary. If the driver has chosen an old one, it is to choose again
// from the others.
func (t *timelines) connect(ctx context.Context, connect driver.Connector, socket *net.Conn) (driver.Conn, error) {
	avoid := map[string]bool{}
	for ctx = context.WithValue(ctx, avoidKey{}, avoid); ; {
		made, err := connect.Connect(ctx)
		if t == nil || err != nil {
			return made, err
		}
		over := (&conn{socket: *socket}).bound(ctx)
		timeline, err := timelineOf(ctx, made.(driver.QueryerContext))
		over()
		if err != nil {
			return nil, errors.Join(err, made.Close())
		}
		address := (*socket).RemoteAddr().String()
		if !t.reached(address, timeline) {
			return made, nil
		}
		avoid[address] = true
		if err := made.Close(); err != nil {
			return nil, errors.Join(errOldPrimary, err)
		}
	}
}

// timelineOf returns 0 if the server does not tell, as some that only resemble PostgreSQL.
func timelineOf(ctx context.Context, conn driver.QueryerContext) (int64, error) {
	rows, err := conn.QueryContext(ctx, readTimeline, nil)
	if refused := new(pq.Error); errors.As(err, &refused) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	values := make([]driver.Value, 1)
	err = rows.Next(values)
	timeline, _ := values[0].(int64)
	return timeline, errors.Join(err, rows.Close())
}
