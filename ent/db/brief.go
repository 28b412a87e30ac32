package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// A lock on a whole table makes everyone wait, and a pending one also blocks those who come after
// it. So a change that needs such a lock waits for it at most lockWait, works for at most
// briefLimit, and then gives up.
const (
	// lockWait is the longest wait for one lock.
	lockWait = 40 * time.Millisecond
	// briefLimit is how long the step that takes the locks may take, including the waits.
	briefLimit = 80 * time.Millisecond
	// briefPatience is how long one try may take with the round trips: a server behind a proxy may
	// vanish without a word.
	briefPatience = 30 * time.Second
	// briefTries is how often it is tried, with pauses in which the others catch up.
	briefTries = 5
	// leastPause and mostPause bound each pause.
	leastPause = 100 * time.Millisecond
	mostPause  = 300 * time.Millisecond
	// longUse is the age from which a transaction is not waited for, because the wait would block
	// others too.
	longUse = 250 * time.Millisecond
)

// briefly runs steps, each the body of a PL/pgSQL block, in one transaction whose last step locks
// whole tables. The steps, their settings and the commit are one message, so that the locks never
// wait for this process; the commit waits for no standby. It returns an error for which IsLocked
// holds if a lock could not be had in any try, and errTooMuch if the last step took longer than
// briefLimit.
func (s *DB) briefly(ctx context.Context, steps ...string) error {
	db, err := s.migrator()
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	db.SetMaxOpenConns(1)
	message := fmt.Sprintf("SET LOCAL synchronous_commit = off; SET LOCAL lock_timeout = %d", lockWait.Milliseconds())
	for i, step := range steps {
		if i == len(steps)-1 {
			message += fmt.Sprintf("; SET LOCAL statement_timeout = %d", briefLimit.Milliseconds())
		}
		message += "; DO $do$ BEGIN " + step + " END $do$"
	}
	for try := 1; ; try++ {
		err := s.try(ctx, db, message)
		if code, _ := postgresCode(err); code == codeQueryCanceled && ctx.Err() == nil {
			err = errTooMuch
		}
		if !IsPutOff(err) || errors.Is(err, errTooMuch) && try == 2 || try == briefTries {
			return err
		}
		pause := time.NewTimer(leastPause + rand.N(mostPause-leastPause))
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return errors.Join(err, ctx.Err())
		}
	}
}

func (s *DB) try(ctx context.Context, db *sql.DB, message string) error {
	ctx, cancel := context.WithTimeout(ctx, briefPatience)
	defer cancel()
	_, err := db.ExecContext(ctx, message)
	return err
}

// unlessInUse returns a step that gives up, as if a lock had timed out, while a transaction older
// than longUse uses one of the tables. Only members of pg_read_all_stats see other users'
// transactions; otherwise the wait for those is lockWait.
func unlessInUse(tables ...string) string {
	for i, table := range tables {
		tables[i] = "to_regclass('" + table + "')"
	}
	return fmt.Sprintf(`IF EXISTS (SELECT FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
   WHERE l.locktype = 'relation' AND l.granted AND l.relation IN (%s) AND l.pid <> pg_backend_pid()
    AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND a.xact_start < clock_timestamp() - interval '%d milliseconds') THEN
  RAISE EXCEPTION 'a long transaction uses the table' USING ERRCODE = '%s';
 END IF;`, strings.Join(tables, ", "), longUse.Milliseconds(), codeLockNotAvailable)
}
