package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/shard"
	"go.storefront.example/server/shop"
)

type shardCmd struct {
	Plan    shardPlanCmd    `cmd:"" help:"Show what apply would do, and the sizes of the tables."`
	Apply   shardApplyCmd   `cmd:"" help:"Distribute the tables by store over the nodes of a Citus cluster."`
	Status  shardStatusCmd  `cmd:"" help:"Show the nodes, the stores on each, the largest and the hottest stores, and running moves."`
	Isolate shardIsolateCmd `cmd:"" help:"Give a store a shard of its own."`
}

// onCluster opens a database whose schema need not be current.
func (s *invocation) onCluster(d database, do func(ctx context.Context, handle *db.DB, cluster *shard.Cluster) error) error {
	handle, err := hook.Open(s.ctx, d.config(db.Config{Existing: true, MaxConns: 2,
		Settings: map[string]string{"application_name": shard.ApplicationName}}))
	if err != nil {
		return noFile(err)
	}
	cluster, err := shard.New(handle)
	if err == nil {
		err = do(s.ctx, handle, cluster)
	}
	return errors.Join(err, handle.Close())
}

type shardPlanCmd struct{ database }

type sharding struct {
	Tables []shard.Table `json:"tables"`
	// DroppedKeys are the foreign keys that `storefront shard apply` drops for good.
	DroppedKeys []string `json:"droppedKeys"`
	Obstacles   []string `json:"obstacles"`
	// Largest are the stores with the most rows, the largest first.
	Largest []shard.Store `json:"largestStores"`
}

// Run prints what `storefront shard apply` would do.
func (c *shardPlanCmd) Run(s *invocation) error {
	return s.onCluster(c.database, func(ctx context.Context, _ *db.DB, cluster *shard.Cluster) error {
		plan, err := cluster.Plan(ctx)
		if err != nil {
			return err
		}
		return s.plan(plan)
	})
}

func (s *invocation) plan(plan shard.Plan) error {
	out := sharding{Tables: []shard.Table{}, DroppedKeys: []string{}, Obstacles: []string{}, Largest: []shard.Store{}}
	out.Tables, out.Obstacles = append(out.Tables, plan.Tables...), append(out.Obstacles, plan.Obstacles...)
	out.Largest = append(out.Largest, plan.Largest...)
	for _, k := range plan.Keys {
		if k.Definition == "" {
			out.DroppedKeys = append(out.DroppedKeys, k.Name)
		}
	}
	if s.json {
		return s.printValue(out)
	}
	rows := make([][]string, len(plan.Tables))
	for i, t := range plan.Tables {
		next := "is distributed by store"
		if !t.Distributed {
			next = "will be distributed by store"
		}
		rows[i] = []string{t.Name, grouped(t.Rows), bytesText(t.Bytes), next}
	}
	if err := s.printTable(strings.Fields("TABLE ROWS SIZE NEXT"), rows); err != nil {
		return err
	}
	if len(plan.Largest) > 0 {
		var largest [][]string
		for _, e := range plan.Largest {
			largest = append(largest, []string{e.Slug, e.Bucket, grouped(e.Rows)})
		}
		_, _ = fmt.Fprintln(s.out)
		if err := s.printTable(strings.Fields("LARGEST BUCKET ROWS"), largest); err != nil {
			return err
		}
		_, _ = fmt.Fprintln(s.out)
	}
	if len(out.DroppedKeys) > 0 {
		_, _ = fmt.Fprintf(s.out, "These foreign keys to tables of the coordinator go: %s\n", strings.Join(out.DroppedKeys, ", "))
	}
	for _, o := range plan.Obstacles {
		_, _ = fmt.Fprintf(s.out, "Before: %s\n", o)
	}
	if len(plan.Obstacles) == 0 && len(plan.Pending()) == 0 {
		_, _ = fmt.Fprintln(s.out, "There is nothing to do: `storefront shard status` shows what lies where")
	}
	return nil
}

// bytesText uses the unit in which a number has at most four digits.
func bytesText(n int64) string {
	for _, unit := range []string{"B", "KiB", "MiB"} {
		if n < 10_000 {
			return grouped(n) + " " + unit
		}
		n >>= 10
	}
	return grouped(n) + " GiB"
}

type shardApplyCmd struct {
	database
	Yes bool `help:"Distribute the tables; without this flag the command only shows the plan."`
}

func (c *shardApplyCmd) Run(s *invocation) error {
	return s.onCluster(c.database, func(ctx context.Context, _ *db.DB, cluster *shard.Cluster) error {
		plan, err := cluster.Plan(ctx)
		if err != nil {
			return err
		}
		if !c.Yes && (len(plan.Pending()) > 0 || len(plan.Obstacles) > 0) {
			if !s.json {
				_ = s.plan(plan)
			}
			return errors.New("nothing was changed; say --yes to do it")
		}
		done, err := cluster.Apply(ctx, func(step string) { s.printMessage("shard: " + step) })
		if err != nil {
			return err
		}
		if s.json {
			return s.printValue(struct {
				Distributed int `json:"distributed"`
			}{done})
		}
		if done == 0 {
			_, err = fmt.Fprintln(s.out, "every table is distributed already")
		} else {
			_, err = fmt.Fprintf(s.out, "%s tables distributed; start the servers and workers again\n", grouped(done))
		}
		return err
	})
}

type shardStatusCmd struct{ database }

func (c *shardStatusCmd) Run(s *invocation) error {
	return s.onCluster(c.database, func(ctx context.Context, _ *db.DB, cluster *shard.Cluster) error {
		status, err := cluster.Status(ctx)
		if err != nil {
			return err
		}
		if s.json {
			return s.printValue(status)
		}
		var nodes, moves [][]string
		for _, n := range status.Nodes {
			role, state := "worker", "active"
			if n.Coordinator {
				role = "coordinator"
			}
			if !n.Active {
				state = "disabled"
			}
			nodes = append(nodes, []string{n.Name, role, state, grouped(n.Stores), grouped(n.Shards), bytesText(n.Bytes)})
		}
		stores := func(all []shard.Store, n func(shard.Store) int64) (rows [][]string) {
			for _, e := range all {
				alone := "no"
				if e.Alone {
					alone = "yes"
				}
				rows = append(rows, []string{e.Slug, e.Bucket, grouped(n(e)), e.Node, alone})
			}
			return rows
		}
		for _, m := range status.Moves {
			moves = append(moves, []string{strconv.FormatInt(m.Shard, 10), m.From, m.To, m.Progress})
		}
		err = s.printTable(strings.Fields("NODE ROLE STATE STORES SHARDS SIZE"), nodes)
		for _, t := range []struct {
			header string
			rows   [][]string
		}{
			{"LARGEST BUCKET ROWS NODE ALONE", stores(status.Largest, func(e shard.Store) int64 { return e.Rows })},
			{"HOTTEST BUCKET REQUESTS NODE ALONE", stores(status.Hottest, func(e shard.Store) int64 { return e.Requests })},
			{"MOVING FROM TO DONE", moves},
		} {
			if err == nil && len(t.rows) > 0 {
				_, _ = fmt.Fprintln(s.out)
				err = s.printTable(strings.Fields(t.header), t.rows)
			}
		}
		return err
	})
}

type shardIsolateCmd struct {
	database
	Store string `arg:"" help:"The store, by slug or id."`
}

// Run moves the store's rows into a shard that has no other store.
func (c *shardIsolateCmd) Run(s *invocation) error {
	return s.onCluster(c.database, func(ctx context.Context, handle *db.DB, cluster *shard.Cluster) error {
		current, err := handle.Current(ctx)
		if err == nil && !current {
			err = errBehind
		}
		if err != nil {
			return err
		}
		store, err := shop.New(handle, s.options.Shop).FindStore(ctx, c.Store)
		if err != nil {
			return err
		}
		isolated, err := cluster.Isolate(ctx, store.ID)
		if err != nil {
			return err
		}
		if s.json {
			return s.printValue(struct {
				Store    string `json:"store"`
				Isolated bool   `json:"isolated"`
			}{store.Slug, isolated})
		}
		result := "has a shard of its own now"
		if !isolated {
			result = "had a shard of its own already"
		}
		_, err = fmt.Fprintf(s.out, "%s %s\n", store.Slug, result)
		return err
	})
}
