package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"go.storefront.example/cmd/bench/receiver"
)

// The measures of a run, in their order.
const (
	measurePace     = "pace"
	measurePoll     = "poll"
	measureDrain    = "drain"
	measureTogether = "together"
	measureHanging  = "hanging"
)

var measures = []string{measurePace, measurePoll, measureDrain, measureTogether, measureHanging}

// webhooksCommand measures the way from a commit to the delivery of its event.
type webhooksCommand struct {
	DatabaseURL string        `name:"database-url" placeholder:"URL" help:"A PostgreSQL server on which databases may be created: postgres://…. Without it the database is an SQLite file in the temporary folder."`
	Binary      string        `type:"path" placeholder:"FILE" help:"The storefront program; without it, it is built."`
	Stores      int           `default:"50" help:"Stores whose webhooks answer."`
	Events      int           `placeholder:"N" help:"Events of a drain and of a run with the writers in it: 20000 on PostgreSQL, 3000 on SQLite."`
	Rate        float64       `default:"40" help:"Payments in a second where the pace is given."`
	Seconds     int           `default:"20" help:"Length of a measure whose pace is given."`
	Hanging     int           `default:"5" help:"Stores whose webhooks accept and never answer."`
	Waiting     int           `default:"300" help:"Deliveries that wait for each of those."`
	Workers     int           `default:"1" help:"Worker processes."`
	Concurrency int           `placeholder:"N" help:"Attempts that each makes at a time; the worker's default."`
	Writers     int           `default:"4" help:"How many pay at the same time."`
	Rounds      int           `default:"3" help:"Rounds of the drain, each with one of the yardstick."`
	Journal     int           `placeholder:"N" help:"Afterwards, fill the journal with so many deliveries of the last 30 days, hold a transaction open, drain again, and sweep a day. PostgreSQL only."`
	Idle        time.Duration `default:"1m" help:"How long that transaction is idle, while events come at the given pace, before the drain."`
	Measure     []string      `placeholder:"NAME" help:"Measure only these: pace, poll, drain, together, hanging."`
	Output      string        `short:"o" enum:"markdown,json" default:"markdown" help:"markdown or json."`
}

// Help is shown below the usage line.
func (webhooksCommand) Help() string {
	return `Example: bench webhooks --database-url postgres://postgres@127.0.0.1:5432/postgres

Writers pay orders by the rules of the shop, workers deliver the events, each a process of its own,
and a receiver verifies them, on loopback addresses, over TLS. Writers and receiver are in this
process. Latencies are from the moment a commit returned to the moment a delivery was there. A run
fails unless every event committed was delivered once, rightly signed.

pace      payments at --rate: from commit to arrival
poll      the same, with workers that hear no notification
drain     an outbox filled beforehand, and workers started then; beside it the yardstick, a loop
          that signs and posts the same events and stores nothing
together  writers and workers at once, as fast as they can
hanging   payments at --rate while other webhooks hang

CPU times are those of /proc, and the database's are of all that its server does: leave it alone.
The same holds for the write-ahead log. It needs Linux, where SSL_CERT_FILE names whom to trust.`
}

// Validate refuses numbers that make no benchmark.
func (c *webhooksCommand) Validate() error {
	for _, n := range []struct {
		flag         string
		value, least int
	}{
		{"stores", c.Stores, 1}, {"events", c.Events, 0}, {"seconds", c.Seconds, 1}, {"hanging", c.Hanging, 0}, {"waiting", c.Waiting, 1},
		{"workers", c.Workers, 1}, {"concurrency", c.Concurrency, 0}, {"writers", c.Writers, 1}, {"rounds", c.Rounds, 1}, {"journal", c.Journal, 0},
	} {
		if n.value < n.least || n.value > 100_000_000 {
			return fmt.Errorf("--%s must be a whole number from %d", n.flag, n.least)
		}
	}
	switch {
	case c.Rate < 0.1 || c.Rate > 10_000:
		return errors.New("--rate must be from 0.1 to 10000")
	case c.Idle < time.Second:
		return errors.New("--idle must be a time from 1s")
	case c.DatabaseURL != "" && !strings.HasPrefix(c.DatabaseURL, "postgres://") && !strings.HasPrefix(c.DatabaseURL, "postgresql://"):
		return errors.New("--database-url must be postgres://…")
	case c.DatabaseURL == "" && c.Journal > 0:
		return errors.New("--journal needs --database-url")
	}
	for _, name := range c.Measure {
		if !slices.Contains(measures, name) {
			return fmt.Errorf("--measure: there is no %q", name)
		}
	}
	return nil
}

// wants reports whether a measure is asked for.
func (c *webhooksCommand) wants(measure string) bool {
	return len(c.Measure) == 0 || slices.Contains(c.Measure, measure)
}

// paced is how many payments a measure of a length takes whose pace is given.
func (c *webhooksCommand) paced(length time.Duration) int {
	return max(1, int(c.Rate*(length+pacedWarmUp).Seconds()))
}

func (c *webhooksCommand) length() time.Duration { return time.Duration(c.Seconds) * time.Second }

// orders is how many a store needs to have, so that there are enough for every measure.
func (c *webhooksCommand) orders() int {
	n := 0
	for measure, times := range map[string]int{measurePace: 1, measurePoll: 1, measureHanging: 1} {
		if c.wants(measure) {
			n += times * c.paced(c.length())
		}
	}
	if c.wants(measureDrain) {
		n += c.Rounds * c.Events
	}
	if c.wants(measureTogether) {
		n += c.Events
	}
	if c.Journal > 0 {
		n += c.paced(c.Idle) + c.Rounds*c.Events
	}
	return max(c.Waiting, (n+c.Stores-1)/c.Stores+1)
}

// webhookBench is a run.
type webhookBench struct {
	*stage
	command  *webhooksCommand
	receiver *receiver.Receiver
	report   *webhookReport
	progress func(format string, args ...any)
}

// Run makes the data set, measures and reports.
func (c *webhooksCommand) Run(ctx context.Context, io streams) (err error) {
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		return errors.New("here no file can name whom the worker trusts; run it on Linux")
	}
	progress := func(format string, args ...any) { fmt.Fprintf(io.err, format+"\n", args...) }
	if c.Events == 0 {
		if c.Events = 20_000; c.DatabaseURL == "" {
			c.Events = 3000
		}
	}
	folder, err := os.MkdirTemp("", "storefront-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	binary, err := serviceBinary(ctx, c.Binary, folder)
	if err != nil {
		return err
	}
	d, err := newDatabase(ctx, c.DatabaseURL)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.drop(context.WithoutCancel(ctx))) }()
	r := receiver.Start(receiver.OK)
	defer func() { err = errors.Join(err, r.Close()) }()

	total := c.Stores + c.Hanging
	progress("making the data set: %d stores with %d orders each", total, c.orders())
	st, err := newStage(ctx, binary, d, shape{stores: total, products: 20 * total, orders: c.orders() * total, customers: 100 * total, pending: true})
	if err != nil {
		return err
	}
	if err := st.registerAll(ctx, r.URL); err != nil {
		return err
	}
	if st.store, err = st.open(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.store.Close()) }()
	if err := st.trust(r, folder); err != nil {
		return err
	}
	for n := c.Stores; n < total; n++ {
		st.hooks[n].Hangs = true
	}
	r.SetHooks(st.hooks)
	b := &webhookBench{stage: st, command: c, receiver: r, progress: progress}
	if b.report, err = newWebhookReport(ctx, c, d); err != nil {
		return err
	}
	if err := b.measure(ctx); err != nil {
		return err
	}
	return b.report.write(io.out, c.Output)
}

// measure runs every measure that is asked for. The one with webhooks that hang comes last, since
// it leaves deliveries behind.
func (b *webhookBench) measure(ctx context.Context) error {
	steps := []struct {
		name string
		run  func() error
	}{
		{measurePace, func() error { return b.pace(ctx, measurePace, b.command.length()) }},
		{measurePoll, func() error { return b.pace(ctx, measurePoll, b.command.length(), "--listen=off") }},
		{measureDrain, func() error { return b.drains(ctx, measureDrain, true) }},
		{measureTogether, func() error { return b.together(ctx) }},
		{measureJournal, func() error { return b.journal(ctx) }},
		{measureHanging, func() error { return b.hanging(ctx) }},
	}
	for _, s := range steps {
		if s.name == measureJournal && b.command.Journal == 0 || s.name != measureJournal && !b.command.wants(s.name) {
			continue
		}
		if err := s.run(); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}
