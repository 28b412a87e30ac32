package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"go.storefront.example/cmd/bench/receiver"
	"go.storefront.example/ent/seal"
)

const (
	// clockAhead is by how much the worker's clock is ahead.
	clockAhead = 3 * 365 * 24 * time.Hour
	// journalRows is how many finished deliveries lie in the journal.
	journalRows = 20_000
	// arrivedLimit bounds the wait for what is to be delivered.
	arrivedLimit = time.Minute
)

// kept is what a sweep may take away.
type kept struct {
	days             []string // the names of their tables
	finished, events int
}

// playClockAhead lets a worker of this program's own code, whose clock is ahead, sweep and deliver.
func playClockAhead(ctx context.Context, p *play) (err error) {
	s, err := p.open(ctx, p.server, p.folder, shape{stores: 1, keys: greedyKeys, products: 10, orders: 10, customers: 10})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close(ctx)) }()
	r := receiver.Start(receiver.OK)
	defer func() { err = errors.Join(err, r.Close()) }()
	if err := s.trust(r, p.folder); err != nil {
		return err
	}
	secret := seal.NewKey()
	s.env = append(s.env, "STOREFRONT_SECRET_KEY="+secret)
	hook, err := s.register(ctx, s.stores[0], r.URL(0))
	if err != nil {
		return err
	}
	r.SetHooks([]receiver.Hook{{Secret: hook.Secret}})
	if err := s.serve(ctx); err != nil {
		return err
	}
	// A worker with the right clock makes the days and delivers what happens.
	if err := s.work(ctx); err != nil {
		return err
	}
	creator := newCreator(s.api, 50, s.stores[0], 0)
	created, err := creator.watch(ctx, p.calm())
	if err != nil {
		return err
	}
	answers(created, &p.wrong)
	if err := p.arrived(ctx, r, len(created)); err != nil {
		return err
	}
	if err := stopAll(s.workers); err != nil {
		return err
	}
	s.workers = nil
	return s.sql(ctx, func(db *pgx.Conn) error { return p.sweepAhead(ctx, s, r, db, secret, hook.ID, len(created)) })
}

// sweepAhead counts what there is before and after a worker whose clock is ahead.
func (p *play) sweepAhead(ctx context.Context, s *stage, r *receiver.Receiver, db *pgx.Conn, secret string, hook uuid.UUID, events int) error {
	today := time.Now().UTC().Truncate(24 * time.Hour)
	if _, err := db.Exec(ctx, fillDay, today.UnixMilli(), journalRows, []string{s.stores[0].id.String()}, []string{hook.String()}); err != nil {
		return fmt.Errorf("fill the journal: %w", err)
	}
	before, err := keptIn(ctx, db)
	if err != nil {
		return err
	}
	worker, err := s.workAhead(ctx, secret)
	if err != nil {
		return err
	}
	// It sweeps as it starts. Meanwhile events go on.
	creator := newCreator(s.api, 50, s.stores[0], 1_000_000)
	created, err := creator.watch(ctx, p.Span)
	if err != nil {
		return errors.Join(err, worker.stop())
	}
	answers(created, &p.wrong)
	missing := p.arrived(ctx, r, events+len(created))
	after, err := keptIn(ctx, db)
	// Were its signatures dated by its own clock, the receiver would refuse them.
	count, _ := r.Count()
	err = errors.Join(err, worker.stop())
	p.didf("before: %d days, %d finished deliveries, %d events; a worker of this program's own code, %d days ahead, ran %s; after: %d days, %d finished deliveries, %d events; %d of %d new events delivered by it meanwhile",
		len(before.days), before.finished, before.events, int(clockAhead.Hours()/24), p.Span, len(after.days), after.finished, after.events,
		count.Events-events, len(created))
	for _, day := range before.days {
		if !slices.Contains(after.days, day) {
			p.lost.add("day dropped", 1)
		}
	}
	p.lost.add("finished delivery", max(0, before.finished-after.finished))
	p.lost.add("event", max(0, before.events-after.events))
	p.must(missing == nil, "it delivers all the same (%d of %d)", count.Events-events, len(created))
	p.must(strings.Contains(worker.log.last(), "clock"), "the worker's log names its clock")
	return err
}

// workAhead starts a worker whose clock is ahead.
func (s *stage) workAhead(ctx context.Context, secret string) (*process, error) {
	env := []string{subjectDatabase + "=" + s.db.url, workSecret + "=" + secret}
	p, _, err := startSelf(ctx, append(env, s.environment()...), "work", "--ahead="+clockAhead.String())
	return p, err
}

func keptIn(ctx context.Context, db *pgx.Conn) (k kept, err error) {
	err = db.QueryRow(ctx, `SELECT
 (SELECT array_agg(inhrelid::regclass::text) FROM pg_inherits WHERE inhparent IN ('events'::regclass, 'finished_deliveries'::regclass)),
 (SELECT count(*) FROM finished_deliveries), (SELECT count(*) FROM events)`).Scan(&k.days, &k.finished, &k.events)
	if err != nil {
		err = fmt.Errorf("count what is kept: %w", err)
	}
	return k, err
}

// arrived waits until so many events have arrived.
func (p *play) arrived(ctx context.Context, r *receiver.Receiver, events int) error {
	for limit := time.Now().Add(arrivedLimit); ; {
		count, err := r.Count()
		switch {
		case err != nil:
			return err
		case count.Events >= events:
			return nil
		case time.Now().After(limit):
			return fmt.Errorf("only %d of %d events arrived", count.Events, events)
		}
		if err := wait(ctx, settlePause); err != nil {
			return err
		}
	}
}
