package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

const (
	// lockedChanges are how many clients change the locked customer at the same time.
	lockedChanges = 12
	// shortDeadline is the deadline of requests in the short form: long enough that those of another
	// store meet it on a busy machine.
	shortDeadline = 3 * time.Second
	// deadlineSlack is by how much an answer may miss the deadline: the way there and back. A busy
	// machine may take up to busySlack.
	deadlineSlack, busySlack = time.Second, 3 * time.Second
	// recoveryBound is how soon all is well after a fault.
	recoveryBound = time.Second
)

// playLockStorm has somebody hold a customer's row, which others want to change, and then the table
// of the keys, and watches another store.
func playLockStorm(ctx context.Context, p *play) (err error) {
	s, err := p.open(ctx, p.server, p.folder, shape{stores: 2, keys: greedyKeys, products: 20, orders: 20, customers: 20})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close(ctx)) }()
	deadline, flags, err := s.deadline(ctx, p.lockDeadline())
	if err != nil {
		return err
	}
	// Without its deadline a request would wait for longer than is allowed.
	held := max(p.Span, deadline+busySlack+time.Second)
	if err := s.serve(ctx, flags...); err != nil {
		return err
	}
	bystander := newBystander(s.api, s.stores[1])
	quiet, err := bystander.watch(ctx, p.calm())
	if err != nil {
		return err
	}
	return s.sql(ctx, func(db *pgx.Conn) error {
		row, err := p.lockRow(ctx, s, db, bystander, held, deadline)
		if err != nil {
			return err
		}
		p.bystander(quiet, row)
		p.fair(quiet, row)
		return p.lockTable(ctx, db, bystander, held, deadline)
	})
}

// lockRow holds a customer's row while clients of its store change it, and returns the bystander's
// answers until a moment after.
func (p *play) lockRow(ctx context.Context, s *stage, db *pgx.Conn, bystander *openLoop, held, deadline time.Duration) ([]call, error) {
	tx, err := db.Begin(ctx)
	if err != nil {
		return nil, err
	}
	var customer uuid.UUID
	err = tx.QueryRow(ctx, "SELECT id FROM customers WHERE store_id = $1 LIMIT 1 FOR UPDATE", s.stores[0].id).Scan(&customer)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock a row: %w", err), tx.Rollback(ctx))
	}
	stop := s.insist(ctx, s.stores[0], lockedChanges, request{"PATCH", "/v1/customers/" + customer.String(), "", `{"name":"Ada Changed"}`})
	bystander.start(ctx)
	err = errors.Join(wait(ctx, held), tx.Rollback(context.WithoutCancel(ctx)))
	freed := time.Now()
	err = errors.Join(err, wait(ctx, recoveryBound))
	asked, watched := stop(), bystander.stop()
	if err != nil {
		return nil, err
	}
	counts := answers(asked, &p.wrong)
	p.didf("a row held for %s and changed by %d clients: %d changes served, %d refused with 503, %d with 429; longest %s",
		held, lockedChanges, counts[served], counts[refused], counts[limited], fine(percentile(latencies(asked), 100)))
	p.inTime("change", percentile(latencies(asked), 100), deadline)
	p.recovers(watched, freed, "the row")
	return watched, nil
}

// lockDeadline is the deadline that is wanted of requests.
func (p *play) lockDeadline() time.Duration {
	if p.Long {
		return defaultDeadline
	}
	return shortDeadline
}

// inTime holds the longest answer against the deadline.
func (p *play) inTime(what string, longest, deadline time.Duration) {
	p.must(longest <= deadline+busySlack, "every %s ends with its deadline of %s, on a busy machine too (%s)", what, deadline, fine(longest))
	p.mustFast(longest <= deadline+deadlineSlack, "and within %s of it", deadlineSlack)
}

// recovers holds the calls after a moment against the bound.
func (p *play) recovers(calls []call, freed time.Time, what string) {
	took := recovered(calls, freed, fairP99)
	p.mustFast(took <= recoveryBound, "all is well within %s after %s is free (%s)", recoveryBound, what, fine(took))
}

// lockTable holds the table of the keys, which every request needs.
func (p *play) lockTable(ctx context.Context, db *pgx.Conn, bystander *openLoop, held, deadline time.Duration) error {
	tx, err := db.Begin(ctx)
	if err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, "LOCK TABLE api_keys IN ACCESS EXCLUSIVE MODE"); err != nil {
		return errors.Join(fmt.Errorf("lock a table: %w", err), tx.Rollback(ctx))
	}
	bystander.start(ctx)
	err = errors.Join(wait(ctx, held), tx.Rollback(context.WithoutCancel(ctx)))
	freed := time.Now()
	err = errors.Join(err, wait(ctx, 2*recoveryBound))
	watched := bystander.stop()
	if err != nil {
		return err
	}
	counts := answers(watched, &p.wrong)
	longest := percentile(latencies(watched), 100)
	p.didf("the table of the keys held for %s: %d of %d served, %d refused with 503; longest %s",
		held, counts[served], len(watched), counts[refused], fine(longest))
	p.inTime("request", longest, deadline)
	p.recovers(watched, freed, "the table")
	return nil
}
