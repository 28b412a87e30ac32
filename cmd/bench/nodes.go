package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"go.storefront.example/cmd/bench/receiver"
	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest/cluster"
)

const (
	nodeStores = 12
	// nodeRate is in customers a second over all stores, and nodeOrders in paid orders a second.
	nodeRate, nodeOrders = 150.0, 10.0
	// warmTime is how long the load runs before the quiet measurement.
	warmTime = 3 * time.Second
	// nodeTimeout is the worker's timeout of an attempt.
	nodeTimeout = 2 * time.Second
	// coordinatorKills is how often the coordinator is killed.
	coordinatorKills = 10
	// commitDelay, in microseconds, makes a kill likely to hit commits.
	commitDelay = 20_000
)

// nodes is a Citus cluster with a fault in its first worker node or its coordinator. How many stores that node has varies,
// because Citus places a store by the hash of its id.
type nodes struct {
	*play
	fleet                *fleet
	coordinator          *cluster.Cluster
	workers              []*cluster.Cluster // workers[0] is the first worker node
	affected, unaffected *openLoop          // create customers in stores on the first worker node, and in all others
	affectedCalls        []call
	unaffectedCalls      []call
	kills                []kill
	from, until          time.Time // begin and end of the fault
	acknowledged         []uuid.UUID
	affectedSlug         string // slug of a store on the first worker node
}

// settings are those of a Citus node. Without Citus, the scene is skipped.
func (p *play) settings() []string {
	programs := p.shared.Programs()
	if _, err := os.Stat(filepath.Join(programs, "..", "lib", "citus.so")); err != nil {
		panic(skipped("PostgreSQL of --postgres-bin has no Citus"))
	}
	settings := []string{
		"shared_preload_libraries=citus", "max_prepared_transactions=200", "max_connections=300", "wal_level=logical",
		"citus.node_conninfo=sslmode=disable", "citus.shard_count=8", "lock_timeout=5s",
	}
	// Since 2026-11 output_plugin_libraries must list the plugins that moves of shards need.
	known, err := exec.CommandContext(p.ctx, filepath.Join(programs, "postgres"), "--describe-config").Output()
	p.require(err)
	if strings.Contains(string(known), "\noutput_plugin_libraries\t") {
		settings = append(settings, "output_plugin_libraries=pgoutput,test_decoding,citus")
	}
	return settings
}

// openNodes starts a coordinator, two worker nodes and the service's processes. The first worker node is on the disk in the
// folder disk, unless that is "", and address tells the others how to reach it.
func (p *play) openNodes(disk string, address func(worker *cluster.Cluster) string) *nodes {
	settings := p.settings()
	n := &nodes{play: p, coordinator: p.cluster(cluster.Options{Settings: settings})}
	n.workers = []*cluster.Cluster{
		p.cluster(cluster.Options{Settings: settings, Disk: disk}), p.cluster(cluster.Options{Settings: settings}),
	}
	servers := []string{n.coordinator.URL(), address(n.workers[0]), n.workers[1].URL()}
	s := p.openOn(strings.Join(servers, " "), shape{stores: nodeStores})
	n.fleet = &fleet{stage: s, timeout: nodeTimeout, rate: nodeOrders}
	affected := n.storesOnNode(s.database.workers[0].port())
	p.require(s.database.release(p.ctx)) // these servers will be deleted
	p.require(s.subscribe(p.ctx, nodeStores, receiver.OK, noneHangs))
	p.require(s.watchLeases(p.ctx))
	p.cleanup(n.fleet.stop)
	p.require(n.fleet.startMissing(p.ctx))
	var affectedKeys, otherKeys rotation
	for _, store := range s.stores {
		if affected[store.id] {
			affectedKeys.stores = append(affectedKeys.stores, store)
		} else {
			otherKeys.stores = append(otherKeys.stores, store)
		}
	}
	if len(affectedKeys.stores) == 0 || len(otherKeys.stores) == 0 {
		p.require(errors.New("all stores lie on one node"))
	}
	n.affectedSlug = affectedKeys.stores[0].slug
	otherKeys.created.Store(1_000_000) // so that the two loads do not create the same customers
	load := func(keys *rotation) *openLoop {
		rate := nodeRate * float64(len(keys.stores)) / nodeStores
		return &openLoop{address: n.fleet.serverAddr, rate: rate, next: keys.newCustomer}
	}
	n.affected, n.unaffected = load(&affectedKeys), load(&otherKeys)
	p.logf("%d of %d stores on the node that has the fault", len(affectedKeys.stores), nodeStores)
	return n
}

// ownAddress is for nodes that connect to each other without a link.
func ownAddress(c *cluster.Cluster) string { return c.URL() }

// storesOnNode returns the stores on the worker node with this port.
func (n *nodes) storesOnNode(port string) map[uuid.UUID]bool {
	s := n.fleet.stage
	handle, err := s.open(n.ctx)
	n.require(err)
	ids := map[uuid.UUID]bool{}
	for row := range db.Rows(n.ctx, handle.Reader(), `SELECT s.id FROM stores s
 JOIN pg_dist_placement p ON p.shardid = get_shard_id_for_distribution_column('customers', s.id)
 JOIN pg_dist_node d USING (groupid) WHERE d.nodeport = $1::text::integer`, port) {
		var id uuid.UUID
		n.require(row.Scan(&id))
		ids[id] = true
	}
	return ids
}

func (n *nodes) statement(sql string, args ...any) {
	conn, err := pgx.Connect(n.ctx, n.fleet.database.url)
	n.require(err)
	_, err = conn.Exec(n.ctx, sql, args...)
	n.require(errors.Join(err, conn.Close(n.ctx)))
}

// slowCommits makes each commit on each node wait for commitDelay.
func (n *nodes) slowCommits() {
	for _, c := range append([]*cluster.Cluster{n.coordinator}, n.workers...) {
		n.require(execute(n.ctx, c.URL(), fmt.Sprintf("ALTER SYSTEM SET commit_delay = %d", commitDelay),
			"ALTER SYSTEM SET commit_siblings = 0", "SELECT pg_reload_conf()"))
	}
}

// crash crashes nodes at the same time, adds the crash to n.kills, and starts the nodes again after down.
func (n *nodes) crash(down time.Duration, nodes ...*cluster.Cluster) {
	k := kill{from: time.Now(), database: true}
	crashed := make(chan error, len(nodes))
	for _, c := range nodes {
		go func() { crashed <- c.Crash(n.ctx) }()
	}
	for range nodes {
		n.require(<-crashed)
	}
	n.wait(down)
	for _, c := range nodes {
		n.require(c.Restart(n.ctx))
	}
	k.until = time.Now()
	n.kills = append(n.kills, k)
}

// withFault causes a fault under load, waits until everything is delivered, and checks that nothing is lost.
func (n *nodes) withFault(fault func()) {
	stopOrders := n.fleet.takeOrders(n.ctx)
	n.unaffectedCalls = n.underLoad(func() {
		n.affectedCalls = n.underLoad(func() {
			n.wait(warmTime + n.quietTime())
			n.from = time.Now()
			fault()
			n.until = time.Now()
			n.wait(n.Span + recoveryBound)
		}, n.affected)
	}, n.unaffected)
	n.require(stopOrders())
	n.kills = append(n.kills, kill{from: n.from, until: n.until, database: true}) // workers cannot write results during the fault
	n.report()
	n.require(n.fleet.settle(n.ctx, calmTimeout))
	n.require(n.fleet.checkAlive())
	n.checkNothingLost()
}

// report describes the answers before and during the fault.
func (n *nodes) report() {
	split := func(calls []call) (before, during []call) {
		for _, c := range calls {
			switch {
			case c.due.Before(n.from.Add(-n.quietTime())): // not counted, because the service opens its connections then
			case c.due.Before(n.from):
				before = append(before, c)
			case c.due.Before(n.until):
				during = append(during, c)
			}
		}
		return before, during
	}
	_, affected := split(n.affectedCalls)
	before, unaffected := split(n.unaffectedCalls)
	n.logf("the fault lasted %s; stores on its node meanwhile: %s", roundDuration(n.until.Sub(n.from)), n.answerSummary(affected))
	n.logf("stores on other nodes meanwhile: %s", n.answerSummary(unaffected))
	n.before, n.play.outcome.during = latencies(before), latencies(unaffected)
	all := append(slices.Clone(n.affectedCalls), n.unaffectedCalls...)
	for _, c := range all {
		if c.verdict == served {
			n.acknowledged = append(n.acknowledged, c.created)
		}
	}
	took := warmTime + n.quietTime() + n.until.Sub(n.from) + n.Span + recoveryBound
	n.logf("all calls, %.0f/s beside %d orders recorded and paid: %s",
		float64(len(all))/took.Seconds(), len(n.fleet.paid), n.answerSummary(all))
	n.mustRecover(all, n.until, recoveryBound, "after the fault")
}

// mustSpareOthers compares the other nodes' latencies during and before the fault.
func (n *nodes) mustSpareOthers() {
	before, during := percentile(n.before, 99), percentile(n.play.outcome.during, 99)
	n.mustFast(during <= 2*before, "p99 of stores on other nodes is at most twice as long (%s, quiet %s)",
		roundLatency(during), roundLatency(before))
}

// checkNothingLost requires that acknowledged changes were stored, counted, journaled and delivered.
func (n *nodes) checkNothingLost() {
	b, err := n.fleet.balance(n.ctx, n.acknowledged, n.kills)
	n.require(err)
	for _, v := range b.violations {
		n.lost.add(v.kind+", such as "+v.first, v.cases)
	}
	handle, err := n.fleet.open(n.ctx)
	n.require(err)
	ids := func(query string) map[uuid.UUID]bool {
		set := map[uuid.UUID]bool{}
		for row := range db.Rows(n.ctx, handle.Reader(), query) {
			var id uuid.UUID
			n.require(row.Scan(&id))
			set[id] = true
		}
		return set
	}
	events, err := n.fleet.events(n.ctx, time.Time{})
	n.require(err)
	reported := map[string]map[uuid.UUID]bool{"customer.created": {}, "order.paid": {}}
	for _, e := range events {
		if ids := reported[e.kind]; ids != nil {
			ids[e.subject] = true
		}
	}
	// The data set's rows are older and have no events.
	stored := map[string]map[uuid.UUID]bool{
		"customer.created": ids("SELECT id FROM customers WHERE created_at >= (SELECT min(created_at) FROM webhooks)"),
		"order.paid":       ids("SELECT id FROM orders WHERE paid_at >= (SELECT min(created_at) FROM webhooks)"),
	}
	journaled := ids("SELECT DISTINCT resource_id FROM activity_entries")
	for kind, rows := range stored {
		for id := range rows {
			n.countLost(!reported[kind][id], "row without its event "+kind)
			n.countLost(!journaled[id], "row without its entry in the journal")
		}
		for id := range reported[kind] {
			n.countLost(!rows[id], "event "+kind+" without its row")
		}
	}
	for _, id := range n.acknowledged {
		n.countLost(!stored["customer.created"][id], "acknowledged customer that is not stored")
	}
	for _, id := range n.fleet.paid {
		n.countLost(!stored["order.paid"][id], "acknowledged payment that is not stored")
	}
	for _, store := range n.fleet.stores {
		for _, table := range []string{"customers", "orders"} {
			n.checkTotal(handle, &store, table)
		}
	}
	n.logf("%d customers and %d payments acknowledged, %d and %d stored, buyers included; %d events, %d delivered twice",
		len(n.acknowledged), len(n.fleet.paid), len(stored["customer.created"]), len(stored["order.paid"]), b.events, b.duplicates)
}

// countLost adds a case to n.lost if lost is true.
func (n *nodes) countLost(lost bool, description string) {
	if lost {
		n.lost.add(description, 1)
	}
}

// checkTotal compares the total of a store's list with its rows.
func (n *nodes) checkTotal(handle *db.DB, store *storeData, table string) {
	var rows int
	n.require(handle.Reader().QueryRowContext(n.ctx, "SELECT count(*) FROM "+table+" WHERE store_id = $1", store.id).Scan(&rows))
	c := newClient(n.fleet.serverAddr)
	defer c.close()
	status, body, err := c.exchange(request{method: "GET", path: "/v1/" + table + "?pageSize=1", key: store.key(0)})
	n.require(err)
	var list struct {
		Total int `json:"total"`
	}
	if json.Unmarshal(body, &list) != nil || list.Total != rows {
		n.lost.add(fmt.Sprintf("wrong total: %d with %s of %d %s", status, body, rows, table), 1)
	}
}

func playWorkerKilled(p *play) {
	n := p.openNodes("", ownAddress)
	n.withFault(func() { n.crash(p.Span, n.workers[0]) })
	n.mustSpareOthers()
}

// playCoordinatorKilled kills the coordinator again and again, in the middle of commits.
func playCoordinatorKilled(p *play) {
	n := p.openNodes("", ownAddress)
	n.slowCommits()
	n.withFault(func() {
		for range coordinatorKills {
			n.crash(0, n.coordinator)
			n.wait(2 * time.Second)
		}
	})
}

// playBothKilled kills the coordinator and a worker node at the same time, in the middle of commits.
func playBothKilled(p *play) {
	n := p.openNodes("", ownAddress)
	n.slowCommits()
	n.withFault(func() {
		n.crash(p.Span, n.coordinator, n.workers[0])
		n.wait(2 * time.Second)
		n.crash(0, n.coordinator, n.workers[0])
	})
}

func playNetworkCut(p *play) {
	var wire *link
	n := p.openNodes("", func(worker *cluster.Cluster) string {
		var err error
		wire, err = newLink(worker.Port())
		p.require(err)
		p.cleanup(wire.close)
		address, err := url.Parse(worker.URL())
		p.require(err)
		address.Host = wire.address()
		return address.String()
	})
	n.withFault(func() {
		wire.cut()
		n.wait(p.Span)
		wire.join()
	})
	n.mustSpareOthers()
}

func playWorkerDiskFull(p *play) {
	disk := p.mount()
	filler := filepath.Join(disk, "filler")
	n := p.openNodes(disk, ownAddress)
	n.withFault(func() {
		p.require(fill(filler))
		n.wait(p.Span)
		p.require(os.Remove(filler))
	})
	full := n.countAnswers(n.affectedCalls)[refused]
	p.must(full > 0, "the disk was full for some writes (%d)", full)
	n.mustSpareOthers()
}

// playWorkerPromoted kills a worker node, promotes its synchronous standby, and gives Citus its address.
func playWorkerPromoted(p *play) {
	n := p.openNodes("", ownAddress)
	primary := n.workers[0]
	standby, err := primary.Standby(p.ctx)
	p.require(err)
	p.cleanup(standby.Close)
	p.synchronous(primary.URL())
	n.withFault(func() {
		p.require(primary.Crash(p.ctx))
		p.wait(failoverDelay)
		p.require(standby.Promote(p.ctx))
		n.statement("SELECT citus_update_node(nodeid, '127.0.0.1', $2::integer) FROM pg_dist_node WHERE nodeport = $1::integer",
			primary.Port(), standby.Port())
	})
	n.mustSpareOthers()
}

func playRebalanced(p *play) {
	n := p.openNodes("", ownAddress)
	added := p.cluster(cluster.Options{Settings: p.settings()})
	name := n.fleet.database.created
	p.require(execute(p.ctx, added.URL(), "CREATE DATABASE "+name))
	address, err := url.Parse(added.URL())
	p.require(err)
	address.Path = "/" + name
	p.require(execute(p.ctx, address.String(), "CREATE EXTENSION citus"))
	n.withFault(func() {
		n.statement("SELECT citus_add_node('127.0.0.1', $1::integer)", added.Port())
		n.statement("SELECT citus_rebalance_start()")
		n.statement("SELECT citus_rebalance_wait()")
	})
	p.logf("%d stores lie on the new node", len(n.storesOnNode(fmt.Sprint(added.Port()))))
	n.mustRefuseNone()
}

func playIsolated(p *play) {
	n := p.openNodes("", ownAddress)
	n.withFault(func() {
		_, err := n.fleet.command(p.ctx, "shard", "isolate", n.affectedSlug)
		p.require(err)
	})
	n.mustRefuseNone()
}

// mustRefuseNone adds the condition that the service refused no request.
func (n *nodes) mustRefuseNone() {
	turnedDown := n.countAnswers(append(slices.Clone(n.affectedCalls), n.unaffectedCalls...))[refused]
	n.must(turnedDown == 0, "nobody is refused (%d were)", turnedDown)
}
