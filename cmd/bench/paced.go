package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"go.storefront.example/cmd/bench/receiver"
)

const (
	// pacedWarmUp is the first part of a measure whose pace is given; its payments count for
	// nothing but have to arrive.
	pacedWarmUp = time.Second
	// arrivalPause is how often it is looked how much arrived.
	arrivalPause = 20 * time.Millisecond
	// arrivalTimeout bounds the wait for what is to arrive.
	arrivalTimeout = 10 * time.Minute
	// clockSlack is by how much an event's time may lie before the moment that was noted for it.
	clockSlack = time.Second
)

// startWorkers starts all workers of a run.
func (b *webhookBench) startWorkers(ctx context.Context, onLine func(string), flags ...string) ([]*process, error) {
	if b.command.Concurrency > 0 {
		flags = append(flags, "--concurrency="+strconv.Itoa(b.command.Concurrency))
	}
	var workers []*process
	for range b.command.Workers {
		w, err := b.startWorker(ctx, onLine, flags...)
		if err != nil {
			return nil, errors.Join(err, stopAll(workers))
		}
		workers = append(workers, w)
	}
	return workers, nil
}

func stopAll(processes []*process) error {
	var errs []error
	for _, p := range processes {
		errs = append(errs, p.stop())
	}
	return errors.Join(errs...)
}

// arrive waits until so many events have arrived.
func (b *webhookBench) arrive(ctx context.Context, events int, workers []*process) error {
	for deadline := time.Now().Add(arrivalTimeout); ; time.Sleep(arrivalPause) {
		count, err := b.receiver.Count()
		switch {
		case err != nil:
			return err
		case count.Events >= events:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case time.Now().After(deadline):
			return fmt.Errorf("after %s only %d of %d events have arrived", arrivalTimeout, count.Events, events)
		}
		for _, w := range workers {
			if !w.running() {
				return w.failure(errors.New("it ended"))
			}
		}
	}
}

// latencies are the times from the commits of payments to the arrivals of their events, sorted. It
// fails unless every payment's event arrived once, and nothing else.
func (b *webhookBench) latencies(ctx context.Context, payments []payment, counted time.Time) ([]time.Duration, error) {
	if len(payments) == 0 {
		return nil, errors.New("nothing was paid")
	}
	if _, err := b.receiver.Count(); err != nil {
		return nil, err
	}
	earliest := slices.MinFunc(payments, func(x, y payment) int { return x.at.Compare(y.at) })
	events, err := events(ctx, b.store, earliest.at.Add(-clockSlack))
	if err != nil {
		return nil, err
	}
	return matched(payments, events, b.receiver.Requests(), counted)
}

// matched pairs payments with the arrivals of their events and returns the times between, sorted,
// of those paid since counted. Requests that were never answered, as of webhooks that hang, are
// left out.
func matched(payments []payment, events []committed, requests []receiver.Request, counted time.Time) ([]time.Duration, error) {
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
		event, made := eventOf[p.order]
		if !made {
			return nil, fmt.Errorf("the payment of the order %s has no event", p.order)
		}
		at, ok := arrived[event]
		if !ok {
			return nil, fmt.Errorf("the event %s never arrived", event)
		}
		delete(arrived, event)
		if !p.at.Before(counted) {
			times = append(times, at.Sub(p.at))
		}
	}
	if len(arrived) > 0 {
		return nil, fmt.Errorf("%d events arrived that nobody caused", len(arrived))
	}
	slices.Sort(times)
	return times, nil
}

// pace measures the time from commit to arrival at the given pace.
func (b *webhookBench) pace(ctx context.Context, measure string, length time.Duration, flags ...string) error {
	log := &workerLog{}
	workers, err := b.startWorkers(ctx, log.read, flags...)
	if err != nil {
		return err
	}
	err = b.paid(ctx, measure, length, workers)
	if err = errors.Join(err, stopAll(workers)); err == nil {
		b.report.addWorkerLog(measure, log)
	}
	return err
}

// paid pays at the given pace to the stores whose webhooks answer, waits until all has arrived, and
// reports the times.
func (b *webhookBench) paid(ctx context.Context, measure string, length time.Duration, workers []*process) error {
	b.receiver.Forget()
	n := b.command.paced(length)
	b.progress("%s: %d payments, %g in a second", measure, n, b.command.Rate)
	payments, err := b.payAll(ctx, toPay{stores: b.command.Stores, events: n, rate: b.command.Rate})
	if err != nil {
		return err
	}
	if err := b.arrive(ctx, n, workers); err != nil {
		return err
	}
	first := slices.MinFunc(payments, func(x, y payment) int { return x.at.Compare(y.at) })
	times, err := b.latencies(ctx, payments, first.at.Add(pacedWarmUp))
	if err != nil {
		return err
	}
	b.report.addLatencies(measure, times)
	return nil
}

// hanging measures the times of healthy webhooks while others hang.
func (b *webhookBench) hanging(ctx context.Context) error {
	if b.command.Hanging == 0 {
		return nil
	}
	b.progress("%s: %d deliveries for each of %d webhooks that hang", measureHanging, b.command.Waiting, b.command.Hanging)
	if _, err := b.payAll(ctx, toPay{first: b.command.Stores, stores: b.command.Hanging, each: b.command.Waiting}); err != nil {
		return err
	}
	b.receiver.Forget()
	workers, err := b.startWorkers(ctx, nil)
	if err != nil {
		return err
	}
	// What it is in the middle of would hold its end up.
	defer func() {
		for _, w := range workers {
			w.kill()
		}
	}()
	if err := b.paid(ctx, measureHanging, b.command.length(), workers); err != nil {
		return err
	}
	held := 0
	for _, r := range b.receiver.Requests() {
		if r.Status == 0 {
			held++
		}
	}
	if held == 0 {
		return errors.New("no request reached the webhooks that hang")
	}
	b.report.add(measureHanging, "requests that hung", "", float64(held))
	return nil
}
