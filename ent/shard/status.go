package shard

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/lib/pq"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/tenant"
)

// Node is a PostgreSQL server of the cluster.
type Node struct {
	Name        string `json:"name"` // host:port
	Coordinator bool   `json:"coordinator"`
	Active      bool   `json:"active"`
	Shards      int    `json:"shards"`
	Stores      int    `json:"stores"`
	Bytes       int64  `json:"bytes"`
}

// Store is one of the largest or busiest stores.
type Store struct {
	ID       uuid.UUID `json:"id"`
	Slug     string    `json:"slug"`
	Bucket   string    `json:"bucket"`
	Rows     int64     `json:"rows,omitempty"`     // products, customers, orders and payment links; set only in a list of the largest stores
	Requests int64     `json:"requests,omitempty"` // with all keys of the store, in this minute and the minute before
	Node     string    `json:"node,omitempty"`     // HOST:PORT of the node that has the store; set once the tables are distributed
	Alone    bool      `json:"alone"`              // true if the store has its own shard
}

// Move is a shard that Citus is moving to another node.
type Move struct {
	Shard    int64  `json:"shard"`
	From     string `json:"from"`
	To       string `json:"to"`
	Progress string `json:"progress"`
}

// Status has the nodes of a cluster, some of its stores, and its running moves.
type Status struct {
	Nodes   []Node  `json:"nodes"`
	Largest []Store `json:"largestStores"`
	Hottest []Store `json:"hottestStores"` // the stores with the most requests
	Moves   []Move  `json:"moves"`
}

const maxStores = 10

// joinNode joins a store s with its shard h and the node n that has it.
const joinNode = `JOIN pg_dist_shard h ON h.shardid = get_shard_id_for_distribution_column('` + anchor + `', s.id)
 JOIN pg_dist_placement p ON p.shardid = h.shardid JOIN pg_dist_node n ON n.groupid = p.groupid AND n.noderole = 'primary'`

// Status fails with ErrNotSharded if the tables are not distributed.
func (c *Cluster) Status(ctx context.Context) (Status, error) {
	s := Status{Nodes: []Node{}, Largest: []Store{}, Moves: []Move{}}
	if err := c.requireSharded(ctx); err != nil {
		return s, err
	}
	for row := range db.Rows(ctx, c.db.Reader(), `SELECT n.nodename || ':' || n.nodeport, n.groupid = 0, n.isactive,
  COALESCE(sizes.shards, 0), COALESCE(sizes.bytes, 0), COALESCE(owned.stores, 0)
 FROM pg_dist_node n
 LEFT JOIN (SELECT nodename, nodeport, count(*) AS shards, sum(shard_size)::bigint AS bytes FROM citus_shards GROUP BY 1, 2) sizes
  USING (nodename, nodeport)
 LEFT JOIN (SELECT n.nodeid, count(*) AS stores FROM stores s `+joinNode+` GROUP BY 1) owned USING (nodeid)
 WHERE n.noderole = 'primary' ORDER BY n.groupid`) {
		var n Node
		if err := row.Scan(&n.Name, &n.Coordinator, &n.Active, &n.Shards, &n.Bytes, &n.Stores); err != nil {
			return s, err
		}
		s.Nodes = append(s.Nodes, n)
	}
	var err error
	if s.Largest, err = c.largest(ctx, true); err != nil {
		return s, err
	}
	if s.Hottest, err = c.top(ctx, `SELECT k.store_id, sum(r.count) FROM rate_counters r JOIN api_keys k ON k.id = r.id
 WHERE r.minute >= floor(extract(epoch FROM now()) / 60) - 1`, true, func(s *Store) *int64 { return &s.Requests }); err != nil {
		return s, err
	}
	for row := range db.Rows(ctx, c.db.Reader(), `SELECT shardid, sourcename || ':' || sourceport, targetname || ':' || targetport,
  pg_size_pretty(target_shard_size) || ' of ' || pg_size_pretty(source_shard_size)
 FROM get_rebalance_progress() WHERE progress < 2 ORDER BY 1`) {
		var m Move
		if err := row.Scan(&m.Shard, &m.From, &m.To, &m.Progress); err != nil {
			return s, err
		}
		s.Moves = append(s.Moves, m)
	}
	return s, nil
}

// largest also sets the stores' nodes if distributed is true.
func (c *Cluster) largest(ctx context.Context, distributed bool) ([]Store, error) {
	return c.top(ctx, "SELECT store_id, sum(total) FROM row_counts WHERE days = 32", distributed,
		func(s *Store) *int64 { return &s.Rows })
}

// top returns at most maxStores stores with the highest sums, by the query sums without its GROUP BY. field is where a Store
// has its sum. If distributed is true, it also sets Node and Alone.
func (c *Cluster) top(ctx context.Context, sums string, distributed bool, field func(*Store) *int64) ([]Store, error) {
	columns, join := "'', false", ""
	if distributed {
		columns, join = "n.nodename || ':' || n.nodeport, h.shardminvalue = h.shardmaxvalue", joinNode
	}
	found := []Store{}
	for row := range db.Rows(ctx, c.db.Reader(), "WITH most (id, n) AS MATERIALIZED ("+sums+` GROUP BY 1 ORDER BY 2 DESC LIMIT $1)
 SELECT s.id, s.slug, most.n::bigint, `+columns+`
 FROM most JOIN stores s USING (id) `+join+` ORDER BY most.n DESC, s.slug`, maxStores) {
		var e Store
		if err := row.Scan(&e.ID, &e.Slug, field(&e), &e.Node, &e.Alone); err != nil {
			return nil, err
		}
		e.Bucket = tenant.Bucket(e.ID)
		found = append(found, e)
	}
	return found, nil
}

func (c *Cluster) requireSharded(ctx context.Context) error {
	sharded, err := c.Sharded(ctx)
	if err == nil && !sharded {
		err = ErrNotSharded
	}
	return err
}

// Isolate moves a store to a shard of its own on the same node, or returns false if it has one. Meanwhile changes of stores in
// its old shard wait.
func (c *Cluster) Isolate(ctx context.Context, store uuid.UUID) (bool, error) {
	if err := c.requireSharded(ctx); err != nil {
		return false, err
	}
	conn, err := c.db.Writer().Conn(ctx)
	if err != nil {
		return false, err
	}
	defer func() { _ = conn.Close() }()
	var alone bool
	err = conn.QueryRowContext(ctx, `SELECT h.shardminvalue = h.shardmaxvalue FROM pg_dist_shard h
 WHERE h.shardid = get_shard_id_for_distribution_column('`+anchor+`', $1::uuid)`, store).Scan(&alone)
	if err != nil || alone {
		return false, err
	}
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return false, err
	}
	defer func() { _ = tx.Rollback() }()
	// Block writes. A split without blocking needs a replica identity on row_deltas, which the new shard would get too late,
	// and never end.
	if _, err = tx.ExecContext(ctx, "SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = '"+lockWait+"'"); err == nil {
		var shard sql.NullInt64
		err = tx.QueryRowContext(ctx, `SELECT isolate_tenant_to_new_shard('`+anchor+`', $1::uuid, 'CASCADE', 'block_writes')`, store).
			Scan(&shard)
	}
	if err == nil {
		err = tx.Commit()
	}
	return err == nil, err
}

// Health is the state of a node, as the node itself reports it.
type Health struct {
	Node string
	// Refusal says why the node did not answer, with the other fields zero; or "".
	Refusal string
	// Extension is the version of Citus in this database.
	Extension string
	// LockTimeout is how long a statement on the node waits for a lock; 0 means without limit.
	LockTimeout time.Duration
	// Skew is the difference between the node's clock and the coordinator's; the true difference may be larger.
	Skew time.Duration
	// Prepared is how many transactions have waited for more than 5 minutes for the second phase of their commit.
	Prepared int
	// Connections is how many the node has open to all its databases; MaxConnections is the limit.
	Connections, MaxConnections int
	// Slots is how many replication slots of ended shard moves the node has. Each keeps write-ahead log on the disk.
	Slots int
}

type health struct {
	Extension   string
	LockTimeout int64 // in milliseconds
	Now         float64
	Prepared    int
	Connections int
	Limit       int
	Slots       int
}

// healthOf runs on each node. It counts only transactions prepared more than 5 minutes ago, because Citus itself ends younger
// ones.
const healthOf = `SELECT json_build_object('extension', (SELECT extversion FROM pg_extension WHERE extname = 'citus'),
 'lockTimeout', (SELECT setting::bigint FROM pg_settings WHERE name = 'lock_timeout'),
 'now', extract(epoch FROM clock_timestamp()), 'prepared', (SELECT count(*) FROM pg_prepared_xacts
  WHERE database = current_database() AND prepared < now() - interval '5 minutes'),
 'connections', (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'),
 'limit', (SELECT setting::integer FROM pg_settings WHERE name = 'max_connections'),
 'slots', (SELECT count(*) FROM pg_replication_slots
  WHERE database = current_database() AND NOT active AND slot_name LIKE 'citus_shard_%'))`

// Health asks every active node for its health.
func (c *Cluster) Health(ctx context.Context) ([]Health, error) {
	var all []Health
	for row := range db.Rows(ctx, c.db.Reader(), `WITH asked AS MATERIALIZED (SELECT extract(epoch FROM statement_timestamp()) AS before, r.*
  FROM run_command_on_all_nodes($1, true, true) r)
 SELECT n.nodename || ':' || n.nodeport, a.success, a.result, a.before, extract(epoch FROM clock_timestamp())
 FROM asked a JOIN pg_dist_node n USING (nodeid) ORDER BY n.groupid`, healthOf) {
		var (
			h             Health
			answered      bool
			result        *string
			before, after float64
		)
		if err := row.Scan(&h.Node, &answered, &result, &before, &after); err != nil {
			return nil, err
		}
		switch {
		case !answered || result == nil:
			h.Refusal = "no answer"
			if result != nil {
				h.Refusal = *result
			}
		default:
			var reported health
			if err := json.Unmarshal([]byte(*result), &reported); err != nil {
				return nil, fmt.Errorf("%s: %w", h.Node, err)
			}
			h.Extension, h.Prepared, h.Slots = reported.Extension, reported.Prepared, reported.Slots
			h.Connections, h.MaxConnections = reported.Connections, reported.Limit
			h.LockTimeout = time.Duration(reported.LockTimeout) * time.Millisecond
			h.Skew = time.Duration(max(0, before-reported.Now, reported.Now-after) * float64(time.Second))
		}
		all = append(all, h)
	}
	return all, nil
}

// MisplacedTables lists tables with their fault: those of Tables that are not distributed, or whose shards do not lie beside
// those of customers; others that Citus distributes; and distributed ones with rows on the coordinator.
func (c *Cluster) MisplacedTables(ctx context.Context) ([]string, error) {
	var found []string
	for row := range db.Rows(ctx, c.db.Reader(), `SELECT r.relname || CASE
  WHEN NOT r.relname = ANY ($1::text[]) THEN ' belongs on the coordinator alone'
  WHEN p.partmethod IS DISTINCT FROM 'h' OR column_to_column_name(p.logicalrelid, p.partkey) <> 'store_id' THEN ' is not distributed by store'
  WHEN p.colocationid <> a.colocationid THEN ' does not lie beside '||$2
  ELSE ' has a copy on the coordinator' END
 FROM pg_class r LEFT JOIN pg_dist_partition p ON p.logicalrelid = r.oid
 LEFT JOIN pg_dist_partition a ON a.logicalrelid = to_regclass($2)
 WHERE r.relkind = 'r' AND pg_table_is_visible(r.oid) AND (r.relname = ANY ($1::text[]) OR p.logicalrelid IS NOT NULL)
  AND r.relname <> '`+phasesTable+`' AND (NOT r.relname = ANY ($1::text[]) OR p.partmethod IS DISTINCT FROM 'h'
   OR column_to_column_name(p.logicalrelid, p.partkey) <> 'store_id' OR p.colocationid <> a.colocationid OR pg_relation_size(r.oid) > 0)
 ORDER BY 1`, pq.Array(Tables()), anchor) {
		var problem string
		if err := row.Scan(&problem); err != nil {
			return nil, err
		}
		found = append(found, problem)
	}
	return found, nil
}

// MissingKeysAndTriggers lists missing foreign keys between distributed tables, and triggers for commits in two phases.
func (c *Cluster) MissingKeysAndTriggers(ctx context.Context) ([]string, error) {
	var found []string
	for row := range db.Rows(ctx, c.db.Reader(), `SELECT 'the key ' || k FROM unnest($1::text[]) k
 WHERE NOT EXISTS (SELECT FROM pg_constraint WHERE contype = 'f' AND conname = k AND connamespace = current_schema()::regnamespace)
UNION ALL SELECT 'the trigger commit_in_two_phases of ' || t FROM unnest($2::text[]) t
 WHERE NOT EXISTS (SELECT FROM pg_trigger WHERE tgrelid = t::regclass AND tgname = 'commit_in_two_phases' AND tgenabled <> 'D')
 ORDER BY 1`, pq.Array(ForeignKeys()), pq.Array(InTwoPhases())) {
		var problem string
		if err := row.Scan(&problem); err != nil {
			return nil, err
		}
		found = append(found, problem)
	}
	return found, nil
}

// Leftovers counts Citus's failed jobs, and the remains of shard moves.
func (c *Cluster) Leftovers(ctx context.Context) (n int, err error) {
	err = c.db.Reader().QueryRowContext(ctx, `SELECT (SELECT count(*) FROM pg_dist_cleanup)
  + (SELECT count(*) FROM pg_dist_background_job WHERE state = 'failed')`).Scan(&n)
	return n, err
}
