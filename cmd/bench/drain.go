package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	"go.storefront.example/cmd/bench/receiver"
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

// usage is the processor time of the database and of the processes beside the workers.
type usage struct {
	database, receiver, bench time.Duration
	known                     bool
}

func (b *webhookBench) usage() usage {
	database, databaseErr := b.db.cpu()
	receiver, receiverErr := b.receiver.cpu()
	bench, benchErr := processCPU(os.Getpid())
	return usage{database, receiver, bench, errors.Join(databaseErr, receiverErr, benchErr) == nil}
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
	payments, err := b.payAll(ctx, "--stores="+strconv.Itoa(b.command.Stores), "--events="+strconv.Itoa(n))
	if err != nil {
		return 0, err
	}
	if err := b.receiver.forget(); err != nil {
		return 0, err
	}
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
		b.report.add(measure, "receiver", "CPU-ms/event", perEvent(now.receiver-used.receiver))
		b.report.add(measure, "bench itself", "CPU-ms/event", perEvent(now.bench-used.bench))
	}
	if !b.db.inProcess() {
		b.report.add(measure, "write-ahead log", "bytes/event", float64(wal)/float64(n))
	}
	b.report.addWorkerLog(measure, log)
	return rate, nil
}

// span is the time over which the deliveries arrived.
func (b *webhookBench) span() (first, last time.Time, err error) {
	requests, err := b.receiver.requests()
	if err != nil || len(requests) < 2 {
		return first, last, errors.Join(err, errors.New("too few deliveries to tell a rate"))
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
	if err := b.receiver.forget(); err != nil {
		return 0, err
	}
	n := b.command.Events
	p, _, err := startSelf(ctx, b.url, "post", "--authority", b.authority,
		"--events="+strconv.Itoa(n), "--connections="+strconv.Itoa(yardstickConnections))
	if err != nil {
		return 0, err
	}
	took, used, err := b.post(p)
	if err = errors.Join(err, p.stop()); err != nil {
		return 0, err
	}
	count, err := b.receiver.count()
	if err != nil {
		return 0, err
	}
	if count.Events != n {
		return 0, fmt.Errorf("only %d of %d events have arrived", count.Events, n)
	}
	rate := float64(n) / took.Seconds()
	b.report.add(measureYardstick, "posts, signed, nothing stored", "events/s", rate)
	if used > 0 {
		b.report.add(measureYardstick, "sender", "CPU-ms/event", used.Seconds()*1e3/float64(n))
	}
	return rate, nil
}

// post lets a process of the yardstick go.
func (b *webhookBench) post(p *process) (took, used time.Duration, err error) {
	targets := make([]target, len(b.hooks))
	for n, hook := range b.hooks {
		targets[n] = target{b.stores[n].id, receiver.URL(b.receiver.address, n), hook.Secret}
	}
	text, err := json.Marshal(targets)
	if err != nil {
		return 0, 0, err
	}
	if _, err := p.ask(askHooks + string(text)); err != nil {
		return 0, 0, err
	}
	before, beforeErr := p.cpu()
	if took, err = askFor[time.Duration](p, askGo); err != nil {
		return 0, 0, err
	}
	if after, err := p.cpu(); err == nil && beforeErr == nil {
		used = after - before
	}
	return took, used, nil
}

// together measures writers and workers at once: events in a second from the first commit to the
// last arrival.
func (b *webhookBench) together(ctx context.Context) (err error) {
	n := b.command.Events
	b.progress("%s: %d events", measureTogether, n)
	if err := b.receiver.forget(); err != nil {
		return err
	}
	workers, err := b.startWorkers(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stopAll(workers)) }()
	started := time.Now()
	payments, err := b.payAll(ctx, "--stores="+strconv.Itoa(b.command.Stores), "--events="+strconv.Itoa(n))
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
	first, paid := payments[0].At, payments[0].At
	for _, p := range payments {
		if p.At.Before(first) {
			first = p.At
		}
		if p.At.After(paid) {
			paid = p.At
		}
	}
	b.report.add(measureTogether, "from the first commit to the last arrival", "events/s", float64(n)/last.Sub(first).Seconds())
	b.report.add(measureTogether, "the writers alone, first commit to last", "events/s", float64(n)/paid.Sub(first).Seconds())
	b.report.addLatencies(measureTogether, times)
	return nil
}
