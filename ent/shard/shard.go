// Package shard distributes the tables of a migrated PostgreSQL database by store over the nodes of a Citus cluster, and shows
// and changes where stores are. Servers, workers and commands connect to the coordinator.
//
//	data nodes   the tables that grow with the stores, cut into shards by the hash of the store: all rows of a
//	             store are on one node, so its changes commit there, and that node checks its foreign keys
//	coordinator  everything else, in plain tables that Citus does not know: stores, API keys, sessions, queue
//
// Citus allows no foreign key from a distributed table to a plain one, so rows no longer refer to their store. Apply is one
// transaction on all nodes: if it is killed it leaves the database as it was, and when all tables are distributed it changes
// nothing.
package shard

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lib/pq"

	"go.storefront.example/ent/db"
)

// Tables lists the tables that are distributed by store; all others stay on the coordinator.
func Tables() []string {
	return []string{
		"customers", "payment_links", "products", "orders", "order_items", "activity_entries", "idempotency_keys", "events",
		"outbox", "row_counts", "row_deltas",
	}
}

// ForeignKeys lists the names of the foreign keys between distributed tables.
func ForeignKeys() []string {
	return []string{"order_items_orders_items", "orders_customers_orders", "orders_payment_links_orders"}
}

// anchor is the distributed table beside whose shards Citus places those of the others.
const anchor = "customers"

var (
	// ErrNotPostgres means that the database is SQLite.
	ErrNotPostgres = errors.New("only PostgreSQL can be sharded")
	// ErrNotSharded means that the tables are not distributed.
	ErrNotSharded = errors.New("the database is not sharded: storefront shard plan says what is missing")
	// ErrNotReady means that the operator must do something before; the message says what.
	ErrNotReady = errors.New("the database cannot be sharded yet")
)

// ApplicationName is that of this package's connections. Apply refuses to run while servers and workers, which have others, are
// connected.
const ApplicationName = "storefront shard"

// Cluster is a PostgreSQL database, whether its tables are distributed or not. Goroutines may share it.
type Cluster struct{ db *db.DB }

// New takes the coordinator's database. It fails with ErrNotPostgres.
func New(d *db.DB) (*Cluster, error) {
	if c := db.ByDialect(d, &Cluster{d}, nil); c != nil {
		return c, nil
	}
	return nil, ErrNotPostgres
}

// Table is a table that is distributed or that Apply would distribute.
type Table struct {
	Name        string `json:"name"`
	Rows        int64  `json:"rows"` // PostgreSQL's estimate of the rows on the coordinator
	Bytes       int64  `json:"bytes"`
	Distributed bool   `json:"distributed"`
}

// Dependent is a foreign key or a trigger that Apply drops before it distributes the tables.
type Dependent struct {
	Name, Table string
	// Definition is the SQL with which Apply creates it again; "" for a foreign key to a table that stays on the coordinator.
	Definition string
}

// Plan says what Apply would do, and what prevents it.
type Plan struct {
	Tables         []Table
	Keys, Triggers []Dependent
	// Obstacles lists what the operator must do before Apply, in this order.
	Obstacles []string
	// Largest are the stores with the most rows.
	Largest []Store
}

// Pending lists the tables that Apply would distribute.
func (p Plan) Pending() []string {
	var names []string
	for _, t := range p.Tables {
		if !t.Distributed {
			names = append(names, t.Name)
		}
	}
	return names
}

// Plan changes nothing.
func (c *Cluster) Plan(ctx context.Context) (Plan, error) {
	var plan Plan
	current, err := c.db.Current(ctx)
	if err != nil {
		return plan, err
	}
	if !current {
		plan.Obstacles = append(plan.Obstacles, "the schema is not current: run storefront migrate up")
		return plan, nil
	}
	installed, err := c.installed(ctx)
	if err != nil {
		return plan, err
	}
	if plan.Tables, err = c.tables(ctx, installed); err != nil {
		return plan, err
	}
	pending := plan.Pending()
	if plan.Largest, err = c.largest(ctx, len(pending) == 0); err != nil || len(pending) == 0 {
		return plan, err
	}
	if plan.Keys, err = c.dependents(ctx, `SELECT conname, conrelid::regclass::text,
  CASE WHEN confrelid = ANY ($2::regclass[]) THEN pg_get_constraintdef(oid) ELSE '' END FROM pg_constraint
 WHERE contype = 'f' AND (conrelid = ANY ($1::regclass[]) OR confrelid = ANY ($1::regclass[])) ORDER BY 2, 1`,
		pq.Array(pending), pq.Array(Tables())); err != nil {
		return plan, err
	}
	if plan.Triggers, err = c.dependents(ctx, `SELECT tgname, tgrelid::regclass::text, pg_get_triggerdef(oid) FROM pg_trigger
 WHERE tgrelid = ANY ($1::regclass[]) AND NOT tgisinternal ORDER BY 2, 1`, pq.Array(pending)); err != nil {
		return plan, err
	}
	plan.Obstacles, err = c.obstacles(ctx, installed)
	return plan, err
}

func (c *Cluster) dependents(ctx context.Context, query string, args ...any) (found []Dependent, err error) {
	for row := range db.Rows(ctx, c.db.Reader(), query, args...) {
		var d Dependent
		if err := row.Scan(&d.Name, &d.Table, &d.Definition); err != nil {
			return nil, err
		}
		found = append(found, d)
	}
	return found, nil
}

func (c *Cluster) installed(ctx context.Context) (bool, error) {
	var found bool
	err := c.db.Reader().QueryRowContext(ctx, "SELECT EXISTS (SELECT FROM pg_extension WHERE extname = 'citus')").Scan(&found)
	return found, err
}

// Sharded reports whether all tables are distributed.
func (c *Cluster) Sharded(ctx context.Context) (bool, error) {
	installed, err := c.installed(ctx)
	if err != nil || !installed {
		return false, err
	}
	tables, err := c.tables(ctx, installed)
	return err == nil && len(Plan{Tables: tables}.Pending()) == 0, err
}

func (c *Cluster) tables(ctx context.Context, installed bool) ([]Table, error) {
	distributed := "false"
	if installed {
		distributed = "EXISTS (SELECT FROM pg_dist_partition p WHERE p.logicalrelid = r.oid AND p.partmethod = 'h')"
	}
	var tables []Table
	for row := range db.Rows(ctx, c.db.Reader(),
		`SELECT r.relname, GREATEST(0, r.reltuples)::bigint, pg_total_relation_size(r.oid), `+
			distributed+` FROM unnest($1::text[]) WITH ORDINALITY AS n (name, place) JOIN pg_class r ON r.oid = to_regclass(n.name)
 ORDER BY n.place`, pq.Array(Tables())) {
		var t Table
		if err := row.Scan(&t.Name, &t.Rows, &t.Bytes, &t.Distributed); err != nil {
			return nil, err
		}
		tables = append(tables, t)
	}
	return tables, nil
}

func (c *Cluster) obstacles(ctx context.Context, installed bool) ([]string, error) {
	var found []string
	if !installed {
		found = append(found, "the extension is missing: on every node put citus into shared_preload_libraries, and in this database "+
			"run CREATE EXTENSION citus, on the coordinator last")
	} else {
		var coordinators, workers int
		err := c.db.Reader().QueryRowContext(ctx, `SELECT count(*) FILTER (WHERE groupid = 0),
  count(*) FILTER (WHERE groupid > 0 AND isactive AND shouldhaveshards) FROM pg_dist_node WHERE noderole = 'primary'`).
			Scan(&coordinators, &workers)
		if err != nil {
			return nil, err
		}
		if coordinators == 0 {
			found = append(found, "the coordinator has no address for the workers: run SELECT citus_set_coordinator_host('HOST', "+
				"5432) on it")
		}
		if workers == 0 {
			found = append(found, "there is no worker: run SELECT citus_add_node('HOST', 5432) on the coordinator for each")
		}
	}
	var users []string
	err := c.db.Reader().QueryRowContext(ctx, `SELECT array_agg(DISTINCT application_name || ' from ' ||
   COALESCE(host(client_addr), 'this machine')) FROM pg_stat_activity
 WHERE datname = current_database() AND backend_type = 'client backend' AND application_name ~ '^storefront( listener)?$'`).
		Scan(pq.Array(&users))
	if err != nil {
		return nil, err
	}
	if len(users) > 0 {
		found = append(found, "servers and workers must be stopped; connected are "+strings.Join(users, ", "))
	}
	return found, nil
}

// Apply distributes the tables that are not distributed yet, and returns how many. It calls report before each step, and waits
// for a lock at most lockWait. It fails with ErrNotReady.
func (c *Cluster) Apply(ctx context.Context, report func(step string)) (int, error) {
	plan, err := c.Plan(ctx)
	if err != nil {
		return 0, err
	}
	if len(plan.Obstacles) > 0 {
		return 0, fmt.Errorf("%w: %s", ErrNotReady, strings.Join(plan.Obstacles, "; "))
	}
	pending := plan.Pending()
	if len(pending) == 0 {
		return 0, nil
	}
	tx, err := c.db.Writer().BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer func() { _ = tx.Rollback() }()
	for _, s := range steps(plan) {
		report(s.name)
		if _, err := tx.ExecContext(ctx, s.statement); err != nil {
			return 0, fmt.Errorf("%s: %w; nothing was changed", s.name, err)
		}
	}
	report("commit")
	if err := tx.Commit(); err != nil {
		return 0, fmt.Errorf("commit: %w", err)
	}
	return len(pending), nil
}

const lockWait = "10s"

type step struct{ name, statement string }

// steps are the statements of Apply's transaction, with a name for each.
func steps(plan Plan) []step {
	all := []step{
		// A second connection to a node would not see the foreign keys that this transaction changes (sequential).
		{"prepare", "SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0; SET LOCAL lock_timeout = '" +
			lockWait + "'; SET LOCAL citus.multi_shard_modify_mode = 'sequential'; " +
			// Citus rejects triggers without this setting. Those that count rows are safe: they write only rows of the changed
			// row's store, and all rows of a store are on one node.
			"SET LOCAL citus.enable_unsafe_triggers = on"},
	}
	for _, k := range plan.Keys {
		all = append(all, step{"drop the key " + k.Name,
			"ALTER TABLE " + pq.QuoteIdentifier(k.Table) + " DROP CONSTRAINT " + pq.QuoteIdentifier(k.Name)})
	}
	// The triggers would count each row once more when Citus copies it.
	for _, t := range plan.Triggers {
		all = append(all, step{"drop the trigger " + t.Name + " of " + t.Table,
			"DROP TRIGGER " + pq.QuoteIdentifier(t.Name) + " ON " + pq.QuoteIdentifier(t.Table)})
	}
	pending := plan.Pending()
	for _, t := range pending {
		beside := anchor
		if t == anchor {
			beside = "none"
		}
		all = append(all, step{"distribute " + t,
			fmt.Sprintf("SELECT create_distributed_table('%s', 'store_id', colocate_with => '%s')",
				t, beside)})
	}
	for _, k := range plan.Keys {
		if k.Definition != "" {
			all = append(all, step{"add the key " + k.Name,
				"ALTER TABLE " + pq.QuoteIdentifier(k.Table) + " ADD CONSTRAINT " + pq.QuoteIdentifier(k.Name) + " " + k.Definition})
		}
	}
	for _, t := range plan.Triggers {
		all = append(all, step{"make the trigger " + t.Name + " of " + t.Table, t.Definition})
	}
	all = append(all, phases()...)
	for _, t := range slices.Backward(pending) {
		all = append(all, step{"free the coordinator's copy of " + t, "SELECT truncate_local_data_after_distributing_table('" + t +
			"')"})
	}
	return all
}
