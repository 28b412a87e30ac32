package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	// yardstickConnections is how many of the yardstick's posts are under way at a time.
	yardstickConnections = 32
	// settleTimeout bounds the wait until what has arrived is written down.
	settleTimeout = time.Minute
)

// workerLog is what workers logged when they stopped. Goroutines may share it.
type workerLog struct {
	mu             sync.Mutex
	claims, relays float64 // the 99th percentile of the slowest worker, in milliseconds
}

func (l *workerLog) read(line string) {
	var told logLine
	if json.Unmarshal([]byte(line), &told) != nil || told.Message != "worker stopped" {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.claims, l.relays = max(l.claims, told.ClaimP99), max(l.relays, told.RelayP99)
}

// usage is the processor time of the database and of this process, which receives.
type usage struct {
	database, bench time.Duration
	known           bool
}

func (b *webhookBench) usage() usage {
	database, databaseErr := b.db.cpu()
	bench, benchErr := processCPU(os.Getpid())
	return usage{database, bench, errors.Join(databaseErr, benchErr) == nil}
}

// drains measures rounds of a drain, each beside one of the yardstick if that is wanted.
func (b *webhookBench) drains(ctx context.Context, measure string, yardstick bool) error {
	for n := range b.command.Rounds {
		b.progress("%s %d/%d: filling the outbox with %d events", measure, n+1, b.command.Rounds, b.command.Events)
		rate, err := b.drain(ctx, measure)
		if err != nil {
			return err
		}
		b.progress("%s %d/%d: %.0f events/s", measure, n+1, b.command.Rounds, rate)
		if !yardstick {
			continue
		}
		plain, err := b.yardstick(ctx)
		if err != nil {
			return fmt.Errorf("the yardstick: %w", err)
		}
		b.progress("%s %d/%d: the yardstick %.0f posts/s, ratio %.2f", measure, n+1, b.command.Rounds, plain, rate/plain)
		b.report.add(measure, "drain over yardstick", "ratio", rate/plain)
	}
	return nil
}

// drain fills the outbox, then starts the workers and measures until everything is delivered and
// written down. It returns events in a second, from the first arrival to the last.
func (b *webhookBench) drain(ctx context.Context, measure string) (float64, error) {
	n := b.command.Events
	payments, err := b.payAll(ctx, toPay{stores: b.command.Stores, events: n})
	if err != nil {
		return 0, err
	}
	firstPaid, lastPaid := commits(payments)
	b.report.add(measure, drainPayments, "payments/s", float64(n)/lastPaid.Sub(firstPaid).Seconds())
	b.receiver.Forget()
	before, err := b.db.walPosition(ctx)
	if err != nil {
		return 0, err
	}
	used := b.usage()
	log := &workerLog{}
	started := time.Now()
	workers, err := b.startWorkers(ctx, log.read)
	if err != nil {
		return 0, err
	}
	err = b.arrive(ctx, n, workers)
	if err == nil {
		err = b.settle(ctx, settleTimeout)
	}
	now := b.usage()
	wal, walErr := b.db.walSince(ctx, before)
	if err = errors.Join(err, walErr, stopAll(workers)); err != nil {
		return 0, err
	}
	var busy time.Duration
	for _, w := range workers {
		used, _ := w.cpu() // known of a process that has ended
		busy += used
	}
	if _, err := b.latencies(ctx, payments, started); err != nil {
		return 0, err
	}
	first, last, err := b.span()
	if err != nil {
		return 0, err
	}
	rate := float64(n) / last.Sub(first).Seconds()
	b.report.add(measure, drainRate, "events/s", rate)
	b.report.add(measure, "from the start of the workers to the last arrival", "events/s", float64(n)/last.Sub(started).Seconds())
	if used.known && now.known {
		perEvent := func(d time.Duration) float64 { return d.Seconds() * 1e3 / float64(n) }
		b.report.add(measure, "worker and database", "CPU-ms/event", perEvent(busy+now.database-used.database))
		if !b.db.inProcess() {
			b.report.add(measure, "worker", "CPU-ms/event", perEvent(busy))
			b.report.add(measure, "database", "CPU-ms/event", perEvent(now.database-used.database))
		}
		b.report.add(measure, "bench itself, which receives", "CPU-ms/event", perEvent(now.bench-used.bench))
	}
	if !b.db.inProcess() {
		b.report.add(measure, "write-ahead log", "bytes/event", float64(wal)/float64(n))
	}
	b.report.addWorkerLog(measure, log)
	return rate, nil
}

// span is the time over which the deliveries arrived.
func (b *webhookBench) span() (first, last time.Time, err error) {
	requests := b.receiver.Requests()
	if len(requests) < 2 {
		return first, last, errors.New("too few deliveries to tell a rate")
	}
	first, last = requests[0].Arrived, requests[0].Arrived
	for _, r := range requests {
		if r.Arrived.Before(first) {
			first = r.Arrived
		}
		if r.Arrived.After(last) {
			last = r.Arrived
		}
	}
	return first, last, nil
}

// yardstick posts as many events in a plain loop and returns posts in a second.
func (b *webhookBench) yardstick(ctx context.Context) (float64, error) {
	b.receiver.Forget()
	n := b.command.Events
	did, err := b.post(ctx, n)
	if err != nil {
		return 0, err
	}
	count, err := b.receiver.Count()
	if err != nil {
		return 0, err
	}
	if count.Events != n {
		return 0, fmt.Errorf("only %d of %d events have arrived", count.Events, n)
	}
	rate := float64(n) / did.Took.Seconds()
	b.report.add(measureYardstick, "posts, signed, nothing stored", "events/s", rate)
	if did.Used > 0 {
		b.report.add(measureYardstick, "sender", "CPU-ms/event", did.Used.Seconds()*1e3/float64(n))
	}
	return rate, nil
}

// post runs the yardstick in a process of its own, so that its processor time is its own.
func (b *webhookBench) post(ctx context.Context, events int) (posted, error) {
	command, err := self(ctx, "post", "--authority", b.authority, "--events="+strconv.Itoa(events), "--connections="+strconv.Itoa(yardstickConnections))
	if err != nil {
		return posted{}, err
	}
	targets := make([]target, len(b.hooks))
	for n, hook := range b.hooks {
		targets[n] = target{b.stores[n].id, b.receiver.URL(n), hook.Secret}
	}
	text, err := json.Marshal(targets)
	if err != nil {
		return posted{}, err
	}
	var said bytes.Buffer
	command.Env, command.Stdin, command.Stderr = environment(subjectDatabase+"="+b.url), bytes.NewReader(text), &said
	out, err := command.Output()
	if err != nil {
		return posted{}, fmt.Errorf("%w: %s", err, strings.TrimSpace(said.String()))
	}
	var did posted
	return did, json.Unmarshal(out, &did)
}

// together measures writers and workers at once: events in a second from the first commit to the
// last arrival.
func (b *webhookBench) together(ctx context.Context) (err error) {
	n := b.command.Events
	b.progress("%s: %d events", measureTogether, n)
	b.receiver.Forget()
	workers, err := b.startWorkers(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stopAll(workers)) }()
	started := time.Now()
	payments, err := b.payAll(ctx, toPay{stores: b.command.Stores, events: n})
	if err != nil {
		return err
	}
	if err := b.arrive(ctx, n, workers); err != nil {
		return err
	}
	times, err := b.latencies(ctx, payments, started)
	if err != nil {
		return err
	}
	_, last, err := b.span()
	if err != nil {
		return err
	}
	first, paid := commits(payments)
	b.report.add(measureTogether, "from the first commit to the last arrival", "events/s", float64(n)/last.Sub(first).Seconds())
	b.report.add(measureTogether, "the writers alone, first commit to last", "events/s", float64(n)/paid.Sub(first).Seconds())
	b.report.addLatencies(measureTogether, times)
	return nil
}

// commits is when the first and the last of payments were committed.
func commits(payments []payment) (first, last time.Time) {
	first, last = payments[0].at, payments[0].at
	for _, p := range payments {
		if p.at.Before(first) {
			first = p.at
		}
		if p.at.After(last) {
			last = p.at
		}
	}
	return first, last
}
