package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"go.storefront.example/cmd/bench/receiver"
)

// The measures of the command webhooks, in the order in which they run.
const (
	measurePace    = "pace"
	measureDrain   = "drain"
	measureHanging = "hanging"
)

var measures = []string{measurePace, measureDrain, measureHanging}

// webhooksCommand measures the time from a commit to the arrival of its event at the receiver.
type webhooksCommand struct {
	serviceFlags
	databaseFlags
	Stores  int      `default:"50" help:"Stores whose webhooks answer."`
	Events  int      `placeholder:"N" help:"Events of a drain: 20000 on PostgreSQL, 3000 on SQLite."`
	Rate    float64  `default:"40" help:"Payments in a second where the pace is given."`
	Seconds int      `default:"20" help:"Seconds that each measure at a given --rate lasts."`
	Hanging int      `default:"5" help:"Stores whose webhooks accept and never answer."`
	Waiting int      `default:"300" help:"Deliveries that wait for each webhook that never answers (--hanging)."`
	Workers int      `default:"1" help:"Worker processes."`
	Writers int      `default:"4" help:"How many pay at the same time."`
	Rounds  int      `default:"3" help:"Rounds of the drain."`
	Measure []string `placeholder:"NAME" help:"Measure only these: pace, drain, hanging."`
}

func (webhooksCommand) Help() string {
	return `Example: bench webhooks --database-url postgres://postgres@127.0.0.1:5432/postgres

Writers pay orders by the rules of the shop, workers deliver the events, each a process of its own,
and a receiver verifies them, on loopback addresses, over TLS. Writers and receiver are in this
process. Latencies are from the moment a commit returned to the moment a delivery was there. A run
fails unless every event committed was delivered once, rightly signed.

pace      payments at --rate: from commit to arrival
drain     deliveries that wait, and workers started then
hanging   payments at --rate while other webhooks hang

CPU times are those of /proc, and the database's are of all that its server does: leave it alone. It
needs Linux, where SSL_CERT_FILE names whom to trust.`
}

func (c *webhooksCommand) Validate() error {
	positive := map[string]int{
		"stores": c.Stores, "seconds": c.Seconds, "waiting": c.Waiting, "workers": c.Workers, "writers": c.Writers, "rounds": c.Rounds,
	}
	if c.Rate < 0.1 || c.Rate > 10_000 {
		return errors.New("--rate must be from 0.1 to 10000")
	}
	for _, name := range c.Measure {
		if !slices.Contains(measures, name) {
			return fmt.Errorf("--measure: there is no %q", name)
		}
	}
	return cmp.Or(atLeast(1, positive), atLeast(0, map[string]int{"events": c.Events, "hanging": c.Hanging}), c.check())
}

// selects is true for all measures without --measure.
func (c *webhooksCommand) selects(measure string) bool {
	return len(c.Measure) == 0 || slices.Contains(c.Measure, measure)
}

// pacedWarmUp is the beginning of a measurement at a steady rate, whose times do not count.
const pacedWarmUp = time.Second

// pacedPayments includes the warm-up.
func (c *webhooksCommand) pacedPayments() int {
	return max(1, int(c.Rate*(time.Duration(c.Seconds)*time.Second+pacedWarmUp).Seconds()))
}

// orders returns how many orders each store needs for the selected measures: at least --waiting.
func (c *webhooksCommand) orders() int {
	n := 0
	for _, m := range []struct {
		measure  string
		payments int
	}{{measurePace, c.pacedPayments()}, {measureDrain, c.Rounds * c.Events}, {measureHanging, c.pacedPayments()}} {
		if c.selects(m.measure) {
			n += m.payments
		}
	}
	return max(c.Waiting, (n+c.Stores-1)/c.Stores+1)
}

// webhooksRun is a run of webhooksCommand on one database, with its results.
type webhooksRun struct {
	*stage
	*webhooksCommand
	figures []*figure
}

func (c *webhooksCommand) Run(ctx context.Context, io streams) (err error) {
	if err := needLinux(); err != nil {
		return err
	}
	if c.Events == 0 {
		if c.Events = 20_000; c.DatabaseURL == "" {
			c.Events = 3000
		}
	}
	w, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	total := c.Stores + c.Hanging
	io.progress("making the data set: %d stores with %d orders each", total, c.orders())
	data := shape{stores: total, products: 20 * total, orders: c.orders() * total, customers: 100 * total, pending: true}
	s, err := openStage(ctx, w, c.DatabaseURL, data)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close(ctx)) }()
	if err := s.subscribe(ctx, total, receiver.OK, func(store int) bool { return store >= c.Stores }); err != nil {
		return err
	}
	run := &webhooksRun{stage: s, webhooksCommand: c}
	// Its hanging deliveries would disturb the measures after it.
	for _, step := range []struct {
		measure string
		rounds  int
		run     func(context.Context) error
	}{{measurePace, 1, run.pace}, {measureDrain, c.Rounds, run.drain}, {measureHanging, min(c.Hanging, 1), run.hang}} {
		for n := 0; n < step.rounds && c.selects(step.measure); n++ {
			io.progress("%s %d/%d", step.measure, n+1, step.rounds)
			if err := step.run(ctx); err != nil {
				return fmt.Errorf("%s: %w", step.measure, err)
			}
		}
	}
	fmt.Fprintf(io.out, "%s; %d stores, %d events to drain, workers: %d, writers: %d;\n",
		s.title(), c.Stores, c.Events, c.Workers, c.Writers)
	fmt.Fprintf(io.out, "paced at %g payments/s; %d webhooks hang with %d deliveries each. Medians of rounds (least–most).\n\n",
		c.Rate, c.Hanging, c.Waiting)
	writeTable(io.out, []string{"measure", "figure", "value", "unit"}, run.rows())
	return nil
}

// needLinux returns an error where no file can set the certificate authorities that the worker trusts.
func needLinux() error {
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		return errors.New("here no file can name whom the worker trusts; run it on Linux")
	}
	return nil
}

// figure is a measured figure, with a value for each round.
type figure struct {
	measure, name, unit string
	values              []float64
}

// drainRate is in events a second.
const drainRate = "from the first arrival to the last"

// add adds one round's value to the figure with this measure, name and unit.
func (r *webhooksRun) add(measure, name, unit string, value float64) {
	i := slices.IndexFunc(r.figures, func(f *figure) bool { return f.measure == measure && f.name == name && f.unit == unit })
	if i < 0 {
		i = len(r.figures)
		r.figures = append(r.figures, &figure{measure: measure, name: name, unit: unit})
	}
	r.figures[i].values = append(r.figures[i].values, value)
}

// rows returns median, minimum and maximum of each figure.
func (r *webhooksRun) rows() (rows [][]string) {
	for _, f := range r.figures {
		digits := map[string]int{"ms": 1, "CPU-ms/event": 2}[f.unit]
		text := func(v float64) string { return strconv.FormatFloat(v, 'f', digits, 64) }
		value := text(median(f.values))
		if len(f.values) > 1 {
			value += fmt.Sprintf(" (%s–%s)", text(slices.Min(f.values)), text(slices.Max(f.values)))
		}
		rows = append(rows, []string{f.measure, f.name, value, f.unit})
	}
	return rows
}

const arrivalTimeout = 10 * time.Minute

// awaitArrivals waits until the receiver has accepted a number of events. It fails if a worker ends.
func (r *webhooksRun) awaitArrivals(ctx context.Context, events int) error {
	arrived, err := poll(ctx, arrivalTimeout, func() (bool, error) {
		for _, w := range r.workers {
			if !w.running() {
				return false, w.failure(errors.New("it ended"))
			}
		}
		count, err := r.receiver.Count()
		return count.Events >= events, err
	})
	if err == nil && !arrived {
		err = fmt.Errorf("%d events have not arrived after %s", events, arrivalTimeout)
	}
	return err
}

// pace measures the time from a commit to its event's arrival, at the steady rate --rate.
func (r *webhooksRun) pace(ctx context.Context) error {
	if err := r.startWorkers(ctx, r.Workers); err != nil {
		return err
	}
	return errors.Join(r.payAtPace(ctx, measurePace), r.stopWorkers())
}

// payAtPace pays in the stores whose webhooks answer, waits until all events have arrived, and adds their times.
func (r *webhooksRun) payAtPace(ctx context.Context, measure string) error {
	r.receiver.Forget()
	n := r.pacedPayments()
	payments, err := r.pay(ctx, paymentPlan{stores: r.Stores, events: n, rate: r.Rate})
	if err != nil {
		return err
	}
	if err := r.awaitArrivals(ctx, n); err != nil {
		return err
	}
	first, _ := commits(payments)
	times, err := r.times(ctx, payments, first.Add(pacedWarmUp))
	if err != nil {
		return err
	}
	for _, p := range []int{50, 99, 100} {
		r.add(measure, "commit to arrival, p"+strconv.Itoa(p), "ms", percentile(times, p).Seconds()*1e3)
	}
	return nil
}

// hang measures the times of webhooks whose receivers answer, while other receivers hang.
func (r *webhooksRun) hang(ctx context.Context) error {
	if _, err := r.pay(ctx, paymentPlan{first: r.Stores, stores: r.Hanging, perStore: r.Waiting}); err != nil {
		return err
	}
	r.receiver.Forget()
	if err := r.startWorkers(ctx, r.Workers); err != nil {
		return err
	}
	// An orderly end would wait for running attempts.
	defer func() {
		for _, w := range r.workers {
			w.kill()
		}
		r.workers = nil
	}()
	if err := r.payAtPace(ctx, measureHanging); err != nil {
		return err
	}
	hung := 0
	for _, request := range r.receiver.Requests() {
		if request.Status == 0 {
			hung++
		}
	}
	if hung == 0 {
		return errors.New("no request reached the webhooks that hang")
	}
	r.add(measureHanging, "requests that hung", "", float64(hung))
	return nil
}

// settleTimeout limits the wait until the results of all arrived deliveries are stored.
const settleTimeout = time.Minute

// drain fills the queue, starts the workers, and measures until all deliveries have arrived and their results are stored.
func (r *webhooksRun) drain(ctx context.Context) error {
	payments, err := r.pay(ctx, paymentPlan{stores: r.Stores, events: r.Events})
	if err != nil {
		return err
	}
	firstPaid, lastPaid := commits(payments)
	r.receiver.Forget()
	database, _, databaseErr := r.database.cpu()
	started := time.Now()
	if err := r.startWorkers(ctx, r.Workers); err != nil {
		return err
	}
	workers := r.workers
	err = r.awaitArrivals(ctx, r.Events)
	if err == nil {
		err = r.settle(ctx, settleTimeout)
	}
	databaseAfter, _, databaseAfterErr := r.database.cpu()
	if err = errors.Join(err, r.stopWorkers()); err != nil {
		return err
	}
	if _, err := r.times(ctx, payments, started); err != nil {
		return err
	}
	first, last := arrivals(r.receiver.Requests())
	rate := func(from, to time.Time) float64 { return float64(r.Events) / to.Sub(from).Seconds() }
	r.add(measureDrain, "the payments that fill it, no worker beside them", "payments/s", rate(firstPaid, lastPaid))
	r.add(measureDrain, drainRate, "events/s", rate(first, last))
	r.add(measureDrain, "from the start of the workers to the last arrival", "events/s", rate(started, last))
	perEvent := func(d time.Duration) float64 { return d.Seconds() * 1e3 / float64(r.Events) }
	var used time.Duration
	for _, w := range workers {
		cpu, _ := w.cpu() // cannot fail for an ended process
		used += cpu
	}
	r.add(measureDrain, "workers", "CPU-ms/event", perEvent(used))
	if !r.database.sqlite && errors.Join(databaseErr, databaseAfterErr) == nil {
		r.add(measureDrain, "database", "CPU-ms/event", perEvent(databaseAfter-database))
	}
	return nil
}

// arrivals returns when the first and the last of these requests arrived.
func arrivals(requests []receiver.Request) (first, last time.Time) {
	earlier := func(a, b receiver.Request) int { return a.Arrived.Compare(b.Arrived) }
	return slices.MinFunc(requests, earlier).Arrived, slices.MaxFunc(requests, earlier).Arrived
}

// clockSlack is how much earlier an event's time may be than the recorded time of its commit.
const clockSlack = time.Second

// times is deliveryTimes for what is in the database and at the receiver.
func (r *webhooksRun) times(ctx context.Context, payments []payment, since time.Time) ([]time.Duration, error) {
	if _, err := r.receiver.Count(); err != nil {
		return nil, err
	}
	first, _ := commits(payments)
	events, err := r.events(ctx, first.Add(-clockSlack))
	if err != nil {
		return nil, err
	}
	return deliveryTimes(payments, events, r.receiver.Requests(), since)
}

// deliveryTimes returns, sorted, how long each event took from its payment's commit to its arrival, without payments before
// since. It fails unless each event arrived once and no other did. Requests without an answer do not count.
func deliveryTimes(payments []payment, events []storedEvent, requests []receiver.Request, since time.Time) (
	[]time.Duration, error) {
	arrived := map[uuid.UUID]time.Time{}
	for _, r := range requests {
		if r.Status == 0 {
			continue
		}
		if _, twice := arrived[r.Event]; twice {
			return nil, fmt.Errorf("the event %s arrived twice", r.Event)
		}
		arrived[r.Event] = r.Arrived
	}
	eventOf := map[uuid.UUID]uuid.UUID{}
	for _, e := range events {
		eventOf[e.subject] = e.id
	}
	var times []time.Duration
	for _, p := range payments {
		event, ok := eventOf[p.order]
		if !ok {
			return nil, fmt.Errorf("the payment of the order %s has no event", p.order)
		}
		at, ok := arrived[event]
		if !ok {
			return nil, fmt.Errorf("the event %s never arrived", event)
		}
		delete(arrived, event)
		if !p.at.Before(since) {
			times = append(times, at.Sub(p.at))
		}
	}
	if len(arrived) > 0 {
		return nil, fmt.Errorf("%d events arrived that nobody caused", len(arrived))
	}
	slices.Sort(times)
	return times, nil
}
