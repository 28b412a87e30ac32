// Package move moves a store from one installation to another, step by step, while it sells.
//
//	old place   copying ──► draining ──► frozen ──► moved     a step before moved can be taken back
//	            all rows    no worker    nothing    requests
//	            are copied  sends        changes    are refused, or redirected
//	new place   arriving ────────────────────────────────► open
//
// The rows travel as they are, with their ids: a copy that was interrupted is gone on with by comparing. Each run of a move has
// a name, and the one that began last is the only one that takes steps and writes. The new place opens only once the old one
// has moved, so that at no moment both send or take changes; killed in between, the store answers nowhere until somebody goes
// on, or takes the move back.
package move

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/store"
)

// writersPatience is how long a step waits for transactions that wrote before it was decided.
const writersPatience = 5 * time.Second

// follows are the steps that each step can be taken from. From Arriving the empty one opens the store.
var follows = map[string][]string{
	"":              {tenant.Copying, tenant.Draining, tenant.Frozen, tenant.Moved, tenant.Arriving},
	tenant.Copying:  {"", tenant.Copying, tenant.Draining, tenant.Frozen},
	tenant.Draining: {tenant.Copying},
	tenant.Frozen:   {tenant.Draining},
	tenant.Moved:    {tenant.Frozen, tenant.Moved},
}

// Errors of Set. Their texts are for the operator.
var (
	// ErrStep is that of a step that does not follow.
	ErrStep = errors.New("the step does not follow")
	// ErrInTheWay is that of a store that cannot move now.
	ErrInTheWay = errors.New("the store cannot move now")
)

// Step is a step of a store's move.
type Step struct {
	Name                string
	MovedTo, RedirectTo string
	// Run names the run that takes the step. One that has begun goes on alone: Begin lets it begin, or end the move of
	// another.
	Run   string
	Begin bool
}

// Attempts returns how many attempts of a store's deliveries are under way.
func Attempts(ctx context.Context, s *db.DB, storeID uuid.UUID) (n int, err error) {
	err = s.Reader().QueryRowContext(ctx, `SELECT count(*) FROM deliveries WHERE store_id = $1 AND lease IS NOT NULL
 AND due_at > COALESCE(CAST($2 AS timestamptz), CURRENT_TIMESTAMP)`, storeID, s.TimeArg()).Scan(&n)
	return n, err
}

// Set takes a store to a step, and returns when that holds for everybody. Taken to Moved once more, a store gets another
// redirect. It fails with ErrStep or ErrInTheWay, and then the store is where it was.
func Set(ctx context.Context, s *db.DB, storeID uuid.UUID, to Step) error {
	if db.OfSharded(s, false, true, false) {
		return fmt.Errorf("%w: its database is distributed with Citus, where a store cannot be frozen; `storefront export` "+
			"takes it along", ErrInTheWay)
	}
	var was Step
	err := s.WithTx(ctx, func(ctx context.Context, tx *ent.Tx) error {
		row, err := db.Lock(s, tx.Store.Query().Where(store.ID(storeID))).Only(ctx)
		if err != nil {
			return err
		}
		was = Step{Run: row.MoveRun, MovedTo: row.MovedTo, RedirectTo: row.RedirectTo}
		if row.Moving != nil {
			was.Name = *row.Moving
		}
		if err := check(ctx, tx, row, was, to); err != nil {
			return err
		}
		if was.Name == tenant.Moved && to.Name == tenant.Moved { // it stays where it has moved to
			to.Run, to.MovedTo = was.Run, was.MovedTo
			if to.RedirectTo == "" {
				to.RedirectTo = was.RedirectTo
			}
		}
		_, err = tx.ExecContext(ctx, "UPDATE stores SET moving = NULLIF($1, ''), move_run = $2, moved_to = $3, redirect_to = $4 "+
			"WHERE id = $5", to.Name, to.Run, to.MovedTo, to.RedirectTo, storeID)
		return err
	})
	if err != nil {
		return err
	}
	if to.Name == "" {
		s.Announce()
	}
	if to.Name != tenant.Draining && to.Name != tenant.Frozen {
		return nil
	}
	if err := waitForWriters(ctx, s); err != nil {
		return errors.Join(err, s.WithTx(context.WithoutCancel(ctx), func(ctx context.Context, tx *ent.Tx) error {
			_, err := tx.ExecContext(ctx, "UPDATE stores SET moving = $1 WHERE id = $2 AND moving = $3 AND move_run = $4",
				was.Name, storeID, to.Name, to.Run)
			return err
		}))
	}
	return nil
}

// check checks that a step of a store, whose row is locked, can be taken to another one.
func check(ctx context.Context, tx *ent.Tx, row *ent.Store, was, to Step) error {
	allowed, known := follows[to.Name]
	switch {
	case !known || !slices.Contains(allowed, was.Name):
		return fmt.Errorf("%w: %q comes after one of %q, and the store is at %q", ErrStep, to.Name, allowed, was.Name)
	case was.Name == tenant.Arriving, was.Name == tenant.Moved && to.Name == tenant.Moved:
	case !to.Begin && to.Run != was.Run:
		return fmt.Errorf("%w: another run of the move has begun or ended it meanwhile", ErrStep)
	}
	if (was.Name == "" || was.Name == tenant.Arriving) && row.DeleteAt != nil {
		return fmt.Errorf("%w: it is to be deleted; take that back with `storefront store restore`", ErrInTheWay)
	}
	if was.Name != "" {
		return nil
	}
	var forgetting bool
	for found := range db.Rows(ctx, tx, "SELECT EXISTS (SELECT 1 FROM forgettings WHERE store_id = $1 AND finished_at IS NULL)",
		row.ID) {
		if err := found.Scan(&forgetting); err != nil {
			return fmt.Errorf("look for forgettings: %w", err)
		}
	}
	if forgetting {
		return fmt.Errorf("%w: a customer is being forgotten; try again when that is done", ErrInTheWay)
	}
	return nil
}

// waitForWriters waits until every transaction has ended that is about to write anywhere: what begins to write later sees
// what was committed before. On SQLite one transaction writes at a time. A transaction locks a table before it takes the
// snapshot in which it reads it, and holds a lock on its own number to its end.
func waitForWriters(ctx context.Context, s *db.DB) error {
	if db.Of(s, false, true) {
		return nil
	}
	var writers []string
	for row := range db.Rows(ctx, s.Reader(), `SELECT DISTINCT l.virtualtransaction FROM pg_locks l
 JOIN pg_database d ON d.oid = l.database AND d.datname = current_database()
 WHERE l.locktype = 'relation' AND l.mode IN ('RowShareLock', 'RowExclusiveLock') AND l.granted AND l.pid <> pg_backend_pid()`) {
		var number string
		if err := row.Scan(&number); err != nil {
			return fmt.Errorf("look for transactions: %w", err)
		}
		writers = append(writers, number)
	}
	for began, left := time.Now(), len(writers); left > 0; time.Sleep(10 * time.Millisecond) {
		if err := s.Reader().QueryRowContext(ctx, `SELECT count(*) FROM pg_locks WHERE locktype = 'virtualxid' AND granted
 AND mode = 'ExclusiveLock' AND virtualtransaction = ANY (string_to_array($1, ','))`, strings.Join(writers, ",")).Scan(&left); err != nil {
			return fmt.Errorf("wait for transactions: %w", err)
		}
		if left > 0 && time.Since(began) > writersPatience {
			return fmt.Errorf("%w: %d transactions that write last longer than %s; try again when they are over (pg_stat_activity)",
				ErrInTheWay, left, writersPatience)
		}
	}
	return nil
}
