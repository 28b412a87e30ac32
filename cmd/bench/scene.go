package main

import (
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

// The databases that a scene is played on.
const (
	onPostgres = "PostgreSQL"
	onSQLite   = "SQLite"
)

// scene is one fault, with what it must not do.
type scene struct {
	name, title string
	on          []string
	play        func(ctx context.Context, p *play) error
}

// scenes are all there are, in the order in which they are played.
var scenes = []scene{
	{"standby-promoted", "the primary is killed under load and its synchronous standby promoted", []string{onPostgres}, playStandbyPromoted},
	{"disk-full", "the database's disk fills up and is emptied again", []string{onPostgres, onSQLite}, playDiskFull},
	{"lock-storm", "somebody holds a row, then a table", []string{onPostgres}, playLockStorm},
	{"large-disable", "a webhook with a large backlog is disabled", []string{onPostgres, onSQLite}, playLargeDisable},
	{"clock-ahead", "a worker's clock is three years ahead", []string{onPostgres}, playClockAhead},
	{"patient-flood", "many clients ask at a time", []string{onPostgres, onSQLite}, playPatientFlood},
	{"greedy-store", "one store's searches take all they can get", []string{onPostgres}, playGreedyStore},
}

// allScenes stands for every scene.
const allScenes = "all"

// sceneNames are those that --scene takes.
func sceneNames() []string {
	names := []string{allScenes}
	for _, s := range scenes {
		names = append(names, s.name)
	}
	return names
}

// sceneHelp is a line for each scene.
func sceneHelp() string {
	var b strings.Builder
	for _, s := range scenes {
		fmt.Fprintf(&b, "  - %s: %s (%s)\n", s.name, s.title, strings.Join(s.on, ", "))
	}
	return b.String()
}

// sceneFlags choose the scenes and their sizes.
type sceneFlags struct {
	Scene     []string      `placeholder:"NAME,…" help:"Play scenes instead of the rounds: all, or the names below."`
	Long      bool          `help:"Play the scenes at their full sizes, and fail for what took too long."`
	Judge     bool          `help:"Fail for what took too long in the short form too; a busy machine fails it by itself."`
	Span      time.Duration `placeholder:"TIME" help:"How long a scene's fault lasts (default: 3s; 10s with --long)."`
	Customers int           `placeholder:"N" help:"Customers of the greedy store (default: 100000; 2 million with --long)."`
	Waiting   int           `placeholder:"N" help:"Deliveries that wait for the webhook that is disabled (default: 20000; 1.2 million with --long)."`
	Flood     []int         `placeholder:"N,…" help:"Connections of the patient flood (default: 64,512)."`
}

// check refuses scenes that there are not.
func (f *sceneFlags) check() error {
	for _, name := range f.Scene {
		if !slices.Contains(sceneNames(), name) {
			return fmt.Errorf("--scene must be one of %s, not %q", strings.Join(sceneNames(), ", "), name)
		}
	}
	for _, n := range f.Flood {
		if n < 1 || n > 10_000 {
			return errors.New("--flood must be whole numbers from 1 to 10000")
		}
	}
	if f.Span < 0 || f.Customers < 0 || f.Waiting < 0 {
		return errors.New("--span, --customers and --waiting must not be negative")
	}
	return nil
}

// choose sets the sizes that were not given.
func (f *sceneFlags) choose() {
	span, customers, waiting := 3*time.Second, 100_000, 20_000
	if f.Long {
		span, customers, waiting, f.Judge = 10*time.Second, 2_000_000, 1_200_000, true
	}
	if f.Span == 0 {
		f.Span = span
	}
	if f.Customers == 0 {
		f.Customers = customers
	}
	if f.Waiting == 0 {
		f.Waiting = waiting
	}
	if len(f.Flood) == 0 {
		f.Flood = []int{64, 512}
	}
}

// calm is how long the bystander is watched before a fault.
func (f *sceneFlags) calm() time.Duration {
	if f.Long {
		return 5 * time.Second
	}
	return time.Second
}

// play is one scene on one database while it is played.
type play struct {
	*sceneFlags
	*outcome
	on       string
	binary   string
	programs string // the folder of PostgreSQL's; empty on SQLite
	server   string // the URL of a PostgreSQL server for all scenes
	folder   string // of this play alone
}

// skip is why a scene cannot be played here.
type skip string

func (s skip) Error() string { return string(s) }

// playScenes plays what was chosen, and fails when something did not hold.
func (c *chaosCommand) playScenes(ctx context.Context, out io.Writer, binary, folder string) (err error) {
	c.choose()
	var programs, server string
	if !c.SQLite {
		shared, err := c.startCluster(ctx)
		if err != nil {
			return fmt.Errorf("start PostgreSQL: %w", err)
		}
		defer func() { err = errors.Join(err, shared.Close()) }()
		programs, server = shared.Programs(), shared.URL()
	}
	broken, played := []string{}, 0
	for _, s := range scenes {
		if !slices.Contains(c.Scene, s.name) && !slices.Contains(c.Scene, allScenes) {
			continue
		}
		for _, on := range s.on {
			if c.SQLite && on != onSQLite {
				continue
			}
			own, err := os.MkdirTemp(folder, s.name+"-")
			if err != nil {
				return err
			}
			p := &play{
				sceneFlags: &c.sceneFlags, outcome: &outcome{name: s.name + ", " + on, title: s.title, judged: c.Judge},
				on: on, binary: binary, programs: programs, server: server, folder: own,
			}
			started := time.Now()
			err = s.play(ctx, p)
			var skipped skip
			switch {
			case errors.As(err, &skipped):
				fmt.Fprintf(out, "%s: skipped, because %s\n\n", p.name, skipped)
				continue
			case err != nil:
				return fmt.Errorf("%s, after %s: %s%w", p.name, short(time.Since(started)), p.so(), err)
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

// cluster starts a PostgreSQL server for this play alone.
func (p *play) cluster(ctx context.Context, o cluster.Options) (*cluster.Cluster, error) {
	c, err := cluster.StartWith(ctx, p.programs, o)
	if err != nil {
		return nil, fmt.Errorf("start PostgreSQL: %w", err)
	}
	return c, nil
}
