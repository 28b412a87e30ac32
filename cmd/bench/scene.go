package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"go.storefront.example/ent/db/dbtest/cluster"
)

// The databases on which the scenes of `bench chaos` run.
const (
	onPostgres = "PostgreSQL"
	onSQLite   = "SQLite"
	onCitus    = "Citus"
)

var (
	onBoth         = []string{onPostgres, onSQLite}
	onPostgresOnly = []string{onPostgres}
	onCitusOnly    = []string{onCitus}
)

// scene causes one fault and checks what must hold, on the databases on which it can run.
type scene struct {
	name, title string
	databases   []string
	play        func(p *play)
	span        time.Duration // how long the fault lasts if --span is not set; 0 means defaultSpan
}

// defaultSpan applies unless the scene or --span says otherwise.
const defaultSpan = 3 * time.Second

// scenes are in the order of a run.
var scenes = []scene{
	{"standby-promoted", "the primary is killed under load, and its standby promoted", onPostgresOnly, playStandbyPromoted, 0},
	{"disk-full", "the database's disk fills up and is emptied again", onBoth, playDiskFull, 0},
	{"row-lock", "somebody holds a row, on SQLite the file, that others want to change", onBoth, playRowLock, 0},
	{"table-lock", "somebody holds the table of the keys", onPostgresOnly, playTableLock, 0},
	{"large-disable", "a webhook with a large backlog is disabled", onBoth, playLargeDisable, 0},
	{"rolling-restart", "servers take each other's place under load", onPostgresOnly, playRollingRestart, 0},
	{"patient-clients", "many clients ask at once, and heed Retry-After", onBoth, playPatientClients, 0},
	{"greedy-store", "one store asks for all it can get", onBoth, playGreedyStore, 0},
	{"search-flood", "one store searches all the time", onBoth, playSearchFlood, 0},
	{"housekeeping", "buyers are forgotten, a store deleted, exports and backups made", onBoth, playHousekeeping, 0},
	{"held-snapshot", "somebody holds a snapshot of the database open, as pg_dump does", onPostgresOnly, playHeldSnapshot, heldSpan},
	{"citus-worker", "a worker node is killed and comes back", onCitusOnly, playWorkerKilled, 0},
	{"citus-coordinator", "the coordinator is killed ten times, during commits", onCitusOnly, playCoordinatorKilled, 0},
	{"citus-both", "coordinator and worker are killed at once, during commits", onCitusOnly, playBothKilled, 0},
	{"citus-network", "nothing passes between a worker node and all others", onCitusOnly, playNetworkCut, 0},
	{"citus-disk", "a worker node's disk fills up and is emptied again", onCitusOnly, playWorkerDiskFull, 0},
	{"citus-standby", "a worker node is killed, and its standby promoted", onCitusOnly, playWorkerPromoted, 0},
	{"citus-rebalance", "a node is added, and shards are moved to it", onCitusOnly, playRebalanced, 0},
	{"citus-isolate", "a store gets a shard of its own", onCitusOnly, playIsolated, 0},
}

const allScenes = "all"

func sceneNames() []string {
	names := []string{allScenes}
	for _, s := range scenes {
		names = append(names, s.name)
	}
	return names
}

func sceneHelp() string {
	var b strings.Builder
	for _, s := range scenes {
		fmt.Fprintf(&b, "  - %s: %s (%s)\n", s.name, s.title, strings.Join(s.databases, ", "))
	}
	return b.String()
}

// sceneFlags select the scenes and their sizes.
type sceneFlags struct {
	Scene     []string      `placeholder:"NAME,…" help:"Play scenes instead of the rounds: all, or the names below."`
	Judge     bool          `help:"Fail for what took too long, too; a busy machine fails it by itself."`
	Span      time.Duration `placeholder:"TIME" help:"How long a scene's fault lasts (default: 3s, of held-snapshot 10m)."`
	Customers int           `default:"50000" help:"Customers of the store that searches without end."`
	Waiting   int           `default:"20000" help:"Deliveries that wait for the webhook that is disabled."`
}

func (f *sceneFlags) check() error {
	for _, name := range f.Scene {
		if !slices.Contains(sceneNames(), name) {
			return fmt.Errorf("--scene must be one of %s, not %q", strings.Join(sceneNames(), ", "), name)
		}
	}
	if f.Span != 0 && f.Span < 100*time.Millisecond {
		return errors.New("--span must be from 100ms")
	}
	return atLeast(1, map[string]int{"customers": f.Customers, "waiting": f.Waiting})
}

// quietTime is how long the unconcerned store is measured before the fault.
func (f *sceneFlags) quietTime() time.Duration { return max(time.Second, f.Span/2) }

// play is a scene in progress on one database. As in a test, a failed step ends the scene (require), and cleanup's functions
// are then called, the last one first.
type play struct {
	*sceneFlags
	outcome
	ctx       context.Context
	sqlite    bool
	shared    *cluster.Cluster // the server that all scenes share; nil on SQLite
	workspace workspace        // its folder is for this scene only
	cleanups  []func() error
}

// aborted is the panic of a failed step; skipped, with the reason, of a scene that cannot be played here.
type (
	aborted struct{ error }
	skipped string
)

// require ends the scene if a step failed.
func (p *play) require(err error) {
	if err != nil {
		panic(aborted{err})
	}
}

func (p *play) cleanup(f func() error) { p.cleanups = append(p.cleanups, f) }

func (p *play) wait(d time.Duration) { p.require(wait(p.ctx, d)) }

// run returns why the scene cannot be played here, or the error that ended it.
func (p *play) run(s scene) (skip skipped, err error) {
	defer func() {
		for _, f := range slices.Backward(p.cleanups) {
			err = errors.Join(err, f())
		}
	}()
	defer func() {
		switch cause := recover().(type) {
		case nil:
		case skipped:
			skip = cause
		case aborted:
			err = cause.error
		default:
			panic(cause)
		}
	}()
	s.play(p)
	return "", nil
}

// open makes a database with stores, on the shared server or on SQLite. The last store has no part in the fault.
func (p *play) open(data shape) *stage {
	server := ""
	if p.shared != nil {
		server = p.shared.URL()
	}
	return p.openOn(server, data)
}

func (p *play) openOn(server string, data shape) *stage {
	if data.keys == 0 {
		data.keys = sceneKeys
	}
	data.products, data.orders, data.customers = 20*data.stores, 200*data.stores, 20*data.stores
	s, err := openStage(p.ctx, p.workspace, server, data)
	p.require(err)
	p.cleanup(func() error { return s.close(p.ctx) })
	return s
}

// sceneKeys are many, because a key may be used only 120 times a minute.
const sceneKeys = 400

// cluster starts a PostgreSQL server that only this scene uses.
func (p *play) cluster(o cluster.Options) *cluster.Cluster {
	c, err := cluster.StartWith(p.ctx, p.shared.Programs(), o)
	p.require(err)
	p.cleanup(c.Close)
	return c
}

// bystanderRate is in requests a second: a p99 of a few seconds needs some hundreds of answers.
const bystanderRate = 100

// bystander reads the last store, to show whether the fault harms others.
func (p *play) bystander(s *stage) *openLoop {
	keys := &rotation{stores: s.stores[len(s.stores)-1:]}
	return &openLoop{address: at(s.server.api), rate: bystanderRate, next: keys.repeat("GET", "/v1/store", "")}
}

// watch sends b before the fault and while fault() runs, and returns the calls during it.
func (p *play) watch(b *openLoop, fault func()) []call {
	before := p.underLoad(func() { p.wait(p.quietTime()) }, b)
	p.countAnswers(before)
	during := p.underLoad(fault, b)
	p.before, p.during = latencies(before), latencies(during)
	return during
}

// underLoad runs do() while the loads send requests, and returns all calls.
func (p *play) underLoad(do func(), loads ...*openLoop) (calls []call) {
	for _, l := range loads {
		l.start(p.ctx)
	}
	// End the loads even if the scene is aborted.
	defer func() {
		for _, l := range loads {
			calls = append(calls, l.stop()...)
		}
	}()
	do()
	return nil
}

// creator creates customers in a store. rate is in customers a second.
func (p *play) creator(s *stage, store int, rate float64) *openLoop {
	keys := &rotation{stores: s.stores[store : store+1]}
	return &openLoop{address: at(s.server.api), rate: rate, next: keys.newCustomer}
}

// playScenes returns an error that names the scenes whose conditions did not hold.
func (c *chaosCommand) playScenes(ctx context.Context, out io.Writer, w workspace, shared *cluster.Cluster) error {
	broken, played := []string{}, 0
	for _, s := range scenes {
		if !slices.Contains(c.Scene, s.name) && !slices.Contains(c.Scene, allScenes) {
			continue
		}
		for _, name := range s.databases {
			if c.SQLite && name != onSQLite {
				continue
			}
			folder, err := os.MkdirTemp(w.folder, s.name+"-")
			if err != nil {
				return err
			}
			flags := c.sceneFlags
			flags.Span = cmp.Or(flags.Span, s.span, defaultSpan)
			p := &play{
				sceneFlags: &flags, outcome: outcome{name: s.name + ", " + name, title: s.title, judgeSpeed: c.Judge},
				ctx: ctx, sqlite: name == onSQLite, workspace: workspace{folder, w.binary},
			}
			if !p.sqlite {
				p.shared = shared
			}
			started := time.Now()
			skip, err := p.run(s)
			switch {
			case err != nil:
				return fmt.Errorf("%s, after %s: %s: %w", p.name, roundDuration(time.Since(started)), strings.Join(p.log, "; "), err)
			case skip != "":
				fmt.Fprintf(out, "%s: skipped, because %s\n\n", p.name, skip)
				continue
			}
			played++
			p.write(out, time.Since(started))
			if !p.held() {
				broken = append(broken, p.name)
			}
		}
	}
	switch {
	case len(broken) > 0:
		return fmt.Errorf("what must hold did not: %s", strings.Join(broken, "; "))
	case played == 0:
		return errors.New("no scene could be played")
	}
	return nil
}
