package doctor

import (
	"context"
	"fmt"
	"strings"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/shard"
)

// nodes returns no finding if no table is distributed.
func nodes(ctx context.Context, d *db.DB, _ Installation) Finding {
	cluster, sharded, err := shardedBy(ctx, d)
	if err != nil || !sharded {
		return unreadableIf(err)
	}
	status, err := cluster.Status(ctx)
	if err != nil {
		return unreadable(err)
	}
	for _, n := range status.Nodes {
		if !n.Active {
			return fail("run SELECT citus_activate_node('HOST', PORT) on the coordinator", "%s is disabled", n.Name)
		}
	}
	all, err := cluster.Health(ctx)
	if err != nil {
		return unreadable(err)
	}
	return nodesFinding(all)
}

func nodesFinding(all []shard.Health) Finding {
	for _, h := range all {
		switch {
		case h.Refusal != "":
			return fail("start it, or correct its address with citus_update_node", "%s does not answer: %s", h.Node, h.Refusal)
		case h.Extension != all[0].Extension:
			return fail("install one version of Citus on all nodes, and run ALTER EXTENSION citus UPDATE on each",
				"%s has citus %s, and %s has %s", h.Node, h.Extension, all[0].Node, all[0].Extension)
		case h.Prepared > 0:
			return fail("see the coordinator's log for why Citus does not end them; their rows stay locked",
				"%s prepared on %s for over five minutes", plural(h.Prepared, "transaction"), h.Node)
		}
	}
	for i, h := range all {
		switch {
		case h.Skew > maxSkew:
			return warn("synchronize the clocks, with chrony for instance", "the clock of %s is %s from the coordinator's", h.Node, h.Skew)
		case h.Connections*5 > h.MaxConnections*4:
			return warn("raise max_connections there, or lower --database-max-conns of servers and workers",
				"%s has %d connections of %d", h.Node, h.Connections, h.MaxConnections)
		case h.Slots > 0:
			return warn("unless a move of shards runs, CALL citus_cleanup_orphaned_resources() on the coordinator removes them",
				"%s on %s, which keep its write-ahead log", plural(h.Slots, "unused replication slot"), h.Node)
		case i > 0 && h.LockTimeout == 0:
			return warn("run ALTER ROLE storefront SET lock_timeout = '5s' on it: what servers set does not reach it",
				"on %s statements wait for locks without end", h.Node)
		}
	}
	return ok("%s, citus %s on each", plural(len(all), "node"), all[0].Extension)
}

// shards checks the places of tables, their foreign keys and triggers, and that failed moves of shards left nothing. It returns
// no finding if no table is distributed.
func shards(ctx context.Context, d *db.DB, _ Installation) Finding {
	cluster, sharded, err := shardedBy(ctx, d)
	if err != nil || !sharded {
		return unreadableIf(err)
	}
	misplaced, err := cluster.MisplacedTables(ctx)
	if err != nil {
		return unreadable(err)
	}
	if len(misplaced) > 0 {
		return fail("stop servers and workers and run `storefront shard apply`; undo with undistribute_table what was distributed "+
			"by hand",
			"%s", strings.Join(misplaced, ", "))
	}
	missing, err := cluster.MissingKeysAndTriggers(ctx)
	if err != nil {
		return unreadable(err)
	}
	if len(missing) > 0 {
		return fail("make it again, as pg_dump --schema-only shows it for a new database after `storefront migrate up` and `shard apply`",
			"missing: %s", strings.Join(missing, ", "))
	}
	leftovers, err := cluster.Leftovers(ctx)
	if err != nil {
		return unreadable(err)
	}
	if leftovers > 0 {
		return warn("look at pg_dist_background_job and pg_dist_cleanup; CALL citus_cleanup_orphaned_resources() removes them",
			"%s of moves of shards that failed", plural(leftovers, "leftover"))
	}
	return ok("%s distributed by store", plural(len(shard.Tables()), "table"))
}

func shardedBy(ctx context.Context, d *db.DB) (*shard.Cluster, bool, error) {
	cluster, err := shard.New(d)
	if err != nil {
		return nil, false, err
	}
	plan, err := cluster.Plan(ctx)
	return cluster, err == nil && len(plan.Pending()) < len(plan.Tables), err
}

func unreadableIf(err error) Finding {
	if err == nil {
		return Finding{}
	}
	return unreadable(fmt.Errorf("shards: %w", err))
}
