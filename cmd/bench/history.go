package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anishathalye/porcupine"

	"go.storefront.example/ent/db/dbtest/cluster"
)

// historyCommand records the requests and answers of concurrent callers under faults, and checks whether the answers are
// possible if the requests came one after the other.
type historyCommand struct {
	serviceFlags
	SQLite      bool          `name:"sqlite" help:"On an SQLite file instead of a PostgreSQL primary and standby of its own."`
	PostgresBin string        `type:"path" placeholder:"DIR" help:"The folder with initdb and pg_ctl, if it is not found."`
	Span        time.Duration `default:"2m" help:"How long requests are recorded."`
	Rate        float64       `default:"200" help:"Requests in a second, about."`
	Seed        uint64        `placeholder:"N" help:"Seed of the random requests and faults (default: a random one, which the report names)."`
}

func (historyCommand) Help() string {
	return `Example: bench history --span 2m --sqlite

Callers ask about six kinds of objects, five callers at a time about each one, while processes are killed. On PostgreSQL there
are two servers: one or both are killed or cut off from the database, the primary crashes, or it is lost and its synchronous
standby promoted. On SQLite the one server is killed. Then porcupine decides for each object whether its history is
linearizable: whether there is an order of the requests, none before another one that had ended when it began, in which every
answer is right. A request that was refused with 503 or whose connection broke may be anywhere in it.

  - a product: PATCH of price and status, GET
  - customers: POST by e-mail and phone, PATCH, GET; no two with one
    e-mail or phone, and 409 only for a reason
  - an idempotency key that several callers use at once: one order
  - a payment link: its paidCount and paidAmount while orders are paid
  - an API key: no request that begins after its revocation was answered
    is admitted
  - a counter of requests: never more than 120 in a minute are admitted

The activity journal of each product, customer and order must be a chain whose states the answers have, in that order, and
events must have those states and be as many as the journal's changes.

It exits with 1 when something is wrong, or when porcupine cannot decide within ` + checkTimeout.String() + `. The same seed gives
the same faults in the same order, and the same requests by each caller until the answers differ.`
}

func (c *historyCommand) Validate() error {
	switch {
	case c.Rate < 1 || c.Rate > 1000:
		return errors.New("--rate must be from 1 to 1000")
	case c.Span < time.Second || c.Span > 24*time.Hour:
		return errors.New("--span must be from 1s to 24h")
	case c.SQLite && c.PostgresBin != "":
		return errors.New("--sqlite needs no --postgres-bin")
	}
	return nil
}

func (c *historyCommand) Run(ctx context.Context, io streams) (err error) {
	w, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	if c.Seed == 0 {
		c.Seed = rand.Uint64()
	}
	p := &play{sceneFlags: &sceneFlags{Span: c.Span}, ctx: ctx, sqlite: c.SQLite, workspace: w}
	p.name, p.title = fmt.Sprintf("history, seed %d", c.Seed), "what callers were answered on PostgreSQL"
	if c.SQLite {
		p.title = "what callers were answered on SQLite"
	}
	io.progress("%s", p.name)
	begun := time.Now()
	_, err = p.run(scene{play: func(p *play) {
		if !p.sqlite {
			p.shared, err = startCluster(ctx, c.PostgresBin)
			p.require(err)
			p.cleanup(p.shared.Close)
		}
		h := openHistory(p, c.Seed, c.Rate, io.progress)
		h.record()
		h.check()
	}})
	if err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	p.write(io.out, time.Since(begun))
	if !p.held() {
		return fmt.Errorf("%s: something was lost or wrong", p.name)
	}
	return nil
}

const (
	// historyTimeout is the servers' limit for a request. Some network cuts last longer.
	historyTimeout = 2 * time.Second
	// checkTimeout limits porcupine for the history of one object.
	checkTimeout = 30 * time.Second
	maxDrawings  = 3
)

// history is a recorded run: the objects about which callers sent requests, the servers, and the faults.
type history struct {
	*play
	stage    *stage
	nodes    [2]*cluster.Cluster // nil on SQLite
	primary  int                 // index of the primary in nodes
	servers  []*endpoint
	seed     uint64
	rate     float64
	progress func(format string, args ...any)
	begun    time.Time
	faults   []fault // the seed decides their order
	injected tally
	resets   []porcupine.Operation // faults that made the service forget counts of requests
	drawDir  string                // "" means the system's temporary folder
	drawn    int
	number   atomic.Int64 // the last number that was used for a new price, name or e-mail
	spare    atomic.Int64 // how many API keys spareKey has returned, each for one object
	requests atomic.Int64
	unknown  atomic.Int64

	mu         sync.Mutex
	objects    []*object
	unexpected tally // answers that the service must never give, whatever happened before
}

// openHistory starts one server on SQLite, and two on PostgreSQL, where a standby follows the primary.
func openHistory(p *play, seed uint64, rate float64, progress func(string, ...any)) *history {
	h := &history{play: p, seed: seed, rate: rate, progress: progress, faults: []fault{killServer}}
	objects := int(p.Span/productLife) + 2
	data := shape{stores: 1, keys: historyKeys + 2*objects, products: objects, orders: 1, customers: 1}
	address, servers := "", 1
	if !p.sqlite {
		address, servers = p.shared.URL(), 2
		h.faults = []fault{killServer, cutNetwork, crashDatabase, failOver}
	}
	s, err := openStage(p.ctx, p.workspace, address, data)
	p.require(err)
	p.cleanup(func() error { return s.close(p.ctx) })
	h.stage = s
	s.stores[0].keys = s.stores[0].keys[:historyKeys:len(s.stores[0].keys)]
	if !p.sqlite {
		h.nodes[0] = p.shared
		h.addStandby()
	}
	for range servers {
		h.servers = append(h.servers, h.newEndpoint())
	}
	return h
}

// record runs callers for the span under one fault after the other. At the end it reads the objects that have a function read,
// and counts the orders of the idempotency keys.
func (h *history) record() {
	h.begun = time.Now()
	ctx, cancel := context.WithTimeout(h.ctx, h.Span)
	var asking sync.WaitGroup
	defer asking.Wait()
	defer cancel() // if a step fails, this ends the callers, for which asking.Wait waits
	for n, k := range kinds {
		asking.Go(func() { h.cycle(ctx, n, k) })
	}
	h.injectFaults(ctx)
	asking.Wait()
	h.require(h.ctx.Err())
	h.progress("looking at %d objects again", len(h.objects))
	c := h.caller(len(kinds), 0, 0)
	for _, o := range h.objects {
		if o.read != nil {
			o.read(c)
		}
	}
	h.countClaims()
}

// check requires that the history of each object is linearizable, by porcupine, and checks the journal and the events.
func (h *history) check() {
	var longest time.Duration
	count, asked, unknown := tally{}, tally{}, tally{}
	begun := time.Now()
	for n, o := range h.objects {
		if o.kind == counterKind {
			o.history = append(o.history, h.resets...)
		}
		started := time.Now()
		if problem := o.decide(checkTimeout); problem != "" {
			h.wrong.add(problem, 1)
			h.draw(o)
		}
		longest = max(longest, time.Since(started))
		count.add(o.kind, 1)
		asked.add(o.kind, len(o.history))
		unknown.add(o.kind, o.unknown)
		if n%100 == 99 {
			h.progress("decided about %d of %d objects", n+1, len(h.objects))
		}
	}
	for answer, n := range h.unexpected {
		h.wrong.add("answer "+answer, n)
	}
	h.logf("faults: %s", h.injected)
	h.logf("%d requests sent, %d without a known outcome", h.requests.Load(), h.unknown.Load())
	h.logf("objects: %s", count)
	h.logf("requests in their histories: %s", asked)
	h.logf("of these unknown: %s", unknown)
	h.logf("porcupine took %s, for one object at most %s", roundLatency(time.Since(begun)), roundLatency(longest))
	h.checkJournal()
}

// decide returns what is wrong with an object's history, or "". A history counts as wrong if porcupine does not decide in time.
func (o *object) decide(timeout time.Duration) string {
	switch porcupine.CheckOperationsTimeout(o.model, o.history, timeout) {
	case porcupine.Ok:
		return ""
	case porcupine.Illegal:
		return "history that is not linearizable: " + o.kind
	}
	return "history that was not decided in time: " + o.kind
}

// draw writes a wrong history to a file, as a page for a browser.
func (h *history) draw(o *object) {
	if h.drawn++; h.drawn > maxDrawings {
		return
	}
	_, info := porcupine.CheckOperationsVerbose(o.model, o.history, checkTimeout)
	file, err := os.CreateTemp(h.drawDir, "storefront-history-*.html")
	if err == nil {
		err = errors.Join(porcupine.Visualize(o.model, info, file), file.Close())
	}
	h.require(err)
	h.logf("the history of a %s is drawn in %s", o.kind, file.Name())
}
