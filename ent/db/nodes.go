package db

import (
	"cmp"
	"context"
	"encoding/binary"
	"math/bits"
	"net"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"go.storefront.example/ent/tenant"
)

// nodes are those of a Citus cluster. A statement about one store is much cheaper on the node that has its rows; every other
// node forwards it, so outdated shards do no harm.
type nodes struct {
	// open returns the database as seen by the node at an address.
	open   func(host string, port uint16) (*DB, error)
	opened map[string]*DB // by HOST:PORT; without a lock, because only one goroutine at a time runs readNodes
	shards atomic.Pointer[[]shard]
}

// shard is the range of stores' hashes up to largest, from just above that of the shard before. node is nil if the coordinator
// runs their statements: it has the shard, this process cannot reach the node, or the node cannot query others.
type shard struct {
	largest int32
	node    *DB
}

const (
	nodeTimeout = 3 * time.Second
	// placementsQuery returns each shard's largest hash, in order, with its node's host and port. The host is "" for the
	// coordinator, and for a node that cannot query others.
	placementsQuery = `SELECT s.shardmaxvalue::int,
  CASE WHEN n.groupid <> 0 AND n.isactive AND n.metadatasynced THEN n.nodename ELSE '' END, n.nodeport
 FROM pg_dist_shard s JOIN pg_dist_placement p ON p.shardid = s.shardid AND p.shardstate = 1
 JOIN pg_dist_node n ON n.groupid = p.groupid AND n.noderole = 'primary'
 WHERE s.logicalrelid = 'outbox'::regclass ORDER BY 1`
)

// ForStore returns the node that has the rows of the context's store, or d. Use it for a store's resources, events and activity
// journal, and d for stores, API keys and webhooks.
func (d *DB) ForStore(ctx context.Context) *DB {
	store, _, _ := tenant.From(ctx)
	return d.forStore(store.ID)
}

// Coordinator returns nil unless d is one of the cluster's other nodes, which has only rows of stores (ForStore).
func (d *DB) Coordinator() *DB { return d.coordinator }

// PoolOf returns equal values for stores that share a connection pool; nil stands for the pool of d.
func (d *DB) PoolOf(store uuid.UUID) any {
	if node := d.forStore(store); node != d {
		return node
	}
	return nil
}

func (d *DB) forStore(id uuid.UUID) *DB {
	shards := d.nodes.shards.Load()
	if shards == nil {
		return d
	}
	i, _ := slices.BinarySearchFunc(*shards, hash(id), func(s shard, h int32) int { return cmp.Compare(s.largest, h) })
	if i == len(*shards) || (*shards)[i].node == nil {
		return d
	}
	return (*shards)[i].node
}

func (d *DB) readNodes(ctx context.Context) error {
	if !d.sharded {
		return nil
	}
	var shards []shard
	var pings sync.WaitGroup
	reachable := map[*DB]*atomic.Bool{}
	for row := range Rows(ctx, d.reader, placementsQuery) {
		var s shard
		var host string
		var port uint16
		if err := row.Scan(&s.largest, &host, &port); err != nil {
			return err
		}
		if host != "" {
			var err error
			if s.node, err = d.nodes.byAddress(host, port); err != nil {
				return err
			}
			if reachable[s.node] == nil {
				answered := new(atomic.Bool)
				reachable[s.node] = answered
				pings.Go(func() {
					limited, cancel := context.WithTimeout(ctx, nodeTimeout)
					defer cancel()
					answered.Store(s.node.Ping(limited) == nil)
				})
			}
		}
		shards = append(shards, s)
	}
	pings.Wait()
	for i, s := range shards {
		if s.node != nil && !reachable[s.node].Load() {
			shards[i].node = nil
		}
	}
	d.nodes.shards.Store(&shards)
	return nil
}

func (n *nodes) byAddress(host string, port uint16) (node *DB, err error) {
	address := net.JoinHostPort(host, strconv.Itoa(int(port)))
	if node = n.opened[address]; node == nil {
		if node, err = n.open(host, port); err == nil {
			n.opened[address] = node
		}
	}
	return node, err
}

// hash is PostgreSQL's of a uuid (hash_bytes of its 16 bytes), by which Citus distributes.
func hash(id uuid.UUID) int32 {
	word := func(i int) uint32 { return binary.LittleEndian.Uint32(id[4*i:]) }
	rot := bits.RotateLeft32
	a := uint32(0x9e3779b9) + 16 + 3923095
	b, c := a, a
	a, b, c = a+word(0), b+word(1), c+word(2)
	a = (a - c) ^ rot(c, 4)
	c += b
	b = (b - a) ^ rot(a, 6)
	a += c
	c = (c - b) ^ rot(b, 8)
	b += a
	a = (a - c) ^ rot(c, 16)
	c += b
	b = (b - a) ^ rot(a, 19)
	a += c
	c = (c - b) ^ rot(b, 4)
	b += a
	a += word(3)
	c = (c ^ b) - rot(b, 14)
	a = (a ^ c) - rot(c, 11)
	b = (b ^ a) - rot(a, 25)
	c = (c ^ b) - rot(b, 16)
	a = (a ^ c) - rot(c, 4)
	b = (b ^ a) - rot(a, 14)
	c = (c ^ b) - rot(b, 24)
	return int32(c)
}
