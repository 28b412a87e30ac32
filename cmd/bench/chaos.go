package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"go.storefront.example/cmd/bench/receiver"
	"go.storefront.example/ent/db/dbtest/cluster"
)

// chaosCommand kills the service's processes under load, with the database restarted in between,
// and accounts for every event.
type chaosCommand struct {
	Rounds      int           `default:"50" help:"Rounds; after each one everything must be accounted for."`
	SQLite      bool          `name:"sqlite" help:"On an SQLite file, which does not crash by itself, instead of a PostgreSQL server of its own."`
	PostgresBin string        `type:"path" placeholder:"DIR" help:"The folder with initdb and pg_ctl; without it, the path and then Debian's folders are searched."`
	Binary      string        `type:"path" placeholder:"FILE" help:"The storefront program; without it, it is built."`
	Seed        uint64        `placeholder:"N" help:"Of what is killed and when; any, unless given."`
	Rate        float64       `default:"40" help:"Customers created through the API in a second, and as many orders paid by the shop."`
	Length      time.Duration `default:"4s" help:"How long a round's load lasts at least."`
	Timeout     time.Duration `default:"10s" help:"How long the worker lets an attempt take: leases last two seconds longer."`
	Kills       int           `placeholder:"N" help:"Go on until so many parts have been killed or have crashed, however many rounds that takes."`
	Blows       int           `default:"3" help:"How many blows there are in a round at most; each kills one part at least."`
	sceneFlags
}

// Help is shown below the usage line.
func (chaosCommand) Help() string {
	return `Example: bench chaos --rounds 50

It starts a server, two workers, a receiver that verifies and takes its time and fails now and then,
clients that create customers through the API, and a process in which the shop records and pays
orders. In each round it kills some of server, workers and shop, as kill -9 does, at random moments,
and on PostgreSQL makes the database crash in some of them; starts again what is dead; stops the
load, waits until nothing is left to deliver, and draws the balance:

- every change that was acknowledged has its event, every event was received, and no other;
- every delivery succeeded and is in the journal, which agrees with the receiver on each attempt;
- an attempt came twice only if its lease was cut short, by a kill of its worker or a crash of the
  database, or if it ran out, which a busy machine can bring about: as often as workers report;
- each that was cut short was made again within 15 s, not counting the time without a worker or a database.

It exits with 1 on the first round that does not balance. It needs Linux, where SSL_CERT_FILE names
whom the worker trusts.

With --scene it plays faults of other kinds, each on fresh data, and prints what it did, what was
lost, what was wrong, and how long a client of another store waited, quiet and then:

` + sceneHelp() + `
It exits with 1 when something was lost or wrong; with --long or --judge also when something took
too long. disk-full mounts a small filesystem in memory, which takes root, and is skipped without.`
}

// Validate refuses numbers that make no chaos.
func (c *chaosCommand) Validate() error {
	switch {
	case c.Rounds < 1 || c.Rounds > 100_000:
		return errors.New("--rounds must be a whole number from 1")
	case c.Rate < 1 || c.Rate > 1000:
		return errors.New("--rate must be from 1 to 1000")
	case c.Length < 100*time.Millisecond || c.Timeout < time.Second:
		return errors.New("--length must be from 100ms and --timeout from 1s")
	case c.SQLite && c.PostgresBin != "":
		return errors.New("--sqlite needs no --postgres-bin")
	case c.Kills < 0 || c.Blows < 1 || c.Blows > 100:
		return errors.New("--kills must not be negative, and --blows must be from 1 to 100")
	}
	return c.check()
}

const (
	chaosStores = 6
	// chaosKeys is how many keys a store has: enough for any rate within the limit of each.
	chaosKeys = 80
	// failShare is the share of deliveries that the receiver fails, and answerDelay the longest
	// that it takes.
	failShare   = 0.1
	answerDelay = 200 * time.Millisecond
	// retryDelays are the worker's: short, so that rounds are.
	retryDelays = "1s,1s,1s,1s,1s,1s,1s"
)

// Run sets everything up and runs the rounds.
func (c *chaosCommand) Run(ctx context.Context, io streams) (err error) {
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		return errors.New("here no file can name whom the worker trusts; run it on Linux")
	}
	if c.Seed == 0 {
		c.Seed = rand.Uint64()
	}
	folder, err := os.MkdirTemp("", "storefront-chaos-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	binary, err := serviceBinary(ctx, c.Binary, folder)
	if err != nil {
		return err
	}
	if len(c.Scene) > 0 {
		return c.playScenes(ctx, io.out, binary, folder)
	}
	server, err := c.startCluster(ctx)
	if err != nil {
		return fmt.Errorf("start PostgreSQL: %w", err)
	}
	if server != nil {
		defer func() { err = errors.Join(err, server.Close()) }()
	}
	r := receiver.Start(unsteady)
	defer func() { err = errors.Join(err, r.Close()) }()
	st, err := c.install(ctx, binary, server, r, folder)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.store.Close()) }()

	run := newChaosRun(c, st, server, r)
	fmt.Fprintf(io.out, "%s, seed %d, %s\n", run.name, c.Seed, c.length())
	for n := 0; c.Kills == 0 && n < c.Rounds || run.strikes() < c.Kills; n++ {
		line, err := run.round(ctx)
		if err != nil {
			return errors.Join(fmt.Errorf("round %d of seed %d: %s: %w", n+1, c.Seed, line, err), run.fleet.end())
		}
		fmt.Fprintf(io.out, "round %d, %d killed: %s\n", n+1, run.strikes(), line)
	}
	if err := run.fleet.end(); err != nil {
		return err
	}
	fmt.Fprintln(io.out, run.summary())
	return nil
}

// length is how long the run goes on.
func (c *chaosCommand) length() string {
	if c.Kills > 0 {
		return fmt.Sprintf("until %d are killed", c.Kills)
	}
	return fmt.Sprintf("%d rounds", c.Rounds)
}

// unsteady is how the receiver answers.
func unsteady() (time.Duration, int) {
	if rand.Float64() < failShare {
		return rand.N(answerDelay), http.StatusInternalServerError
	}
	return rand.N(answerDelay), http.StatusOK
}

// startCluster starts PostgreSQL, if that is wanted.
func (c *chaosCommand) startCluster(ctx context.Context) (*cluster.Cluster, error) {
	if c.SQLite {
		return nil, nil
	}
	programs := c.PostgresBin
	if programs == "" {
		var err error
		if programs, err = cluster.Find(); err != nil {
			return nil, err
		}
	}
	return cluster.Start(ctx, programs)
}

// install makes the database, its stores and their webhooks.
func (c *chaosCommand) install(ctx context.Context, binary string, server *cluster.Cluster, r *receiver.Receiver, folder string) (*stage, error) {
	d := &database{url: "sqlite:" + filepath.Join(folder, "chaos.db")}
	if server != nil {
		var err error
		if d, err = newDatabase(ctx, server.URL()); err != nil {
			return nil, err
		}
	}
	st, err := newStage(ctx, binary, d, shape{
		stores: chaosStores, keys: chaosKeys, products: 10 * chaosStores, orders: chaosStores, customers: chaosStores, pending: true,
	})
	if server != nil {
		// The crashes to come would break it, and the whole server is thrown away in the end.
		err = errors.Join(err, d.server.Close(ctx))
	}
	if err != nil {
		return nil, err
	}
	if err := st.registerAll(ctx, r.URL); err != nil {
		return nil, err
	}
	r.SetHooks(st.hooks)
	if err := st.trust(r, folder); err != nil {
		return nil, err
	}
	if st.store, err = st.open(ctx); err != nil {
		return nil, err
	}
	if err := watchLeases(ctx, st.store); err != nil {
		return nil, errors.Join(err, st.store.Close())
	}
	return st, nil
}

// names lists what was hit, for a line.
func names(list []string) string {
	if len(list) == 0 {
		return "nothing"
	}
	return strings.Join(list, ", ")
}
