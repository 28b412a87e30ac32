package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"go.storefront.example/ent/db/dbtest/cluster"
)

// chaosCommand kills the service's processes under load, restarts the database in between, and accounts for every event.
type chaosCommand struct {
	serviceFlags
	Rounds      int           `default:"50" help:"Rounds; after each one everything must be accounted for."`
	SQLite      bool          `name:"sqlite" help:"On an SQLite file instead of a PostgreSQL server of its own."`
	PostgresBin string        `type:"path" placeholder:"DIR" help:"The folder with initdb and pg_ctl, if it is not found."`
	Seed        uint64        `placeholder:"N" help:"Seed of what is killed and when (default: a random one, which the report names)."`
	Rate        float64       `default:"40" help:"Customers created in a second, and as many orders paid."`
	Length      time.Duration `default:"4s" help:"How long a round's load lasts at least."`
	Timeout     time.Duration `default:"10s" help:"How long the worker lets an attempt take: leases last two seconds longer."`
	Kills       int           `placeholder:"N" help:"Go on until so many parts have been killed, however many rounds that takes."`
	Strikes     int           `default:"3" help:"How many strikes there are in a round at most; each kills one part at least."`
	OneProcess  bool          `help:"One process that serves and delivers (server --worker), in place of a server and two workers."`
	Terminate   bool          `help:"End processes by SIGTERM, which may repeat no attempt, and leave the database alone."`
	sceneFlags
}

func (chaosCommand) Help() string {
	return `Example: bench chaos --rounds 50

It starts a server, two workers, a receiver that verifies and takes its time and fails now and then,
clients that create customers through the API, and an operator who records and pays orders. In each
round it kills some of server and workers, as kill -9 does, at random moments, and on PostgreSQL
makes the database crash in some of them; starts again what is dead; stops the load, waits until
nothing is left to deliver, and draws the balance:

- every change that was acknowledged has its event, every event was received, and no other;
- every delivery succeeded and is in the journal, which agrees with the receiver on each attempt;
- an attempt came twice only if its lease was cut short, by a kill of its worker or a crash of the
  database, or if it ran out, which a busy machine can bring about: as often as workers report.

It exits with 1 on the first round that does not balance. It needs Linux, where SSL_CERT_FILE names
whom the worker trusts.

With --scene it plays faults of other kinds, each on fresh data, and prints what it did, what was
lost, what was wrong, and how long a client of another store waited, quiet and then:

` + sceneHelp() + `
It exits with 1 when something was lost or wrong, with --judge also when something took too long. Full
sizes are --span 10s --customers 1000000 --waiting 250000. disk-full and citus-disk mount a small
filesystem in memory, which takes root, and are skipped without; those on Citus are where
--postgres-bin has none.`
}

func (c *chaosCommand) Validate() error {
	switch {
	case c.Rate < 1 || c.Rate > 1000:
		return errors.New("--rate must be from 1 to 1000")
	case c.Length < 100*time.Millisecond || c.Timeout < time.Second:
		return errors.New("--length must be from 100ms and --timeout from 1s")
	case c.SQLite && c.PostgresBin != "":
		return errors.New("--sqlite needs no --postgres-bin")
	}
	positive := map[string]int{"rounds": c.Rounds, "strikes": c.Strikes}
	return cmp.Or(atLeast(1, positive), atLeast(0, map[string]int{"kills": c.Kills}), c.check())
}

const (
	chaosStores = 6
	// chaosKeys of a store stay within each key's limit at any rate.
	chaosKeys = 80
	// failShare of the deliveries are refused. answerDelay is the longest time until the receiver answers.
	failShare   = 0.1
	answerDelay = 200 * time.Millisecond
	// retryDelays are short, so that rounds are short.
	retryDelays = "--retry-delays=1s,1s,1s,1s,1s,1s,1s"
	// crashShare of the calls of strike also crash the database.
	crashShare = 0.3
	// deadTime is the longest time until a killed process is started again.
	deadTime = time.Second
	// calmTimeout limits the wait until everything is delivered: leases end, retries are made, and the machine may be slow.
	calmTimeout = 90 * time.Second
)

// flakyAnswer has status 500 for failShare of the deliveries, so that there are retries.
func flakyAnswer() (time.Duration, int) {
	if rand.Float64() < failShare {
		return rand.N(answerDelay), http.StatusInternalServerError
	}
	return rand.N(answerDelay), http.StatusOK
}

// Run runs the rounds, or plays the scenes of --scene.
func (c *chaosCommand) Run(ctx context.Context, io streams) (err error) {
	if err := needLinux(); err != nil {
		return err
	}
	w, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	var server *cluster.Cluster
	address := ""
	if !c.SQLite {
		if server, err = startCluster(ctx, c.PostgresBin); err != nil {
			return err
		}
		address = server.URL()
		defer func() { err = errors.Join(err, server.Close()) }()
	}
	if len(c.Scene) > 0 {
		return c.playScenes(ctx, io.out, w, server)
	}
	data := shape{stores: chaosStores, keys: chaosKeys, products: 10 * chaosStores, orders: chaosStores, customers: chaosStores}
	s, err := openStage(ctx, w, address, data)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close(ctx)) }()
	err = errors.Join(s.database.release(ctx), s.subscribe(ctx, chaosStores, flakyAnswer, noneHangs), s.watchLeases(ctx))
	if err != nil {
		return err
	}
	if c.Seed == 0 {
		c.Seed = rand.Uint64()
	}
	run := newChaosRun(c, s, server)
	defer func() { err = errors.Join(err, run.fleet.stop()) }()
	fmt.Fprintf(io.out, "%s, seed %d\n", s.database.title, c.Seed)
	for n := 0; c.Kills == 0 && n < c.Rounds || run.killCount() < c.Kills; n++ {
		line, err := run.round(ctx)
		if err != nil {
			return fmt.Errorf("round %d of seed %d: %s: %w", n+1, c.Seed, line, err)
		}
		fmt.Fprintf(io.out, "round %d, %d killed: %s\n", n+1, run.killCount(), line)
	}
	fmt.Fprintln(io.out, run.summary())
	return nil
}

// startCluster starts a PostgreSQL server. If programs is "", it looks for them.
func startCluster(ctx context.Context, programs string) (_ *cluster.Cluster, err error) {
	if programs == "" {
		if programs, err = cluster.Find(); err != nil {
			return nil, err
		}
	}
	return cluster.Start(ctx, programs)
}

// chaosRun has several rounds. After each, balance checks every event since the first.
type chaosRun struct {
	*chaosCommand
	fleet   *fleet
	cluster *cluster.Cluster // nil on SQLite
	clients *openLoop        // clients that create customers
	random  *rand.Rand

	kills   []kill
	killed  map[string]int // how often each process was killed, by its name
	last    balance
	created []uuid.UUID // ids of acknowledged new customers
	cut     int         // requests that got no answer, although they reached a server
}

func newChaosRun(c *chaosCommand, s *stage, server *cluster.Cluster) *chaosRun {
	run := &chaosRun{
		chaosCommand: c, cluster: server, fleet: &fleet{stage: s, timeout: c.Timeout, rate: c.Rate, oneProcess: c.OneProcess},
		random: rand.New(rand.NewPCG(c.Seed, 5)), //nolint:gosec // These numbers are no secret.
		killed: map[string]int{},
	}
	run.clients = &openLoop{address: run.fleet.serverAddr, rate: c.Rate, next: s.keys.newCustomer}
	return run
}

// acknowledge keeps the ids of created customers. A 4xx answer, or a success without an id, is an error; other failures are
// expected.
func (r *chaosRun) acknowledge(calls []call) error {
	for _, c := range calls {
		switch {
		case c.verdict == served && c.created == uuid.Nil:
			return errors.New("the server answered without the id of a new customer")
		case c.verdict == served:
			r.created = append(r.created, c.created)
		case strings.HasPrefix(c.problem, "4"):
			return fmt.Errorf("the server answered %s", c.problem)
		case strings.HasPrefix(c.problem, noAnswer) && !strings.HasPrefix(c.problem, noAnswer+"dial: "):
			r.cut++
		}
	}
	return nil
}

// round starts the missing processes, puts them under load, kills some, waits until everything is delivered, and checks what
// was lost. It returns one line about it.
func (r *chaosRun) round(ctx context.Context) (string, error) {
	before := r.last
	if err := r.fleet.startMissing(ctx); err != nil {
		return "", err
	}
	r.clients.start(ctx)
	stopOrders := r.fleet.takeOrders(ctx)
	killed, err := r.strikeAll(ctx)
	line := "hit " + strings.Join(killed, ", ")
	if err = errors.Join(err, stopOrders(), r.acknowledge(r.clients.stop())); err != nil {
		return line, err
	}
	calm := time.Now()
	if err := r.fleet.settle(ctx, calmTimeout); err != nil {
		return line, err
	}
	if err := r.fleet.checkAlive(); err != nil {
		return line, err
	}
	b, err := r.balance(ctx)
	if err != nil {
		return line, err
	}
	r.last = b
	line += fmt.Sprintf("; %d events, %d requests, %d attempts cut short, %d duplicates, settled after %s; longest wait so far %s",
		b.events-before.events, b.requests-before.requests, b.orphans-before.orphans, b.duplicates-before.duplicates,
		roundDuration(time.Since(calm)), roundDuration(b.longest))
	if b.late > 0 || b.lost > 0 {
		line += fmt.Sprintf("; so far %d attempts came twice because a lease ran out; workers report %d lost leases", b.late, b.lost)
	}
	return line, b.err()
}

func roundDuration(d time.Duration) time.Duration { return d.Round(10 * time.Millisecond) }

// strikeAll calls strike up to r.Strikes times, and starts the killed processes after each call.
func (r *chaosRun) strikeAll(ctx context.Context) (killed []string, err error) {
	strikes := 1 + r.random.IntN(r.Strikes)
	for range strikes {
		if err := wait(ctx, time.Duration(r.random.Float64()*2*float64(r.Length)/float64(strikes+1))); err != nil {
			return killed, err
		}
		if err := r.fleet.checkAlive(); err != nil {
			return killed, err
		}
		names, err := r.strike(ctx)
		killed = append(killed, names...)
		if err != nil {
			return killed, err
		}
		if err := wait(ctx, time.Duration(r.random.Float64()*float64(deadTime))); err != nil {
			return killed, err
		}
		if err := r.fleet.startMissing(ctx); err != nil {
			return killed, err
		}
	}
	return killed, wait(ctx, r.Length/4)
}

// strike kills some processes at once, and sometimes crashes and restarts the database. It returns the names, with "database".
func (r *chaosRun) strike(ctx context.Context) ([]string, error) {
	var victims []int
	var killed, holders []string
	count := r.fleet.count()
	chosen := 1 + r.random.IntN(1<<count-1) // bit n is set if process n is killed; at least one is
	for part := range count {
		if chosen&(1<<part) != 0 {
			victims = append(victims, part)
			killed = append(killed, partNames[part])
			r.killed[partNames[part]]++
			if part != partServer || r.OneProcess {
				holders = append(holders, r.fleet.holder(part))
			}
		}
	}
	if r.Terminate {
		return killed, r.fleet.terminate(victims)
	}
	at := time.Now()
	r.fleet.kill(victims)
	r.kills = append(r.kills, kill{from: at, until: time.Now(), holders: holders})
	if r.cluster == nil || r.random.Float64() >= crashShare {
		return killed, nil
	}
	killed = append(killed, "database")
	r.killed["database"]++
	at = time.Now()
	if err := errors.Join(r.cluster.Crash(ctx), r.cluster.Restart(ctx)); err != nil {
		return killed, err
	}
	r.kills = append(r.kills, kill{from: at, until: time.Now(), database: true})
	return killed, nil
}

func (r *chaosRun) balance(ctx context.Context) (balance, error) {
	if _, err := r.fleet.receiver.Count(); err != nil {
		return balance{}, err
	}
	return r.fleet.balance(ctx, r.created, r.kills)
}

// balance collects a ledger and reconciles it. created are acknowledged customers, and kills all kills so far.
func (f *fleet) balance(ctx context.Context, created []uuid.UUID, kills []kill) (balance, error) {
	l := ledger{customers: created, orders: f.paid, requests: f.receiver.Requests(), kills: kills, lost: int(f.lost.Load())}
	var err, journalErr, leasesErr error
	l.events, err = f.events(ctx, time.Time{})
	l.journal, journalErr = f.journal(ctx)
	l.leases, leasesErr = f.leases(ctx)
	if err = errors.Join(err, journalErr, leasesErr); err != nil {
		return balance{}, err
	}
	return l.reconcile(), nil
}

func (r *chaosRun) killCount() (sum int) {
	for _, n := range r.killed {
		sum += n
	}
	return sum
}

func (r *chaosRun) summary() string {
	b := r.last
	return fmt.Sprintf(`committed %d events (%d customers and %d payments acknowledged), received all of them: 0 lost
%d kills: %d servers, %d workers; the database crashed %d times
%d attempts cut short, every one made again, the longest after %s; %d duplicates
%d attempts came twice because a lease ran out; workers report %d lost leases; %d requests were cut off`,
		b.events, len(r.created), len(r.fleet.paid), r.killCount(),
		r.killed["server"], r.killed["worker 1"]+r.killed["worker 2"], r.killed["database"],
		b.orphans, roundDuration(b.longest), b.duplicates, b.late, b.lost, r.cut)
}
